//! A live page and OpenMetrics for any program that runs on XTasking.
//!
//! A program adds one line, and a browser shows what its runtime does:
//!
//! ```
//! use xtasking::Runtime;
//!
//! let rt = Runtime::builder().workers(2).inspection(true).build()?;
//! let page = xtasking_inspect::serve(&rt, "127.0.0.1:0")?;
//! println!("see {}", page.url());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | path | is |
//! |---|---|
//! | `/` | workers, queues, objects, tasks, claims; sentences that say what stands out |
//! | `/metrics` | the same numbers as [OpenMetrics] |
//! | `/timeline?seconds=2` | what happens in the next seconds, for [Perfetto] |
//! | `/data` | what the page draws, as JSON; its form may change |
//!
//! [OpenMetrics]: https://prometheus.io/docs/specs/om/open_metrics_spec/
//! [Perfetto]: https://ui.perfetto.dev
//!
//! # What it costs
//!
//! Nothing while the server is not asked: it is a thread that waits for a connection. The runtime
//! records only while a page is open, and while `/metrics` is asked at least once in
//! [90 seconds](Builder::keep_recording). The server uses none of the runtime's workers.
//!
//! # Access
//!
//! Give a loopback address, as above, unless others are meant to see names and times of the
//! program. There is no password. Only requests for an address, `localhost` or a
//! [named host](Builder::host) are answered, so that no web site reads it through a browser.
//! Requests are bounded in number, size and time.
//!
//! `/data` and `/timeline` make the runtime record, and want the header `XTasking-Page: 1`, which
//! pages of other sites cannot send. `/metrics` wants none. Browsers do not mark requests of other
//! sites to addresses such as `http://10.0.0.7:9100`: there these can start a recording, which they
//! cannot read.

#![forbid(unsafe_code)]

mod builder;
mod findings;
#[cfg(test)]
mod fixture;
mod history;
mod metrics;
mod sampler;
mod scrapes;
mod server;
mod site;
mod view;

pub use builder::{Builder, ServeError, serve};
pub use metrics::Metric;
pub use server::Server;
