//! Prints the best plan, and each better one, for some seconds or until interrupted.

use super::answer;
use super::options::{Options, WatchOptions};
use crate::output::{self, Failure};
use serde::Serialize;
use std::fmt;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};
use xtasking_knowledge::facts::Facts;
use xtasking_knowledge::system::System;
use xtasking_knowledge::{Advice, AdvicePolicy, Adviser, Knowledge, Plan, WatchError};

/// One message; as JSON, one line.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Message<'a> {
    Plan(&'a Plan),
    Change {
        seconds: f64,
        advice: &'a Advice,
    },
    #[serde(rename = "trouble")]
    Error {
        seconds: f64,
        why: String,
    },
}

/// Prints the plan for now, and then each better one.
pub(super) fn run(
    options: &Options,
    watch: &WatchOptions,
    system: &System,
    facts: Facts,
) -> Result<(), Failure> {
    let json = match &options.json {
        Some(path) if path == Path::new("-") => true,
        Some(_) => {
            return Err(Failure::Usage(
                "--json: changes are written as they appear; use --json -".to_string(),
            ));
        }
        None => false,
    };
    let request = watch.allocation.request();
    let usage = |why: &dyn fmt::Display| Failure::Usage(why.to_string());
    let plan = Knowledge::new(facts).best_plan(&request, None).map_err(|why| usage(&why))?;
    let began = Instant::now();
    let (sender, receiver) = mpsc::channel();
    let adviser = Adviser::new(request, plan.clone(), AdvicePolicy::default());
    let every = Duration::from_millis(watch.every.into());
    let subscription =
        adviser.subscribe(system, every, move |message| drop(sender.send((Instant::now(), message))));
    let _subscription = subscription.map_err(|why| usage(&why))?;
    show(json, &Message::Plan(&plan))?;
    // Without an end, the loop runs until the process is interrupted.
    let end = watch.seconds.map(|seconds| began + Duration::from_secs(seconds.into()));
    loop {
        let message = match end {
            Some(end) => receiver.recv_timeout(end.saturating_duration_since(Instant::now())),
            None => receiver.recv().map_err(RecvTimeoutError::from),
        };
        let Ok((at, message)) = message else { return Ok(()) };
        let seconds = at.saturating_duration_since(began).as_secs_f64();
        show(json, &Message::new(seconds, &message))?;
    }
}

impl<'a> Message<'a> {
    fn new(seconds: f64, message: &'a Result<Advice, WatchError>) -> Self {
        match message {
            Ok(advice) => Self::Change { seconds, advice },
            Err(error) => Self::Error { seconds, why: error.to_string() },
        }
    }
}

/// Prints the message and flushes.
fn show(json: bool, message: &Message<'_>) -> Result<(), Failure> {
    let text = if json {
        serde_json::to_string(message)
            .map_err(|error| Failure::Output(format!("cannot write JSON: {error}")))?
            + "\n"
    } else {
        message.to_string()
    };
    output::print(&text)
}

impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(plan) => answer::plan(plan, f),
            Self::Change { seconds, advice } => {
                writeln!(f, "\nafter {seconds:.1} s: takes {:.0} % less time", advice.gain * 100.0)?;
                advice.changes.iter().try_for_each(|change| writeln!(f, "  {change}"))?;
                answer::plan(&advice.plan, f)
            }
            Self::Error { seconds, why } => writeln!(f, "\nafter {seconds:.1} s: {why}"),
        }
    }
}
