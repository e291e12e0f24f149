//! Manages objects of all classes and primitives, which are created and dropped while tasks wait
//! for them.

use super::account::{self, Account, Entry, Words};
use super::books::Books;
use std::sync::Arc;
use xtasking::{
    Frequency, Object, Plain, Runtime, Shared, Snapshot, Versioned,
    primitive::{OptimisticLatched, OptimisticSequenced, ReaderWriterLatch, Sequencing, SpinLatch},
};
use xtasking_harness::failure::Wrong;
use xtasking_harness::random::Random;

/// An object of any class.
#[derive(Clone)]
pub(super) enum Thing {
    Plain(Object<Plain<Account>>),
    Shared(Object<Shared<Account>>),
    Snapshot(Object<Snapshot<Entry>>),
    Versioned(Object<Versioned<Words>>),
}

/// Runs the same expression for an object of any class.
macro_rules! with {
    ($thing:expr, $object:ident => $body:expr) => {
        match $thing {
            Thing::Plain($object) => $body,
            Thing::Shared($object) => $body,
            Thing::Snapshot($object) => $body,
            Thing::Versioned($object) => $body,
        }
    };
}
pub(super) use with;

impl Thing {
    /// Creates an object of random class and primitive.
    fn new(rt: &Runtime, random: &mut Random, books: &Arc<Books>) -> Self {
        let money = random.below(1000);
        books.paid_in.add(money);
        let frequency = [Frequency::Low, Frequency::Normal, Frequency::High][random.below(3) as usize];
        macro_rules! pinned {
            ($class:ident: $builder:expr; $($primitive:expr),+) => {{
                let builder = $builder.frequency(frequency).prefetch(random.below(200) as usize);
                let choices = [$(stringify!($primitive)),+].len() as u64;
                let mut choice = random.below(choices);
                $(
                    if choice == 0 {
                        return Self::$class(builder.pin($primitive).build());
                    }
                    choice = choice.wrapping_sub(1);
                )+
                let _ = choice;
                Self::$class(builder.build())
            }};
        }
        match random.below(4) {
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

    fn is_snapshot(&self) -> bool {
        matches!(self, Self::Snapshot(_))
    }
}

/// The objects of a round.
pub(super) struct Population {
    things: Vec<Thing>,
    books: Arc<Books>,
    /// Whether snapshots have been read for the last time, and must not be written any more.
    audited: bool,
}

impl Population {
    pub(super) fn new(rt: &Runtime, random: &mut Random, books: &Arc<Books>) -> Self {
        let things = (0..10 + random.below(100)).map(|_| Thing::new(rt, random, books)).collect();
        Self { things, books: books.clone(), audited: false }
    }

    /// Returns a random object.
    pub(super) fn any(&self, random: &mut Random) -> &Thing {
        &self.things[random.below(self.things.len() as u64) as usize]
    }

    /// Returns a random object that may be written.
    pub(super) fn any_to_write(&self, random: &mut Random) -> Option<&Thing> {
        Some(self.any(random)).filter(|thing| !(self.audited && thing.is_snapshot()))
    }

    /// Returns two different objects that may be written.
    pub(super) fn two_to_write(&self, random: &mut Random) -> Option<(&Thing, &Thing)> {
        let (one, other) = (self.any_to_write(random)?, self.any_to_write(random)?);
        (!core::ptr::eq(one, other)).then_some((one, other))
    }

    /// Replaces some objects while tasks for the old ones are in flight. Snapshots stay: they have
    /// no destructor to report their final entry.
    pub(super) fn renew(&mut self, rt: &Runtime, random: &mut Random) {
        for _ in 0..random.below(20) {
            let index = random.below(self.things.len() as u64) as usize;
            if !self.things[index].is_snapshot() {
                self.things[index] = Thing::new(rt, random, &self.books);
            }
        }
    }

    /// Clears poison of all objects: bodies panic before they write, so the data are consistent.
    pub(super) fn clear_poison(&self) {
        self.things.iter().for_each(|thing| with!(thing, object => object.clear_poison()));
    }

    /// Adds the snapshots to the final sums while no task is in flight. From then on they are only
    /// read.
    pub(super) fn audit(&mut self, rt: &Runtime) -> Result<(), Wrong> {
        for thing in &self.things {
            if let Thing::Snapshot(object) = thing {
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
