//! A join by hand: threads with a shared table, whose slots are prefetched for later rows.

use super::super::rows::{JoinRow, Matches};
use super::super::table::SharedTable;
use super::{Entry, here};
use std::thread;
use xtasking_harness::machine::pin;

pub(super) const AHEAD: Entry = Entry {
    name: "by-hand-ahead",
    about: "threads, the table of rayon, with the slots of later rows prefetched by hand",
    is_parallel: true,
    start: |workers| {
        Ok(here(move |sides| {
            let table = SharedTable::for_rows(sides.build.len());
            on_threads(workers, &sides.build, |rows| {
                ahead(&table, rows, |row| table.insert(row));
                Matches::default()
            });
            on_threads(workers, &sides.probe, |rows| {
                let mut matches = Matches::default();
                ahead(&table, rows, |row| matches = matches + table.probe(row));
                matches
            })
        }))
    },
    more: (),
};

/// Rows between the one that is joined and the one whose slot is fetched.
const DISTANCE: usize = 16;

/// Calls `act` with each row, and fetches the slot of a later one.
#[inline(always)]
fn ahead(table: &SharedTable, rows: &[JoinRow], mut act: impl FnMut(JoinRow)) {
    for (index, row) in rows.iter().enumerate() {
        // Near the end, the last key is fetched again, which is cheaper than a branch.
        table.fetch(rows[(index + DISTANCE).min(rows.len() - 1)].key);
        act(*row);
    }
}

/// Gives each of `workers` pinned threads a share of the rows, and adds up what they find.
fn on_threads(workers: usize, rows: &[JoinRow], work: impl Fn(&[JoinRow]) -> Matches + Sync) -> Matches {
    let work = &work;
    thread::scope(|scope| {
        let start = |(index, rows)| {
            scope.spawn(move || {
                pin(index, workers);
                work(rows)
            })
        };
        let shares = rows.chunks(rows.len().div_ceil(workers).max(1)).enumerate();
        let threads: Vec<_> = shares.map(start).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).sum()
    })
}
