//! What is to be observed of a runtime.

/// What the builder or the environment requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observation {
    /// Whether statistics are kept.
    pub statistics: bool,
    /// Whether tasks are recorded on demand.
    pub inspection: bool,
    /// How many events of each worker are kept.
    pub events: usize,
    /// The file for the timeline when the runtime ends.
    #[cfg(feature = "std")]
    pub file: Option<std::path::PathBuf>,
    /// Whether the statistics are printed when the runtime ends.
    #[cfg(feature = "std")]
    pub tell: bool,
}

/// Names the file for the timeline of each runtime of this process.
#[cfg(feature = "std")]
const TIMELINE_VARIABLE: &str = "XTASKING_TIMELINE";
/// Requests the statistics of each runtime of this process, unless it is empty or `0`.
#[cfg(feature = "std")]
const STATISTICS_VARIABLE: &str = "XTASKING_STATISTICS";
/// Events of each worker that are kept by default: a file of some megabytes.
#[cfg(feature = "std")]
const DEFAULT_EVENTS: usize = 1 << 15;

impl Observation {
    /// Returns true if tasks are always recorded.
    pub fn is_constant(&self) -> bool {
        self.statistics || self.events > 0
    }

    /// Adds what the environment requests.
    #[cfg(feature = "std")]
    pub fn with_environment(mut self) -> Self {
        use std::env::var_os;
        if let Some(file) = var_os(TIMELINE_VARIABLE).filter(|file| !file.is_empty()) {
            self.file = Some(numbered(file.into()));
            self.events = if self.events == 0 { DEFAULT_EVENTS } else { self.events };
        }
        self.tell = var_os(STATISTICS_VARIABLE).is_some_and(|value| !value.is_empty() && value != "0");
        self.statistics |= self.tell;
        self
    }
}

/// Returns a distinct file name for each runtime of this process: the first has the given one.
#[cfg(feature = "std")]
fn numbered(file: std::path::PathBuf) -> std::path::PathBuf {
    use crate::sync::Relaxed;
    static RUNTIMES: crate::sync::global::AtomicU64 = crate::sync::global::AtomicU64::new(1);
    match RUNTIMES.fetch_add(1, Relaxed) {
        1 => file,
        number => {
            let mut name = file.file_stem().unwrap_or_default().to_owned();
            name.push(std::format!("-{number}"));
            if let Some(extension) = file.extension() {
                name.push(".");
                name.push(extension);
            }
            file.with_file_name(name)
        }
    }
}
