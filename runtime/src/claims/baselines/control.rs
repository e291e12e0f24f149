//! The choice of an admission for granules.

use super::any_admission::AnyAdmission;
use super::cover::Granularity;
use super::interval_locks::IntervalLocks;
use super::parked_locks::ParkedLocks;
use super::toggle::{Toggle, ToggleCounts};
use crate::claims::{Directory, Granules};
use crate::scheduler::{Runtime, RuntimeState};
use alloc::boxed::Box;

/// How tasks with conflicting claims are kept apart, and which workers the tasks go to.
///
/// [`Fifo`](Self::Fifo) is what [`Runtime::granules_of`] uses. The others are baselines for
/// comparison: a worker whose task has to wait does nothing else meanwhile, and tasks that are
/// bound to no worker are dealt out in turn, or wait for one. Conflicting tasks run in the order in
/// which they start, not in that of their spawns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Control {
    /// A FIFO queue lock for each granule; tasks are parked until they are granted all. See
    /// [`Granules`].
    #[default]
    Fifo,
    /// One reader-writer lock for all granules.
    Coarse,
    /// A reader-writer lock for each granule, acquired one after the other in ascending order.
    InOrder,
    /// A lock of the interval from the first to the last granule of a task. (Kalikar, Nasre,
    /// "DomLock: A New Multi-Granularity Locking Technique for Hierarchies", PPoPP 2016.)
    DomLock,
    /// Locks of several intervals for each task. Their number minimises the expected cost, from the
    /// time to lock one more, measured when the granules are made, and the time for which tasks
    /// have held theirs. (Kalikar, Nasre, "NumLock: Towards Optimal Multi-Granularity Locking in
    /// Hierarchies", ICPP 2018.)
    NumLock,
    /// Each worker hosts a bucket: an equal stretch of the granules. A task waits in the lowest
    /// bucket that it covers, until the host runs it: alone, with all buckets locked that it
    /// covers; or, if it fits one of the smaller buckets into which each is divided, in a phase in
    /// which the host and idle workers run these in parallel. (Kalikar, Nasre, "Toggle:
    /// Contention-Aware Task Scheduler for Concurrent Hierarchical Operations", Euro-Par 2019, with
    /// a lock and a wait that its correctness needs.)
    ///
    /// Readers of one bucket exclude each other. Priorities and ranks have no effect while tasks
    /// wait. Tasks with objects, or bound to a place, wait on their worker for the buckets that
    /// they cover.
    Toggle,
    /// [`Toggle`](Self::Toggle) with other locks of hosts: of intervals of granules in the place of
    /// whole buckets. Readers share them. A host locks its bucket for a phase as a whole.
    ToggleOn(Granularity),
    /// Locks like those of [`Coarse`](Self::Coarse), [`InOrder`](Self::InOrder),
    /// [`DomLock`](Self::DomLock) or [`NumLock`](Self::NumLock), under which tasks wait like those
    /// with [unordered](crate::Claim::unordered) claims: parked, with readers that overtake a
    /// bounded number of times, and at the home of their granules. So only what is locked differs
    /// from [`Fifo`](Self::Fifo). All claims are unordered.
    Parked(Granularity),
}

impl Control {
    /// Returns what is locked for a task; `None` for the queue locks and for Toggle.
    #[must_use]
    pub fn granularity(self) -> Option<Granularity> {
        match self {
            Self::Fifo | Self::Toggle | Self::ToggleOn(_) => None,
            Self::Coarse => Some(Granularity::All),
            Self::InOrder => Some(Granularity::Exact),
            Self::DomLock => Some(Granularity::Hull),
            Self::NumLock => Some(Granularity::Cheapest),
            Self::Parked(granularity) => Some(granularity),
        }
    }

    fn admission(self, shared: &RuntimeState, granules: u32) -> AnyAdmission {
        match (self, self.granularity()) {
            (Self::Toggle, _) => AnyAdmission::Toggle(Box::new(Toggle::new(None, shared, granules))),
            (Self::ToggleOn(granularity), _) => {
                AnyAdmission::Toggle(Box::new(Toggle::new(Some(granularity), shared, granules)))
            }
            (Self::Parked(granularity), _) => {
                AnyAdmission::Parked(Box::new(ParkedLocks::new(granularity, shared, granules)))
            }
            (_, Some(granularity)) => {
                AnyAdmission::Intervals(IntervalLocks::new(granularity, shared, granules))
            }
            (_, None) => AnyAdmission::Fifo,
        }
    }
}

impl Runtime {
    /// Creates granules like [`granules_with`](Self::granules_with), with the given control.
    ///
    /// [`Granules::version`] is always `None` for other controls than [`Control::Fifo`].
    ///
    /// # Panics
    ///
    /// If there are 2³² items or more.
    pub fn granules_with_control<D: Send + Sync + 'static>(
        &self,
        control: Control,
        directory: Directory,
        data: impl IntoIterator<Item = D>,
    ) -> Granules<D> {
        self.granules_under(|shared, count| control.admission(shared, count), directory, data)
    }
}

impl<D: Send + Sync + 'static> Granules<D> {
    /// Returns what the hosts and thieves of Toggle have done with these granules until now; `None`
    /// with other controls.
    #[must_use]
    pub fn toggle_counts(&self) -> Option<ToggleCounts> {
        match &self.inner().table.admission {
            AnyAdmission::Toggle(toggle) => Some(toggle.counts()),
            _ => None,
        }
    }
}
