//! A ring of `io_uring` beside a worker's queue of events: its streams receive and send without a
//! system call for each.
//!
//! One thread at a time enters the ring, as a rule the worker's own: when it looks for events, and
//! when it sleeps. Other threads leave what they want in `slots`, and wake it. The ring watches the
//! worker's queue of events, so one sleep is enough for both.
//!
//! # Memory
//!
//! The kernel reads what a send has, and writes into `buffers`, until it has said that it does not
//! any more. So a slot outlives its stream, and a ring that does not become quiescent is leaked.
//!
//! | file | what is in it |
//! |---|---|
//! | `buffers` | the buffers that receives fill |
//! | `slot` | a stream: its receive, its send, and what it has of both |
//! | `slots` | the streams: what has come, and what is to go |

mod buffers;
mod slot;
mod slots;

pub(crate) use slot::RawStream;

use super::WORKER_OF;
use crate::events::{Interest, Ready, Token};
use crate::platform::PlatformError;
use crate::platform::runtime_wait::registry::WorkerId;
use crate::sync::{SpinMutex, forks};
use alloc::sync::Arc;
use alloc::vec::Vec;
use buffers::{Buffers, GROUP};
use core::mem::{self, ManuallyDrop};
use core::time::Duration;
use io_uring::types::{CancelBuilder, Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, Probe, cqueue, opcode, squeue};
use mio::Waker;
use slot::{Name, Operation};
use slots::{Next, Slots, Submission};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, RawFd};

/// Submissions that fit into the ring at once.
const SUBMISSIONS: u32 = 256;
/// Completions that fit. The kernel keeps further ones.
const COMPLETIONS: u32 = 2048;
/// How often a look submits at most.
const MOST_SUBMITS: usize = 64;
/// What waits for the next look at most, in bytes: more is submitted at once. Small ones are
/// submitted together, as each may wake its receiver.
const MOST_STAGED: usize = 4 << 10;
/// What is written at once without the ring, if nothing is under way, in bytes.
const WRITTEN_DIRECTLY: usize = 16 << 10;
/// How often a ring that is dropped looks whether it is quiescent, and how long each time.
const LAST_LOOKS: (usize, Duration) = (100, Duration::from_millis(10));

/// The ring of one worker.
pub(crate) struct Ring {
    /// Leaked in a forked process, whose parent goes on with it.
    entered: SpinMutex<ManuallyDrop<Entered>>,
    /// Leaked if the kernel may still use their memory.
    slots: SpinMutex<ManuallyDrop<Slots>>,
    waker: Arc<Waker>,
    worker: WorkerId,
    /// The number of [`forks`] when it was made: a forked process does not touch it.
    made_after: u64,
}

/// What the thread that enters the ring has.
struct Entered {
    ring: IoUring,
    /// The queue of events that is watched.
    queue: RawFd,
    is_watching: bool,
    /// The queue of events has something.
    has_events: bool,
}

impl Ring {
    /// Makes a ring for a worker, which watches its queue of events.
    ///
    /// # Errors
    ///
    /// If the kernel is too old, or the system forbids rings, as containers do.
    pub fn new(queue: RawFd, waker: Arc<Waker>, worker: WorkerId) -> Result<Self, PlatformError> {
        let failed = |cause| PlatformError::with_cause("cannot make a ring of io_uring", cause);
        let mut builder = IoUring::builder();
        builder.dontfork().setup_clamp().setup_cqsize(COMPLETIONS).setup_submit_all();
        builder.setup_coop_taskrun().setup_taskrun_flag();
        let ring = builder.build(SUBMISSIONS).map_err(failed)?;
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe).map_err(failed)?;
        let parameters = ring.params();
        // Linux 6.0 has brought both this operation and receives that complete several times.
        if !probe.is_supported(opcode::SendZc::CODE)
            || !parameters.is_feature_ext_arg()
            || !parameters.is_feature_nodrop()
        {
            return Err("io_uring needs Linux 6.0 or newer".into());
        }
        let slots = Slots::new(Buffers::new(&ring.submitter()).map_err(failed)?);
        let entered = Entered { ring, queue, is_watching: false, has_events: false };
        Ok(Self {
            entered: SpinMutex::new(ManuallyDrop::new(entered)),
            slots: SpinMutex::new(ManuallyDrop::new(slots)),
            waker,
            worker,
            made_after: forks(),
        })
    }

    /// Returns false in a forked process, whose parent has the ring.
    pub fn is_own(&self) -> bool {
        self.made_after == forks()
    }

    /// Adds a stream, and returns the number of its slot.
    pub fn open(&self, socket: Arc<dyn RawStream>, token: Token, interest: Interest) -> u32 {
        let slot = self.slots.lock().open(socket, token, interest);
        self.wake_unless_here();
        slot
    }

    /// Reads what has come for a stream. As for other streams, fewer bytes than asked for mean that
    /// an event comes with more.
    pub fn read(&self, slot: u32, socket: &dyn RawStream, buffer: &mut [u8]) -> io::Result<usize> {
        let (filled, next) = self.slots.lock().read(slot, buffer);
        match next {
            _ if filled == buffer.len() => Ok(filled),
            Next::SystemCall => self.read_directly(slot, socket, buffer, filled),
            _ if filled > 0 => Ok(filled),
            Next::Event => Err(ErrorKind::WouldBlock.into()),
            Next::End(Ok(())) => Ok(0),
            Next::End(Err(error)) => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// Reads by a system call what comes after the bytes that were `filled`. Once nothing more has
    /// come, the ring receives again.
    fn read_directly(
        &self,
        slot: u32,
        socket: &dyn RawStream,
        buffer: &mut [u8],
        filled: usize,
    ) -> io::Result<usize> {
        let rest = &mut buffer[filled..];
        let result = socket.receive(rest);
        match &result {
            Ok(bytes) if *bytes == rest.len() => return Ok(filled + bytes),
            Ok(0) => self.slots.lock().end(slot, Ok(()), filled > 0),
            Err(error) if error.kind() == ErrorKind::Interrupted && filled == 0 => return result,
            Err(error) if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                let error = error.raw_os_error().unwrap_or(libc::EIO);
                self.slots.lock().end(slot, Err(error), filled > 0);
            }
            _ if planted!("receive-not-staged") => {}
            _ => self.slots.lock().receive(slot),
        }
        self.wake_unless_here();
        if filled > 0 { Ok(filled + result.unwrap_or(0)) } else { result }
    }

    /// Takes bytes to be sent with the next look of the worker.
    pub fn write(&self, slot: u32, socket: &dyn RawStream, bytes: &[u8]) -> io::Result<usize> {
        let is_here = self.is_here();
        let mut slots = self.slots.lock();
        if (!is_here || bytes.len() >= WRITTEN_DIRECTLY)
            && (slots.is_sent(slot) || planted!("send-overtakes"))
        {
            // The caller alone writes to the stream, so nothing comes between.
            drop(slots);
            match socket.send(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => slots = self.slots.lock(),
                result => return result,
            }
        }
        let taken = slots.write(slot, bytes).map_err(io::Error::from_raw_os_error)?;
        let is_much = slots.staged_bytes >= MOST_STAGED;
        drop(slots);
        if !is_here {
            self.wake();
        } else if is_much && let Some(mut entered) = self.entered.try_lock() {
            self.submit(&mut entered);
        }
        if taken == 0 && !bytes.is_empty() { Err(ErrorKind::WouldBlock.into()) } else { Ok(taken) }
    }

    /// Ends a stream.
    pub fn close(&self, slot: u32) {
        let socket = self.slots.lock().close(slot);
        if socket.is_some() {
            return;
        }
        match self.entered.try_lock() {
            Some(mut entered) => self.reap(&mut entered),
            // It is about to look, or asleep.
            None => self.wake(),
        }
    }

    /// Submits what is staged, and looks for completions; waits for one at most for `limit`.
    /// Returns true if the queue of events has to be looked at.
    pub fn look(&self, limit: Option<Duration>, found: &mut Vec<(Token, Ready)>) -> bool {
        let Some(mut entered) = self.entered.try_lock() else { return false };
        let entered = &mut *entered;
        self.submit_all(entered);
        let waits = limit != Some(Duration::ZERO) && !entered.has_events;
        if waits && self.slots.lock().found.is_empty() {
            let timespec = limit.map(Timespec::from);
            let mut arguments = SubmitArgs::new();
            if let Some(timespec) = &timespec {
                arguments = arguments.timespec(timespec);
            }
            // It fails if the time is over or a signal comes, and the caller looks again.
            _ = entered.ring.submitter().submit_with_args(1, &arguments);
            self.reap(entered);
            self.submit_all(entered);
        }
        found.append(&mut self.slots.lock().found);
        mem::take(&mut entered.has_events)
    }

    /// Submits what is staged, also what completions lead to.
    fn submit_all(&self, entered: &mut Entered) {
        // Not forever, whatever the kernel refuses.
        for _ in 0..MOST_SUBMITS {
            self.submit(entered);
            self.reap(entered);
            if !self.slots.lock().has_staged() && entered.is_watching {
                return;
            }
        }
    }

    /// Submits what is staged, as far as there is room, and lets the kernel do what it has put off.
    fn submit(&self, entered: &mut Entered) {
        let mut submissions = entered.ring.submission();
        if !entered.is_watching {
            let watch = opcode::PollAdd::new(Fd(entered.queue), libc::POLLIN as u32).multi(true).build();
            // SAFETY: it has no memory. The queue of events exists as long as this ring.
            entered.is_watching = unsafe { submissions.push(&watch.user_data(WATCH)) }.is_ok();
        }
        let mut slots = self.slots.lock();
        while !submissions.is_full()
            && let Some(submission) = slots.next_submission()
        {
            let entry = entry(&submission);
            // SAFETY: a receive has no memory but `buffers`. The bytes of a send are in its slot,
            // which does not change them before `complete` has its completion. Both are freed when
            // the ring is dropped and quiescent, and leaked otherwise.
            let pushed = unsafe { submissions.push(&entry) };
            debug_assert!(pushed.is_ok(), "there was room");
        }
        drop(slots);
        submissions.sync();
        let needs_kernel = !submissions.is_empty() || submissions.taskrun() || submissions.cq_overflow();
        drop(submissions);
        if needs_kernel {
            // It fails if completions are to be reaped first, which is done next.
            _ = entered.ring.submitter().submit();
        }
    }

    /// Handles completions, and what was closed.
    fn reap(&self, entered: &mut Entered) {
        let mut leftovers = Vec::new();
        let mut slots = self.slots.lock();
        for completion in entered.ring.completion() {
            match completion.user_data() {
                WATCH => {
                    entered.has_events = true;
                    entered.is_watching &= cqueue::more(completion.flags());
                }
                CANCEL => {}
                name => {
                    let buffer = cqueue::buffer_select(completion.flags());
                    let goes_on = cqueue::more(completion.flags());
                    let leftover = slots.complete(decode(name), completion.result(), buffer, goes_on);
                    leftovers.extend(leftover);
                }
            }
        }
        while let Some((socket, unsent)) = slots.take_closing() {
            drop(slots);
            // What the socket does not take is lost, as it would be without a ring.
            _ = socket.send(&unsent);
            socket.shut_down();
            leftovers.push(socket);
            slots = self.slots.lock();
        }
        // Closing enters the kernel.
        drop(slots);
        drop(leftovers);
    }

    /// Returns true if the calling thread runs the worker of this ring.
    fn is_here(&self) -> bool {
        WORKER_OF.get() == self.worker
    }

    /// Wakes the worker, unless it calls: then it looks by itself.
    fn wake_unless_here(&self) {
        if !self.is_here() {
            self.wake();
        }
    }

    fn wake(&self) {
        // It fails if the counter is full, in which case the worker is awake.
        _ = self.waker.wake();
    }
}

impl Drop for Ring {
    /// Waits for what is under way, shortly: all streams are closed. What the kernel does not give
    /// back is leaked.
    fn drop(&mut self) {
        if !self.is_own() {
            return;
        }
        let mut entered = self.entered.lock();
        self.reap(&mut entered);
        _ = entered.ring.submitter().register_sync_cancel(None, CancelBuilder::any());
        for _ in 0..LAST_LOOKS.0 {
            self.reap(&mut entered);
            if self.slots.lock().in_flight == 0 {
                break;
            }
            let timespec = Timespec::from(LAST_LOOKS.1);
            _ = entered.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&timespec));
        }
        // SAFETY: this process has made the ring, and nothing accesses it after this drop.
        unsafe { ManuallyDrop::drop(&mut entered) };
        drop(entered);
        let mut slots = self.slots.lock();
        if slots.in_flight == 0 {
            // SAFETY: the kernel has no operation, so no receive that may choose a buffer, and
            // `slots` is not accessed any more.
            unsafe {
                slots.buffers.free();
                ManuallyDrop::drop(&mut slots);
            }
        }
    }
}

/// The completions of the watched queue of events, and those of cancellations.
const WATCH: u64 = u64::MAX;
const CANCEL: u64 = u64::MAX - 1;

fn encode(name: Name) -> u64 {
    let operation = u64::from(name.operation == Operation::Send);
    u64::from(name.slot) << 1 | operation
}

fn decode(name: u64) -> Name {
    let operation = if name & 1 == 1 { Operation::Send } else { Operation::Receive };
    Name { slot: (name >> 1) as u32, operation }
}

fn entry(submission: &Submission) -> squeue::Entry {
    match *submission {
        Submission::Receive(name, fd) => {
            opcode::RecvMulti::new(Fd(fd), GROUP).build().user_data(encode(name))
        }
        Submission::Send(name, fd, bytes, length) => {
            let send = opcode::Send::new(Fd(fd), bytes, length);
            send.flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL).build().user_data(encode(name))
        }
        Submission::Cancel(name) => opcode::AsyncCancel::new(encode(name)).build().user_data(CANCEL),
    }
}

/// Returns why there can be no rings in this process, if so.
pub(crate) fn probe() -> Result<(), PlatformError> {
    let failed = |cause| PlatformError::with_cause("cannot make a queue of events", cause);
    let poll = mio::Poll::new().map_err(failed)?;
    let waker = Waker::new(poll.registry(), mio::Token(0)).map_err(failed)?;
    Ring::new(poll.as_raw_fd(), Arc::new(waker), super::NO_WORKER).map(drop)
}
