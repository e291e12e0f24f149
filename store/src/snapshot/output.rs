//! Where what tasks save of a snapshot goes: to the thread that writes the file.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What the thread that writes the file gets, in order.
pub(crate) enum Message {
    /// Records of a database.
    Records {
        /// The database.
        database: usize,
        /// The records as they stand in the file.
        bytes: Vec<u8>,
    },
    /// A function to be called when all before it has been written.
    Then(Box<dyn FnOnce() + Send>),
    /// All records were sent.
    End,
    /// No more records come, and some are missing.
    Abort,
}

/// Where the tasks' part of a snapshot goes. No task waits for it.
pub(crate) struct SnapshotOutput {
    sender: Sender<Message>,
    /// Bytes that were sent and are not written yet.
    pending: AtomicUsize,
    /// Bytes of records that are not complete.
    begun: AtomicUsize,
    has_failed: AtomicBool,
    collected: Mutex<RecordBuffer>,
}

/// Records of a database that are sent together.
#[derive(Default)]
struct RecordBuffer {
    database: usize,
    bytes: Vec<u8>,
}

/// Bytes that are sent at once: the thread, which may share a core with a worker, is not woken for
/// each part.
const BYTES_OF_MESSAGE: usize = 64 * 1024;

impl SnapshotOutput {
    /// Makes an output, and what the thread receives from.
    pub(crate) fn new() -> (Self, Receiver<Message>) {
        let (sender, receiver) = channel();
        let output = Self {
            sender,
            pending: AtomicUsize::new(0),
            begun: AtomicUsize::new(0),
            has_failed: AtomicBool::new(false),
            collected: Mutex::default(),
        };
        (output, receiver)
    }

    fn pass(&self, message: Message) {
        // Without a receiver the snapshot is over, and nothing is missed.
        _ = self.sender.send(message);
    }

    fn collected(&self) -> MutexGuard<'_, RecordBuffer> {
        // Nothing panics inside.
        self.collected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends records of a database, together with others.
    pub(crate) fn send(&self, database: usize, bytes: Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        // Relaxed, as all below: sums and flags, which order nothing.
        self.pending.fetch_add(bytes.len(), Ordering::Relaxed);
        let mut collected = self.collected();
        if collected.database != database {
            self.pass_collected(&mut collected);
            collected.database = database;
        }
        if collected.bytes.is_empty() {
            collected.bytes = bytes;
        } else {
            collected.bytes.extend_from_slice(&bytes);
        }
        if collected.bytes.len() >= BYTES_OF_MESSAGE {
            self.pass_collected(&mut collected);
        }
    }

    /// Notes that bytes of a record were saved that is not complete.
    pub(crate) fn note_begun(&self, bytes: usize) {
        self.begun.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns how many bytes are there that are not written yet.
    pub(crate) fn unwritten(&self) -> usize {
        self.pending() + self.begun.load(Ordering::Relaxed)
    }

    /// Sends records of a database, of which chunks may have parts. No other records come between
    /// them, though a function to be called may. This many of the bytes were noted as begun.
    pub(crate) fn send_all(&self, database: usize, mut chunks: Vec<Vec<u8>>, begun: usize) {
        self.begun.fetch_sub(begun, Ordering::Relaxed);
        if chunks.len() == 1 {
            return self.send(database, chunks.pop().unwrap_or_default());
        }
        // Relaxed: as above.
        self.pending.fetch_add(chunks.iter().map(Vec::len).sum(), Ordering::Relaxed);
        let mut collected = self.collected();
        self.pass_collected(&mut collected);
        chunks.into_iter().for_each(|bytes| self.pass(Message::Records { database, bytes }));
    }

    fn pass_collected(&self, collected: &mut RecordBuffer) {
        if !collected.bytes.is_empty() {
            let bytes = std::mem::take(&mut collected.bytes);
            self.pass(Message::Records { database: collected.database, bytes });
        }
    }

    /// Sends what is collected.
    pub(crate) fn flush(&self) {
        if !planted!("last-records-unsent") {
            self.pass_collected(&mut self.collected());
        }
    }

    /// Calls the functions that were sent too late for the file.
    pub(crate) fn finish(receiver: &Receiver<Message>) {
        for message in receiver.try_iter() {
            if let Message::Then(call) = message {
                call();
            }
        }
    }

    /// Lets a function be called when all that was sent has been written.
    pub(crate) fn then(&self, call: impl FnOnce() + Send + 'static) {
        self.flush();
        self.pass(Message::Then(Box::new(call)));
    }

    /// Ends the output: with all records, or without some.
    pub(crate) fn end(&self, is_complete: bool) {
        self.flush();
        self.pass(if is_complete { Message::End } else { Message::Abort });
    }

    /// Returns how many bytes were sent and are not written yet.
    pub(crate) fn pending(&self) -> usize {
        self.pending.load(Ordering::Relaxed)
    }

    /// Notes that bytes were written. Returns how many are still pending.
    pub(crate) fn note_written(&self, bytes: usize) -> usize {
        self.pending.fetch_sub(bytes, Ordering::Relaxed) - bytes
    }

    /// Notes that the file cannot be written: records are of no use any more.
    pub(crate) fn note_failure(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    /// Returns true if the file cannot be written.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for SnapshotOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotOutput").field("pending", &self.pending()).finish_non_exhaustive()
    }
}
