//! How a log is made.

use std::fmt;
use std::time::Instant;

/// When what was written is made durable, and when its replies are sent: `appendfsync`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncPolicy {
    /// Before the replies are sent.
    Always,
    /// Each second: what is lost in a power cut was acknowledged within one second.
    #[default]
    EverySecond,
    /// When the system likes. A killed process loses what was not written yet, a tenth of a second.
    Never,
}

impl SyncPolicy {
    /// The names, in the order of [`SyncPolicy::from_number`].
    pub(crate) const NAMES: &'static [&'static str] = &["always", "everysec", "no"];

    pub(crate) fn from_number(number: i64) -> Self {
        match number {
            0 => Self::Always,
            1 => Self::EverySecond,
            _ => Self::Never,
        }
    }
}

/// How far the replay of a log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The bytes that were replayed.
    pub done: u64,
    /// The bytes of all segments.
    pub total: u64,
}

/// What the recovery of a log has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovered {
    /// The number of segments that were replayed.
    pub segments: usize,
    /// The number of bytes that were replayed.
    pub bytes: u64,
    /// The last epoch, 0 if there was none.
    pub last_epoch: u64,
    /// What was cut off at the end, if anything was.
    pub cut: Option<Cut>,
}

/// The end of a log that was not whole, and was cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cut {
    /// The file.
    pub file: String,
    /// Its length afterwards.
    pub offset: u64,
    /// The number of bytes that were cut off.
    pub bytes: u64,
    /// The last epoch that is whole.
    pub epoch: u64,
}

/// Returns the policy at present.
pub(crate) type PolicySource = Box<dyn Fn() -> SyncPolicy + Send + Sync>;
/// Returns the time in ms since any moment. It never goes back.
pub(super) type Clock = Box<dyn Fn() -> u64 + Send + Sync>;
/// Is told how far the replay is.
pub(super) type OnProgress = Box<dyn FnMut(Progress) + Send>;

/// How a log is made.
///
/// ```
/// use xtasking_store::log::Options;
///
/// let options = Options::default().segment_bytes(16 << 20).backlog_bytes(8 << 20);
/// ```
#[must_use = "options are for `Builder::log`"]
pub struct Options {
    pub(super) segment_bytes: u64,
    pub(super) backlog_bytes: usize,
    pub(super) first_epoch: u64,
    pub(super) has_thread: bool,
    pub(super) clock: Clock,
    pub(super) progress: Option<OnProgress>,
}

impl Default for Options {
    fn default() -> Self {
        let start = Instant::now();
        Self {
            segment_bytes: 64 << 20,
            backlog_bytes: 64 << 20,
            first_epoch: 0,
            has_thread: true,
            clock: Box::new(move || u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX)),
            progress: None,
        }
    }
}

impl Options {
    /// Sets the length of a segment after which another one is begun, in bytes. Default: 64 MiB.
    pub fn segment_bytes(mut self, bytes: u64) -> Self {
        self.segment_bytes = bytes;
        self
    }

    /// Sets about how many bytes may wait to be written before the replies to writers wait too.
    /// Default: 64 MiB.
    pub fn backlog_bytes(mut self, bytes: usize) -> Self {
        self.backlog_bytes = bytes;
        self
    }

    /// Sets the first epoch to replay: what was before comes from a snapshot. Default: all.
    pub fn first_epoch(mut self, epoch: u64) -> Self {
        self.first_epoch = epoch;
        self
    }

    /// Starts no thread: the program calls [`Log::flush`](super::Log::flush), again and again. For
    /// simulations.
    pub fn without_thread(mut self) -> Self {
        self.has_thread = false;
        self
    }

    /// Sets the clock: a function that returns the time in ms since any moment, which never goes
    /// back. Default: the system's.
    pub fn clock(mut self, clock: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.clock = Box::new(clock);
        self
    }

    /// Sets a function that is told how far the replay is.
    pub fn on_progress(mut self, tell: impl FnMut(Progress) + Send + 'static) -> Self {
        self.progress = Some(Box::new(tell));
        self
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Options");
        text.field("segment_bytes", &self.segment_bytes).field("backlog_bytes", &self.backlog_bytes);
        text.field("first_epoch", &self.first_epoch).finish_non_exhaustive()
    }
}
