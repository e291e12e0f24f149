//! Spawning a task with several objects.

use super::body::MultiObject;
use super::object_set::{ObjectGrants, ObjectSet, in_address_order};
use super::placeholder::{GrantControl, Placeholder, allocate_placeholders, make_placeholder};
use crate::scheduler::Context;
use crate::sync::AtomicU32;
use crate::task::access::ObjectAccess;
use crate::task::body::{BodyWithSink, must_be_boxed, refuse, spawn_body, write};
use crate::task::options::SpawnRequest;
use crate::task::spawner::{CompleteTask, Route, sealed::Origin, sealed::Spawn};
use crate::task::{Sink, class_of};
use alloc::boxed::Box;
use core::marker::PhantomData;

/// Spawns a task with several objects.
pub(crate) fn launch<G, const N: usize, P, F, K, R>(
    request: SpawnRequest<P>,
    targets: [ObjectAccess; N],
    body: F,
    sink: K,
) where
    G: ObjectGrants<N>,
    P: Spawn,
    F: for<'v> FnOnce(G::View<'v>, &mut Context) -> R + Send + 'static,
    K: Sink<R>,
    R: 'static,
{
    if const { must_be_boxed::<MultiObject<G, F, N, F>, K>() } {
        let boxed = Box::new(body);
        let body = move |view: G::View<'_>, cx: &mut Context| boxed(view, cx);
        push::<G, F, N, _, _, _, _>(request, targets, body, sink);
    } else {
        push::<G, F, N, _, _, _, _>(request, targets, body, sink);
    }
}

fn push<G, T, const N: usize, P, F, K, R>(
    mut request: SpawnRequest<P>,
    targets: [ObjectAccess; N],
    run: F,
    sink: K,
) where
    G: ObjectGrants<N>,
    T: 'static,
    P: Spawn,
    F: for<'v> FnOnce(G::View<'v>, &mut Context) -> R + Send + 'static,
    K: Sink<R>,
    R: 'static,
{
    let shared = request.spawner.origin_mut().shared();
    targets.iter().for_each(|target| target.check(shared));
    let (indices, different) = in_address_order(&targets);
    let free_word = shared.free_word;
    // SAFETY: the caller's handle, or the epoch of the running task, keeps every named object alive
    // during the spawn.
    let is_own =
        |target: &ObjectAccess| target.runtime != 0 || unsafe { target.reference.header() }.is_of(free_word);
    assert!(targets.iter().all(is_own), "an object is used by a task of another runtime");
    let sequenced = |&&index: &&u8| targets[usize::from(index)].reference.primitive().is_sequenced();
    let placeholders = indices[..different].iter().filter(sequenced).count();

    let fetch = targets[0].fetch();
    let control = GrantControl {
        pending: AtomicU32::new(placeholders as u32),
        options: request.options,
        placeholders: None,
    };
    let objects = ObjectSet { control, targets, order: indices, different: different as u8 };
    let mut body = MultiObject { objects, run, grants: PhantomData::<fn() -> (G, T)> };
    if placeholders == 0 {
        // Only the first object's part is prefetched.
        return spawn_body(request, fetch, body, sink, Route::Bound(None));
    }
    let SpawnRequest { mut spawner, options } = request;
    let class = const { class_of::<BodyWithSink<MultiObject<G, T, N, F>, K>>() };
    let Some(task) = spawner.allocate_descriptor(class) else { return refuse(spawner, body, sink) };
    let mut route = [(usize::MAX, task); N];
    let route = &mut route[..placeholders];
    if !allocate_placeholders(&mut spawner, route) {
        // SAFETY: allocated above, and not used.
        unsafe { spawner.origin_mut().give_back(class, task) };
        return refuse(spawner, body, sink);
    }
    sink.enter(spawner.origin_mut());
    let meta = spawner.admit_task(&options);
    // In the order in which the task names them, not of their addresses, so that a simulation can
    // be replayed.
    let mut named = indices;
    named[..different].sort_unstable();
    let chosen = named[..different].iter().filter(sequenced);
    for (slot, &index) in route.iter_mut().rev().zip(chosen.rev()) {
        let target = targets[usize::from(index)].reference;
        slot.0 = target.home();
        let next = body.objects.control.placeholders.replace(slot.1);
        // SAFETY: phase built: allocated above in the class of a placeholder.
        unsafe { make_placeholder(&mut spawner, &options, slot.1, Placeholder { task, target, next }) };
    }
    // SAFETY: phase built: a fresh block of a class that holds this body. It and its placeholders
    // are complete, and delivered once.
    unsafe {
        write(task, fetch, meta, body, sink);
        spawner.deliver(CompleteTask { task, meta, fetch }, &options, Route::Enlist(route));
    }
    spawner.finish();
}
