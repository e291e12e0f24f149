//! The objects of a task, and what its body gets of them.

use super::placeholder::{GrantControl, Placeholder, release};
use crate::scheduler::Worker;
use crate::task::access::ObjectAccess;
use crate::task::body::{describe_nothing, locate_nothing};
use crate::task::entry::{enter, leave, mend, poison};
use crate::task::{JoinError, Task, VTable};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// What the body gets of several accesses.
///
/// # Safety
///
/// As for [`Grant`](crate::task::grant::Grant), for each access.
pub unsafe trait ObjectGrants: 'static {
    /// How the accesses are stored.
    type List: ObjectList;
    /// What the body gets.
    type View<'v>;
    /// Private copies, for classes that work on copies.
    type Locals;
    /// Returns true if a panic may leave an object half-written.
    fn is_in_place(number: usize, target: &ObjectAccess) -> bool;
    /// Returns the name of an object's type.
    fn data(number: usize) -> &'static str;
    /// Copies the values of classes that work on copies.
    ///
    /// # Safety
    ///
    /// The objects are alive.
    unsafe fn copy(targets: &[ObjectAccess]) -> Self::Locals;
    /// Returns what the body gets.
    ///
    /// # Safety
    ///
    /// The objects are alive, entered in their modes for `'v`, and different where written.
    unsafe fn view<'v>(targets: &[ObjectAccess], locals: &'v mut Self::Locals) -> Self::View<'v>;
    /// Publishes the copies.
    ///
    /// # Safety
    ///
    /// The objects are alive.
    unsafe fn publish(targets: &[ObjectAccess], locals: Self::Locals);
}

/// The accesses of a task, in the order in which it names them.
pub trait ObjectList: Send + 'static {
    #[doc(hidden)]
    fn targets(&self) -> &[ObjectAccess];
    /// Returns how many different objects there are.
    #[doc(hidden)]
    fn different(&self) -> usize;
    /// Returns the number of an access to the object that is the `nth` in address order.
    #[doc(hidden)]
    fn nth(&self, nth: usize) -> usize;
    /// Returns true if the same object is named twice, once for writing. Such a task fails.
    #[doc(hidden)]
    fn names_twice(&self) -> bool {
        false
    }
}

/// As many accesses as the type of the task says.
pub struct FixedList<const N: usize> {
    targets: [ObjectAccess; N],
    /// Indices of the different objects in address order; the first `different` of them count.
    order: [u8; N],
    different: u8,
}

impl<const N: usize> FixedList<N> {
    /// # Panics
    ///
    /// If the same object is named twice, once for writing.
    pub(crate) fn new(targets: [ObjectAccess; N]) -> Self {
        let mut order: [u8; N] = core::array::from_fn(|index| index as u8);
        let different = sort_by_address(&targets, &mut order);
        let different = different.expect("a task names the same object twice, and writes it");
        Self { targets, order, different: different as u8 }
    }
}

impl<const N: usize> ObjectList for FixedList<N> {
    fn targets(&self) -> &[ObjectAccess] {
        &self.targets
    }

    fn different(&self) -> usize {
        usize::from(self.different)
    }

    fn nth(&self, nth: usize) -> usize {
        usize::from(self.order[nth])
    }
}

/// Any number of accesses.
pub struct AccessList {
    targets: Box<[ObjectAccess]>,
    /// Indices of the different objects in address order.
    order: Vec<u32>,
    names_twice: bool,
}

impl AccessList {
    /// # Panics
    ///
    /// If there are 2³² accesses or more.
    pub(crate) fn new(targets: Box<[ObjectAccess]>) -> Self {
        let count = u32::try_from(targets.len()).expect("a task names fewer than 4294967296 objects");
        let mut order: Vec<u32> = (0..count).collect();
        let different = sort_by_address(&targets, &mut order);
        // A task that fails enters no object.
        order.truncate(different.unwrap_or(0));
        Self { targets, order, names_twice: different.is_none() }
    }
}

impl ObjectList for AccessList {
    fn targets(&self) -> &[ObjectAccess] {
        &self.targets
    }

    fn different(&self) -> usize {
        self.order.len()
    }

    fn nth(&self, nth: usize) -> usize {
        self.order[nth] as usize
    }

    fn names_twice(&self) -> bool {
        self.names_twice
    }
}

/// Sorts the indices of all objects by address, with those of different objects first. Returns
/// their number; `None` if the same object is named twice, once for writing.
fn sort_by_address<I: Copy + Ord + TryInto<usize>>(
    targets: &[ObjectAccess],
    order: &mut [I],
) -> Option<usize> {
    let target = |index: I| &targets[index.try_into().unwrap_or(usize::MAX)];
    order.sort_unstable_by_key(|&index| (target(index).reference.address(), index));
    let mut different = 0_usize;
    for at in 0..order.len() {
        let (here, last) = (target(order[at]), different.checked_sub(1).map(|last| target(order[last])));
        match last.filter(|last| last.reference.address() == here.reference.address()) {
            Some(last) if last.write || here.write => return None,
            Some(_) => {}
            None => {
                order[different] = order[at];
                different += 1;
            }
        }
    }
    Some(different)
}

/// The objects of a task.
#[repr(C)]
pub(super) struct ObjectSet<L> {
    pub(super) control: GrantControl,
    pub(super) list: L,
}

impl<L: ObjectList> ObjectSet<L> {
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
    /// # Errors
    ///
    /// If an object is poisoned, was freed or belongs to another runtime, or if the objects
    /// contradict each other. None is entered then.
    ///
    /// # Safety
    ///
    /// The objects are alive, and granted to this task.
    pub(super) unsafe fn enter(&self, cx: &mut Worker) -> Result<(), JoinError> {
        if self.list.names_twice() {
            return Err(JoinError::NamedTwice);
        }
        for nth in 0..self.list.different() {
            let target = self.list.targets()[self.list.nth(nth)];
            // SAFETY: alive by this function's contract; the objects before this one are entered.
            unsafe {
                let header = target.reference.header();
                // A sequenced object that is freed or foreign was not held for this task.
                let entered = if header.is_of(cx.free_word) {
                    enter(header, target.reference, target.write, cx)
                } else {
                    Err(header.refusal())
                };
                if let Err(error) = entered {
                    leave_first(&self.list, nth);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Leaves all objects, in descending address order.
    ///
    /// # Safety
    ///
    /// The objects are alive and entered.
    pub(super) unsafe fn leave(&self) {
        // SAFETY: this function's contract.
        unsafe { leave_first(&self.list, self.list.different()) };
    }
}

/// Clears the poison of the objects that were entered though they are poisoned.
///
/// # Safety
///
/// The objects are alive and entered.
pub(crate) unsafe fn mend_all(list: &impl ObjectList) {
    // SAFETY: this function's contract. Only writers enter objects that are poisoned.
    list.targets().iter().for_each(|target| unsafe { mend(target.reference) });
}

/// Marks the objects that a panic may have left half-written.
///
/// # Safety
///
/// The objects are alive and entered.
#[cold]
pub(crate) unsafe fn poison_all<G: ObjectGrants>(targets: &[ObjectAccess]) {
    for (number, target) in targets.iter().enumerate() {
        if G::is_in_place(number, target) {
            // SAFETY: this function's contract. Only what is written is written in place.
            unsafe { poison(target.reference) };
        }
    }
}

/// Leaves the first `entered` objects, in descending address order.
///
/// # Safety
///
/// They are alive and entered.
pub(crate) unsafe fn leave_first(list: &impl ObjectList, entered: usize) {
    for nth in (0..entered).rev() {
        let target = list.targets()[list.nth(nth)];
        // SAFETY: alive by this function's contract.
        leave(unsafe { target.reference.header() }, target.reference.primitive(), target.write);
    }
}
