//! The program `machine`: draws a machine, and answers questions about it.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `answer` | one question and its answer, as text and as JSON |
//! | `watch` | the best plan, and each better one as it appears |
//! | `output` | failures, exit codes and files |

#![forbid(unsafe_code)]

mod answer;
mod options;
mod output;
mod watch;

use clap::Parser;
use options::{Options, Question};
use output::Failure;
use serde::Serialize;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;
use xtasking::platform::Placement;
use xtasking_knowledge::facts::{Facts, Gap, Load};
use xtasking_knowledge::system::{System, Unreadable};
use xtasking_knowledge::{Knowledge, hwloc, render};

fn main() -> ExitCode {
    let outcome = match Options::try_parse() {
        Ok(options) => run(&options),
        // Help and the version, which the parser prints without a look at the result.
        Err(text) if !text.use_stderr() => output::print(&text),
        Err(error) => error.exit(),
    };
    outcome.map_or_else(|failure| failure.report(), |()| ExitCode::SUCCESS)
}

/// Draws the machine, or answers the question.
fn run(options: &Options) -> Result<(), Failure> {
    let mut files = options.json.iter().filter(|path| !is_stdout(path)).chain(&options.plot);
    files.try_for_each(|path| output::check(path))?;
    let system = options.root.as_ref().map_or_else(System::here, System::below);
    let facts = match &options.hwloc {
        Some(described) => described_facts(described)?,
        None => measured_facts(options, &system)?,
    };
    if let Some(path) = &options.plot {
        output::write(path, render::svg(&facts).as_bytes())?;
    }
    match &options.question {
        None => {
            // The runtime's default placement exists only for the machine that the program runs on.
            let default =
                (options.root.is_none() && options.hwloc.is_none()).then(Placement::of_this_process);
            let default = default
                .map(|placement| format!("\na runtime without a placement has its workers on {placement}\n"));
            print(options, &facts, || render::text(&facts) + &default.unwrap_or_default())
        }
        Some(Question::Watch(_)) if options.hwloc.is_some() => {
            Err(Failure::Usage("a description does not change: there is nothing to watch".to_string()))
        }
        Some(Question::Watch(watch)) => watch::run(options, watch, &system, facts),
        Some(Question::Once(question)) => {
            let answer = answer::to(question, &Knowledge::new(facts))?;
            print(options, &answer, || answer.to_string())
        }
    }
}

/// Prints the text and writes the JSON to its file; `--json -` prints the JSON in place of the
/// text.
fn print(options: &Options, data: &impl Serialize, text: impl FnOnce() -> String) -> Result<(), Failure> {
    let json = || {
        let json = serde_json::to_string_pretty(data).map(|json| json + "\n");
        json.map_err(|error| Failure::Output(format!("cannot write JSON: {error}")))
    };
    match &options.json {
        Some(path) if is_stdout(path) => output::print(&json()?),
        Some(path) => {
            output::write(path, json()?.as_bytes())?;
            output::print(&text())
        }
        None => output::print(&text()),
    }
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Reads a description by hwloc: from a file, or from the argument itself.
fn described_facts(described: &str) -> Result<Facts, Failure> {
    // Synthetic descriptions contain a colon; a file with such a name takes precedence.
    let file = if described.contains(':') && !Path::new(described).exists() {
        None
    } else {
        let text = fs::read_to_string(described);
        Some(text.map_err(|error| Failure::Usage(format!("--hwloc: cannot read {described}: {error}")))?)
    };
    hwloc::machine(file.as_deref().unwrap_or(described))
        .map_err(|why| Failure::Usage(format!("--hwloc {described}: {why}")))
}

/// Reads the facts, and measures the load where counters are available.
fn measured_facts(options: &Options, system: &System) -> Result<Facts, Failure> {
    let mut facts = system.facts().map_err(|error| {
        let root = options.root.as_ref().map(|root| format!("--root {}: ", root.display()));
        Failure::Usage(format!("{}{error}", root.unwrap_or_default()))
    })?;
    // The counters in a copy of `/proc` do not advance.
    let default = if options.root.is_none() { 200 } else { 0 };
    let span = Duration::from_millis(options.span.unwrap_or(default));
    if !span.is_zero() {
        match load_over(system, span) {
            Ok(load) => facts.load = Some(load),
            Err(error) => facts.gaps.push(Gap { about: "load".to_string(), why: error.to_string() }),
        }
    }
    Ok(facts)
}

fn load_over(system: &System, span: Duration) -> Result<Load, Unreadable> {
    let mut watch = system.watch()?;
    thread::sleep(span);
    watch.load()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
    }
}
