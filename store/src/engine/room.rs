//! Commands that are refused when there is too little memory, and no key can be evicted.

use crate::command::{Command, CommandError, Flags, resolve};
use crate::server::Memory;
use crate::session::Session;

/// A share of the room, by which a turn may let keys grow. What is left of it is given back in the
/// end, also if a command panics: else it would be missing for good.
#[derive(Debug)]
pub(super) struct RoomShare<'i> {
    memory: &'i Memory,
    worker: usize,
    /// In bytes; negative if keys have grown by more.
    left: i64,
}

impl<'i> RoomShare<'i> {
    /// Reserves a share; `None` if there is no limit.
    #[inline]
    pub(super) fn reserve(memory: &'i Memory, worker: usize) -> Option<Self> {
        memory.reserve(worker).map(|left| Self { memory, worker, left })
    }

    /// Returns true if keys have grown by more than the share.
    #[inline]
    pub(super) fn is_exceeded(&self) -> bool {
        self.left < 0
    }

    /// Notes by how many bytes keys have grown. They are counted already.
    #[inline]
    pub(super) fn note_growth(&mut self, bytes: i64) {
        if bytes > 0 {
            self.memory.give_back(self.worker, bytes.min(self.left));
            self.left -= bytes;
        }
    }
}

impl Drop for RoomShare<'_> {
    #[inline]
    fn drop(&mut self) {
        self.memory.give_back(self.worker, self.left);
    }
}

/// Returns true if a command may be refused as there is too little memory.
pub(super) fn needs_room(command: &Command, session: &Session) -> bool {
    let denies = |command: &Command| command.flags.has(Flags::DENYOOM);
    match (&session.transaction, command.name) {
        (Some(transaction), "exec") => {
            let requests = &transaction.requests;
            (0..requests.len()).any(|index| resolve(requests.args(index)).is_ok_and(denies))
        }
        // What is queued takes memory too.
        (Some(_), name) => !matches!(name, "discard" | "quit" | "reset"),
        (None, _) => denies(command),
    }
}

/// Refuses a command that [needs room](needs_room): EXEC by itself.
#[cold]
pub(super) fn check_room(command: &Command, session: &mut Session) -> Result<(), CommandError> {
    match session.transaction.as_mut().filter(|_| command.name == "exec") {
        Some(transaction) => {
            transaction.refusal = Some(CommandError::OUT_OF_MEMORY);
            Ok(())
        }
        None => Err(CommandError::OUT_OF_MEMORY),
    }
}
