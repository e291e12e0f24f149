//! Metrics that a program adds to those of the runtime.

use super::exposition::{Exposition, Family};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Reads a metric: a value, or one for each value of the label.
type Read = Arc<dyn Fn() -> Vec<(String, f64)> + Send + Sync>;

/// A metric of the program, for [`Builder::metric`](crate::Builder::metric).
///
/// It is read for each text of `/metrics`, in a thread of the server: at most every 100 ms.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use xtasking_inspect::{Builder, Metric};
///
/// let rt = xtasking::Runtime::builder().workers(1).inspection(true).build()?;
/// let orders = Arc::new(AtomicU64::new(0));
/// let counter = orders.clone();
/// let read = move || counter.load(Ordering::Relaxed) as f64;
/// let metric = Metric::counter("shop_orders", "Orders so far.", read);
/// let page = Builder::new().metric(metric).serve(&rt, "127.0.0.1:0")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Metric {
    name: String,
    help: String,
    is_counter: bool,
    label: Option<String>,
    read: Read,
}

impl Metric {
    /// Makes a metric that rises and falls.
    ///
    /// # Panics
    ///
    /// If the name has other characters than letters, digits and `_`, or begins with a digit.
    pub fn gauge(name: &str, help: &str, read: impl Fn() -> f64 + Send + Sync + 'static) -> Self {
        Self::new(name, help, None, move || vec![(String::new(), read())])
    }

    /// Makes a metric that only rises. Its samples have the suffix `_total`, which `name` has not.
    ///
    /// # Panics
    ///
    /// As [`gauge`](Self::gauge), and if the name ends with `_total`.
    pub fn counter(name: &str, help: &str, read: impl Fn() -> f64 + Send + Sync + 'static) -> Self {
        Self::gauge(name, help, read).counted()
    }

    /// Makes a [counter](Self::counter) with a sample for each value of a label. `read` returns
    /// these values, which should be few. One that it leaves out has no sample.
    ///
    /// # Panics
    ///
    /// As [`counter`](Self::counter), and if the label is not such a name.
    pub fn counters<R>(name: &str, help: &str, label: &str, read: R) -> Self
    where
        R: Fn() -> Vec<(String, f64)> + Send + Sync + 'static,
    {
        Self::new(name, help, Some(checked(label)), read).counted()
    }

    fn new<R>(name: &str, help: &str, label: Option<String>, read: R) -> Self
    where
        R: Fn() -> Vec<(String, f64)> + Send + Sync + 'static,
    {
        let (name, help) = (checked(name), help.to_owned());
        Self { name, help, is_counter: false, label, read: Arc::new(read) }
    }

    fn counted(self) -> Self {
        assert!(!self.name.ends_with("_total"), "`{}` gets the suffix `_total` by itself", self.name);
        Self { is_counter: true, ..self }
    }

    /// Returns the name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name of its samples.
    pub(crate) fn sample_name(&self) -> String {
        format!("{}{}", self.name, self.suffix())
    }

    fn suffix(&self) -> &'static str {
        if self.is_counter { "_total" } else { "" }
    }

    /// Reads the metric, and writes it.
    pub(super) fn write(&self, out: &mut Exposition<'_>) {
        // A panic of the program's function costs its own metric only.
        let Ok(values) = catch_unwind(AssertUnwindSafe(|| (self.read)())) else { return };
        let mut samples = out.family(match self.is_counter {
            true => Family::restarting_counter(&self.name, &self.help),
            false => Family::gauge(&self.name, "", &self.help),
        });
        for (value, number) in values {
            let label = self.label.as_ref().map(|label| (label.as_str(), value.as_str()));
            samples.sample(self.suffix(), label.as_slice(), number);
        }
    }
}

impl fmt::Debug for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metric").field("name", &self.name).field("label", &self.label).finish_non_exhaustive()
    }
}

/// Returns a name that is one of a metric or of a label.
fn checked(name: &str) -> String {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_name = name.chars().all(is_allowed) && name.starts_with(|c: char| !c.is_ascii_digit());
    assert!(is_name, "`{name}` is not a valid name: use letters, digits and `_`, not a digit first");
    name.to_owned()
}
