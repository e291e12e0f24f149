//! Spawning a task with several objects.

use super::body::MultiObject;
use super::object_set::{ObjectGrants, ObjectList, ObjectSet};
use super::placeholder::{GrantControl, Placeholder, allocate_placeholders, make_placeholder};
use crate::object::Fetch;
use crate::scheduler::Context;
use crate::sync::AtomicU32;
use crate::task::access::{MOST_OBJECTS, ObjectAccess};
use crate::task::body::{BodyWithSink, must_be_boxed, refuse, spawn_body, write};
use crate::task::options::{Options, SpawnRequest};
use crate::task::spawner::{CompleteTask, Route, sealed::Origin, sealed::Spawn};
use crate::task::{JoinError, Sink, Task, class_of};
use alloc::boxed::Box;
use alloc::vec;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// Spawns a task with several objects.
pub(crate) fn launch<G, P, F, K, R>(request: SpawnRequest<P>, list: G::List, body: F, sink: K)
where
    G: ObjectGrants,
    P: Spawn,
    F: for<'v> FnOnce(G::View<'v>, &mut Context) -> R + Send + 'static,
    K: Sink<R>,
    R: 'static,
{
    if const { must_be_boxed::<MultiObject<G, F, F>, K>() } {
        let boxed = Box::new(body);
        let body = move |view: G::View<'_>, cx: &mut Context| boxed(view, cx);
        push::<G, F, _, _, _, _>(request, list, body, sink);
    } else {
        push::<G, F, _, _, _, _>(request, list, body, sink);
    }
}

fn push<G, T, P, F, K, R>(mut request: SpawnRequest<P>, list: G::List, run: F, sink: K)
where
    G: ObjectGrants,
    T: 'static,
    P: Spawn,
    F: for<'v> FnOnce(G::View<'v>, &mut Context) -> R + Send + 'static,
    K: Sink<R>,
    R: 'static,
{
    let shared = request.spawner.origin_mut().shared();
    list.targets().iter().for_each(|target| target.check(shared));
    let placeholders = sequenced(&list).count();
    // Only the first object's part is prefetched.
    let fetch = list.targets().first().map_or(Fetch::NONE, ObjectAccess::fetch);
    let control = GrantControl {
        pending: AtomicU32::new(placeholders as u32),
        options: request.options,
        placeholders: None,
    };
    let objects = ObjectSet { control, list };
    let mut body = MultiObject { objects, run, grants: PhantomData::<fn() -> (G, T)> };
    if placeholders == 0 {
        return spawn_body(request, fetch, body, sink, Route::Bound(None));
    }
    let SpawnRequest { mut spawner, options } = request;
    let class = const { class_of::<BodyWithSink<MultiObject<G, T, F>, K>>() };
    let open = match spawner.origin_mut().keep_open() {
        Ok(guard) => guard,
        Err(why) => return refuse(spawner, body, sink, why),
    };
    let Some(task) = spawner.allocate_descriptor(class) else {
        // What is refused may end the runtime, which waits for the guard.
        drop(open);
        return refuse(spawner, body, sink, JoinError::OutOfMemory);
    };
    let (mut few, mut many);
    let route = if placeholders <= MOST_OBJECTS {
        few = [(usize::MAX, task); MOST_OBJECTS];
        &mut few[..placeholders]
    } else {
        many = vec![(usize::MAX, task); placeholders];
        &mut many[..]
    };
    if !allocate_placeholders(&mut spawner, route) {
        // SAFETY: allocated above, and not used.
        unsafe { spawner.origin_mut().give_back(class, task) };
        drop(open);
        return refuse(spawner, body, sink, JoinError::OutOfMemory);
    }
    sink.enter(spawner.origin_mut());
    let meta = spawner.admit_task(&options);
    body.objects.control.placeholders = enlist_for(&mut spawner, task, &options, &body.objects.list, route);
    // SAFETY: phase built: a fresh block of a class that holds this body. It and its placeholders
    // are complete, and delivered once.
    unsafe {
        write(task, fetch, meta, body, sink);
        spawner.deliver(CompleteTask { task, meta, fetch }, &options, Route::Enlist(route));
    }
    spawner.finish();
    drop(open);
}

/// Returns the numbers of the different sequenced objects, in address order.
fn sequenced(list: &impl ObjectList) -> impl Iterator<Item = usize> {
    let is_sequenced = |&number: &usize| list.targets()[number].reference.primitive().is_sequenced();
    (0..list.different()).map(|nth| list.nth(nth)).filter(is_sequenced)
}

/// Writes the placeholders of a task into the blocks of the route. Returns the first.
fn enlist_for<P: Spawn>(
    spawner: &mut P,
    task: NonNull<Task>,
    options: &Options,
    list: &impl ObjectList,
    route: &mut [(usize, NonNull<Task>)],
) -> Option<NonNull<Task>> {
    // In the order in which the task names the objects, not of their addresses, so that a
    // simulation can be replayed. The homes hold the numbers meanwhile.
    route.iter_mut().zip(sequenced(list)).for_each(|(slot, number)| slot.0 = number);
    route.sort_unstable_by_key(|slot| slot.0);
    let mut first = None;
    for slot in route.iter_mut().rev() {
        let target = list.targets()[slot.0].reference;
        slot.0 = target.home();
        let next = first.replace(slot.1);
        let placeholder = Placeholder { task, target, is_held: true, next };
        // SAFETY: phase built: allocated in the class of a placeholder.
        unsafe { make_placeholder(spawner, options, slot.1, placeholder) };
    }
    first
}
