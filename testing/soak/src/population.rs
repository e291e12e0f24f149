//! Manages objects of all classes and primitives, which are created and dropped while tasks wait
//! for them.

use super::account::{self, Account, Entry, Words, Writable};
use super::books::Books;
use std::sync::Arc;
use xtasking::{
    Frequency, Handle, Object, Plain, Runtime, Shared, Snapshot, Versioned,
    primitive::{OptimisticLatched, OptimisticSequenced, ReaderWriterLatch, Sequencing, SpinLatch},
    task::Write,
};
use xtasking_harness::failure::Wrong;
use xtasking_harness::random::Random;

/// What panics do to an object, and how it is used again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterPanic {
    /// It is kept as it is: bodies panic before they write.
    Keep,
    /// It is poisoned and declared sound: bodies panic before they write.
    Clear,
    /// It is poisoned, and another task mends it: bodies also panic half-way.
    Mend,
}

/// An object of any class.
#[derive(Clone)]
pub(super) struct AnnotatedObject {
    pub(super) object: AnyObject,
    pub(super) after_panic: AfterPanic,
    pub(super) is_bounded: bool,
}

/// An object of any class.
#[derive(Clone)]
pub(super) enum AnyObject {
    Plain(Object<Plain<Account>>),
    Shared(Object<Shared<Account>>),
    Snapshot(Object<Snapshot<Entry>>),
    Versioned(Object<Versioned<Words>>),
}

/// Runs the same expression for an object of any class.
macro_rules! with {
    ($thing:expr, $object:ident => $body:expr) => {
        match &$thing.object {
            AnyObject::Plain($object) => $body,
            AnyObject::Shared($object) => $body,
            AnyObject::Snapshot($object) => $body,
            AnyObject::Versioned($object) => $body,
        }
    };
}
pub(super) use with;

/// Accesses that can be made to objects that are poisoned.
pub(super) trait EvenPoisoned {
    /// Enters the object even if it is poisoned. Snapshots never are.
    fn also_poisoned(self) -> Self;
}

impl EvenPoisoned for Write<'_, Plain<Account>> {
    fn also_poisoned(self) -> Self {
        self.even_poisoned()
    }
}

impl EvenPoisoned for Write<'_, Shared<Account>> {
    fn also_poisoned(self) -> Self {
        self.even_poisoned()
    }
}

impl EvenPoisoned for Write<'_, Snapshot<Entry>> {
    fn also_poisoned(self) -> Self {
        self
    }
}

impl EvenPoisoned for Write<'_, Versioned<Words>> {
    fn also_poisoned(self) -> Self {
        self.even_poisoned()
    }
}

/// Bounds of objects' tasks are at most this.
const MAX_TASKS: u64 = 50;

impl AnnotatedObject {
    /// Creates an object of random class and primitive.
    fn new(rt: &Runtime, random: &mut Random, books: &Arc<Books>) -> Self {
        let money = random.below(1000);
        books.paid_in.add(money);
        let after_panic = [AfterPanic::Keep, AfterPanic::Clear, AfterPanic::Mend][random.below(3) as usize];
        let is_bounded = random.below(3) == 0;
        let class = random.below(4);
        // A task that panics publishes nothing of a snapshot.
        let after_panic = if class == 2 { AfterPanic::Keep } else { after_panic };
        let frequency = [Frequency::Low, Frequency::Normal, Frequency::High][random.below(3) as usize];
        macro_rules! kept {
            (Snapshot, $builder:expr) => {
                $builder
            };
            ($class:ident, $builder:expr) => {
                if after_panic == AfterPanic::Keep { $builder.keep_on_panic() } else { $builder }
            };
        }
        macro_rules! pinned {
            ($class:ident: $builder:expr; $($primitive:expr),+) => {{
                let builder = $builder.frequency(frequency).prefetch(random.below(200) as usize);
                let builder = kept!($class, builder);
                let most = 1 + random.below(MAX_TASKS) as usize;
                let builder = if is_bounded { builder.most_tasks(most) } else { builder };
                let choices = [$(stringify!($primitive)),+].len() as u64;
                let mut choice = random.below(choices);
                $(
                    if choice == 0 {
                        let object = AnyObject::$class(builder.pin($primitive).build());
                        return Self { object, after_panic, is_bounded };
                    }
                    choice = choice.wrapping_sub(1);
                )+
                let _ = choice;
                Self { object: AnyObject::$class(builder.build()), after_panic, is_bounded }
            }};
        }
        match class {
            0 => pinned!(Plain: rt.plain(Account::new(money, books)); Sequencing, SpinLatch),
            1 => pinned!(Shared: rt.shared_reads(Account::new(money, books));
                Sequencing, SpinLatch, ReaderWriterLatch),
            2 => {
                pinned!(Snapshot: rt.snapshot(account::entry(money)); OptimisticSequenced, OptimisticLatched)
            }
            _ => pinned!(Versioned: rt.versioned(Words::new(money, books));
                Sequencing, SpinLatch, ReaderWriterLatch, OptimisticSequenced, OptimisticLatched),
        }
    }

    pub(super) fn is_snapshot(&self) -> bool {
        matches!(self.object, AnyObject::Snapshot(_))
    }

    /// Returns true if tasks may find the object poisoned.
    pub(super) fn may_be_poisoned(&self) -> bool {
        self.after_panic != AfterPanic::Keep
    }

    /// Spawns a task that mends the object, or declares it sound.
    fn mend(&self, rt: &Runtime) -> Option<Handle<()>> {
        match self.after_panic {
            AfterPanic::Keep => None,
            AfterPanic::Clear => {
                with!(self, object => object.clear_poison());
                None
            }
            AfterPanic::Mend => Some(with!(self, object => {
                rt.task(object.write().also_poisoned()).submit(|mut entry, _| entry.mend())
            })),
        }
    }
}

/// The objects of a round.
pub(super) struct Population {
    things: Vec<AnnotatedObject>,
    books: Arc<Books>,
    /// Whether snapshots have been read for the last time, and must not be written any more.
    audited: bool,
}

impl Population {
    pub(super) fn new(rt: &Runtime, random: &mut Random, books: &Arc<Books>) -> Self {
        let things = (0..10 + random.below(100)).map(|_| AnnotatedObject::new(rt, random, books)).collect();
        Self { things, books: books.clone(), audited: false }
    }

    /// Returns a random object.
    pub(super) fn any(&self, random: &mut Random) -> &AnnotatedObject {
        &self.things[random.below(self.things.len() as u64) as usize]
    }

    /// Returns a random object that may be written.
    pub(super) fn any_to_write(&self, random: &mut Random) -> Option<&AnnotatedObject> {
        Some(self.any(random)).filter(|thing| !(self.audited && thing.is_snapshot()))
    }

    /// Returns two different objects that may be written.
    pub(super) fn two_to_write(&self, random: &mut Random) -> Option<(&AnnotatedObject, &AnnotatedObject)> {
        let (one, other) = (self.any_to_write(random)?, self.any_to_write(random)?);
        (!core::ptr::eq(one, other)).then_some((one, other))
    }

    /// Replaces some objects while tasks for the old ones are in flight. Snapshots stay: they have
    /// no destructor to report their final entry.
    pub(super) fn renew(&mut self, rt: &Runtime, random: &mut Random) {
        for _ in 0..random.below(20) {
            let index = random.below(self.things.len() as u64) as usize;
            if !self.things[index].is_snapshot() {
                self.things[index] = AnnotatedObject::new(rt, random, &self.books);
            }
        }
    }

    /// Mends some of the objects while tasks for them are in flight.
    pub(super) fn mend_some(&self, rt: &Runtime, random: &mut Random) {
        for _ in 0..random.below(10) {
            drop(self.any(random).mend(rt));
        }
    }

    /// Mends all objects.
    pub(super) fn mend_all(&self, rt: &Runtime) -> Result<(), Wrong> {
        self.things.iter().filter_map(|thing| thing.mend(rt)).try_for_each(|mended| {
            mended.join().map_err(|error| Wrong::new(format!("an object could not be mended: {error}")))
        })
    }

    /// Adds the snapshots to the final sums while no task is in flight. From then on they are only
    /// read.
    pub(super) fn audit(&mut self, rt: &Runtime) -> Result<(), Wrong> {
        for thing in &self.things {
            if let AnyObject::Snapshot(object) = &thing.object {
                let entry = rt.task(object.read()).submit(|entry, _| *entry).join();
                let entry =
                    entry.map_err(|error| Wrong::new(format!("a snapshot could not be read: {error}")))?;
                account::close(entry, &self.books);
            }
        }
        self.audited = true;
        Ok(())
    }
}
