//! Placeholders: the descriptors that queue at the homes of sequenced objects.

use crate::object::{Reference, Turn};
use crate::scheduler::Worker;
use crate::sync::{AcqRel, Acquire, AtomicPtr, AtomicU32, Release};
use crate::task::body::{describe_nothing, locate_nothing};
use crate::task::options::Options;
use crate::task::spawner::sealed::{Origin, Spawn};
use crate::task::{Task, VTable, class_of};
use core::ptr::NonNull;

/// The part of the task that its placeholders access. It comes first in the task's body, whatever
/// its type.
#[repr(C)]
pub(super) struct GrantControl {
    /// Placeholders that are not granted yet.
    pub(super) pending: AtomicU32,
    pub(super) options: Options,
    /// The first placeholder. Read by the granted task only.
    pub(super) placeholders: Option<NonNull<Task>>,
}

pub(super) struct Placeholder {
    pub(super) task: NonNull<Task>,
    pub(super) target: Reference,
    /// The object is held for the task: not if it was freed, or belongs to another runtime.
    pub(super) is_held: bool,
    /// The next placeholder of the same task.
    pub(super) next: Option<NonNull<Task>>,
}

/// Allocates a placeholder for each entry of the route. Returns false if there is not enough memory
/// for all; then none is allocated.
pub(super) fn allocate_placeholders<P: Spawn>(spawner: &mut P, route: &mut [(usize, NonNull<Task>)]) -> bool {
    let class = const { class_of::<Placeholder>() };
    for at in 0..route.len() {
        let Some(placeholder) = spawner.allocate_descriptor(class) else {
            // SAFETY: the earlier ones were allocated here, and are not used.
            route[..at]
                .iter()
                .for_each(|&(_, placeholder)| unsafe { spawner.origin_mut().give_back(class, placeholder) });
            return false;
        };
        route[at].1 = placeholder;
    }
    true
}

/// Writes the descriptor of a placeholder.
///
/// # Safety
///
/// `block` is fresh, and of the class for a [`Placeholder`].
pub(super) unsafe fn make_placeholder<P: Spawn>(
    spawner: &mut P,
    task: &Options,
    block: NonNull<Task>,
    placeholder: Placeholder,
) {
    // All placeholders have one priority. With several, two tasks could overtake each other in one
    // run queue and not in another. They belong to the operation of their task.
    let priority = Some(crate::Priority::Normal);
    let options = Options { priority, begins_operation: task.begins_operation, ..Options::PLAIN };
    let meta = spawner.admit_task(&options).protocol();
    // SAFETY: phase built: the block is fresh and large enough by this function's contract.
    unsafe {
        block.as_ptr().write(Task {
            vtable: &VTable { run: claim, locate: locate_nothing, cancel: claim, describe: describe_nothing },
            next: AtomicPtr::new(core::ptr::null_mut()),
            fetch: placeholder.target.fetch(crate::Part::HEAD),
            meta,
        });
        Task::body::<Placeholder>(block).write(placeholder);
    }
}

/// Holds the object for the task, or defers the placeholder; sends the task when this was its last
/// object.
unsafe fn claim(task: NonNull<Task>, cx: &mut Worker) {
    // SAFETY: phase running, at the object's home. The task is stored until `pending` is zero, so
    // its body is in place, and its epoch keeps the object alive.
    unsafe {
        let placeholder = &mut *Task::body::<Placeholder>(task);
        let (multi_object, header) = (placeholder.task, placeholder.target.header());
        if !task.as_ref().meta.has_grant_token() {
            match header.turn(cx.free_word) {
                Turn::Now => header.hold(),
                Turn::Later => return header.defer(task),
                // The task fails when it has all other objects.
                Turn::Never => placeholder.is_held = false,
            }
        }
        let control = Task::body::<GrantControl>(multi_object);
        let options = (*control).options;
        // AcqRel: the Release of the other homes, which have decremented before, pairs with the
        // Acquire of the last one. So the task sees all that the homes did to objects and
        // placeholders. From here on the placeholder belongs to the task: do not touch it.
        let pending = &(*control).pending;
        let before = if planted!("grant-counted-twice") {
            let before = pending.load(Acquire);
            pending.store(before - 1, Release);
            before
        } else {
            pending.fetch_sub(1, AcqRel)
        };
        if before == 1 {
            cx.send_granted(multi_object, &options);
        }
    }
}

/// Hands the object on after the task is done, and frees the placeholder.
pub(super) unsafe fn release(task: NonNull<Task>, cx: &mut Worker) {
    // SAFETY: phase running, at the object's home. The placeholder's epoch keeps the object alive
    // until `finished`.
    unsafe {
        let &Placeholder { target, is_held, .. } = &*Task::body::<Placeholder>(task);
        let meta = task.as_ref().meta;
        cx.free::<Placeholder>(task);
        if is_held {
            cx.hand_on(target.header());
        }
        cx.finished(meta.epoch());
    }
}
