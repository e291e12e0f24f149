//! CLIENT PAUSE: up to when requests are held.

use super::{Reason, Server};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The pause that was begun and not ended yet: which requests it holds, and up to when in ms since
/// 1970. The server's [`Reason::PAUSED`] says whether there is one.
#[derive(Debug, Default)]
pub(crate) struct Pause(Mutex<Option<(PauseScope, u64)>>);

/// Which requests are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PauseScope {
    /// Those that write.
    Writes,
    /// All.
    All,
}

impl Pause {
    fn lock(&self) -> MutexGuard<'_, Option<(PauseScope, u64)>> {
        // Nothing panics inside.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server {
    /// Holds requests up to a moment. A pause in force that holds more, or that ends later, goes
    /// on. The caller holds all shards, so each later request sees it.
    pub(crate) fn pause(&self, held: PauseScope, now: u64, until: u64) {
        let mut pause = self.pause.lock();
        let in_force = pause.filter(|&(_, end)| now < end);
        *pause = Some(in_force.map_or((held, until), |(other, end)| (held.max(other), until.max(end))));
        // Inside of the lock, as in `end_pause`: so the last change counts.
        self.attention.set(Reason::PAUSED, true);
    }

    /// Returns which requests are held now.
    pub(crate) fn held(&self, now: u64) -> Option<PauseScope> {
        if !self.has_pause() {
            return None;
        }
        self.pause.lock().filter(|&(_, until)| now < until).map(|(held, _)| held)
    }

    /// Returns true if a pause has begun, and was not ended.
    pub(crate) fn has_pause(&self) -> bool {
        self.attention.has(Reason::PAUSED)
    }

    /// Ends the pause.
    pub(crate) fn end_pause(&self) {
        let mut pause = self.pause.lock();
        *pause = None;
        self.attention.set(Reason::PAUSED, false);
    }

    /// Ends the pause if its time is over. Returns true if so.
    pub(crate) fn end_pause_if_over(&self, now: u64) -> bool {
        let mut pause = self.pause.lock();
        let is_over = pause.is_some_and(|(_, until)| now >= until || planted!("timer-ends-any-pause"));
        if is_over {
            *pause = None;
            self.attention.set(Reason::PAUSED, false);
        }
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::PauseScope;
    use crate::Engine;
    use xtasking::Runtime;

    #[test]
    fn a_pause_that_has_run_out_makes_no_later_one_larger() {
        let rt = Runtime::builder().workers(1).build().unwrap();
        let engine = Engine::builder().shards(1).build(&rt);
        let server = engine.server();
        server.pause(PauseScope::All, 0, 10);
        server.pause(PauseScope::Writes, 5, 8);
        assert_eq!(server.held(9), Some(PauseScope::All));
        server.pause(PauseScope::Writes, 10, 12);
        assert_eq!(server.held(11), Some(PauseScope::Writes));
        assert!(!server.end_pause_if_over(11));
        assert!(server.end_pause_if_over(12) && !server.has_pause());
    }
}
