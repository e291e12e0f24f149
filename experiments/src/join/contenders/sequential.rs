//! Joins of one thread: what the parallel ones do, without their cost.

use super::super::partition::{Chunk, Division, chunk_size};
use super::super::rows::JoinRow;
use super::super::table::Table;
use super::{Entry, here};

pub(super) const SHARED: Entry = Entry {
    name: "sequential",
    about: "one thread, one table",
    is_parallel: false,
    start: |_| {
        Ok(here(|sides| {
            let table = Table::build(&sides.build);
            sides.probe.iter().map(|row| table.probe(*row)).sum()
        }))
    },
    more: (),
};

pub(super) const PARTITIONED: Entry = Entry {
    name: "sequential-radix",
    about: "one thread, both sides divided by hash, a table for each part",
    is_parallel: false,
    start: |_| {
        Ok(here(|sides| {
            let division = Division::for_rows(sides.build.len());
            let divide = |rows: &[JoinRow]| -> Vec<Chunk> {
                rows.chunks(chunk_size(rows.len(), 1)).map(|chunk| division.divide(chunk)).collect()
            };
            let (build, probe) = (divide(&sides.build), divide(&sides.probe));
            (0..division.parts()).map(|part| division.join_part(&build, &probe, part)).sum()
        }))
    },
    more: (),
};
