//! Looks for events outside of shards: a task that holds some would keep others from them
//! meanwhile.

use super::engine::Inner;
use std::sync::Arc;
use xtasking::{Context, Priority};

impl Inner {
    /// Looks for what has come to this worker, so that it does not wait for what the caller spawns
    /// next. The caller holds no shards.
    pub(super) fn poll_events(&self, cx: &mut Context) {
        #[cfg(test)]
        if let Some(note) = self.on_poll.get() {
            note(self, cx);
        }
        cx.poll_events();
    }

    /// Looks for events when the shards of this task are left, and then calls a function: what that
    /// spawns comes after what was found.
    pub(super) fn poll_events_before(
        self: &Arc<Self>,
        then: impl FnOnce(&mut Context) + Send + 'static,
        cx: &mut Context,
    ) {
        if planted!("events-polled-in-hold") {
            self.poll_events(cx);
            return then(cx);
        }
        let (inner, worker) = (self.clone(), cx.worker() as u16);
        cx.task(()).core(worker).priority(Priority::Normal).spawn(move |(), cx| {
            inner.poll_events(cx);
            then(cx);
        });
    }
}
