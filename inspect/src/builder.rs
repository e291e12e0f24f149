//! How a server is started, and what may fail.

use crate::metrics::Metric;
use crate::sampler::Sampler;
use crate::scrapes::Scrapes;
use crate::server::{Server, host};
use crate::site::Site;
use std::fmt;
use std::io;
use std::net::{TcpListener, ToSocketAddrs};
use std::time::Duration;
use xtasking::Runtime;

/// How long a request for `/metrics` keeps the runtime recording, unless said otherwise.
const KEEP_RECORDING: Duration = Duration::from_secs(90);

/// The longest such time: a year, which a clock can add to any moment.
const MAX_KEEP_RECORDING: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Serves the page and metrics of a runtime at an address, until the server is dropped.
///
/// With port 0 the system chooses one, which [`Server::address`] tells.
///
/// ```
/// let rt = xtasking::Runtime::builder().workers(1).inspection(true).build()?;
/// let page = xtasking_inspect::serve(&rt, "127.0.0.1:0")?;
/// assert!(page.address().ip().is_loopback() && page.address().port() != 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the runtime is not inspected, or the server cannot listen there.
pub fn serve(rt: &Runtime, address: impl ToSocketAddrs) -> Result<Server, ServeError> {
    Builder::new().serve(rt, address)
}

/// Settings of a server that are rarely needed; [`serve`] has the usual ones.
///
/// ```
/// let rt = xtasking::Runtime::builder().workers(1).inspection(true).build()?;
/// let builder = xtasking_inspect::Builder::new().name("bank").host("bank.internal");
/// let page = builder.serve(&rt, "127.0.0.1:0")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    name: Option<String>,
    hosts: Vec<String>,
    keep_recording: Duration,
    metrics: Vec<Metric>,
}

impl Default for Builder {
    fn default() -> Self {
        Self { name: None, hosts: Vec::new(), keep_recording: KEEP_RECORDING, metrics: Vec::new() }
    }
}

impl Builder {
    /// Makes a builder with the usual settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the name of the program, the title of its page. Default: the name of its file.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Also answers requests for this host name; a port in it is ignored. Requests for addresses
    /// and `localhost` are always answered.
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host::name_of(&host.into()).to_owned());
        self
    }

    /// Sets how long a request for `/metrics` keeps the runtime recording. Default: 90 seconds.
    ///
    /// Choose more than the time between two such requests. With zero they record nothing: the
    /// histograms of tasks, times of workers and uses of objects then stand still between pages.
    /// More than a year counts as a year.
    pub fn keep_recording(mut self, time: Duration) -> Self {
        self.keep_recording = time.min(MAX_KEEP_RECORDING);
        self
    }

    /// Adds a metric of the program to `/metrics`.
    ///
    /// # Panics
    ///
    /// If there is a metric of this name already. Names that begin with `xtasking_` and one of the
    /// words in the guide's table are the runtime's.
    pub fn metric(mut self, metric: Metric) -> Self {
        let is_same =
            |known: &Metric| known.name() == metric.name() || known.sample_name() == metric.sample_name();
        let is_new = !self.metrics.iter().any(is_same);
        assert!(is_new, "there is a metric `{}` already", metric.name());
        self.metrics.push(metric);
        self
    }

    /// Starts the server; see [`serve`].
    ///
    /// # Errors
    ///
    /// If the runtime is not inspected, or the server cannot listen there.
    pub fn serve(self, rt: &Runtime, address: impl ToSocketAddrs) -> Result<Server, ServeError> {
        if rt.inspector().is_none() {
            return Err(ServeError::NotInspected);
        }
        let server = self.listen(address)?;
        server.show(rt)?;
        Ok(server)
    }

    /// Starts the server before there is a runtime, for [`Server::show`].
    ///
    /// # Errors
    ///
    /// If it cannot listen there.
    pub fn listen(self, address: impl ToSocketAddrs) -> Result<Server, ServeError> {
        let listener = TcpListener::bind(address).map_err(ServeError::Listen)?;
        let name = self.name.unwrap_or_else(program);
        let sampler = Sampler::new(name.clone(), self.keep_recording);
        let site = Site::new(sampler, name, self.hosts, Scrapes::new(self.metrics));
        Server::start(listener, site).map_err(ServeError::Start)
    }
}

/// Returns the name of the program's file.
fn program() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    path.file_stem().unwrap_or("XTasking".as_ref()).to_string_lossy().into_owned()
}

/// Why a runtime cannot be served.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServeError {
    /// The runtime was built without `inspection(true)`.
    NotInspected,
    /// The address is not valid, or the server cannot listen there.
    Listen(io::Error),
    /// The server's thread cannot be started.
    Start(io::Error),
    /// The server is that of the process from which this one was forked.
    Forked,
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInspected => f.write_str(
                "the runtime cannot be inspected; build it with `Runtime::builder().inspection(true)`",
            ),
            Self::Listen(error) => write!(f, "the page cannot be served at this address: {error}"),
            Self::Start(error) => write!(f, "the thread of the page's server cannot be started: {error}"),
            Self::Forked => f.write_str("a forked process has no server; start one there"),
        }
    }
}

impl std::error::Error for ServeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NotInspected | Self::Forked => None,
            Self::Listen(error) | Self::Start(error) => Some(error),
        }
    }
}
