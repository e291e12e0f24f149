//! Serves the requests of `xtasking-bench scan` with databases: `databases NAME THREADS` reads
//! commands, a line each, from its standard input, and writes results as lines of JSON to its
//! output. It generates the same rows and requests as `xtasking-bench`, from the same seed, and
//! measures its own time.
//!
//! `databases duckdb-join BUILD PROBE SEED THREADS` runs one turn of `xtasking-bench join` instead.
//!
//! Each database is used in the fastest known way; where that goes beyond its own statements, the
//! module says so.
//!
//! | module | what it holds |
//! |---|---|
//! | `sql` | requests as statements and as tables |
//! | `waves` | changes that can be applied together |
//! | `datafusion` | DataFusion, by joins and one after another |
//! | `changes` | changes of DataFusion's table in place |
//! | `duckdb` | DuckDB, by joins and one after another |
//! | `sqlite` | SQLite |
//! | `hash_join` | the hash join of two tables, by DuckDB |

#![forbid(unsafe_code)]

mod changes;
mod datafusion;
mod duckdb;
mod hash_join;
mod sql;
mod sqlite;
mod waves;

use sql::Join;
use std::env;
use std::io::{BufRead, Write, stdin, stdout};
use std::process::ExitCode;
use xtasking_experiments::scan::bookings::Bookings;
use xtasking_experiments::scan::database::{Command, Server};

/// The error with which a database gives up.
type Error = Box<dyn std::error::Error>;

const USAGE: &str = "usage: databases datafusion[-bins|-each]|duckdb[-bins|-each]|sqlite THREADS, \
    or databases duckdb-join BUILD PROBE SEED THREADS";

fn start(arguments: &[String]) -> Result<Box<dyn Server>, Error> {
    let [name, threads] = arguments else { return Err(USAGE.into()) };
    let threads = threads.parse::<usize>().ok().filter(|threads| *threads > 0).ok_or(USAGE)?;
    Ok(match name.as_str() {
        "datafusion" => Box::new(datafusion::DataFusionJoin::start(threads, Join::Plain)?),
        "datafusion-bins" => Box::new(datafusion::DataFusionJoin::start(threads, Join::Bins)?),
        "datafusion-each" => Box::new(datafusion::DataFusionSingle::start(threads)?),
        "duckdb" => Box::new(duckdb::DuckDbJoin::start(threads, Join::Plain)?),
        "duckdb-bins" => Box::new(duckdb::DuckDbJoin::start(threads, Join::Bins)?),
        "duckdb-each" => Box::new(duckdb::DuckDbSingle::start(threads)?),
        "sqlite" => Box::new(sqlite::Sqlite::start()?),
        _ => return Err(USAGE.into()),
    })
}

fn serve(server: &mut dyn Server) -> Result<(), Error> {
    let mut bookings = None;
    for line in stdin().lock().lines() {
        let answer = match serde_json::from_str(&line?)? {
            Command::Load { rows, seed } => {
                serde_json::to_string(&server.load(bookings.insert(Bookings::new(rows, seed)))?)?
            }
            Command::Turn(turn) => {
                let bookings = bookings.as_ref().ok_or("the command `turn` needs a `load` before it")?;
                serde_json::to_string(&server.run_turn(&turn.batches(bookings).0)?)?
            }
        };
        let mut out = stdout().lock();
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

/// Runs the hash join, whose arguments follow its name.
fn join(arguments: &[String]) -> Result<(), Error> {
    let [build, probe, seed, threads] = arguments else { return Err(USAGE.into()) };
    let reply = hash_join::run(build.parse()?, probe.parse()?, seed.parse()?, threads.parse()?)?;
    Ok(writeln!(stdout(), "{}", serde_json::to_string(&reply)?)?)
}

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        Some((name, rest)) if name == hash_join::CASE => join(rest),
        _ => start(&arguments).and_then(|mut server| serve(server.as_mut())),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("databases {}: {error}", arguments.join(" "));
            ExitCode::FAILURE
        }
    }
}
