//! What hosts and thieves do.
//!
//! A host is a message of the runtime's own to its worker, and each bucket has one that is always there: so it never lacks memory.
//! It runs tasks within itself, and goes on until its round is over. A thief is such a message, too. So nobody has a lock who is
//! not at work, or waits for the locks of higher buckets, or for thieves at work, who wait for nobody.

use super::super::stand::Stand;
use super::{DELAY_THRESHOLD, THRESHOLD, Toggle};
use crate::annotation::{Place, Priority};
use crate::object::Fetch;
use crate::scheduler::{Context, Seat};
use crate::sync::{AtomicPtr, Backoff, Relaxed};
use crate::task::builder::{Options, sealed::Spawn};
use crate::task::waiting::Waiting;
use crate::task::{Meta, Task, VTable, class_of, describe_nothing, locate_nothing};
use alloc::boxed::Box;
use core::mem::replace;
use core::ptr::{NonNull, null_mut};

/// The message that is the host of a bucket. It is in the hands of whoever finds that the bucket has no host, and then of the
/// host's worker.
pub(super) struct Message(NonNull<Host>);

#[repr(C)]
struct Host {
    task: Task,
    work: Work,
}

/// What a message to a host or a thief is about.
#[derive(Clone, Copy)]
struct Work {
    toggle: NonNull<Toggle>,
    bucket: u32,
}

/// Like all messages of the runtime's own they do what they have to when tasks are cancelled, too.
static HOST: VTable = VTable { run: host, locate: locate_nothing, cancel: host, describe: describe_nothing };
static THIEF: VTable =
    VTable { run: thief, locate: locate_nothing, cancel: thief, describe: describe_nothing };

fn message(vtable: &'static VTable, meta: Meta) -> Task {
    Task { vtable, next: AtomicPtr::new(null_mut()), fetch: Fetch::NONE, meta }
}

impl Message {
    pub fn new() -> Self {
        let task = message(&HOST, Meta::new(0, Priority::Normal, 0));
        let work = Work { toggle: NonNull::dangling(), bucket: 0 };
        Self(NonNull::from(Box::leak(Box::new(Host { task, work }))))
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        // SAFETY: made above from a box, and no host is under way: its epoch would keep the granules.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// What messages belong to: they are as urgent as most tasks.
fn options(worker: usize) -> Options {
    Options { priority: Some(Priority::Normal), place: Place::Core(worker as u16), ..Options::default() }
}

/// One message's time on a worker.
struct Turn<'c> {
    cx: &'c mut Context,
    /// What the task has cost that was run last, in multiples of a small one; 0 if there was none.
    ran: u64,
}

impl Turn<'_> {
    /// Another task is to be run. (What the last one of a message takes is that of the message.)
    fn go_on(&mut self) {
        if self.ran > 0 {
            self.cx.shared().platform.ran_within(replace(&mut self.ran, 0));
        }
    }

    fn run(&mut self, task: Waiting) {
        self.ran = task.cost();
        task.run_within(self.cx);
    }
}

impl Toggle {
    /// Sends the host of a bucket to its worker.
    ///
    /// # Safety
    ///
    /// It is in the caller's hands. The spawner keeps the granules.
    pub(super) unsafe fn call_host(&self, bucket: u32, spawner: &mut impl Spawn) {
        let options = options(bucket as usize);
        let meta = spawner.admit(&options).protocol();
        let Message(host) = self.bucket(bucket).host;
        // SAFETY: by the caller's promise.
        unsafe {
            (*host.as_ptr()).task.meta = meta;
            (*host.as_ptr()).work = Work { toggle: NonNull::from(self), bucket };
            spawner.send(host.cast(), &options, None, meta, Fetch::NONE);
        }
    }

    /// Takes tasks of a bucket in outer mode, and runs those of its inner buckets in inner mode. If more have come meanwhile,
    /// returns the slot of an epoch that one of these is of; else the bucket has no host any more.
    ///
    /// # Safety
    ///
    /// The caller is the host.
    unsafe fn round(&self, number: u32, cx: &mut Context) -> Option<u8> {
        let bucket = self.bucket(number);
        let epoch = cx.current.epoch();
        let mut turn = Turn { cx, ran: 0 };
        let (mut moved, mut filled, mut spanning) = (0, 0, 0);
        while moved < THRESHOLD && spanning < DELAY_THRESHOLD {
            let next = bucket.outer.lock().tasks.pop_front();
            let Some(stand) = next else { break };
            // SAFETY: whoever waits in a bucket is its host's, as are the inner buckets in outer mode.
            unsafe {
                if let Some(inner) = bucket.inner_of(&stand.as_ref().own().rights) {
                    moved += 1;
                    filled += bucket.inner[inner].with_mut(|tasks| {
                        let tasks = &mut *tasks;
                        tasks.push_back(stand);
                        usize::from(tasks.len() == 1)
                    });
                } else {
                    spanning += 1;
                    self.run_outer(number, stand, &mut turn);
                }
            }
        }
        if moved > 0 {
            turn.go_on();
            let shared = turn.cx.shared().clone();
            let locked: &[u32] = if planted!("toggle-phase-unlocked") { &[] } else { &[number] };
            self.lock(locked, &shared);
            bucket.phase.open();
            // SAFETY: the caller is the host.
            unsafe { self.claim_all(number, filled > 1, &mut turn) };
            let mut backoff = Backoff::new();
            while !bucket.phase.is_over() {
                backoff.wait();
                shared.platform.interleave(true);
            }
            self.unlock(locked);
        }
        let mut outer = bucket.outer.lock();
        // SAFETY: as above.
        let next = outer.tasks.front().map(|next| unsafe { next.as_ref().own() });
        if planted!("toggle-host-looks-too-early") {
            drop(outer);
            outer = bucket.outer.lock();
        }
        outer.has_host = next.is_some();
        next.map(|next| next.epoch().unwrap_or(epoch))
    }

    /// Runs a task with the locks of all outer buckets that it covers.
    ///
    /// # Safety
    ///
    /// The task was taken out of that bucket by its host.
    unsafe fn run_outer(&self, number: u32, stand: NonNull<Stand>, turn: &mut Turn<'_>) {
        turn.go_on();
        let task = {
            // SAFETY: by the caller's promise.
            let (this, own) = unsafe { (stand.as_ref(), stand.as_ref().own()) };
            let mut covered = self.covered(&own.rights);
            covered.retain(|bucket| *bucket != number || !planted!("toggle-host-unlocked"));
            self.lock(&covered, turn.cx.shared());
            if this.settles(own, || self.all_of(&covered)) {
                own.buckets = Some(covered.into_boxed_slice());
                own.task.take()
            } else {
                self.unlock(&covered);
                None
            }
        };
        match task {
            Some(task) => turn.run(task),
            // SAFETY: it waits, and wants something that it does not have.
            None => unsafe { self.put(stand, &mut &mut *turn.cx) },
        }
    }

    /// Claims inner buckets, and runs what waits there, until there are none left; calls others to do the same, if that is
    /// worth it.
    ///
    /// # Safety
    ///
    /// The caller's epoch keeps the granules.
    unsafe fn claim_all(&self, number: u32, shares: bool, turn: &mut Turn<'_>) {
        let bucket = self.bucket(number);
        while let Some(claimed) = bucket.phase.claim() {
            let tasks = &bucket.inner[claimed.bucket];
            // SAFETY: the inner bucket was claimed.
            while let Some(stand) = tasks.with_mut(|tasks| unsafe { (*tasks).pop_front() }) {
                turn.go_on();
                if shares && bucket.phase.has_more() && turn.cx.shared().is_anybody_hungry() {
                    self.call_thief(number, turn.cx);
                }
                let task = {
                    // SAFETY: it was taken out just now.
                    let (this, own) = unsafe { (stand.as_ref(), stand.as_ref().own()) };
                    let settles = this.settles(own, || bucket.all_of(claimed.bucket));
                    // The host has the lock.
                    own.buckets = settles.then(Box::default);
                    own.task.take_if(|_| settles)
                };
                match task {
                    Some(task) => turn.run(task),
                    // SAFETY: it waits, and wants something that it does not have.
                    None => unsafe { self.put(stand, &mut &mut *turn.cx) },
                }
            }
        }
    }

    /// Calls a worker that has nothing to do to claim inner buckets, if any has, and there is memory for a message.
    fn call_thief(&self, bucket: u32, cx: &mut Context) {
        let (own, seats) = (cx.worker(), &cx.shared().seats);
        let others = (1..seats.len()).map(|distance| (own + distance) % seats.len());
        // The swap sees to it that the next one who calls finds another one.
        let is_idle = |seat: &Seat| seat.idle.load(Relaxed) && seat.idle.swap(false, Relaxed);
        let sleeps = |seat: &Seat| seat.asleep.0.load(Relaxed) && seat.rest.is_empty();
        let Some(worker) = others.into_iter().find(|&other| is_idle(&seats[other]) || sleeps(&seats[other]))
        else {
            return;
        };
        let mut spawner = cx;
        let Some(task) = spawner.allocate(const { class_of::<Work>() }) else { return };
        let meta = spawner.admit(&options(worker)).protocol();
        // SAFETY: a fresh block of a class that holds this body.
        unsafe {
            task.as_ptr().write(message(&THIEF, meta));
            Task::body::<Work>(task).write(Work { toggle: NonNull::from(self), bucket });
        }
        spawner.send_to(task, worker);
    }
}

/// The message that is a host.
unsafe fn host(mut task: NonNull<Task>, cx: &mut Context) {
    // SAFETY: the task is of this kind, and belongs to this worker until its bucket has no host. Its epoch keeps the granules.
    unsafe {
        let &Work { toggle, bucket } = &*Task::body::<Work>(task);
        let meta = task.as_ref().meta;
        if let Some(epoch) = toggle.as_ref().round(bucket, cx) {
            // Of the epoch of a task that waits, which keeps the granules as well: one host that goes on and on would keep
            // everything that is retired.
            cx.started(epoch);
            let next = meta.in_epoch(epoch);
            task.as_mut().meta = next;
            cx.push_here(task, next, Fetch::NONE);
        }
        cx.finished(meta.epoch());
    }
}

/// The message that makes a worker a thief.
unsafe fn thief(task: NonNull<Task>, cx: &mut Context) {
    // SAFETY: the task is of this kind, and belongs to this worker. Its epoch keeps the granules.
    unsafe {
        let Work { toggle, bucket } = Task::body::<Work>(task).read();
        let meta = task.as_ref().meta;
        cx.free::<Work>(task);
        toggle.as_ref().claim_all(bucket, true, &mut Turn { cx, ran: 0 });
        cx.finished(meta.epoch());
    }
}
