//! Defines the data of objects: a sum of money, the number of its changes, and a seal derived from
//! both.
//!
//! Each class has its own form. Those that can have a destructor report their final entry to the
//! books.

use super::books::Books;
use std::sync::Arc;
use std::thread;
use xtasking::{Version, Word, arena::Written};

/// Money, changes and seal.
pub(super) type Entry = [u64; 3];

/// Returns the seal of an entry.
fn seal(money: u64, changes: u64) -> u64 {
    money.rotate_left(17) ^ changes.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Creates an entry.
pub(super) fn entry(money: u64) -> Entry {
    [money, 0, seal(money, 0)]
}

/// Reports an entry whose seal is wrong.
pub(super) fn check([money, changes, sealed]: Entry, books: &Books) {
    if sealed != seal(money, changes) {
        books.report(format!("a task saw money {money}, changes {changes} and seal {sealed}: a torn read"));
    }
}

/// Adds an entry to the final sums.
pub(super) fn close(entry: Entry, books: &Books) {
    check(entry, books);
    books.paid_out.add(entry[0]);
    books.changes_counted.add(entry[1]);
}

/// What a task leaves in an entry if it panics half-way.
const GARBAGE: Entry = [1, 2, 3];

/// An entry for objects that one task at a time accesses in place.
pub(super) struct Account {
    entry: Entry,
    /// The entry before a task that has panicked half-way.
    before: Option<Entry>,
    books: Arc<Books>,
}

impl Account {
    pub(super) fn new(money: u64, books: &Arc<Books>) -> Self {
        books.accounts.begin();
        Self { entry: entry(money), before: None, books: books.clone() }
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        close(self.before.unwrap_or(self.entry), &self.books);
        self.books.accounts.end();
    }
}

/// An entry for objects that are read while they are written.
pub(super) struct Words {
    entry: [Word; 3],
    /// The entry before a task that has panicked half-way.
    before: [Word; 3],
    /// 1 after that task, until another one has mended the entry.
    is_half: Word,
    books: Arc<Books>,
}

impl Version for Words {}

impl Words {
    pub(super) fn new(money: u64, books: &Arc<Books>) -> Self {
        books.accounts.begin();
        let (before, is_half) = (GARBAGE.map(Word::new), Word::new(0));
        Self { entry: entry(money).map(Word::new), before, is_half, books: books.clone() }
    }

    /// Returns the numbers, which may be torn for an optimistic reader; `pause` yields in between
    /// to make that likely.
    pub(super) fn get(&self, pause: bool) -> Entry {
        let money = self.entry[0].get();
        if pause {
            thread::yield_now();
        }
        [money, self.entry[1].get(), self.entry[2].get()]
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        let entry =
            if self.is_half.get() == 0 { self.get(false) } else { self.before.each_ref().map(Word::get) };
        close(entry, &self.books);
        self.books.accounts.end();
    }
}

/// What a body can read.
pub(super) trait Readable {
    fn read(&self) -> Entry;
}

/// What a body can write.
pub(super) trait Writable: Readable {
    fn write(&mut self, entry: Entry);

    /// Leaves the entry half-written, as the task is about to panic.
    fn write_half(&mut self);

    /// Mends what a task that panicked has left half-written.
    fn mend(&mut self);

    /// Adds to the money, counts the change, and checks the entry before. `pause` yields between
    /// the read and the write.
    fn change(&mut self, amount: u64, pause: bool, books: &Books) {
        let [money, changes, sealed] = self.read();
        check([money, changes, sealed], books);
        if pause {
            thread::yield_now();
        }
        let (money, changes) = (money.wrapping_add(amount), changes + 1);
        self.write([money, changes, seal(money, changes)]);
        books.changes_made.add(1);
    }
}

impl Readable for &Account {
    fn read(&self) -> Entry {
        self.entry
    }
}

impl Readable for &mut Account {
    fn read(&self) -> Entry {
        self.entry
    }
}

impl Writable for &mut Account {
    fn write(&mut self, entry: Entry) {
        self.entry = entry;
    }

    fn write_half(&mut self) {
        self.before = Some(self.entry);
        self.entry = GARBAGE;
    }

    fn mend(&mut self) {
        self.entry = self.before.take().unwrap_or(self.entry);
    }
}

impl Readable for &Entry {
    fn read(&self) -> Entry {
        **self
    }
}

impl Readable for &mut Entry {
    fn read(&self) -> Entry {
        **self
    }
}

impl Writable for &mut Entry {
    fn write(&mut self, entry: Entry) {
        **self = entry;
    }

    /// The task writes a copy, which is not published.
    fn write_half(&mut self) {
        **self = GARBAGE;
    }

    fn mend(&mut self) {}
}

impl Readable for &Words {
    fn read(&self) -> Entry {
        self.get(false)
    }
}

impl Readable for Written<'_, Words> {
    fn read(&self) -> Entry {
        self.get(false)
    }
}

impl Writable for Written<'_, Words> {
    fn write(&mut self, entry: Entry) {
        self.entry.iter().zip(entry).for_each(|(word, value)| word.set(value, self.token()));
    }

    fn write_half(&mut self) {
        self.before.iter().zip(self.read()).for_each(|(word, value)| word.set(value, self.token()));
        self.is_half.set(1, self.token());
        self.write(GARBAGE);
    }

    fn mend(&mut self) {
        if self.is_half.get() == 1 {
            let before = self.before.each_ref().map(Word::get);
            self.write(before);
            self.is_half.set(0, self.token());
        }
    }
}
