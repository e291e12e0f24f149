//! Searches of one thread.

use super::super::bitmaps::{self, PlainLoops};
use super::super::search::sequential;
use super::Entry;

pub(super) const PLAIN: Entry = Entry {
    name: "sequential",
    about: "one thread, level by level",
    is_parallel: false,
    start: |_| Ok(Box::new(sequential)),
    more: (),
};

pub(super) const BITMAPS: Entry = Entry {
    name: "sequential-bitmaps",
    about: "one thread, the same search as xtasking",
    is_parallel: false,
    start: |_| Ok(Box::new(|graph| bitmaps::search(graph, 1, PlainLoops))),
    more: (),
};
