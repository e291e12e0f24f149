//! Tasks with several objects: all granted at once, in an order that all such tasks agree on.
//!
//! Objects behind latches are simply latched in address order when the task runs: a latch is only held while a
//! task runs, and running tasks never wait for anything else.
//!
//! *Sequenced* objects belong to their homes. For each of them the task sends an envoy through the home's pool,
//! where it takes its place among the object's other tasks. When an envoy's turn comes, the home *holds* the object
//! for the task, and defers whatever comes for it meanwhile; when the last envoy has arrived, the task is granted and
//! runs; afterwards each home is told to hand its object on. The envoys of one task enter all their pools as one
//! step (see `Spawn::enlist`), so that any two tasks stand in the same order in all the pools where they meet:
//! nobody waits in a circle (two-phase enqueue, as in behaviour-oriented concurrency).
//!
//! The spawner links the envoys of a task to each other. One that has claimed its object waits, and goes home again with
//! the message that the task is done. So all memory that a task will ever need is there before anything is sent: a
//! spawn may fail, but nobody who holds an object ever lacks the memory to let it go.
//!
//! ```text
//! envoy:  spawner ─ enlist ─▶ home: holds ─ pending ─▶ task, granted ─ back home ─▶ home: hands on, frees the envoy
//! ```

use super::access::Target;
use super::bare::{describe_nothing, locate_nothing};
use super::builder::{Options, Order};
use super::once::{enter, leave};
use super::{
    JoinError, Meta, Payload, Sink, Spawner, Task, VTable, class_of, guarded, is_too_large, quietly, refuse,
};
use crate::monitor::Description;
use crate::object::{Reference, Turn};
use crate::scheduler::Context;
use crate::sync::{AcqRel, Acquire, AtomicPtr, AtomicU32, Release};
use alloc::boxed::Box;
use core::any::type_name;
use core::ptr::NonNull;

/// The grants of a tuple of accesses.
///
/// # Safety
///
/// As for [`Grant`](super::access::Grant), part by part.
pub unsafe trait Grants<const N: usize>: 'static {
    /// What the body gets.
    type View<'v>;
    /// Private copies.
    type Locals;
    /// For each part, whether a panic may leave it half-written.
    const IN_PLACE: [bool; N];
    /// The types of the data, by name.
    fn data() -> [&'static str; N];
    /// # Safety
    ///
    /// The objects are alive.
    unsafe fn copy(targets: &[Target; N]) -> Self::Locals;
    /// # Safety
    ///
    /// The objects are alive, entered in their modes for `'v`, and different where written.
    unsafe fn view<'v>(targets: &[Target; N], locals: &'v mut Self::Locals) -> Self::View<'v>;
    /// # Safety
    ///
    /// The objects are alive.
    unsafe fn publish(targets: &[Target; N], locals: Self::Locals);
}

/// What the envoys need to know of their task: first in its body, whatever its type.
#[repr(C)]
struct Control {
    /// Envoys that have not arrived yet.
    pending: AtomicU32,
    options: Options,
    /// The first of the envoys, which are the granted task's.
    envoys: Option<NonNull<Task>>,
}

/// The objects of a task.
#[repr(C)]
struct Claims<const N: usize> {
    control: Control,
    targets: [Target; N],
    /// Indices of the different objects, in address order; the first `different` count.
    order: [u8; N],
    different: u8,
}

#[repr(C)]
struct Many<const N: usize, F, K> {
    claims: Claims<N>,
    run: F,
    sink: K,
}

struct Envoy {
    task: NonNull<Task>,
    target: Reference,
    /// The next envoy of the same task.
    next: Option<NonNull<Task>>,
}

/// Spawns a task with several objects.
pub(crate) fn launch<G, const N: usize, P, F, K, R>(order: Order<P>, targets: [Target; N], body: F, sink: K)
where
    G: Grants<N>,
    P: Spawner,
    F: for<'v> FnOnce(G::View<'v>, &mut Context) -> R + Send + 'static,
    K: Sink<R>,
    R: 'static,
{
    if const { is_too_large::<Many<N, F, K>>() } {
        let boxed = Box::new(body);
        let body = move |view: G::View<'_>, cx: &mut Context| boxed(view, cx);
        push::<G, F, N, _, _, _, _>(order, targets, body, sink);
    } else {
        push::<G, F, N, _, _, _, _>(order, targets, body, sink);
    }
}

/// `T` is the type that the task is named after.
fn push<G, T, const N: usize, P, F, K, R>(mut order: Order<P>, targets: [Target; N], body: F, sink: K)
where
    G: Grants<N>,
    P: Spawner,
    F: for<'v> FnOnce(G::View<'v>, &mut Context) -> R + Send + 'static,
    K: Sink<R>,
    R: 'static,
{
    targets.iter().for_each(|target| target.check(order.spawner.shared()));
    let (indices, different) = in_address_order(&targets);
    let at_rest = order.spawner.shared().at_rest;
    // SAFETY: whoever names an object sees to it that it is alive now.
    let is_own = |target: &Target| target.runtime != 0 || unsafe { target.reference.header() }.is_of(at_rest);
    assert!(targets.iter().all(is_own), "an object is used by a task of another runtime");
    let sequenced = |&&index: &&u8| targets[usize::from(index)].reference.primitive().is_sequenced();
    let envoys = indices[..different].iter().filter(sequenced).count();

    let class = const { class_of::<Many<N, F, K>>() };
    let Some(task) = order.spawner.allocate(class) else { return refuse(order.spawner, body, sink) };
    let mut route = [(usize::MAX, task); N];
    let route = &mut route[..envoys];
    if !allocate_envoys(&mut order.spawner, route) {
        // SAFETY: allocated above, and not used.
        unsafe { order.spawner.give_back(class, task) };
        return refuse(order.spawner, body, sink);
    }
    sink.enter(&mut order.spawner);
    let meta = order.spawner.admit(&order.options);
    // In the order of their names, not of their addresses: a simulation replays.
    let mut named = indices;
    named[..different].sort_unstable();
    let chosen = named[..different].iter().filter(sequenced);
    let mut next = None;
    for (slot, &index) in route.iter_mut().rev().zip(chosen.rev()) {
        let target = targets[usize::from(index)].reference;
        slot.0 = target.home();
        // SAFETY: a fresh block for an envoy.
        unsafe { make_envoy(&mut order, slot.1, Envoy { task, target, next }) };
        next = Some(slot.1);
    }
    // SAFETY: a fresh block of a class that holds this body.
    unsafe {
        task.as_ptr().write(Task {
            vtable: const {
                &VTable {
                    run: run::<G, N, F, K, R>,
                    locate: locate_nothing,
                    cancel: cancel::<N, F, K, R>,
                    describe: describe::<G, T, N, F, K>,
                }
            },
            next: AtomicPtr::new(core::ptr::null_mut()),
            fetch: targets[0].fetch(),
            meta,
        });
        let pending = AtomicU32::new(envoys as u32);
        let control = Control { pending, options: order.options, envoys: next };
        let claims = Claims { control, targets, order: indices, different: different as u8 };
        Task::body::<Many<N, F, K>>(task).write(Many { claims, run: body, sink });
    }
    if envoys == 0 {
        // The first object's part; with several, the others come as they may.
        let fetch = targets[0].fetch();
        // SAFETY: the task was just made for this spawner, and is complete.
        return unsafe { order.spawner.send(task, &order.options, None, meta, fetch) };
    }
    // SAFETY: the task and as many envoys were just made for this spawner, and are complete.
    unsafe {
        order.spawner.note(task);
        order.spawner.enlist(route);
    }
}

/// Allocates an envoy for each place of the route, or none: `false` if there is not memory enough.
fn allocate_envoys<P: Spawner>(spawner: &mut P, route: &mut [(usize, NonNull<Task>)]) -> bool {
    let class = const { class_of::<Envoy>() };
    for at in 0..route.len() {
        let Some(envoy) = spawner.allocate(class) else {
            // SAFETY: the ones before were allocated here, and are not used.
            route[..at].iter().for_each(|&(_, envoy)| unsafe { spawner.give_back(class, envoy) });
            return false;
        };
        route[at].1 = envoy;
    }
    true
}

/// Indices of the different objects in address order, and how many there are.
fn in_address_order<const N: usize>(targets: &[Target; N]) -> ([u8; N], usize) {
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

/// Makes a messenger that goes both ways: to claim an object for a task, and to hand it on at its home.
///
/// # Safety
///
/// `block` is a fresh one of the class for an [`Envoy`].
unsafe fn make_envoy<P: Spawner>(order: &mut Order<P>, block: NonNull<Task>, envoy: Envoy) {
    // All envoys have one priority: with several, two tasks could overtake each other in one pool and not in
    // another. They belong to the operation that their task belongs to.
    let priority = Some(crate::Priority::Normal);
    let options = Options { priority, operation: order.options.operation, ..Options::default() };
    let meta = order.spawner.admit(&options).protocol();
    // SAFETY: by the caller's promise.
    unsafe {
        block.as_ptr().write(Task {
            vtable: &VTable { run: claim, locate: locate_nothing, cancel: claim, describe: describe_nothing },
            next: AtomicPtr::new(core::ptr::null_mut()),
            fetch: envoy.target.fetch(crate::Part::HEAD),
            meta,
        });
        Task::body::<Envoy>(block).write(envoy);
    }
}

/// An envoy's turn at its object's home.
unsafe fn claim(task: NonNull<Task>, cx: &mut Context) {
    // SAFETY: the task is an envoy of this worker; its own task has not run, so the object is alive, and the
    // control block is there.
    unsafe {
        let &Envoy { task: many, target, .. } = &*Task::body::<Envoy>(task);
        let header = target.header();
        if !task.as_ref().meta.has_baton() {
            if header.turn(cx.at_rest) != Turn::Now {
                return header.defer(task);
            }
            header.hold();
        }
        let control = Task::body::<Control>(many);
        let options = (*control).options;
        // AcqRel: the last envoy comes after all that the other homes did to their objects and envoys (their Release).
        // From here on the envoy is the granted task's, wherever that runs.
        let pending = &(*control).pending;
        let before = if planted!("grant-counted-twice") {
            let before = pending.load(Acquire);
            pending.store(before - 1, Release);
            before
        } else {
            pending.fetch_sub(1, AcqRel)
        };
        if before == 1 {
            cx.send_granted(many, &options);
        }
    }
}

/// An envoy that comes home from a finished task: hands its object on.
unsafe fn release(task: NonNull<Task>, cx: &mut Context) {
    // SAFETY: an envoy of this worker, whose epoch keeps the object alive.
    unsafe {
        let target = (*Task::body::<Envoy>(task)).target;
        let meta = task.as_ref().meta;
        cx.free::<Envoy>(task);
        cx.hand_on(target.header());
        cx.finished(meta.epoch());
    }
}

impl<const N: usize> Claims<N> {
    fn objects(&self) -> impl DoubleEndedIterator<Item = Target> + '_ {
        self.order[..usize::from(self.different)].iter().map(|&index| self.targets[usize::from(index)])
    }

    /// Hands the sequenced objects on, each at its home.
    ///
    /// # Safety
    ///
    /// The task was granted its objects and has left them.
    unsafe fn hand_on(&self, cx: &mut Context) {
        let mut rest = self.control.envoys;
        while let Some(envoy) = rest {
            // SAFETY: all envoys have arrived and are this task's alone; what was granted is held, and alive.
            unsafe {
                let &Envoy { target, next, .. } = &*Task::body::<Envoy>(envoy);
                rest = next;
                let home = cx.home_of(target);
                if home == cx.worker() {
                    release(envoy, cx);
                } else {
                    (*envoy.as_ptr()).vtable = &VTable {
                        run: release,
                        locate: locate_nothing,
                        cancel: release,
                        describe: describe_nothing,
                    };
                    cx.send_to(envoy, home);
                }
            }
        }
    }
}

unsafe fn describe<G: Grants<N>, T, const N: usize, F, K>(task: NonNull<Task>) -> Description {
    // SAFETY: the task is of this kind and belongs to this worker.
    let targets = unsafe { &(*Task::body::<Many<N, F, K>>(task)).claims.targets };
    let touched = |(target, data): (&Target, _)| target.reference.touched(data, target.write);
    Description::new(type_name::<T>(), targets.iter().zip(G::data()).map(touched))
}

unsafe fn run<G, const N: usize, F, K, R>(task: NonNull<Task>, cx: &mut Context)
where
    G: Grants<N>,
    F: for<'v> FnOnce(G::View<'v>, &mut Context) -> R + Send + 'static,
    K: Sink<R>,
    R: 'static,
{
    // SAFETY: the task is of this kind, belongs to this worker and was granted its objects, which its epoch keeps
    // alive.
    let (Many { claims, run, sink }, meta) = unsafe { take::<N, F, K>(task, cx) };
    let after = After { claims, sink, meta };
    // SAFETY: alive and granted, as above; entered before the body and left after it; different where written, as the
    // spawn has checked.
    unsafe {
        if let Err(failure) = after.sink.start(cx) {
            quietly(|| drop(run));
            return after.finish(Err(failure), cx);
        }
        after.claims.enter(cx);
        if after.claims.objects().any(|target| target.reference.header().latch.is_poisoned()) {
            after.claims.leave();
            quietly(|| drop(run));
            return after.finish(Err(JoinError::Poisoned), cx);
        }
        let mut locals = G::copy(&after.claims.targets);
        let view = G::view(&after.claims.targets, &mut locals);
        let (result, after) = guarded(cx, after, After::panicked::<G, R>, |_, cx| run(view, cx));
        G::publish(&after.claims.targets, locals);
        after.claims.leave();
        after.finish(Ok(result), cx);
    }
}

impl<const N: usize> Claims<N> {
    /// Enters all objects, in address order: all versions are odd before any object is written.
    ///
    /// # Safety
    ///
    /// The objects are alive and granted to this task.
    unsafe fn enter(&self, cx: &Context) {
        for target in self.objects() {
            // SAFETY: alive, by the caller's promise.
            let header = unsafe { target.reference.header() };
            enter(header, target.reference.primitive(), target.write, cx);
        }
    }

    /// # Safety
    ///
    /// The objects are alive and entered.
    unsafe fn leave(&self) {
        for target in self.objects().rev() {
            // SAFETY: alive, by the caller's promise.
            leave(unsafe { target.reference.header() }, target.reference.primitive(), target.write);
        }
    }
}

/// What is left to do after the body.
struct After<const N: usize, K> {
    claims: Claims<N>,
    sink: K,
    meta: Meta,
}

impl<const N: usize, K> After<N, K> {
    /// The objects have been left (or were never entered): hands them on, and tells who waits.
    ///
    /// # Safety
    ///
    /// The objects are alive and were granted to this task.
    unsafe fn finish<R>(self, outcome: Result<R, JoinError>, cx: &mut Context)
    where
        K: Sink<R>,
    {
        // SAFETY: by the caller's promise.
        unsafe { self.claims.hand_on(cx) };
        self.sink.complete(outcome, cx);
        cx.finished(self.meta.epoch());
    }

    /// The body unwound while it held the objects.
    fn panicked<G: Grants<N>, R>(self, payload: Payload, cx: &mut Context)
    where
        K: Sink<R>,
    {
        // SAFETY: the task's epoch keeps the objects alive: it is not finished yet. They are entered.
        unsafe {
            for (target, _) in self.claims.targets.iter().zip(G::IN_PLACE).filter(|(_, in_place)| *in_place) {
                target.reference.header().latch.poison();
            }
            if !planted!("latch-kept-on-panic") {
                self.claims.leave();
            }
            self.finish(Err(JoinError::panicked(payload)), cx);
        }
    }
}

/// Moves the task out of its descriptor and gives that back.
///
/// # Safety
///
/// The task is of this kind and belongs to this worker.
unsafe fn take<const N: usize, F, K>(task: NonNull<Task>, cx: &mut Context) -> (Many<N, F, K>, Meta) {
    // SAFETY: by the caller's promise.
    unsafe {
        let many = Task::body::<Many<N, F, K>>(task).read();
        let meta = task.as_ref().meta;
        cx.free::<Many<N, F, K>>(task);
        (many, meta)
    }
}

unsafe fn cancel<const N: usize, F, K, R>(task: NonNull<Task>, cx: &mut Context)
where
    F: Send + 'static,
    K: Sink<R>,
    R: 'static,
{
    // SAFETY: the task is of this kind, belongs to this worker and was granted its objects.
    unsafe {
        let (Many { claims, run, sink }, meta) = take::<N, F, K>(task, cx);
        quietly(|| drop(run));
        After { claims, sink, meta }.finish(Err(JoinError::Cancelled), cx);
    }
}

#[cfg(test)]
mod tests {
    use crate::platform::Simulation;
    use crate::{Runtime, Sequencing, Shutdown};

    /// Spawns that fail at their first, second or last allocation, from outside and from tasks.
    #[test]
    #[cfg_attr(miri, ignore = "too slow; the limit is thousands of tasks away")]
    fn a_refused_spawn_gives_back_what_it_had() {
        let mut given_back = 0;
        for seed in 0..10 {
            let builder = Runtime::builder().platform(Simulation::new(3, seed)).memory_limit(1 << 20);
            let rt = builder.on_failure(drop).build().unwrap();
            let heaps = rt.shared().heaps.clone();
            let objects = [(); 4].map(|()| rt.plain(0u64).pin(Sequencing).build());
            for round in 0..4 {
                let [a, b, c, d] = objects.clone();
                // Small tasks first, to shift the moment when there is no memory.
                (0..50 * seed).for_each(|_| rt.task(()).spawn(|(), _| ()));
                let task = rt.task(()).submit(move |(), cx| {
                    for _ in 0..3000 {
                        cx.task((a.write(), b.write(), c.write(), d.write())).spawn(|_, _| ());
                        cx.task((c.write(), d.write())).spawn(|_, _| ());
                    }
                });
                let [a, b, c, _] = &objects;
                if round % 2 == 0 {
                    for _ in 0..3000 {
                        rt.task((a.write(), b.write(), c.write())).spawn(|_, _| ());
                    }
                }
                let _ = task.join();
            }
            rt.shutdown(Shutdown::Drain);
            let stats = heaps.stats();
            assert!(heaps.quota().refused() > 0, "there was memory enough");
            assert_eq!(stats.cut, stats.free, "blocks are lost");
            given_back += stats.single_frees;
        }
        assert!(given_back > 0, "spawns failed at their first allocation only");
    }
}
