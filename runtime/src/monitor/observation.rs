//! What of a runtime is to be observed.

/// What was asked for, by the builder or from outside.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observation {
    /// Statistics are kept.
    pub statistics: bool,
    /// So many events of each worker are kept.
    pub events: usize,
    /// Where the timeline goes when the runtime ends.
    #[cfg(feature = "std")]
    pub file: Option<std::path::PathBuf>,
    /// The statistics are told when the runtime ends.
    #[cfg(feature = "std")]
    pub tell: bool,
}

/// Names the file for the timeline of each runtime of this process.
#[cfg(feature = "std")]
const FILE: &str = "XTASKING_TIMELINE";
/// Asks for the statistics of each runtime of this process, unless it is empty or `0`.
#[cfg(feature = "std")]
const TELL: &str = "XTASKING_STATISTICS";
/// Events of each worker that are kept if nobody has said how many: some megabytes of a file.
#[cfg(feature = "std")]
const EVENTS: usize = 1 << 15;

impl Observation {
    pub fn is_any(&self) -> bool {
        self.statistics || self.events > 0
    }

    /// Adds what the environment asks for.
    #[cfg(feature = "std")]
    pub fn with_environment(mut self) -> Self {
        use std::env::var_os;
        if let Some(file) = var_os(FILE).filter(|file| !file.is_empty()) {
            self.file = Some(numbered(file.into()));
            self.events = if self.events == 0 { EVENTS } else { self.events };
        }
        self.tell = var_os(TELL).is_some_and(|value| !value.is_empty() && value != "0");
        self.statistics |= self.tell;
        self
    }
}

/// A name of its own for each runtime of this process: the first has the given one.
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
