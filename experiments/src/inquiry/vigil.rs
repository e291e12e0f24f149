//! Telling when the best plan changes, for a while or until interrupted.

use super::answer;
use super::options::{Options, Vigil};
use crate::failure::Failure;
use serde::Serialize;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};
use xtasking_knowledge::facts::Facts;
use xtasking_knowledge::system::System;
use xtasking_knowledge::{Advice, Adviser, Knowledge, Patience, Plan, Trouble};

/// What is told, as JSON a line each.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum News<'a> {
    Plan(&'a Plan),
    Change { seconds: f64, advice: &'a Advice },
    Trouble { seconds: f64, why: String },
}

/// Tells the plan for now, and then each better one.
pub(super) fn run(options: &Options, vigil: &Vigil, system: &System, facts: Facts) -> Result<(), Failure> {
    let json = match &options.json {
        Some(path) if path == Path::new("-") => true,
        Some(_) => return Err(Failure::Usage("what changes is told as it comes: use --json -".to_string())),
        None => false,
    };
    let request = vigil.allocation.request();
    let usage = |why: &dyn fmt::Display| Failure::Usage(why.to_string());
    let plan = Knowledge::new(facts).best_plan(&request, None).map_err(|why| usage(&why))?;
    let began = Instant::now();
    let (tell, told) = mpsc::channel();
    let adviser = Adviser::new(request, plan.clone(), Patience::default());
    let every = Duration::from_millis(vigil.every.into());
    let subscription = adviser.subscribe(system, every, move |news| drop(tell.send((Instant::now(), news))));
    let _subscription = subscription.map_err(|why| usage(&why))?;
    show(json, &News::Plan(&plan))?;
    // Who waits without an end is interrupted.
    let end = vigil.seconds.map(|seconds| began + Duration::from_secs(seconds.into()));
    loop {
        let news = match end {
            Some(end) => told.recv_timeout(end.saturating_duration_since(Instant::now())),
            None => told.recv().map_err(RecvTimeoutError::from),
        };
        let Ok((at, news)) = news else { return Ok(()) };
        let seconds = at.saturating_duration_since(began).as_secs_f64();
        show(json, &News::new(seconds, &news))?;
    }
}

impl<'a> News<'a> {
    fn new(seconds: f64, news: &'a Result<Advice, Trouble>) -> Self {
        match news {
            Ok(advice) => Self::Change { seconds, advice },
            Err(trouble) => Self::Trouble { seconds, why: trouble.to_string() },
        }
    }
}

/// Prints it at once.
fn show(json: bool, news: &News<'_>) -> Result<(), Failure> {
    let text = if json {
        serde_json::to_string(news).map_err(|error| Failure::Output(format!("cannot write JSON: {error}")))?
            + "\n"
    } else {
        news.to_string()
    };
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| Failure::Output(format!("cannot write what has changed: {error}")))
}

impl fmt::Display for News<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(plan) => answer::plan(plan, f),
            Self::Change { seconds, advice } => {
                writeln!(f, "\nafter {seconds:.1} s: takes {:.0} % less time", advice.gain * 100.0)?;
                advice.changes.iter().try_for_each(|change| writeln!(f, "  {change}"))?;
                answer::plan(&advice.plan, f)
            }
            Self::Trouble { seconds, why } => writeln!(f, "\nafter {seconds:.1} s: {why}"),
        }
    }
}
