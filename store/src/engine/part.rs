//! The replies of a batch that waits for a key or for the end of a pause: those that it has are
//! sent before.

use crate::log::Dependence;
use crate::resp::Reply;
use std::fmt;
use xtasking::Context;

/// Sends replies as bytes that come before the last ones.
pub type SendEarly = Box<dyn FnOnce(Vec<u8>, &mut Context) + Send>;

/// Replies of a batch before its end.
pub(super) struct EarlyReplies {
    pub(super) reply: Reply,
    /// What the replies depend on in the log.
    pub(super) dependence: Dependence,
    pub(super) send: SendEarly,
}

impl fmt::Debug for EarlyReplies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EarlyReplies").field("bytes", &self.reply.len()).finish_non_exhaustive()
    }
}
