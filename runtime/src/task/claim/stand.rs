//! A task that stands in the lines of all granules that it has claimed.
//!
//! The task is made at once, by whatever makes its kind, of a spawner that does not send it: it leaves it here. Then it takes
//! its places, all in one step as others see it: it has locked all its lines before it lets go of any. So any two tasks stand
//! in the same order wherever they meet, and nobody waits in a circle. Whoever grants the last place sends the task; and when
//! that is over it gives all of them back, which grants others theirs.

use super::line::{Line, Place};
use super::{Claim, Immediate};
use crate::scheduler::Context;
use crate::sync::{AcqRel, Acquire, AtomicU32, Padded, Relaxed, Release, SpinMutex, UnsafeCell};
use crate::task::builder::{Options, sealed::Spawn};
use crate::task::group::Membership;
use crate::task::waiting::{Waiting, leaves_its_task};
use crate::task::{JoinError, Meta, Sink, Spawner, Task};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ptr::NonNull;

pub(super) type Lines = Arc<[Padded<SpinMutex<Line>>]>;

/// See the module's documentation.
pub(crate) struct Stand {
    lines: Lines,
    /// In order of granules, each once.
    places: Box<[Place]>,
    /// How many were not granted yet, and one more until all have been asked for.
    pending: AtomicU32,
    /// Belongs to the spawner, and then to whoever grants the last place.
    task: UnsafeCell<Option<Waiting>>,
}

// SAFETY: the task is one that was given up by its spawner, and who has it is told by the count.
unsafe impl Send for Stand {}
// SAFETY: as above; all else is shared by locks and atomics.
unsafe impl Sync for Stand {}

impl Stand {
    fn new(lines: Lines, places: Box<[Place]>) -> Self {
        let pending = AtomicU32::new(places.len() as u32 + 1);
        Self { lines, places, pending, task: UnsafeCell::new(None) }
    }

    /// Takes all places.
    ///
    /// # Safety
    ///
    /// The caller has left the task here, and somebody keeps this until the task has run.
    unsafe fn enter(&self, spawner: &mut impl Spawn) {
        self.places.iter().for_each(|place| place.belongs_to(self));
        let enter = |line: &mut Line, place| u32::from(line.enter(place));
        let granted: u32 = if planted!("claim-in-many-steps") {
            self.places.iter().map(|place| enter(&mut self.line(place).lock(), place)).sum()
        } else {
            // Ascending, as they all do.
            let mut locked: Vec<_> = self.places.iter().map(|place| self.line(place).lock()).collect();
            locked.iter_mut().zip(&self.places).map(|(line, place)| enter(line, place)).sum()
        };
        let own: u32 = if planted!("claim-sent-twice") { 0 } else { 1 };
        // SAFETY: those that were granted here are counted here, once. The one more is counted with them: others may have
        // granted all that was not, and would be gone with the task.
        unsafe { Self::grant(self.into(), granted + own, spawner) };
    }

    /// Counts places that were granted, and sends the task if there are no others. Unless it does so, nothing of the stand may
    /// be left as soon as they are counted.
    ///
    /// # Safety
    ///
    /// Each place is counted once.
    unsafe fn grant(stand: NonNull<Self>, places: u32, spawner: &mut impl Spawn) {
        // SAFETY: until all places are counted the task has not run, which keeps the stand.
        let pending = unsafe { &(*stand.as_ptr()).pending };
        // AcqRel: the task comes after all that was done before with any of its granules, whoever has granted that.
        let before = if planted!("claim-counted-twice") {
            let before = pending.load(Acquire);
            pending.store(before - places, Release);
            before
        } else {
            pending.fetch_sub(places, if planted!("claim-granted-unordered") { Relaxed } else { AcqRel })
        };
        if before == places {
            // SAFETY: the last one has the task alone, which keeps the stand until it has run.
            let task = unsafe { stand.as_ref().task.with_mut(|task| (*task).take()) };
            task.expect("it was left here before it took any place").send(spawner);
        }
    }

    /// Gives all places back.
    fn leave(&self, mut cx: &mut Context) {
        for place in &self.places {
            let granted = self.line(place).lock().leave();
            granted.for_each(|stand| {
                // SAFETY: its place was granted just now, and it waits to be told so.
                unsafe { Self::grant(stand, 1, &mut cx) };
            });
        }
    }

    fn line(&self, place: &Place) -> &SpinMutex<Line> {
        &self.lines[place.granule as usize].0
    }
}

/// A spawner whose task claims granules.
pub struct Claiming<P: Spawner> {
    spawner: P,
    stand: Arc<Stand>,
    has_task: bool,
}

impl<P: Immediate> Claiming<P> {
    pub(crate) fn new(spawner: P, claim: Claim) -> (Self, Arc<Stand>) {
        claim.granules.check(spawner.shared());
        let stand = Arc::new(Stand::new(claim.granules.lines.clone(), claim.places()));
        (Self { spawner, stand: stand.clone(), has_task: false }, stand)
    }
}

impl<P: Spawner> Claiming<P> {
    fn leave(&mut self, task: Waiting) {
        // SAFETY: no place is taken yet, so nobody else looks at it.
        self.stand.task.with_mut(|place| unsafe { *place = Some(task) });
        self.has_task = true;
    }
}

impl<P: Spawner> Drop for Claiming<P> {
    fn drop(&mut self) {
        if self.has_task {
            // SAFETY: the task was left above, and its sink keeps the stand.
            unsafe { self.stand.enter(&mut self.spawner) };
        }
    }
}

/// Where a task with a claim belongs to: to a group or none, and to its stand.
pub struct Within<M> {
    membership: M,
    stand: Arc<Stand>,
}

impl<M: Membership> Within<M> {
    pub(crate) fn new(membership: M, stand: Arc<Stand>) -> Self {
        Self { membership, stand }
    }
}

impl<M: Membership> crate::task::group::SealedMembership for Within<M> {}

impl<M: Membership> Membership for Within<M> {
    type Sink = Leaving<M::Sink>;

    fn sink(self) -> Self::Sink {
        Leaving { sink: self.membership.sink(), stand: self.stand }
    }
}

/// Gives the granules back when the task is over, and then tells another sink.
pub struct Leaving<K> {
    sink: K,
    stand: Arc<Stand>,
}

impl<K: Sink<()>> Sink<()> for Leaving<K> {
    fn enter(&self, spawner: &mut impl Spawner) {
        self.sink.enter(spawner);
    }

    fn start(&self, cx: &mut Context) -> bool {
        self.sink.start(cx)
    }

    fn complete(self, outcome: Result<(), JoinError>, cx: &mut Context) {
        self.stand.leave(cx);
        self.sink.complete(outcome, cx);
    }

    fn refuse(self, spawner: &impl Spawner) {
        self.sink.refuse(spawner);
    }
}

impl<P: Spawner> Spawn for Claiming<P> {
    leaves_its_task!();

    fn admit(&mut self, options: &Options) -> Meta {
        self.spawner.admit(options)
    }

    unsafe fn send_bare(&mut self, task: NonNull<Task>, options: &Options, _: Meta) {
        self.leave(Waiting::Bare(task, *options));
    }
}
