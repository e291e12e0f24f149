//! The builder of a task: `rt.task(objects).priority(…).spawn(body)`.

use super::access::ReadLink;
use super::annotated::Annotated;
use super::group::{After, Alone, Group, Membership, Of, SinkPair};
use super::handle::{self, Handle};
use super::modify::{Modify, ModifyBody, ThenSink};
use super::name::BodyName;
use super::optimistic_read;
use super::options::{Options, SpawnRequest};
use super::single_object;
use super::spawner::sealed::{Origin, Spawn};
use super::visit::{ReadThen, Visit, VisitBody};
use super::{Access, AccessSet, JoinError, Sink, Spawner, access::WriteLink, grant::Reads};
use crate::annotation::{Place, Priority};
use crate::object::{Version, Versioned};
use crate::scheduler::Context;

impl<P, A, M> TaskBuilder<P, A, M> {
    pub(crate) fn into_parts(self) -> (SpawnRequest<P>, A, M) {
        (self.request, self.access, self.group)
    }

    pub(crate) fn from_parts(request: SpawnRequest<P>, access: A, group: M) -> Self {
        Self { request, access, group }
    }

    pub(crate) fn membership(&self) -> &M {
        &self.group
    }

    pub(crate) fn access(&self) -> &A {
        &self.access
    }

    pub(super) fn spawner_mut(&mut self) -> &mut P {
        &mut self.request.spawner
    }
}

/// A task that is being described; made by [`Runtime::task`](crate::Runtime::task) and
/// [`Context::task`].
///
/// `P` spawns the task, `A` names its objects, and `M` says whether it belongs to a [`Group`].
#[must_use = "a task is spawned by one of the builder's last methods"]
pub struct TaskBuilder<P, A, M = Alone> {
    request: SpawnRequest<P>,
    access: A,
    group: M,
}

impl<P: Spawn, A, M> TaskBuilder<P, A, M> {
    pub(crate) fn origin_mut(&mut self) -> &mut P::Origin {
        self.request.spawner.origin_mut()
    }
}

impl<P: Spawn, A> TaskBuilder<P, A> {
    #[inline(always)]
    pub(crate) fn new(spawner: P, access: A) -> Self {
        Self { request: SpawnRequest { spawner, options: Options::PLAIN }, access, group: Alone }
    }

    /// Makes the task a member of a group. The group is over only after all its members are.
    ///
    /// # Panics
    ///
    /// If the group belongs to another runtime.
    #[inline(always)]
    #[track_caller]
    pub fn of(mut self, group: &Group) -> TaskBuilder<P, A, Of<'_>> {
        group.check(self.request.spawner.origin_mut().shared());
        TaskBuilder { request: self.request, access: self.access, group: Of::group(group) }
    }
}

impl<P: Spawner, A> TaskBuilder<P, A> {
    /// Delays the task until a group is over. The task does not receive the group's result: the
    /// first failure of a member goes to the runtime's hook. (A task without objects receives it
    /// with [`then`](TaskBuilder::then).)
    ///
    /// All memory is allocated at the spawn, so the task cannot fail for lack of memory later.
    /// While it waits it counts as a task with these objects: objects that are retired in the
    /// meantime are not freed. A shutdown waits for it, or cancels it when the group is over.
    ///
    /// ```
    /// use xtasking::Runtime;
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let (parts, sum) = ([1, 2, 3].map(|part| rt.plain(part).build()), rt.plain(0u64).build());
    /// let group = rt.group();
    /// for part in &parts {
    ///     rt.task(part.write()).of(&group).spawn(|part, _| *part *= 10);
    /// }
    /// let [a, b, c] = &parts;
    /// let task = rt.task((a.read(), b.read(), c.read(), sum.write())).after(group);
    /// let handle = task.submit(|(a, b, c, sum), _| {
    ///     *sum = a + b + c;
    ///     *sum
    /// });
    /// assert_eq!(handle.join()?, 60);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the group belongs to another runtime.
    pub fn after(self, group: Group) -> TaskBuilder<After<P>, A> {
        let SpawnRequest { spawner, options } = self.request;
        let request = SpawnRequest { spawner: After::new(spawner, group), options };
        TaskBuilder { request, access: self.access, group: Alone }
    }
}

impl<'c, A> TaskBuilder<&'c mut Context, A> {
    /// Makes the task a member of the running task's group.
    ///
    /// # Panics
    ///
    /// If the running task is a member of no group.
    #[inline(always)]
    #[track_caller]
    pub fn as_sibling(self) -> TaskBuilder<&'c mut Context, A, Of<'c>> {
        let state =
            self.request.spawner.worker.groups.current().expect("the running task is a member of no group");
        // SAFETY: the running task holds a ticket until it ends, and so for as long as the context
        // is borrowed.
        let group = unsafe { Of::state(state) };
        TaskBuilder { request: self.request, access: self.access, group }
    }
}

impl<P: Spawner, M: Membership> TaskBuilder<After<P>, (), M> {
    /// Spawns the task. It runs when the group is over, and receives the first failure of a member.
    /// This is [`Group::then`] with annotations.
    pub fn then<F>(mut self, body: F)
    where
        F: FnOnce(Result<(), JoinError>, &mut Context) + Send + 'static,
    {
        let outcome = self.request.spawner.request_failure();
        self.spawn(move |(), cx| {
            let failure = outcome.lock().take();
            body(failure.map_or(Ok(()), Err), cx);
        });
    }
}

impl<P: Spawn, A, M: Membership> TaskBuilder<P, A, M> {
    /// Sets the priority; without it the task has its parent's.
    #[inline(always)]
    pub fn priority(mut self, priority: Priority) -> Self {
        self.request.options.priority = Some(priority);
        self
    }

    /// Sets the urgency as a number: 0 is the most urgent,
    /// [`RankOrder::LAST`](crate::queues::RankOrder::LAST) the least; greater numbers count as
    /// that. A task without a rank has [`RankOrder::MIDDLE`](crate::queues::RankOrder::MIDDLE). A
    /// rank is not inherited.
    ///
    /// Ranks order tasks without objects and place in a runtime with
    /// [`QueuePolicy::Ranked`](crate::QueuePolicy::Ranked). Elsewhere a rank below the middle
    /// stands for [`Priority::High`], the middle one for [`Priority::Normal`], and a greater one
    /// for [`Priority::Low`]. A [priority](Self::priority) takes precedence over a rank.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// use xtasking::{QueuePolicy, Runtime, queues::RankOrder};
    ///
    /// let rt = Runtime::builder().workers(1).pool(QueuePolicy::Ranked(RankOrder::Exact)).build()?;
    /// let order = Arc::new(Mutex::new(Vec::new()));
    /// let noted = order.clone();
    /// rt.task(()).spawn(move |(), cx| {
    ///     for deadline in [30, 10, 20] {
    ///         let noted = noted.clone();
    ///         cx.task(()).rank(deadline).spawn(move |(), _| noted.lock().unwrap().push(deadline));
    ///     }
    /// });
    /// drop(rt);
    /// assert_eq!(*order.lock().unwrap(), [10, 20, 30]);
    /// # Ok::<(), xtasking::BuildError>(())
    /// ```
    #[inline(always)]
    pub fn rank(mut self, rank: u16) -> Self {
        self.request.options.rank = Some(rank);
        self
    }

    /// Sets the rank, if there is one.
    #[inline(always)]
    pub(crate) fn rank_or_default(mut self, rank: Option<u16>) -> Self {
        self.request.options.rank = rank;
        self
    }

    /// Asks to run on one worker, modulo their number. The home of a sequenced object takes
    /// precedence.
    #[inline(always)]
    pub fn core(mut self, worker: u16) -> Self {
        self.request.options.place = Place::Core(worker);
        self
    }

    /// Asks to run on the least loaded worker of a NUMA node. The home of a sequenced object takes
    /// precedence.
    #[inline(always)]
    pub fn node(mut self, node: u16) -> Self {
        self.request.options.place = Place::Node(node);
        self
    }

    /// Sets how much work the task is, in multiples of a small task; 1 without this annotation.
    /// Placement by NUMA node balances the costs.
    #[inline(always)]
    pub fn cost(mut self, cost: u16) -> Self {
        self.request.options.cost = cost.saturating_sub(1);
        self
    }

    /// Begins an operation of its own: the task uses no [`Link`](crate::arena::Link) that its
    /// parent has read, only links that it reads itself. So objects that were retired before it can
    /// be freed while it runs. One exception: a walk may begin at a link that its parent has read
    /// directly before it spawns the walk, with no [`block_in_place`](Context::block_in_place) and
    /// no join in between.
    ///
    /// Without this a follow-up belongs to its parent's operation, and an endless chain of
    /// follow-ups keeps every retired object in memory.
    #[inline(always)]
    pub fn begin_operation(mut self) -> Self {
        self.request.options.begins_operation = true;
        self
    }

    /// Spawns the task without a handle. A panic goes to the runtime's hook. So does a lack of
    /// memory for the task ([`JoinError::OutOfMemory`]), at once; the body is then dropped.
    ///
    /// # Panics
    ///
    /// If the same object is named twice, once for writing.
    #[inline(always)]
    pub fn spawn<F>(self, body: F)
    where
        A: AccessSet,
        F: for<'v> FnOnce(A::View<'v>, &mut Context) + Send + 'static,
    {
        self.access.launch(self.request, body, self.group.sink());
    }

    /// Spawns the task, and delivers its outcome to a sink.
    pub(crate) fn spawn_into<F, K>(self, body: F, sink: K)
    where
        A: AccessSet,
        F: for<'v> FnOnce(A::View<'v>, &mut Context) + Send + 'static,
        K: Sink<()>,
    {
        self.access.launch(self.request, body, SinkPair(sink, self.group.sink()));
    }

    /// Spawns the task and returns a handle to its result. If there is no memory for the task, the
    /// handle returns [`JoinError::OutOfMemory`] at once.
    ///
    /// # Panics
    ///
    /// If the same object is named twice, once for writing.
    pub fn submit<F, R>(self, body: F) -> Handle<R>
    where
        A: AccessSet,
        F: for<'v> FnOnce(A::View<'v>, &mut Context) -> R + Send + 'static,
        R: Send + 'static,
    {
        self.submit_named::<F, F, R>(body)
    }

    /// As [`submit`](Self::submit), for a body that is inside another one: without a name of its
    /// own, the task has the path of `N`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn submit_named<N, F, R>(mut self, body: F) -> Handle<R>
    where
        N: 'static,
        A: AccessSet,
        F: for<'v> FnOnce(A::View<'v>, &mut Context) -> R + Send + 'static,
        R: Send + 'static,
    {
        let shared = self.request.spawner.origin_mut().shared().clone();
        // SAFETY: the token is in the task's body, and the promise in its sink. A body is run or
        // dropped before its sink is completed or refused.
        let (handle, completion, token) = unsafe { handle::pair_with_body(shared, body) };
        let completion = Annotated::new(completion, BodyName::<N>::default());
        self.access.launch(
            self.request,
            // SAFETY: a body runs only after its sink has started, and so the promise.
            move |view: A::View<'_>, cx: &mut Context| unsafe { token.take() }(view, cx),
            SinkPair(completion, self.group.sink()),
        );
        handle
    }

    /// Spawns an optimistic read. `read` may run while the object changes, and runs again until the
    /// version check succeeds. Then `then` runs once with its result, holding nothing.
    #[inline(always)]
    pub fn read_then<T, F, G, O>(self, read: F, then: G)
    where
        T: Version,
        A: Access<Grant = Reads<Versioned<T>>>,
        F: Fn(&T) -> O + Send + 'static,
        G: FnOnce(O, &mut Context) + Send + 'static,
        O: 'static,
    {
        let sink = self.group.sink();
        optimistic_read::launch(self.request, self.access.object_access(), ReadThen::new(read, then), sink);
    }

    /// As [`read_then`](Self::read_then), with a handle to the result of `then`.
    pub fn submit_read<T, F, G, O, R>(mut self, read: F, then: G) -> Handle<R>
    where
        T: Version,
        A: Access<Grant = Reads<Versioned<T>>>,
        F: Fn(&T) -> O + Send + 'static,
        G: FnOnce(O, &mut Context) -> R + Send + 'static,
        O: 'static,
        R: Send + 'static,
    {
        let shared = self.request.spawner.origin_mut().shared().clone();
        // SAFETY: as in `submit`: the token is in the body, and the promise in the sink.
        let (handle, completion, token) = unsafe { handle::pair_with_body(shared, then) };
        // SAFETY: `then` runs only after the sink has started.
        let then = move |output: O, cx: &mut Context| unsafe { token.take() }(output, cx);
        let sink = SinkPair(completion, self.group.sink());
        optimistic_read::launch(self.request, self.access.object_access(), ReadThen::new(read, then), sink);
        handle
    }
}

impl<P: Spawn, T: Version, M: Membership> TaskBuilder<P, ReadLink<T>, M> {
    /// Spawns an optimistic walk that begins at this node.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn visit<V: Visit<Target = T>>(self, visit: V) {
        optimistic_read::launch(
            self.request,
            self.access.object_access(),
            VisitBody(visit),
            self.group.sink(),
        );
    }
}

impl<P: Spawn, T: Version, M: Membership> TaskBuilder<P, WriteLink<T>, M> {
    /// Spawns a write to this node.
    #[inline(always)]
    pub fn modify<W: Modify<Target = T>>(self, modify: W) {
        let body = ModifyBody { modify, link: self.access.0 };
        single_object::launch(self.request, self.access.object_access(), body, ThenSink(self.group.sink()));
    }
}
