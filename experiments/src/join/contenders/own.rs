//! Joins by this runtime: part by part, and by walks in a table.

use super::super::partition::{Chunk, Division, chunk_size};
use super::super::rows::{JoinRow, Matches, Sides};
use super::{Entry, here};
use crate::tables::versioned::Tables;
use crate::tables::walks::{Insert, Lookup};
use xtasking::bundle::{each, fold};
use xtasking::fork::zip;
use xtasking::{JoinError, Runtime};
use xtasking_harness::lineup::start_own;

pub(super) const PARTITIONED: Entry = Entry {
    name: "xtasking",
    about: "XTasking, a task on each worker; both sides divided by hash, a table for each part",
    is_parallel: true,
    start: |workers| {
        let rt = start_own(workers)?;
        Ok(here(move |sides| join(&rt, sides).expect("no task panics")))
    },
    more: (),
};

/// Joins part by part. A worker that is done with a chunk or part takes the next one.
fn join(rt: &Runtime, sides: &Sides) -> Result<Matches, JoinError> {
    let division = Division::for_rows(sides.build.len());
    let divide = |rows: &[JoinRow]| {
        let chunks: Vec<_> = rows.chunks(chunk_size(rows.len(), rt.workers())).collect();
        let mut divided = vec![Chunk::default(); chunks.len()];
        rt.task_scope(|scope| {
            for (task, chunks) in scope.portions(zip(&chunks[..], &mut divided[..]), 1) {
                let divide = move |(rows, chunk): (&&[JoinRow], &mut Chunk)| *chunk = division.divide(rows);
                task.spawn(move |(), _| chunks.for_each(divide));
            }
        })?;
        Ok::<_, JoinError>(divided)
    };
    let (build, probe) = (divide(&sides.build)?, divide(&sides.probe)?);
    let mut matches = vec![Matches::default(); rt.workers()];
    rt.task_scope(|scope| {
        for ((task, parts), matches) in scope.portions(0..division.parts(), 1).zip(&mut matches) {
            let join = |part| division.join_part(&build, &probe, part);
            task.spawn(move |(), _| *matches = parts.map(join).sum());
        }
    })?;
    Ok(matches.into_iter().sum())
}

pub(super) const WALKS: Entry = Entry {
    name: "xtasking-walks",
    about: "XTasking, a bundle of walks for each worker, in one table of versioned buckets",
    is_parallel: true,
    start: |workers| {
        let tables = Tables::new(start_own(workers)?);
        Ok(here(move |sides| walk(&tables, sides).expect("no walk panics")))
    },
    more: (),
};

/// Rows that a worker takes at a time.
const PORTION: usize = 4096;

fn walk(tables: &Tables, sides: &Sides) -> Result<Matches, JoinError> {
    let (rt, table) = (tables.runtime(), tables.add(sides.build.len()));
    rt.task_scope(|scope| {
        for (task, rows) in scope.portions(&sides.build[..], PORTION) {
            let inserts = rows.map(move |row| {
                (table.first(row.key).write(), Insert { table, key: row.key, value: row.payload })
            });
            task.bundle(each(inserts, |_, is_new, _| _ = is_new.expect("no walk panics")));
        }
    })?;
    let mut matches = vec![Matches::default(); rt.workers()];
    rt.task_scope(|scope| {
        for ((task, rows), matches) in scope.portions(&sides.probe[..], PORTION).zip(&mut matches) {
            let lookups = rows
                .map(move |row| (table.first(row.key).read(), Lookup { table, key: row.key, context: row }));
            let bundle = fold(lookups, Matches::default(), |matches, lookup, payload, _| {
                let payload = payload.expect("no walk panics");
                *matches = *matches + Matches::of(*lookup.context, payload);
            });
            task.bundle_then(bundle, |bundle, _| *matches = bundle.into_state());
        }
    })?;
    Ok(matches.into_iter().sum())
}
