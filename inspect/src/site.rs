//! What is served at which path.

use crate::metrics;
use crate::sampler::Sampler;
use crate::server::{Refusal, Request, Response};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Mutex, TryLockError};
use std::thread;
use std::time::{Duration, Instant};
use xtasking::metrics::Inspector;

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
    is_stopped: AtomicBool,
    /// Held while a timeline is recorded: one at a time.
    timeline: Mutex<()>,
}

impl Site {
    pub fn new(sampler: Sampler, name: String, hosts: Vec<String>) -> Self {
        Self { sampler, name, hosts, is_stopped: AtomicBool::new(false), timeline: Mutex::new(()) }
    }

    /// Returns the host names that are answered, beside addresses and `localhost`.
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// Returns the flag that ends the server.
    pub fn is_stopped(&self) -> &AtomicBool {
        &self.is_stopped
    }

    /// Shows another runtime from now on.
    pub fn show(&self, inspector: Inspector) {
        self.sampler.show(inspector);
    }

    /// Answers a request.
    ///
    /// # Errors
    ///
    /// If there is no answer to it.
    pub fn respond(&self, request: &Request) -> Result<Response, Refusal> {
        match &*request.path {
            "/" => Ok(page()),
            "/metrics" => {
                let inspection = self.sampler.inspect_for_metrics().ok_or(Refusal::Ended)?;
                Ok(Response::new(metrics::CONTENT_TYPE, metrics::text(&inspection)))
            }
            // Both make the runtime record.
            "/data" | "/timeline" if request.is_cross_site => Err(Refusal::CrossSite),
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
        let _one = match self.timeline.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(Refusal::Busy),
        };
        let inspector = self.sampler.inspector().ok_or(Refusal::Ended)?;
        let began = Instant::now();
        let _recording = inspector.record();
        let end = began + Duration::from_secs_f64(seconds);
        while !self.is_stopped.load(SeqCst) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            thread::sleep(left.min(LOOK));
        }
        let timeline = inspector.timeline(began.elapsed()).ok_or(Refusal::Ended)?;
        let file: String =
            self.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let disposition = format!("attachment; filename=\"{file}-timeline.json\"");
        Ok(Response::long("application/json", timeline).header("Content-Disposition", &disposition))
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
