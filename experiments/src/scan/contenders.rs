//! Lists the contenders.

use super::bookings::Bookings;
use super::column_store::ColumnStore;
use super::database::{Command, LoadResult, Server, TurnResult};
use super::oracle::Oracle;
use super::requests::{Batch, Turn};
use xtasking_harness::lineup::Outside;
use xtasking_harness::outside::Dialogue;

/// A contender that has started. It keeps its table until it is dropped.
pub(super) enum Contender {
    /// In this process.
    InProcess(Box<dyn Server>),
    /// In another process, which generates the same rows and requests from the same seed.
    External(Dialogue),
}

pub(super) type Entry = xtasking_harness::lineup::Entry<Contender>;

/// The contenders in this process. The first always takes part, and ratios are relative to it.
pub(super) static ALL: &[Entry] = &[
    Entry {
        name: "xtasking",
        about: "the column store of this project: one scan for a whole batch, a partition for each worker",
        is_parallel: true,
        start: |workers| Ok(Contender::InProcess(Box::new(ColumnStore::start(workers)?))),
        more: (),
    },
    Entry {
        name: "indexes",
        about: "a table in plain Rust with a sorted index for each of these kinds of queries",
        is_parallel: false,
        start: |_| Ok(Contender::InProcess(Box::new(Oracle::default()))),
        more: (),
    },
];

macro_rules! outside {
    ($name:literal, $parallel:literal, $about:literal) => {
        Outside {
            program: "databases",
            entry: Entry {
                name: $name,
                about: $about,
                is_parallel: $parallel,
                start: |workers| {
                    let arguments = [$name.to_string(), workers.to_string()];
                    Ok(Contender::External(Dialogue::start("databases", &arguments)?))
                },
                more: (),
            },
        }
    };
}

/// The databases: one program, which each contender runs as a process of its own.
pub(super) static OUTSIDE: &[Outside<Contender>] = &[
    outside!(
        "datafusion",
        true,
        "DataFusion: the queries of a kind in a batch form a table that is joined with the bookings"
    ),
    outside!("datafusion-bins", true, "as datafusion, and the join also compares bins of range conditions"),
    outside!("datafusion-each", true, "DataFusion: one query after another, by prepared plans"),
    outside!(
        "duckdb",
        true,
        "DuckDB: the queries of a kind in a batch form a table that is joined with the bookings"
    ),
    outside!("duckdb-bins", true, "as duckdb, and the join also compares bins of range conditions"),
    outside!(
        "duckdb-each",
        true,
        "DuckDB with an index by locator: one request after another, by prepared statements"
    ),
    outside!(
        "sqlite",
        false,
        "SQLite with indexes: one request after another, by prepared statements, in one transaction"
    ),
];

impl Contender {
    /// Loads the bookings.
    pub(super) fn load(&mut self, bookings: &Bookings) -> Result<LoadResult, String> {
        match self {
            Self::InProcess(server) => server.load(bookings),
            Self::External(program) => {
                program.ask(&Command::Load { rows: bookings.row_count(), seed: bookings.seed() })
            }
        }
    }

    /// Serves the batches of a turn, one after another.
    pub(super) fn run_turn(&mut self, turn: &Turn, batches: &[Batch]) -> Result<TurnResult, String> {
        match self {
            Self::InProcess(server) => server.run_turn(batches),
            Self::External(program) => program.ask(&Command::Turn(*turn)),
        }
    }
}
