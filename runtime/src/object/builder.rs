//! The builder of an object, with its annotations.

use super::Object;
use super::class::{Class, WrittenInPlace};
use super::owned::Owned;
use super::primitive::{AllowsIsolation, Expectation, LegalFor, Primitive, choose};
use super::reference::{Cell, Reference};
use crate::annotation::{CACHE_LINE, Frequency, Part};
use crate::scheduler::{Runtime, RuntimeState};
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::mem::size_of;

/// An object under construction; made by [`Runtime::plain`] and its siblings.
#[must_use = "an object is made by `build`"]
pub struct ObjectBuilder<C: Class> {
    shared: Arc<RuntimeState>,
    value: C::Target,
    expect: Expectation,
    pinned: Option<Primitive>,
    core: Option<usize>,
    node: Option<u16>,
    prefetch: usize,
    most_tasks: Option<usize>,
    is_kept_on_panic: bool,
    name: Option<&'static str>,
}

/// The largest size in bytes up to which an object is prefetched as a whole by default.
pub(super) const MAX_WHOLE_PREFETCH_BYTES: usize = 4 * CACHE_LINE;

impl<C: Class> ObjectBuilder<C> {
    pub(crate) fn new(runtime: &Runtime, value: C::Target) -> Self {
        Self {
            shared: runtime.shared().clone(),
            value,
            expect: Expectation { isolation: C::ISOLATION, frequency: Frequency::Normal, read_share: 50 },
            pinned: None,
            core: None,
            node: None,
            prefetch: size_of::<Cell<C>>().min(MAX_WHOLE_PREFETCH_BYTES),
            most_tasks: None,
            is_kept_on_panic: false,
            name: None,
        }
    }

    /// Requests a stricter isolation than the class allows.
    pub fn isolation<I: AllowsIsolation<C>>(mut self, _: I) -> Self {
        self.expect.isolation = I::ISOLATION;
        self
    }

    /// Sets how often tasks will touch the object.
    pub fn frequency(mut self, frequency: Frequency) -> Self {
        self.expect.frequency = frequency;
        self
    }

    /// Sets the percentage of tasks on the object that only read it.
    pub fn read_share(mut self, percent: u8) -> Self {
        self.expect.read_share = percent.min(100);
        self
    }

    /// Sets the home: the worker (modulo their number) that runs the object's sequenced tasks.
    /// Takes precedence over [`node`](Self::node).
    pub fn core(mut self, core: usize) -> Self {
        self.core = Some(core);
        self
    }

    /// Sets the NUMA node (modulo their number) at which the object's sequenced tasks run.
    pub fn node(mut self, node: u16) -> Self {
        self.node = Some(node);
        self
    }

    /// Sets how many bytes of the object to prefetch before a task touches it, from its start.
    pub fn prefetch(mut self, bytes: usize) -> Self {
        // The header comes first, in the same line.
        self.prefetch =
            if bytes == 0 { 0 } else { (bytes + size_of::<super::Header>()).min(size_of::<Cell<C>>()) };
        self
    }

    /// Names the object, for the timeline, spans, the watchdog and the error of a
    /// [shutdown with a limit](Runtime::shutdown_within). A name that is made at run time can be
    /// leaked (`String::leak`).
    ///
    /// ```
    /// use xtasking::Runtime;
    ///
    /// let rt = Runtime::builder().workers(1).timeline(10).build()?;
    /// let account = rt.plain(5).name("savings").build();
    /// rt.task(account.write()).submit(|account, _cx| *account += 1).join()?;
    /// assert!(rt.timeline().expect("it is on").to_string().contains("writes i32 `savings`"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name(mut self, name: &'static str) -> Self {
        self.name = Some(name);
        self
    }

    /// Pins the primitive, regardless of the annotations. An illegal one for this class does not
    /// compile:
    ///
    /// ```compile_fail
    /// # let rt = xtasking::Runtime::builder().workers(1).build().unwrap();
    /// rt.plain(0u64).pin(xtasking::primitive::ReaderWriterLatch).build();
    /// ```
    pub fn pin<P: LegalFor<C>>(mut self, _: P) -> Self {
        self.pinned = Some(P::PRIMITIVE);
        self
    }

    /// Bounds the tasks on the object that are [spawned with room](crate::limit) and not finished:
    /// those that wait for it, and those that are in it. Default: none. Tasks that are spawned
    /// otherwise are not counted.
    ///
    /// ```
    /// let rt = xtasking::Runtime::builder().workers(2).build()?;
    /// let account = rt.plain(100).most_tasks(1000).build();
    /// if let Err(refused) = rt.task(account.write()).try_spawn(|balance, _| *balance -= 1) {
    ///     println!("too many requests: {refused}");
    /// }
    /// # Ok::<(), xtasking::BuildError>(())
    /// ```
    pub fn most_tasks(mut self, tasks: usize) -> Self {
        self.most_tasks = Some(tasks);
        self
    }

    /// Makes the object.
    pub fn build(self) -> Object<C> {
        let primitive = self.pinned.unwrap_or_else(|| choose(self.expect));
        let home = self.shared.home(self.core, self.node);
        // A frequently used object stays in the cache.
        let frequency = self.expect.frequency;
        let lines = if frequency == Frequency::High { 0 } else { self.prefetch.div_ceil(CACHE_LINE) };
        let shared = self.shared.clone();
        let limit = self.most_tasks.map(|most| self.shared.open_limit(most));
        let owned = Box::new(Owned::new(self.shared, C::new(self.value), limit));
        let object = Object::new(
            owned,
            |cell| Reference::new(cell, primitive, frequency, home).with_kept_on_panic(self.is_kept_on_panic),
            Part::lines(0, lines.min(u16::MAX.into()) as u16),
        );
        if let Some(name) = self.name {
            shared.names.insert(object.address(), name);
        }
        object
    }
}

impl<C: Class> ObjectBuilder<C> {
    /// Lets a panic leave the data as they are, and later tasks use them: the panic costs its own
    /// task alone. Default: a task that panics while it writes poisons the object, and later tasks
    /// fail with [`JoinError::Poisoned`](crate::JoinError::Poisoned).
    ///
    /// This is for data that are consistent after each single change: counters, caches, maps. What
    /// the task wrote before its panic stays. A [`Snapshot`](crate::Snapshot) needs no such choice:
    /// its writer works on a copy, which a panic discards. Of a [`Versioned`](crate::Versioned)
    /// object readers see the words that were set, as after a complete write.
    ///
    /// ```
    /// use xtasking::Runtime;
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let hits = rt.plain(0u64).keep_on_panic().build();
    /// let failed = rt.task(hits.write()).submit(|hits, _| {
    ///     *hits += 1;
    ///     panic!("a bad request");
    /// });
    /// assert!(failed.join().is_err());
    /// assert_eq!(rt.task(hits.read()).submit(|hits, _| *hits).join()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keep_on_panic(mut self) -> Self
    where
        C: WrittenInPlace,
    {
        self.is_kept_on_panic = true;
        self
    }
}

impl RuntimeState {
    /// Returns a home for a new object: worker `core`, or else a worker of `node`.
    fn home(&self, core: Option<usize>, node: Option<u16>) -> u16 {
        core.map_or_else(|| self.next_home(node), |core| (core % self.slots.len()) as u16)
    }

    /// Returns a home for a new object: the workers of its node, or of all nodes, in turn.
    pub(crate) fn next_home(&self, node: Option<u16>) -> u16 {
        let turn = self.next_in_turn();
        let Some(node) = node.map(|node| node % self.nodes as u16) else { return turn as u16 };
        let workers = self.slots.len();
        let there =
            (0..workers).map(|offset| (turn + offset) % workers).find(|&at| self.slots[at].node == node);
        there.unwrap_or(turn) as u16
    }
}
