//! What the machine is and is doing, as the knowledge base has it, and what it answers.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `answer` | questions and their answers, for people and for programs |
//! | `vigil` | what changes, told as it does |

mod answer;
mod options;
mod vigil;

pub use options::Options;

use crate::failure::Failure;
use crate::report::file;
use options::Question;
use serde::Serialize;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;
use xtasking::Placement;
use xtasking_knowledge::facts::{Facts, Gap, Load};
use xtasking_knowledge::system::{System, Unreadable};
use xtasking_knowledge::{Knowledge, drawing, hwloc};

/// Shows the machine, or answers a question about it.
pub fn run(options: &Options) -> Result<(), Failure> {
    let mut files = options.json.iter().filter(|path| !is_output(path)).chain(&options.plot);
    files.try_for_each(|path| file::check(path))?;
    let system = options.root.as_ref().map_or_else(System::here, System::below);
    let facts = match &options.hwloc {
        Some(described) => description(described)?,
        None => look(options, &system)?,
    };
    if let Some(path) = &options.plot {
        file::write(path, drawing::svg(&facts).as_bytes())?;
    }
    match &options.question {
        None => {
            // What the runtime makes of the machine, unless it is another one.
            let habit = (options.root.is_none() && options.hwloc.is_none()).then(Placement::of_this_process);
            let habit =
                habit.map(|habit| format!("\na runtime that is told nothing has workers on {habit}\n"));
            hand_over(options, &facts, || drawing::text(&facts) + &habit.unwrap_or_default())
        }
        Some(Question::Watch(_)) if options.hwloc.is_some() => {
            Err(Failure::Usage("a description does not change: there is nothing to watch".to_string()))
        }
        Some(Question::Watch(vigil)) => vigil::run(options, vigil, &system, facts),
        Some(Question::Once(question)) => {
            let answer = answer::to(question, &Knowledge::new(facts))?;
            hand_over(options, &answer, || answer.to_string())
        }
    }
}

/// Prints what is for people, and writes what is for programs. Whoever wants that printed gets nothing else.
fn hand_over(options: &Options, data: &impl Serialize, text: impl FnOnce() -> String) -> Result<(), Failure> {
    let json = || {
        let json = serde_json::to_string_pretty(data).map(|json| json + "\n");
        json.map_err(|error| Failure::Output(format!("cannot write JSON: {error}")))
    };
    match &options.json {
        Some(path) if is_output(path) => print!("{}", json()?),
        Some(path) => {
            file::write(path, json()?.as_bytes())?;
            print!("{}", text());
        }
        None => print!("{}", text()),
    }
    Ok(())
}

fn is_output(path: &Path) -> bool {
    path == Path::new("-")
}

/// The facts of a machine that hwloc describes: in a file, or in the words themselves.
fn description(described: &str) -> Result<Facts, Failure> {
    // What is a description is no name of a file, unless there is one.
    let file = if described.contains(':') && !Path::new(described).exists() {
        None
    } else {
        let text = fs::read_to_string(described);
        Some(text.map_err(|error| Failure::Usage(format!("--hwloc: cannot read {described}: {error}")))?)
    };
    hwloc::machine(file.as_deref().unwrap_or(described))
        .map_err(|why| Failure::Usage(format!("--hwloc {described}: {why}")))
}

/// The facts, and the load if there is anything to be seen of it.
fn look(options: &Options, system: &System) -> Result<Facts, Failure> {
    let mut facts = system.facts().map_err(|error| {
        let root = options.root.as_ref().map(|root| format!("--root {}: ", root.display()));
        Failure::Usage(format!("{}{error}", root.unwrap_or_default()))
    })?;
    // Files that somebody has copied do not change.
    let default = if options.root.is_none() { 200 } else { 0 };
    let span = Duration::from_millis(options.span.unwrap_or(default));
    if !span.is_zero() {
        match watch(system, span) {
            Ok(load) => facts.load = Some(load),
            Err(error) => facts.gaps.push(Gap { about: "load".to_string(), why: error.to_string() }),
        }
    }
    Ok(facts)
}

fn watch(system: &System, span: Duration) -> Result<Load, Unreadable> {
    let mut watch = system.watch()?;
    thread::sleep(span);
    watch.load()
}
