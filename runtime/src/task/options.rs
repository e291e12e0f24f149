//! What a task is spawned with, besides its objects and its body.

use crate::annotation::{Place, Priority};

/// The annotations of a task, besides its objects.
///
/// No trait makes one, such as `Default`: code that is generic over a
/// [`Spawner`](crate::task::Spawner) could call the runtime's own methods with it.
#[derive(Clone, Copy)]
pub struct Options {
    pub(crate) priority: Option<Priority>,
    pub(crate) place: Place,
    pub(crate) cost: u16,
    pub(crate) rank: Option<u16>,
    pub(crate) begins_operation: bool,
}

impl Options {
    /// No annotations.
    pub(crate) const PLAIN: Self =
        Self { priority: None, place: Place::Here, cost: 0, rank: None, begins_operation: false };

    /// Returns true if there are no annotations.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.priority.is_none()
            && self.rank.is_none()
            && self.cost == 0
            && !self.begins_operation
            && matches!(self.place, Place::Here)
    }
}

/// A spawner and the annotations of the task to spawn.
pub struct SpawnRequest<P> {
    pub(crate) spawner: P,
    pub(crate) options: Options,
}
