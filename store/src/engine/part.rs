//! The replies of a batch that waits for a key: those that it has are sent before.

use super::batch::{Batch, SendEarly};
use super::engine::Inner;
use crate::log::{Dependence, Outcome, Waiter};
use crate::resp::Reply;
use std::fmt;
use std::sync::Arc;
use xtasking::Context;

/// Replies of a batch before its end.
pub(super) struct Part {
    inner: Arc<Inner>,
    reply: Reply,
    dependence: Dependence,
    send: SendEarly,
}

impl Batch {
    /// Takes the replies so far, if they may be sent before the others.
    pub(super) fn take_part(&mut self) -> Option<Part> {
        if self.reply.is_empty() {
            return None;
        }
        let send = self.then.early()?;
        let rest = Reply::new(self.reply.protocol());
        let reply = std::mem::replace(&mut self.reply, rest);
        Some(Part { inner: self.inner.clone(), reply, dependence: self.dependence, send })
    }
}

impl Part {
    /// Sends the replies, now or when the log has what they depend on.
    pub(super) fn send(self, cx: &mut Context) {
        let (inner, on) = (self.inner.clone(), self.dependence);
        inner.go_on_when_logged(on, Box::new(self), cx);
    }
}

impl Waiter for Part {
    fn go_on(mut self: Box<Self>, outcome: Outcome, cx: &mut Context) {
        self.inner.answer(&mut self.reply, outcome);
        (self.send)(self.reply.into_bytes(), cx);
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Part").field("bytes", &self.reply.len()).finish_non_exhaustive()
    }
}
