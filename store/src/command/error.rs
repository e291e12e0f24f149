//! Errors of commands, in Redis' words.

use std::borrow::Cow;
use std::fmt;

/// The text of an error reply: a code, a space, and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandError(Cow<'static, [u8]>);

impl CommandError {
    /// The key holds another type.
    pub const WRONG_TYPE: Self =
        Self::fixed("WRONGTYPE Operation against a key holding the wrong kind of value");
    /// The arguments are not understood.
    pub const SYNTAX: Self = Self::fixed("ERR syntax error");
    /// An argument or a value is no integer of 64 bits.
    pub const NOT_AN_INTEGER: Self = Self::fixed("ERR value is not an integer or out of range");
    /// An argument is no floating-point number.
    pub const NOT_A_FLOAT: Self = Self::fixed("ERR value is not a valid float");
    /// A key that has to be there is not.
    pub const NO_SUCH_KEY: Self = Self::fixed("ERR no such key");
    /// An index is out of range.
    pub const INDEX_OUT_OF_RANGE: Self = Self::fixed("ERR index out of range");
    /// A number has to be zero or more.
    pub const NOT_POSITIVE: Self = Self::fixed("ERR value is out of range, must be positive");
    /// A cursor is no number.
    pub const INVALID_CURSOR: Self = Self::fixed("ERR invalid cursor");

    /// The command has panicked.
    pub const PANICKED: Self = Self::fixed("ERR internal error: the command has panicked");
    /// The command cannot be queued.
    pub const NOT_IN_TRANSACTION: Self = Self::fixed("ERR Command not allowed inside a transaction");
    /// The last snapshot has failed, and the setting `stop-writes-on-bgsave-error` is on.
    pub const UNSAVED: Self = Self::fixed(
        "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. \
         Commands that may modify the data set are disabled, because this instance is configured to report \
         errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check \
         the Redis logs for details about the RDB error.",
    );

    /// Keys take more memory than `maxmemory`, and none can be evicted.
    pub const OUT_OF_MEMORY: Self = Self::fixed("OOM command not allowed when used memory > 'maxmemory'.");

    /// Makes an error of a text that begins with its code.
    pub const fn fixed(text: &'static str) -> Self {
        Self(Cow::Borrowed(text.as_bytes()))
    }

    /// Makes an error of a text that begins with its code.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Cow::Owned(text.into().into_bytes()))
    }

    /// Makes an error of a text that need not be UTF-8: it has arguments in it.
    pub fn from_bytes(text: Vec<u8>) -> Self {
        Self(Cow::Owned(text))
    }

    /// Makes an error of a text with an argument in its midst, as C prints it: up to a zero byte.
    pub fn with_arg(before: &str, arg: &[u8], after: &str) -> Self {
        Self::from_bytes([before.as_bytes(), printed(arg, usize::MAX), after.as_bytes()].concat())
    }

    /// Makes the error of a command with too many or too few arguments.
    pub fn wrong_arity(name: &str) -> Self {
        Self::new(format!("ERR wrong number of arguments for '{name}' command"))
    }

    /// Makes the error of an expiry that is not positive, or too late to be a number.
    pub fn invalid_expiry(name: &str) -> Self {
        Self::new(format!("ERR invalid expire time in '{name}' command"))
    }

    /// Returns the text.
    pub fn text(&self) -> &[u8] {
        &self.0
    }
}

/// The bytes before a zero, at most `most`: how C prints a string.
pub(super) fn printed(bytes: &[u8], most: usize) -> &[u8] {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    &bytes[..end.min(most)]
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        String::from_utf8_lossy(&self.0).fmt(f)
    }
}

impl std::error::Error for CommandError {}
