//! What is served at which path.

use crate::metrics;
use crate::sampler::Sampler;
use crate::scrapes::Scrapes;
use crate::server::{Refusal, Request, Response};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use xtasking::metrics::{Inspector, Timeline};

/// The page, as one file. `NONCE` stands for a number that is another one each time.
const PAGE: &str = include_str!("page.html");

/// The times for which a timeline can be recorded, in seconds.
const TIMELINE: std::ops::RangeInclusive<f64> = 0.1..=30.0;

/// How often a timeline that is being recorded looks whether the server ends.
const LOOK: Duration = Duration::from_millis(20);

/// What a server serves.
pub(crate) struct Site {
    sampler: Sampler,
    /// The name of the program.
    name: String,
    /// Host names that are answered, beside addresses and `localhost`.
    hosts: Vec<String>,
    /// Whether the server ends. It passes no other data: the store of `stop` pairs with the
    /// loads of `is_stopped`, which come again and again.
    is_stopped: AtomicBool,
    /// What is kept between two requests for metrics.
    scrapes: Mutex<Scrapes>,
    /// Set while a timeline is recorded or sent: one at a time. It passes no other data: the
    /// swap of `TimelineSlot::take` pairs with the store of its drop.
    has_timeline: Arc<AtomicBool>,
}

/// The right to record a timeline, given back when it is dropped.
struct TimelineSlot(Arc<AtomicBool>);

impl TimelineSlot {
    fn take(is_taken: &Arc<AtomicBool>) -> Option<Self> {
        (!is_taken.swap(true, SeqCst)).then(|| Self(is_taken.clone()))
    }
}

impl Drop for TimelineSlot {
    fn drop(&mut self) {
        self.0.store(false, SeqCst);
    }
}

/// The body of a response. Another timeline must wait until this one has been sent: both may be
/// tens of megabytes.
struct TimelineBody {
    timeline: Timeline,
    _slot: TimelineSlot,
}

impl fmt::Display for TimelineBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.timeline.fmt(f)
    }
}

impl Site {
    pub fn new(sampler: Sampler, name: String, hosts: Vec<String>, scrapes: Scrapes) -> Self {
        Self {
            sampler,
            name,
            hosts,
            is_stopped: AtomicBool::new(false),
            scrapes: Mutex::new(scrapes),
            has_timeline: Arc::default(),
        }
    }

    /// Returns the host names that are answered, beside addresses and `localhost`.
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// Returns true once the server ends.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(SeqCst)
    }

    /// Ends all recordings, for good.
    pub fn stop(&self) {
        self.is_stopped.store(true, SeqCst);
        self.sampler.stop();
    }

    /// Shows another runtime from now on.
    pub fn show(&self, inspector: Inspector) {
        // Held meanwhile, so that no request mixes the counters of two runtimes.
        let mut scrapes = self.scrapes.lock().unwrap_or_else(PoisonError::into_inner);
        scrapes.restart();
        self.sampler.show(inspector);
    }

    /// Returns the metrics; `None` if there is no runtime.
    fn metrics(&self) -> Option<Arc<str>> {
        self.sampler.keep_recorded();
        let mut scrapes = self.scrapes.lock().unwrap_or_else(PoisonError::into_inner);
        scrapes.text(Instant::now(), || self.sampler.inspector()?.snapshot())
    }

    /// Answers a request.
    ///
    /// # Errors
    ///
    /// If there is no answer to it.
    pub fn respond(&self, request: &Request) -> Result<Response, Refusal> {
        match &*request.path {
            "/" => Ok(page()),
            // All of them make the runtime record. A scraper sends no header of this program.
            "/metrics" | "/data" | "/timeline" if request.is_cross_site => Err(Refusal::CrossSite),
            "/data" | "/timeline" if !request.is_marked => Err(Refusal::Unmarked),
            "/metrics" => {
                let text = self.metrics().ok_or(Refusal::Ended)?;
                Ok(Response::new(metrics::CONTENT_TYPE, text))
            }
            "/data" => {
                let data = self.sampler.data().ok_or(Refusal::Ended)?;
                Ok(Response::new("application/json", data))
            }
            "/timeline" => self.record(request),
            _ => Err(Refusal::Path),
        }
    }

    /// Records for the time that is asked for, and returns the timeline.
    fn record(&self, request: &Request) -> Result<Response, Refusal> {
        let seconds = request.parameter("seconds").and_then(|seconds| seconds.parse().ok());
        let seconds = seconds.filter(|seconds| TIMELINE.contains(seconds)).ok_or(Refusal::Parameter)?;
        let slot = TimelineSlot::take(&self.has_timeline).ok_or(Refusal::Busy)?;
        let inspector = self.sampler.inspector().ok_or(Refusal::Ended)?;
        let began = Instant::now();
        let _recording = inspector.record();
        let end = began + Duration::from_secs_f64(seconds);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if self.is_stopped() {
                return Err(Refusal::Ended);
            }
            if left.is_zero() {
                break;
            }
            thread::sleep(left.min(LOOK));
        }
        let timeline = inspector.timeline(began.elapsed()).ok_or(Refusal::Ended)?;
        let file: String =
            self.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let disposition = format!("attachment; filename=\"{file}-timeline.json\"");
        let body = TimelineBody { timeline, _slot: slot };
        Ok(Response::long("application/json", body).header("Content-Disposition", &disposition))
    }
}

/// Returns the page. The policy lets the browser run only the page's own script and ask only this
/// server.
fn page() -> Response {
    let nonce = format!("{:016x}{:016x}", random(), random());
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; \
         img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let page = PAGE.replace("nonce=\"NONCE\"", &format!("nonce=\"{nonce}\""));
    Response::new("text/html; charset=utf-8", page).header("Content-Security-Policy", &policy)
}

/// Returns a number that cannot be guessed: std seeds each state by the system's random numbers.
fn random() -> u64 {
    RandomState::new().hash_one(0u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use xtasking::Runtime;

    #[test]
    fn a_timeline_is_the_only_one_until_it_is_sent() {
        let rt = Runtime::builder().workers(1).inspection(true).build().unwrap();
        let sampler = Sampler::new("test".to_owned(), Duration::ZERO);
        let site = Site::new(sampler, "test".to_owned(), Vec::new(), Scrapes::default());
        site.show(rt.inspector().unwrap());
        let request = Request {
            path: "/timeline".to_owned(),
            query: "seconds=0.1".to_owned(),
            is_marked: true,
            ..Request::default()
        };
        let Ok(first) = site.respond(&request) else { panic!("it is recorded") };
        assert!(matches!(site.respond(&request), Err(Refusal::Busy)));
        drop(first);
        assert!(site.respond(&request).is_ok());
        site.stop();
        assert!(matches!(site.respond(&request), Err(Refusal::Ended)));
    }
}
