//! Joins by the parallel iterators of rayon.

use super::super::partition::{Chunk, Division, chunk_size};
use super::super::rows::JoinRow;
use super::super::table::SharedTable;
use super::{Entry, here};
use rayon::prelude::*;
use xtasking_harness::lineup::start_rayon;

pub(super) const SHARED: Entry = Entry {
    name: "rayon",
    about: "rayon, one table that all threads build and then probe",
    is_parallel: true,
    start: |workers| {
        let pool = start_rayon(workers)?;
        Ok(here(move |sides| {
            pool.install(|| {
                let table = SharedTable::for_rows(sides.build.len());
                sides.build.par_iter().for_each(|row| table.insert(*row));
                sides.probe.par_iter().map(|row| table.probe(*row)).sum()
            })
        }))
    },
    more: (),
};

pub(super) const PARTITIONED: Entry = Entry {
    name: "rayon-radix",
    about: "rayon, both sides divided by hash, a table for each part",
    is_parallel: true,
    start: |workers| {
        let pool = start_rayon(workers)?;
        Ok(here(move |sides| {
            let division = Division::for_rows(sides.build.len());
            let divide = |rows: &[JoinRow]| -> Vec<Chunk> {
                let chunks = rows.par_chunks(chunk_size(rows.len(), workers));
                chunks.map(|chunk| division.divide(chunk)).collect()
            };
            pool.install(|| {
                let (build, probe) = (divide(&sides.build), divide(&sides.probe));
                let parts = (0..division.parts()).into_par_iter();
                parts.map(|part| division.join_part(&build, &probe, part)).sum()
            })
        }))
    },
    more: (),
};
