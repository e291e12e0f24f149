//! The builder of an object, with what it says about itself.

use super::Object;
use super::class::Class;
use super::owned::Owned;
use super::primitive::{Expectation, IsolationFor, LegalFor, Primitive, choose};
use super::reference::{Cell, Reference};
use crate::annotation::{Frequency, LINE, Part};
use crate::scheduler::{Runtime, Shared};
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::mem::size_of;

/// An object in the making; made by [`Runtime::plain`] and its siblings.
#[must_use = "an object is made by `build`"]
pub struct ObjectBuilder<C: Class> {
    shared: Arc<Shared>,
    value: C::Target,
    expect: Expectation,
    pinned: Option<Primitive>,
    core: Option<usize>,
    node: Option<u16>,
    prefetch: usize,
}

/// Objects are fetched whole up to this size, unless they say otherwise.
const FETCHED_WHOLE: usize = 4 * LINE;

impl<C: Class> ObjectBuilder<C> {
    pub(crate) fn new(runtime: &Runtime, value: C::Target) -> Self {
        Self {
            shared: runtime.shared().clone(),
            value,
            expect: Expectation { isolation: C::ISOLATION, frequency: Frequency::Normal, read_share: 50 },
            pinned: None,
            core: None,
            node: None,
            prefetch: size_of::<Cell<C>>().min(FETCHED_WHOLE),
        }
    }

    /// Asks for a stricter isolation than the class allows.
    pub fn isolation<I: IsolationFor<C>>(mut self, _: I) -> Self {
        self.expect.isolation = I::ISOLATION;
        self
    }

    /// How often tasks will touch the object.
    pub fn frequency(mut self, frequency: Frequency) -> Self {
        self.expect.frequency = frequency;
        self
    }

    /// How many of 100 tasks on the object will only read it.
    pub fn read_share(mut self, percent: u8) -> Self {
        self.expect.read_share = percent.min(100);
        self
    }

    /// The worker (modulo their number) that should run the object's sequenced tasks: its home. This has the last word over
    /// [`node`](Self::node).
    pub fn core(mut self, core: usize) -> Self {
        self.core = Some(core);
        self
    }

    /// The NUMA node (modulo their number) at which the object's sequenced tasks should run.
    pub fn node(mut self, node: u16) -> Self {
        self.node = Some(node);
        self
    }

    /// How many bytes of the object to fetch before a task touches it, counted from its start.
    pub fn prefetch(mut self, bytes: usize) -> Self {
        // The header comes first, in the same line.
        self.prefetch =
            if bytes == 0 { 0 } else { (bytes + size_of::<super::Header>()).min(size_of::<Cell<C>>()) };
        self
    }

    /// Pins the primitive, whatever the annotations say. An illegal one for this class does not compile:
    ///
    /// ```compile_fail
    /// # let rt = xtasking::Runtime::builder().workers(1).build().unwrap();
    /// rt.plain(0u64).pin(xtasking::ReaderWriterLatch).build();
    /// ```
    pub fn pin<P: LegalFor<C>>(mut self, _: P) -> Self {
        self.pinned = Some(P::PRIMITIVE);
        self
    }

    /// Makes the object.
    pub fn build(self) -> Object<C> {
        let primitive = self.pinned.unwrap_or_else(|| choose(self.expect));
        let home = self.shared.home(self.core, self.node);
        // What is frequently used stays in the cache.
        let frequency = self.expect.frequency;
        let lines = if frequency == Frequency::High { 0 } else { self.prefetch.div_ceil(LINE) };
        let owned = Box::new(Owned::new(self.shared, C::new(self.value)));
        Object::new(
            owned,
            |cell| Reference::new(cell, primitive, frequency, home),
            Part::lines(0, lines.min(u16::MAX.into()) as u16),
        )
    }
}

impl Shared {
    /// A home for a new object: this worker, or else one of this node.
    fn home(&self, core: Option<usize>, node: Option<u16>) -> u16 {
        core.map_or_else(|| self.next_home(node), |core| (core % self.seats.len()) as u16)
    }

    /// A home for a new object: the workers of its node in turn.
    pub(crate) fn next_home(&self, node: Option<u16>) -> u16 {
        let turn = self.next_in_turn();
        let Some(node) = node.map(|node| node % self.nodes as u16) else { return turn as u16 };
        let workers = self.seats.len();
        let there =
            (0..workers).map(|offset| (turn + offset) % workers).find(|&at| self.seats[at].node == node);
        there.unwrap_or(turn) as u16
    }
}
