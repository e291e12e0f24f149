//! Who takes part.

use super::bookings::Bookings;
use super::database::{Command, Loaded, Server, Taken};
use super::oracle::Oracle;
use super::own::Own;
use super::requests::{Batch, Turn};
use crate::lineup::Outside;
use crate::outside::Dialogue;

/// A contender that has started. It keeps its table until it is dropped.
pub(super) enum Contender {
    /// One of this process.
    Here(Box<dyn Server>),
    /// A program, which makes the same rows and requests of the same seed.
    There(Dialogue),
}

pub(super) type Entry = crate::lineup::Entry<Contender>;

/// Those of this process. The first always takes part, and ratios are those to it.
pub(super) static ALL: &[Entry] = &[
    Entry {
        name: "xtasking",
        about: "the column store of this project: one scan for a whole batch, a partition for each worker",
        is_parallel: true,
        start: |workers| Ok(Contender::Here(Box::new(Own::start(workers)?))),
        more: (),
    },
    Entry {
        name: "indexes",
        about: "a table in plain Rust with a sorted index for each kind of query here, and for no other",
        is_parallel: false,
        start: |_| Ok(Contender::Here(Box::new(Oracle::default()))),
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
                    Ok(Contender::There(Dialogue::start("databases", &arguments)?))
                },
                more: (),
            },
        }
    };
}

/// Databases, as one program, of which each contender is a process of its own.
pub(super) static OUTSIDE: &[Outside<Contender>] = &[
    outside!(
        "datafusion",
        true,
        "DataFusion: a batch's queries of a kind are a table, and are joined with the bookings"
    ),
    outside!("datafusion-bins", true, "the same, joined by bins of what has to lie in a range as well"),
    outside!("datafusion-each", true, "DataFusion: one query after another, by prepared plans"),
    outside!(
        "duckdb",
        true,
        "DuckDB: a batch's queries of a kind are a table, and are joined with the bookings"
    ),
    outside!("duckdb-bins", true, "the same, joined by bins of what has to lie in a range as well"),
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
    pub(super) fn load(&mut self, bookings: &Bookings) -> Result<Loaded, String> {
        match self {
            Self::Here(server) => server.load(bookings),
            Self::There(program) => {
                program.ask(&Command::Load { rows: bookings.row_count(), seed: bookings.seed() })
            }
        }
    }

    /// Serves the batches of a turn, one after another.
    pub(super) fn take_turn(&mut self, turn: &Turn, batches: &[Batch]) -> Result<Taken, String> {
        match self {
            Self::Here(server) => server.take_turn(batches),
            Self::There(program) => program.ask(&Command::Turn(*turn)),
        }
    }
}
