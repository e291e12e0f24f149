//! How a session comes back to its dialogue.

use super::news::{Host, Kind, News};
use super::parts::LastReplies;
use crate::engine::{Completion, Engine, Finished, SendEarly};
use crate::resp::ProtocolError;
use xtasking::Context;

/// The way of a session back to its dialogue. If the session is lost, as its task found no memory,
/// the dialogue ends.
pub(super) struct WayBack<H: Host> {
    pub(super) engine: Engine,
    /// `None` once the session is on its way.
    pub(super) host: Option<H>,
    /// What was wrong with the bytes after the requests.
    pub(super) error: Option<ProtocolError>,
    /// How many parts of the replies were sent before.
    pub(super) parts: u64,
}

impl<H: Host> Completion for WayBack<H> {
    fn complete(mut self: Box<Self>, finished: Finished, cx: &mut Context) {
        let Some(host) = self.host.take() else { return };
        let last = LastReplies { finished, error: self.error.take(), parts: self.parts };
        host.bring(cx, News(Kind::End(Box::new(last))));
    }

    fn early(&mut self) -> Option<SendEarly> {
        let (host, number) = (self.host.clone()?, self.parts);
        self.parts += 1;
        Some(Box::new(move |replies, cx| host.bring(cx, News(Kind::Part(number, replies)))))
    }

    fn dismiss(mut self: Box<Self>) {
        self.host = None;
    }
}

impl<H: Host> Drop for WayBack<H> {
    fn drop(&mut self) {
        if let Some(host) = self.host.take()
            && !self.engine.runtime().is_shutting_down()
        {
            host.bring(self.engine.runtime(), News(Kind::Lost));
        }
    }
}
