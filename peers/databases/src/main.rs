//! Databases that serve what `xtasking scan` asks for: `databases NAME THREADS` is told what to do by lines on its standard
//! input, and tells what came of it by lines of JSON on its output. It makes the same rows and requests as who tells it, from
//! the same seed, and times what it does itself.
//!
//! Each database is given the best that is known of it; where that is more than its own means it is said.
//!
//! | module | what it holds |
//! |---|---|
//! | `sql` | requests as statements and as tables |
//! | `waves` | changes that can be made together |
//! | `datafusion` | DataFusion, by joins and one after another |
//! | `changes` | what DataFusion's table leaves to who owns it |
//! | `duckdb` | DuckDB, by joins and one after another |
//! | `sqlite` | SQLite |

mod changes;
mod datafusion;
mod duckdb;
mod sql;
mod sqlite;
mod waves;

use sql::Join;
use std::env;
use std::io::{BufRead, Write, stdin, stdout};
use std::process::ExitCode;
use xtasking_experiments::scan::bookings::Bookings;
use xtasking_experiments::scan::database::{Command, Server};

/// What a database says when it cannot go on.
type Failed = Box<dyn std::error::Error>;

const USAGE: &str = "usage: databases datafusion[-bins|-each]|duckdb[-bins|-each]|sqlite THREADS";

fn start(arguments: &[String]) -> Result<Box<dyn Server>, Failed> {
    let [name, threads] = arguments else { return Err(USAGE.into()) };
    let threads = threads.parse::<usize>().ok().filter(|threads| *threads > 0).ok_or(USAGE)?;
    Ok(match name.as_str() {
        "datafusion" => Box::new(datafusion::Joined::start(threads, Join::Plain)?),
        "datafusion-bins" => Box::new(datafusion::Joined::start(threads, Join::Bins)?),
        "datafusion-each" => Box::new(datafusion::Each::start(threads)?),
        "duckdb" => Box::new(duckdb::Joined::start(threads, Join::Plain)?),
        "duckdb-bins" => Box::new(duckdb::Joined::start(threads, Join::Bins)?),
        "duckdb-each" => Box::new(duckdb::Each::start(threads)?),
        "sqlite" => Box::new(sqlite::Sqlite::start()?),
        _ => return Err(USAGE.into()),
    })
}

fn serve(server: &mut dyn Server) -> Result<(), Failed> {
    let mut bookings = None;
    for line in stdin().lock().lines() {
        let answer = match serde_json::from_str(&line?)? {
            Command::Load { rows, seed } => {
                serde_json::to_string(&server.load(bookings.insert(Bookings::new(rows, seed)))?)?
            }
            Command::Turn(turn) => {
                let bookings = bookings.as_ref().ok_or("there is nothing to ask for yet")?;
                serde_json::to_string(&server.take_turn(&turn.batches(bookings).0)?)?
            }
        };
        let mut out = stdout().lock();
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    match start(&arguments).and_then(|mut server| serve(server.as_mut())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("databases {}: {error}", arguments.join(" "));
            ExitCode::FAILURE
        }
    }
}
