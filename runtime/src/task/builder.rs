//! The builder of a task: `rt.task(objects).priority(…).spawn(body)`.

use super::access::ReadLink;
use super::group::{After, Alone, Beside, Group, Immediate, Membership, Of, Tally};
use super::handle::{self, Handle, Promise};
use super::once::{self, Modify, Modifying};
use super::visit::{self, ReadThen, Visit};
use super::{Access, AccessSet, JoinError, Meta, Sink, Task, access::Reads, access::WriteLink};
use crate::annotation::{Place, Priority};
use crate::memory::SizeClass;
use crate::object::{Fetch, Version, Versioned};
use crate::scheduler::{Context, Shared};
use alloc::sync::Arc;
use core::ptr::NonNull;

/// Who can spawn: the [`Runtime`](crate::Runtime) from outside, a [`Context`] from inside a task.
pub trait Spawner: sealed::Spawn + Sized {
    /// A task in the making, with the objects it touches: `()`, one access, or a tuple of them.
    #[inline(always)]
    fn task<A>(self, access: A) -> TaskBuilder<Self, A> {
        TaskBuilder::new(self, access)
    }

    /// Which runtime the task will belong to.
    #[inline(always)]
    fn runtime(&self) -> RuntimeId {
        RuntimeId(Arc::as_ptr(self.shared()).addr())
    }
}
impl<T: sealed::Spawn> Spawner for T {}

/// Tells runtimes apart, for data structures that belong to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RuntimeId(usize);

pub(crate) mod sealed {
    use super::{Arc, Context, Fetch, Meta, NonNull, Options, Priority, Shared, SizeClass, Tally, Task};

    /// What a spawner does; only the runtime has any.
    ///
    /// The trait cannot be named elsewhere, but code that is generic over a [`Spawner`](super::Spawner) can call its
    /// methods all the same. So those that rely on their caller are unsafe.
    pub trait Spawn {
        #[doc(hidden)]
        fn shared(&self) -> &Arc<Shared>;
        /// Index of the worker that the spawner runs on, if it is a task.
        #[doc(hidden)]
        fn on_worker(&self) -> Option<usize>;
        /// Slot of the epoch of the task that the spawner is, if it is one: its follow-ups are of the same.
        #[doc(hidden)]
        fn operation(&self) -> Option<u8>;
        /// The priority of tasks that are told of none.
        #[doc(hidden)]
        fn priority(&self) -> Priority;
        /// A block of that size class for a descriptor, or for what a task waits at, uninitialised; `None` if there is no memory left.
        #[doc(hidden)]
        fn allocate(&mut self, class: SizeClass) -> Option<NonNull<Task>>;
        /// Gives such a block back.
        ///
        /// # Safety
        ///
        /// It was allocated by a spawner of the same runtime in this class, and nobody uses it.
        #[doc(hidden)]
        unsafe fn give_back(&mut self, class: SizeClass, task: NonNull<Task>);
        /// Draws a ticket of a group.
        ///
        /// # Safety
        ///
        /// Somebody has a ticket of the group meanwhile.
        #[doc(hidden)]
        unsafe fn draw_ticket(&mut self, tally: NonNull<Tally>);
        /// Counts one more started task and says which epoch it belongs to.
        #[doc(hidden)]
        fn admit(&mut self, options: &Options) -> Meta;
        /// Puts a finished descriptor into a pool: of worker `home` if given, else as the options say.
        ///
        /// # Safety
        ///
        /// The caller owns the task, which was admitted here and whose descriptor is complete, and gives it up.
        #[doc(hidden)]
        unsafe fn send(
            &mut self,
            task: NonNull<Task>,
            options: &Options,
            home: Option<usize>,
            meta: Meta,
            fetch: Fetch,
        );
        /// Puts tasks into the inboxes of their homes, all in one step as others see it.
        ///
        /// # Safety
        ///
        /// As for [`send`](Self::send), for each of the tasks.
        #[doc(hidden)]
        unsafe fn enlist(&mut self, tasks: &mut [(usize, NonNull<Task>)]);
        /// Notes that a task was spawned that goes into no pool for now, if tasks are observed.
        ///
        /// # Safety
        ///
        /// The caller owns the task, which was admitted here and whose descriptor is complete.
        #[doc(hidden)]
        unsafe fn note(&mut self, task: NonNull<Task>);
        /// As [`send`](Self::send), for a task without objects: it is bound to nothing, unless the options say so.
        ///
        /// # Safety
        ///
        /// As there.
        #[doc(hidden)]
        unsafe fn send_bare(&mut self, task: NonNull<Task>, options: &Options, meta: Meta);
        /// The same; a worker that spawns it runs it next, or the last of several. Others may have those before that when they
        /// are [offered](Self::offer).
        ///
        /// # Safety
        ///
        /// As there.
        #[doc(hidden)]
        unsafe fn keep_bare(&mut self, task: NonNull<Task>, options: &Options, meta: Meta) {
            // SAFETY: by the caller's promise.
            unsafe { self.send_bare(task, options, meta) };
        }
        /// Lets others have what was kept.
        #[doc(hidden)]
        fn offer(&mut self) {}
        /// Whether a task without objects may go elsewhere than others.
        #[doc(hidden)]
        #[inline(always)]
        fn may_choose(&self, options: &Options) -> bool {
            let _ = options;
            true
        }
        /// Where to run such a task at once, if nothing more is said of it and it has no room elsewhere. Whoever is told so
        /// runs it there and then.
        #[doc(hidden)]
        fn at_once(&mut self) -> Option<&mut Context> {
            None
        }
        /// Whether the spawner is a task.
        const IN_TASK: bool;
    }
}

/// A task's annotations besides its objects.
#[derive(Clone, Copy, Default)]
pub struct Options {
    pub(crate) priority: Option<Priority>,
    pub(crate) place: Place,
    pub(crate) cost: u16,
    pub(crate) rank: Option<u16>,
    pub(crate) operation: bool,
}

impl Options {
    /// Whether nothing was said.
    #[inline(always)]
    pub(crate) fn are_plain(&self) -> bool {
        self.priority.is_none()
            && self.rank.is_none()
            && self.cost == 0
            && !self.operation
            && matches!(self.place, Place::Here)
    }
}

impl<P, A, M> TaskBuilder<P, A, M> {
    pub(super) fn into_parts(self) -> (Order<P>, A, M) {
        (self.order, self.access, self.group)
    }

    pub(super) fn of_parts(order: Order<P>, access: A, group: M) -> Self {
        Self { order, access, group }
    }

    pub(super) fn membership(&self) -> &M {
        &self.group
    }
}

/// A spawner and what it was told.
pub struct Order<P> {
    pub(crate) spawner: P,
    pub(crate) options: Options,
}

/// A task in the making; made by [`Runtime::task`](crate::Runtime::task) and [`Context::task`].
///
/// `P` is who spawns it, `A` what it touches and `M` whether it belongs to a [`Group`].
#[must_use = "a task is spawned by one of the builder's last methods"]
pub struct TaskBuilder<P, A, M = Alone> {
    order: Order<P>,
    access: A,
    group: M,
}

impl<P: Spawner, A> TaskBuilder<P, A> {
    #[inline(always)]
    pub(crate) fn new(spawner: P, access: A) -> Self {
        Self { order: Order { spawner, options: Options::default() }, access, group: Alone }
    }

    /// Makes the task a member of a group, which is not over before it is.
    ///
    /// # Panics
    ///
    /// If the group belongs to another runtime.
    #[inline(always)]
    pub fn of(self, group: &Group) -> TaskBuilder<P, A, Of<'_>> {
        group.check(self.order.spawner.shared());
        TaskBuilder { order: self.order, access: self.access, group: Of::group(group) }
    }
}

impl<P: Immediate, A> TaskBuilder<P, A> {
    /// Has the task wait, unspawned, until a group is over. It is not told what became of the members; their first
    /// failure goes to the runtime's hook. (Without objects [`then`](TaskBuilder::then) tells it.)
    ///
    /// All that it needs is there when it is spawned, so it comes whatever happens until then. While it waits it counts as
    /// a task with these objects: none that is retired meanwhile is freed. A shutdown waits for it, or cancels it when
    /// the group is over.
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
        let Order { spawner, options } = self.order;
        let order = Order { spawner: After::new(spawner, group), options };
        TaskBuilder { order, access: self.access, group: Alone }
    }
}

impl<'c, A> TaskBuilder<&'c mut Context, A> {
    /// Makes the task a member of the group that the running task is a member of.
    ///
    /// # Panics
    ///
    /// If the running task is a member of none.
    #[inline(always)]
    pub fn as_sibling(self) -> TaskBuilder<&'c mut Context, A, Of<'c>> {
        let tally = self.order.spawner.groups.current().expect("a task of no group has no siblings");
        // SAFETY: the running task has a ticket as long as it runs, and so as the context is borrowed.
        let group = unsafe { Of::tally(tally) };
        TaskBuilder { order: self.order, access: self.access, group }
    }
}

impl<P: Immediate, M: Membership> TaskBuilder<After<P>, (), M> {
    /// Spawns the task, which waits until the group is over and is told the first failure of a member. As
    /// [`Group::then`], with annotations.
    pub fn then<F>(mut self, body: F)
    where
        F: FnOnce(Result<(), JoinError>, &mut Context) + Send + 'static,
    {
        let outcome = self.order.spawner.ask_for_outcome();
        self.spawn(move |(), cx| {
            let failure = outcome.lock().take();
            body(failure.map_or(Ok(()), Err), cx);
        });
    }
}

impl<P: Spawner, A, M: Membership> TaskBuilder<P, A, M> {
    /// How urgent the task is; without it, as its parent.
    #[inline(always)]
    pub fn priority(mut self, priority: Priority) -> Self {
        self.order.options.priority = Some(priority);
        self
    }

    /// How urgent the task is, as a number: 0 is the most urgent, [`Ranking::LAST`](crate::Ranking::LAST) the least (and
    /// so is what is greater). A task without a rank has [`Ranking::MIDDLE`](crate::Ranking::MIDDLE); a rank is not
    /// inherited.
    ///
    /// It is obeyed in a pool of the kind [`Pool::Ranked`](crate::Pool::Ranked), by tasks without objects and place.
    /// Elsewhere a rank below the middle one stands for [`Priority::High`], the middle one for [`Priority::Normal`], and one
    /// above for [`Priority::Low`], so that the task is on the right side of those that have none. A
    /// [priority](Self::priority) that is said as well has the last word.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// use xtasking::{Pool, Ranking, Runtime};
    ///
    /// let rt = Runtime::builder().workers(1).pool(Pool::Ranked(Ranking::Exact)).build()?;
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
        self.order.options.rank = Some(rank);
        self
    }

    /// Asks to run on one worker (modulo their number). An object whose tasks are sequenced has the last word.
    #[inline(always)]
    pub fn core(mut self, worker: u16) -> Self {
        self.order.options.place = Place::Core(worker);
        self
    }

    /// Asks to run on the least loaded worker of a NUMA node. An object whose tasks are sequenced has the last word.
    #[inline(always)]
    pub fn node(mut self, node: u16) -> Self {
        self.order.options.place = Place::Node(node);
        self
    }

    /// How much work the task is, in multiples of a small task (1, also without this annotation). Placement by
    /// NUMA node balances it.
    #[inline(always)]
    pub fn cost(mut self, cost: u16) -> Self {
        self.order.options.cost = cost.saturating_sub(1);
        self
    }

    /// Says that the task begins an operation of its own: it uses no [`Link`](crate::Link) that its parent has read,
    /// only such as it finds itself. Objects that were retired before may then be freed while it runs. Without this,
    /// a follow-up belongs to the operation of its parent, and a chain of follow-ups without end would keep
    /// everything alive.
    #[inline(always)]
    pub fn begin_operation(mut self) -> Self {
        self.order.options.operation = true;
        self
    }

    /// Spawns the task; nobody waits for it. If it panics, the runtime's hook is told, and so it is, at once, if there
    /// is no memory for the task ([`JoinError::OutOfMemory`](super::JoinError::OutOfMemory)): its body is dropped then.
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
        self.access.launch(self.order, body, self.group.sink());
    }

    /// Spawns the task, and has that sink told.
    pub(crate) fn spawn_into<F, K>(self, body: F, sink: K)
    where
        A: AccessSet,
        F: for<'v> FnOnce(A::View<'v>, &mut Context) + Send + 'static,
        K: Sink<()>,
    {
        self.access.launch(self.order, body, Beside(sink, self.group.sink()));
    }

    /// Spawns the task and returns a handle that waits for its result. If there is no memory for the task, the handle
    /// says so at once ([`JoinError::OutOfMemory`](super::JoinError::OutOfMemory)).
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
        let (handle, completion) = handle::pair(self.order.spawner.shared().clone());
        self.access.launch(self.order, body, Beside(completion, self.group.sink()));
        handle
    }

    /// Spawns an optimistic read: `read` may see the object while it changes and may run several times, until what it
    /// saw belonged together; then `then` runs once, holding nothing, with its result.
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
        visit::launch(self.order, self.access.order(), ReadThen::new(read, then), sink);
    }

    /// As [`read_then`](Self::read_then), with a handle for the result of `then`.
    pub fn submit_read<T, F, G, O, R>(self, read: F, then: G) -> Handle<R>
    where
        T: Version,
        A: Access<Grant = Reads<Versioned<T>>>,
        F: Fn(&T) -> O + Send + 'static,
        G: FnOnce(O, &mut Context) -> R + Send + 'static,
        O: 'static,
        R: Send + 'static,
    {
        let (handle, completion): (_, Promise<R>) = handle::pair(self.order.spawner.shared().clone());
        let sink = Beside(completion, self.group.sink());
        visit::launch(self.order, self.access.order(), ReadThen::new(read, then), sink);
        handle
    }
}

impl<P: Spawner, T: Version, M: Membership> TaskBuilder<P, ReadLink<T>, M> {
    /// Spawns one optimistic visit to a node.
    #[inline(always)]
    pub fn visit<V: Visit<Target = T>>(self, visit: V) {
        visit::launch(self.order, self.access.order(), visit::Visiting(visit), self.group.sink());
    }
}

impl<P: Spawner, T: Version, M: Membership> TaskBuilder<P, WriteLink<T>, M> {
    /// Spawns one write to a node.
    #[inline(always)]
    pub fn modify<W: Modify<Target = T>>(self, modify: W) {
        let body = Modifying { modify, link: self.access.0 };
        once::launch(self.order, self.access.order(), body, once::GoOn(self.group.sink()));
    }
}
