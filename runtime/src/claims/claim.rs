//! Claims: ranges of granules that a task names at once, or by a plan.

use super::Granules;
use super::claim_state::{ClaimOptions, Request};
use super::granules::GranulesInner;
use super::plan::{Plan, PlanView};
use super::rights::{Ranges, check_range};
use crate::sync::Relaxed;
use alloc::boxed::Box;
use core::any::Any;
use core::fmt;
use core::ops::Range;

/// Ranges of granules, each to be read or written; or a plan that will name them.
#[must_use = "a claim has an effect only if it is given to a task"]
pub struct Claim<'g, D: Send + Sync + 'static = ()> {
    pub(super) inner: &'g GranulesInner<D>,
    pub(super) request: Request,
    /// Slot of the epoch that keeps the granules, for a claim made without a handle: its task must
    /// be of the same epoch.
    pub(super) operation: Option<u8>,
    pub(super) options: ClaimOptions,
}

impl<D: Send + Sync + 'static> Granules<D> {
    /// Creates a claim to read a range of granules.
    ///
    /// # Panics
    ///
    /// If the range ends behind the last granule.
    #[track_caller]
    pub fn read(&self, range: Range<u32>) -> Claim<'_, D> {
        Claim::nothing(self.inner()).and_read(range)
    }

    /// Creates a claim to write a range of granules.
    ///
    /// # Panics
    ///
    /// If the range ends behind the last granule.
    #[track_caller]
    pub fn write(&self, range: Range<u32>) -> Claim<'_, D> {
        Claim::nothing(self.inner()).and_write(range)
    }
}

impl<D: Send + Sync + 'static> Granules<D> {
    /// Creates a claim to what `plan` names, which depends on the data that it sees.
    ///
    /// The spawner calls the plan when the task is spawned. When the task has been granted all that
    /// the plan named, the plan is called again, by the worker that released the last granule (or
    /// the worker that gets to the task, if the claim is [unordered](Claim::unordered)). This
    /// repeats while the plan sees or names a granule that the task does not hold; then the task
    /// runs. So all that the plan saw in its last run stays the same until the task is over, and
    /// the body can repeat the plan's steps. As no task holds granules while it waits for others,
    /// there is no deadlock.
    ///
    /// The plan should be short, and depend on nothing but what it sees. If it panics, so does the
    /// task. If its claim has changed 16 times, the task claims all granules to write them.
    ///
    /// ```
    /// use xtasking::Runtime;
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// // Each granule names its successor.
    /// let rooms = rt.granules_of([2u32, 0, 1, 3]);
    /// let claim = rooms.planned(|view| {
    ///     let mut room = 0;
    ///     for _ in 0..2 {
    ///         let Some(next) = view.peek(room, |&next| next) else { return };
    ///         room = next;
    ///     }
    ///     view.write(room..room + 1);
    /// });
    /// let task = rt.task(()).claim(claim);
    /// let end = task.submit_with(|(), mut held, _| {
    ///     let room = *held.get(*held.get(0));
    ///     *held.get_mut(room) += 10;
    ///     room
    /// });
    /// assert_eq!(end.join()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn planned(&self, mut plan: impl FnMut(&mut PlanView<'_, '_, D>) + Send + 'static) -> Claim<'_, D> {
        let plan: Plan = Box::new(move |probe| {
            let granules: &dyn Any = probe.granules;
            let inner = granules.downcast_ref().expect("the plan was made for these granules");
            plan(&mut PlanView::new(inner, probe));
        });
        Claim { request: Request::Plan(plan), ..Claim::nothing(self.inner()) }
    }

    /// Creates a claim to write all granules that are [poisoned](Self::is_poisoned) when the plan
    /// runs, for a task that repairs them: see [`Claim::even_poisoned`]. (Another task may have
    /// repaired some of them meanwhile.)
    pub fn write_poisoned(&self) -> Claim<'_, D> {
        let claim = self.planned(|view| {
            let table = view.table();
            // Relaxed: a hint; the plan runs again when the granules are granted.
            if table.poisoned.load(Relaxed) > 0 {
                let poisoned = (0..view.count()).filter(|&granule| table.is_poisoned(granule));
                poisoned.for_each(|granule| view.write(granule..granule + 1));
            }
        });
        claim.even_poisoned()
    }
}

impl<'g, D: Send + Sync + 'static> Claim<'g, D> {
    pub(super) fn nothing(inner: &'g GranulesInner<D>) -> Self {
        let request = Request::Ranges(Ranges::default());
        Self { inner, request, operation: None, options: ClaimOptions::default() }
    }

    /// Creates a claim for a follow-up of a task that holds granules, which is of this operation.
    pub(super) fn within(inner: &'g GranulesInner<D>, operation: u8) -> Self {
        Self { operation: Some(operation), ..Self::nothing(inner) }
    }

    /// Adds a range to be read.
    ///
    /// # Panics
    ///
    /// If the range ends behind the last granule.
    #[track_caller]
    pub fn and_read(self, range: Range<u32>) -> Self {
        self.and(range, false)
    }

    /// Adds a range to be written. A granule that is claimed to be read and to be written is
    /// written.
    ///
    /// # Panics
    ///
    /// If the range ends behind the last granule.
    #[track_caller]
    pub fn and_write(self, range: Range<u32>) -> Self {
        self.and(range, true)
    }

    /// Lets the task run before conflicting tasks that were spawned earlier. The order is then one
    /// that another schedule of the spawns could have had.
    ///
    /// The task claims its granules when a worker gets to it: all of them, or none, so that a task
    /// that waits never holds what another one needs. If a granule is not available, the worker
    /// goes on with other tasks, and the task retries when the first granule that it lacked is
    /// released. After a writer, readers that wait to retry run in parallel, but only a bounded
    /// number of them, so that writers do not starve. After a bounded number of attempts the task
    /// enters the FIFO queues. A task with objects does so from the first.
    pub fn unordered(self) -> Self {
        Self { options: ClaimOptions { unordered: true, ..self.options }, ..self }
    }

    /// Lets the task run, and its plan see all data, even where granules are
    /// [poisoned](Granules::is_poisoned): to repair them.
    ///
    /// If the task ends without a panic, the granules that it has claimed to write are no longer
    /// poisoned. If it panics, all of them are. (Only data are repaired: a task that is spawned
    /// without access to them repairs nothing.) So the task should repair all that it [finds
    /// poisoned](crate::Held::is_poisoned), or claim no more than it repairs. A task may have
    /// claimed more, at the moment of its panic, than the same claim names later;
    /// [`write_poisoned`](Granules::write_poisoned) claims all of that.
    ///
    /// ```
    /// use xtasking::{JoinError, Runtime};
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// // The second half of each pair is twice the first.
    /// let pairs = rt.granules_of([(1, 2), (2, 4), (3, 6)]);
    /// let set = rt.task(()).claim(pairs.write(1..2)).submit_with(|(), mut held, _| {
    ///     held.get_mut(1).0 = 5;
    ///     panic!("half-way");
    /// });
    /// assert!(set.join().is_err() && pairs.is_poisoned(1));
    ///
    /// let claim = pairs.write(0..3).even_poisoned();
    /// let repair = rt.task(()).claim(claim).submit_with(|(), mut held, _| {
    ///     for granule in 0..3 {
    ///         if held.is_poisoned(granule) {
    ///             let pair = held.get_mut(granule);
    ///             pair.0 = pair.1 / 2;
    ///         }
    ///     }
    /// });
    /// repair.join()?;
    /// let pair = rt.task(()).claim(pairs.read(1..2)).submit_with(|(), held, _| *held.get(1));
    /// assert_eq!(pair.join()?, (2, 4));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn even_poisoned(self) -> Self {
        Self { options: ClaimOptions { even_poisoned: true, ..self.options }, ..self }
    }

    #[track_caller]
    fn and(mut self, range: Range<u32>, write: bool) -> Self {
        check_range(&range, self.inner.table.count());
        self.request = match self.request {
            Request::Ranges(mut ranges) => {
                ranges.add(range, write);
                Request::Ranges(ranges)
            }
            Request::Plan(mut plan) => Request::Plan(Box::new(move |probe| {
                probe.ranges.add(range.clone(), write);
                plan(probe);
            })),
        };
        self
    }
}

impl<D: Send + Sync + 'static> fmt::Debug for Claim<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.request {
            Request::Ranges(ranges) => f.debug_tuple("Claim").field(ranges).finish(),
            Request::Plan(_) => f.write_str("Claim(by a plan)"),
        }
    }
}
