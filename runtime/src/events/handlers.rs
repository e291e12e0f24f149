//! The handlers of a worker's sources, by token.

use super::{Ready, Token};
use crate::scheduler::Context;
use crate::sync::SpinMutex;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Handles the events of a source: spawns tasks, and takes little time.
pub(super) trait Handler: Send + Sync {
    fn handle(self: Arc<Self>, ready: Ready, cx: &mut Context);
}

/// The handlers of one worker.
pub(super) struct Handlers(SpinMutex<Table>);

#[derive(Default)]
struct Table {
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// A shutdown has begun: no source gets a token any more.
    is_closed: bool,
}

#[derive(Default)]
struct Entry {
    generation: u32,
    /// A source has the token.
    is_used: bool,
    handler: Option<Arc<dyn Handler>>,
    /// What came before there was a handler.
    early: Ready,
}

/// Half of a token is an index, and half a generation: events that were found before their source
/// was deregistered reach no other one.
const HALF: u32 = usize::BITS / 2;
const INDEX: usize = (1 << HALF) - 1;

impl Handlers {
    pub fn new() -> Self {
        Self(SpinMutex::new(Table::default()))
    }

    /// Returns a token for a new source; `None` after the beginning of a shutdown, or if there are
    /// too many sources.
    pub fn add(&self) -> Option<Token> {
        let table = &mut *self.0.lock();
        if table.is_closed || table.free.is_empty() && table.entries.len() > INDEX {
            return None;
        }
        let index = table.free.pop().unwrap_or_else(|| {
            table.entries.push(Entry::default());
            table.entries.len() as u32 - 1
        });
        let entry = &mut table.entries[index as usize];
        entry.is_used = true;
        Some(Token((entry.generation as usize & INDEX) << HALF | index as usize))
    }

    /// Returns true if there are sources.
    pub fn has_sources(&self) -> bool {
        let table = self.0.lock();
        table.free.len() < table.entries.len()
    }

    /// Sets the handler of a source, and returns what has come before. Returns the handler if the
    /// source is gone, or a shutdown has begun.
    pub fn set(&self, token: Token, handler: Arc<dyn Handler>) -> Result<Ready, Arc<dyn Handler>> {
        let table = &mut *self.0.lock();
        let is_closed = table.is_closed;
        let Some(entry) = table.find(token).filter(|_| !is_closed) else { return Err(handler) };
        entry.handler = Some(handler);
        Ok(core::mem::take(&mut entry.early))
    }

    /// Returns the handler for an event. Without one the event is kept for it.
    pub fn handler(&self, token: Token, ready: Ready) -> Option<Arc<dyn Handler>> {
        let mut table = self.0.lock();
        let entry = table.find(token)?;
        if entry.handler.is_none() {
            entry.early = entry.early | ready;
        }
        entry.handler.clone()
    }

    /// Removes a source. The result is dropped by the caller, without the lock.
    pub fn remove(&self, token: Token) -> Option<Arc<dyn Handler>> {
        let table = &mut *self.0.lock();
        let entry = table.find(token)?;
        let generation = entry.generation.wrapping_add(1);
        let old = core::mem::replace(entry, Entry { generation, ..Entry::default() });
        table.free.push((token.0 & INDEX) as u32);
        old.handler
    }

    /// Removes all handlers, and refuses further sources.
    pub fn close(&self) -> Vec<Arc<dyn Handler>> {
        let table = &mut *self.0.lock();
        table.is_closed = true;
        table.entries.iter_mut().filter_map(|entry| entry.handler.take()).collect()
    }
}

impl Table {
    fn find(&mut self, token: Token) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(token.0 & INDEX)?;
        (entry.is_used && entry.generation as usize & INDEX == token.0 >> HALF).then_some(entry)
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;

    struct Nothing;

    impl Handler for Nothing {
        fn handle(self: Arc<Self>, _: Ready, _: &mut Context) {}
    }

    #[test]
    fn an_event_of_a_removed_source_reaches_no_other() {
        let handlers = Handlers::new();
        let old = handlers.add().unwrap();
        assert!(handlers.set(old, Arc::new(Nothing)).is_ok());
        assert!(handlers.handler(old, Ready::READABLE).is_some());
        assert!(handlers.remove(old).is_some() && handlers.remove(old).is_none());
        let new = handlers.add().unwrap();
        assert_ne!(old, new);
        assert!(handlers.handler(old, Ready::READABLE).is_none());
        assert_eq!(handlers.set(new, Arc::new(Nothing)).ok(), Some(Ready::default()));
    }

    #[test]
    fn events_wait_for_their_handler() {
        let handlers = Handlers::new();
        let token = handlers.add().unwrap();
        assert!(handlers.handler(token, Ready::READABLE).is_none());
        assert!(handlers.handler(token, Ready::CLOSED).is_none());
        let early = handlers.set(token, Arc::new(Nothing)).ok();
        assert_eq!(early, Some(Ready::READABLE | Ready::CLOSED));
        assert_eq!(handlers.close().len(), 1);
        assert!(handlers.add().is_none() && handlers.set(token, Arc::new(Nothing)).is_err());
    }
}
