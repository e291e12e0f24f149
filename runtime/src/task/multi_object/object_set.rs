//! The objects of a task, and what its body gets of them.

use super::placeholder::{GrantControl, Placeholder, release};
use crate::scheduler::Worker;
use crate::task::access::ObjectAccess;
use crate::task::body::{describe_nothing, locate_nothing};
use crate::task::entry::{enter, leave};
use crate::task::{Task, VTable};

/// What the body gets of a tuple of accesses.
///
/// # Safety
///
/// As for [`Grant`](crate::task::grant::Grant), for each access of the tuple.
pub unsafe trait ObjectGrants<const N: usize>: 'static {
    /// What the body gets.
    type View<'v>;
    /// Private copies, for classes that work on copies.
    type Locals;
    /// For each object, true if a panic may leave it half-written.
    const IN_PLACE: [bool; N];
    /// The names of the objects' types.
    fn data() -> [&'static str; N];
    /// Copies the values of classes that work on copies.
    ///
    /// # Safety
    ///
    /// The objects are alive.
    unsafe fn copy(targets: &[ObjectAccess; N]) -> Self::Locals;
    /// Returns what the body gets.
    ///
    /// # Safety
    ///
    /// The objects are alive, entered in their modes for `'v`, and different where written.
    unsafe fn view<'v>(targets: &[ObjectAccess; N], locals: &'v mut Self::Locals) -> Self::View<'v>;
    /// Publishes the copies.
    ///
    /// # Safety
    ///
    /// The objects are alive.
    unsafe fn publish(targets: &[ObjectAccess; N], locals: Self::Locals);
}

/// The objects of a task.
#[repr(C)]
pub(super) struct ObjectSet<const N: usize> {
    pub(super) control: GrantControl,
    pub(super) targets: [ObjectAccess; N],
    /// Indices of the different objects in address order; the first `different` of them count.
    pub(super) order: [u8; N],
    pub(super) different: u8,
}

/// Returns the indices of the different objects in address order, and their number.
///
/// # Panics
///
/// If the same object is named twice, once for writing.
pub(super) fn in_address_order<const N: usize>(targets: &[ObjectAccess; N]) -> ([u8; N], usize) {
    let mut order: [u8; N] = core::array::from_fn(|index| index as u8);
    let address = |index: u8| targets[usize::from(index)].reference.address();
    order.sort_unstable_by_key(|&index| (address(index), index));
    let mut different = 1;
    for at in 1..N {
        let last = order[different - 1];
        if address(order[at]) == address(last) {
            let both = [order[at], last].map(|index| targets[usize::from(index)].write);
            assert!(both == [false; 2], "a task names the same object twice, and writes it");
        } else {
            order[different] = order[at];
            different += 1;
        }
    }
    (order, different)
}

impl<const N: usize> ObjectSet<N> {
    pub(super) fn objects(&self) -> impl DoubleEndedIterator<Item = ObjectAccess> + '_ {
        self.order[..usize::from(self.different)].iter().map(|&index| self.targets[usize::from(index)])
    }

    /// Hands the sequenced objects on, each at its home.
    ///
    /// # Safety
    ///
    /// All placeholders of the task were granted, and the task has left its objects.
    pub(super) unsafe fn hand_on(&self, cx: &mut Worker) {
        let mut rest = self.control.placeholders;
        while let Some(placeholder) = rest {
            // SAFETY: after the grant the placeholders belong to the task alone. The objects are
            // held for it, and its epoch keeps them alive.
            unsafe {
                let &Placeholder { target, next, .. } = &*Task::body::<Placeholder>(placeholder);
                rest = next;
                let home = cx.home_of(target);
                if home == cx.index() {
                    release(placeholder, cx);
                } else {
                    (*placeholder.as_ptr()).vtable = &VTable {
                        run: release,
                        locate: locate_nothing,
                        cancel: release,
                        describe: describe_nothing,
                    };
                    cx.send_to(placeholder, home);
                }
            }
        }
    }

    /// Enters all objects in address order, so that every version is odd before any object is
    /// written.
    ///
    /// # Safety
    ///
    /// The objects are alive, and granted to this task.
    pub(super) unsafe fn enter(&self, cx: &Worker) {
        for target in self.objects() {
            // SAFETY: alive by this function's contract.
            let header = unsafe { target.reference.header() };
            enter(header, target.reference.primitive(), target.write, cx);
        }
    }

    /// Leaves all objects, in descending address order.
    ///
    /// # Safety
    ///
    /// The objects are alive and entered.
    pub(super) unsafe fn leave(&self) {
        for target in self.objects().rev() {
            // SAFETY: alive by this function's contract.
            leave(unsafe { target.reference.header() }, target.reference.primitive(), target.write);
        }
    }
}
