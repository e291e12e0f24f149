//! Whether connections receive and send by `io_uring`.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches};
use std::error::Error;
use xtasking::Builder;
use xtasking::platform::Threads;

const IO_URING: &str = "io-uring";

/// Returns the option.
pub fn option() -> Arg {
    Arg::new(IO_URING)
        .long(IO_URING)
        .value_name("WHEN")
        .value_parser(PossibleValuesParser::new(["yes", "no", "auto"]))
        .default_value("no")
        .help("Serve connections by io_uring, which is new: yes fails without it, auto serves by epoll")
}

/// Sets up a runtime as the option says, with this number of workers if it is chosen. Prints what
/// connections are served by.
pub fn choose(
    matches: &ArgMatches,
    mut rt: Builder,
    workers: Option<usize>,
) -> Result<Builder, Box<dyn Error>> {
    if let Some(workers) = workers {
        rt = rt.workers(workers);
    }
    let choice = matches.get_one::<String>(IO_URING).map_or("no", String::as_str);
    if choice == "no" {
        return Ok(rt);
    }
    match Threads::probe_io_uring() {
        Ok(()) => {
            println!("xtasking-store: connections are served by io_uring");
            let workers = workers.unwrap_or_else(Threads::suggested_workers);
            rt = rt.platform(Threads::new(workers).io_uring(true));
        }
        Err(why) if choice == "yes" => {
            return Err(format!("--{IO_URING} yes: {why}; choose auto or no").into());
        }
        Err(why) => println!("xtasking-store: connections are not served by io_uring: {why}"),
    }
    Ok(rt)
}
