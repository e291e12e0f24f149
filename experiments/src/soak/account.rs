//! The data of objects: a sum of money, how often it was changed, and a word that follows from both.
//!
//! Each class has its own form of it. Those that can have a destructor tell the books what they end with.

use super::books::Books;
use std::sync::Arc;
use std::thread;
use xtasking::{Version, Word, Written};

/// The three numbers.
pub(super) type Entry = [u64; 3];

/// What the third number must be.
fn seal(money: u64, changes: u64) -> u64 {
    money.rotate_left(17) ^ changes.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A new entry.
pub(super) fn entry(money: u64) -> Entry {
    [money, 0, seal(money, 0)]
}

/// Notes an entry whose numbers do not belong together.
pub(super) fn check([money, changes, sealed]: Entry, books: &Books) {
    if sealed != seal(money, changes) {
        books.find(format!("a task saw money {money}, changes {changes} and seal {sealed}: a torn read"));
    }
}

/// Takes an entry into the final sums.
pub(super) fn close(entry: Entry, books: &Books) {
    check(entry, books);
    books.paid_out.add(entry[0]);
    books.changes_found.add(entry[1]);
}

/// An entry for objects that are read and written in place by one task at a time.
pub(super) struct Account {
    entry: Entry,
    books: Arc<Books>,
}

impl Account {
    pub(super) fn new(money: u64, books: &Arc<Books>) -> Self {
        books.accounts.begin();
        Self { entry: entry(money), books: books.clone() }
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        close(self.entry, &self.books);
        self.books.accounts.end();
    }
}

/// An entry for objects that are read while they are written.
pub(super) struct Words {
    entry: [Word; 3],
    books: Arc<Books>,
}

// SAFETY: what changes after publication are words.
#[allow(unsafe_code, reason = "this is how an object says so")]
unsafe impl Version for Words {}

impl Words {
    pub(super) fn new(money: u64, books: &Arc<Books>) -> Self {
        books.accounts.begin();
        Self { entry: entry(money).map(Word::new), books: books.clone() }
    }

    /// The numbers, which may be torn for an optimistic reader: the more so if others get the chance to run in between.
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
        close(self.get(false), &self.books);
        self.books.accounts.end();
    }
}

/// What a body is given to read.
pub(super) trait Readable {
    fn read(&self) -> Entry;
}

/// What a body is given to write.
pub(super) trait Writable: Readable {
    fn write(&mut self, entry: Entry);

    /// Adds to the money, counts the change, and checks what was there. Now and then others get the chance to run
    /// between the reading and the writing.
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
}
