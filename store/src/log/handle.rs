//! The handle of a log.

use super::base::NewBase;
use super::error::OpenError;
use super::options::{Options, PolicySource, Recovered};
use super::recovery::{Replay, recover};
use super::shared::{Appended, Health, Shared};
use super::waiting::{Dependence, Outcome, Waiter};
use super::writer::{Closed, Flush, Writer};
use crate::command::Commands;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::{fmt, io::ErrorKind};
use xtasking::Runtime;
use xtasking_storage::Disk;

/// The name that a log locks in its directory.
const LOCK: &str = "lock";

/// The log of a store, returned by [`Engine::log`](crate::Engine::log). A clone is another handle
/// to the same log.
///
/// The methods that return an [`io::Result`] wait for the disk: call them in threads, not in tasks.
#[derive(Clone)]
pub struct Log {
    owner: Arc<Owner>,
}

type Writing = Arc<Mutex<Box<dyn Flush>>>;

/// Ends the thread when the last handle is dropped.
struct Owner {
    shared: Arc<Shared>,
    writing: Writing,
    recovered: Recovered,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.shared.close();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // After a panic of a disk the log is as after a step that has failed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Log {
    /// Opens a log, and replays what is there.
    pub(crate) fn open<D: Disk + Clone + 'static>(
        disk: &D,
        mut options: Options,
        rt: &Runtime,
        policy: PolicySource,
        replay: Replay<'_>,
    ) -> Result<Self, OpenError> {
        let held = disk.lock(LOCK).map_err(|error| match error.kind() {
            ErrorKind::WouldBlock => OpenError::Locked,
            _ => OpenError::at(LOCK)(error),
        })?;
        let (segments, recovered) = recover(disk, &mut options, replay)?;
        let Options { segment_bytes, backlog_bytes, has_thread, clock, .. } = options;
        let shared = Arc::new(Shared::new(backlog_bytes, segments.current.before(), clock, policy, rt));
        let writer: Box<dyn Flush> = Box::new(Writer::new(shared.clone(), segments, segment_bytes, held));
        let writing = Arc::new(Mutex::new(writer));
        let thread = has_thread.then(|| start(&shared, &writing)).transpose();
        let thread = Mutex::new(thread.map_err(OpenError::at(""))?);
        Ok(Self { owner: Arc::new(Owner { shared, writing, recovered, thread }) })
    }

    fn shared(&self) -> &Shared {
        &self.owner.shared
    }

    /// Returns what was found when the log was opened.
    pub fn recovered(&self) -> &Recovered {
        &self.owner.recovered
    }

    /// Returns why nothing can be written at present, if so: then commands that write are refused.
    pub fn error(&self) -> Option<String> {
        self.shared().error()
    }

    /// Returns the bytes of all files.
    pub fn size(&self) -> u64 {
        self.shared().size()
    }

    /// Returns the number of bytes that were not written yet.
    pub fn backlog(&self) -> usize {
        self.shared().backlog()
    }

    /// Ends an epoch, and returns the number of the next one. Does not wait.
    ///
    /// A task that holds all shards divides the log in that way: what was changed before is in
    /// earlier epochs, and what is changed afterwards is not. A snapshot of that moment replaces
    /// the epochs before the returned one: see [`Options::first_epoch`].
    pub fn begin_epoch(&self) -> u64 {
        self.shared().close_epoch() + 1
    }

    /// Writes what was appended, and syncs it if that is due. To be called again and again, if the
    /// log has no thread: see [`Options::without_thread`].
    pub fn flush(&self) {
        lock(&self.owner.writing).step();
    }

    /// Writes and syncs all that was appended, and begins a file. Returns its first epoch.
    ///
    /// # Errors
    ///
    /// An error of the disk. The log goes on in the old file, unless the error is that of a sync.
    pub fn rotate(&self) -> io::Result<u64> {
        lock(&self.owner.writing).rotate()
    }

    /// Begins a base: a snapshot that stands for all epochs before one. When it is kept, they can
    /// be removed.
    pub(crate) fn create_base(&self) -> io::Result<Box<dyn NewBase>> {
        lock(&self.owner.writing).create_base()
    }

    /// Removes the files that have no epoch from this one on.
    ///
    /// # Errors
    ///
    /// An error of the disk. Files that could not be removed stay, and may be removed again.
    pub fn remove_before(&self, epoch: u64) -> io::Result<()> {
        lock(&self.owner.writing).remove_before(epoch)
    }

    /// Writes and syncs all that was appended.
    ///
    /// # Errors
    ///
    /// An error of the disk.
    pub fn sync(&self) -> io::Result<()> {
        lock(&self.owner.writing).finish()
    }

    /// Ends the thread, writes and syncs all that was appended, and lets go of the disk. Commands
    /// that write are refused from then on. To be called when the runtime has ended. Without it the
    /// thread does the same after the last handle is dropped, and nothing waits for it.
    ///
    /// # Errors
    ///
    /// An error of the disk.
    pub fn close(&self) -> io::Result<()> {
        self.shared().close();
        let thread = lock(&self.owner.thread).take();
        // A thread that has panicked has written what it could.
        _ = thread.map(JoinHandle::join);
        let mut writing = lock(&self.owner.writing);
        let finished = writing.finish();
        self.shared().set_health(Health::Dead, "the log is closed");
        *writing = Box::new(Closed);
        self.shared().release();
        finished
    }

    /// Drops the batches that wait for the disk, as the runtime ends.
    pub(crate) fn abandon(&self) {
        self.shared().abandon();
    }

    pub(crate) fn append(&self, worker: usize, floor: u64, commands: &Commands) -> Appended {
        self.shared().append(worker, floor, commands)
    }

    /// Returns how a batch goes on that depends on this, if it need not wait.
    pub(crate) fn verdict(&self, on: Dependence) -> Option<Outcome> {
        self.shared().verdict(on)
    }

    /// Lets a batch wait for what it depends on. Gives it back, with the outcome, if it need not.
    pub(crate) fn wait(
        &self,
        worker: usize,
        on: Dependence,
        waiter: Box<dyn Waiter>,
    ) -> Option<(Box<dyn Waiter>, Outcome)> {
        self.shared().wait(worker, on, waiter)
    }
}

/// Starts the thread that writes.
fn start(shared: &Arc<Shared>, writing: &Writing) -> io::Result<JoinHandle<()>> {
    let (shared, writing) = (shared.clone(), writing.clone());
    Builder::new().name("xtasking-log".to_owned()).spawn(move || {
        shared.set_thread();
        while !shared.is_closing() {
            lock(&writing).step();
            shared.sleep();
        }
        // `Log::close` repeats it, and returns the error.
        _ = lock(&writing).finish();
    })
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.owner.shared.fmt(f)
    }
}
