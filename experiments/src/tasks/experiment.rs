//! The experiment: options checked and completed, turns, notes and conclusion.

use super::TasksOptions;
use super::cases::{self, Case, Run, WorkerCount};
use super::contenders::{self, Contender};
use super::own;
use super::stage::{Setting, Stage};
use std::ops::RangeInclusive;
use std::time::Duration;
use xtasking_harness::common::check_range;
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::Failure;
use xtasking_harness::lineup::{Lineup, settle};
use xtasking_harness::progress::Progress;
use xtasking_harness::report::{Measurement, Parameters};
use xtasking_harness::suggestion::matching_cases;

/// An experiment whose options have been checked and completed.
pub(super) struct Experiment {
    cases: Vec<&'static Case>,
    lineup: Lineup<Stage, Contender, Setting>,
    tasks: u64,
    seed: u64,
}

const UNIT: &str = "ns";

/// The numbers of tasks. With fewer, expensive cases would run almost none; more might not fit into
/// memory while they are queued.
const TASKS: RangeInclusive<u64> = 1_000..=50_000_000;

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &TasksOptions) -> Result<Self, Failure> {
        let common = &options.common;
        let tasks = options.tasks.unwrap_or(if common.quick { 200_000 } else { 2_000_000 });
        check_range("--tasks", tasks, &TASKS, "")?;
        let cases = select_cases(&options.cases).map_err(Failure::Usage)?;
        let ran = cases.clone();
        let lineup = Lineup::new(contenders::ALL, &[], common)?.with_rule(move |case, entry, workers| {
            ran[case].workers.allows(workers) && ran[case].run_of(entry.more).is_some()
        });
        if lineup.steps(cases.len()) == 0 {
            let text = "--workers: no selected case can run with these numbers; choose 1,2".to_string();
            return Err(Failure::Usage(text));
        }
        Ok(Self { cases, lineup, tasks, seed: common.seed })
    }

    /// Runs a case once.
    fn once(&self, stage: &Stage, run: &Run, context: &str) -> Result<Duration, Failure> {
        let tasks = run.tasks(self.tasks);
        settle();
        let context = || format!("{context}, {tasks} tasks, seed {}", self.seed);
        (run.body)(stage, tasks).map_err(|wrong| Failure::Wrong { context: context(), wrong })
    }
}

impl xtasking_harness::experiment::Experiment for Experiment {
    const NAME: &'static str = "tasks";
    const TITLE: &'static str = "Each runtime takes this many nanoseconds per task: less is better.";

    fn describe(&self) -> String {
        let turns = self.lineup.describe();
        let (cases, tasks, seed) = (self.cases.len(), self.tasks, self.seed);
        format!("tasks {cases} cases · up to {tasks} tasks each · seed {seed}\n{turns}")
    }

    fn outline(&self) -> Outline {
        let mut parameters = Parameters::default();
        parameters.add("cases", self.cases.iter().map(|case| case.name).collect::<Vec<_>>());
        parameters.add("tasks", self.tasks);
        self.lineup.add_to(&mut parameters);
        parameters.add("seed", self.seed);
        self.lineup.outline(parameters, self.cases.len())
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let names: Vec<_> = self.cases.iter().map(|case| case.name.to_string()).collect();
        self.lineup.measure(progress, UNIT, &names, |case, entry, workers, context| {
            let run =
                self.cases[case].run_of(entry.more).expect("the lineup admits only contenders with a run");
            // Every turn has a runtime of its own: heaps warmed by another case would change the
            // result by some nanoseconds.
            let stage = (entry.start)(Setting { workers, seed: self.seed })?;
            // The first run warms up the caches and maps the pages of heaps.
            self.once(&stage, run, context)?;
            let time = self.once(&stage, run, context)?;
            Ok(time.as_secs_f64() * 1e9 / run.tasks(self.tasks) as f64)
        })
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let needs = [(WorkerCount::One, "--workers 1"), (WorkerCount::Several, "--workers 2 or more")];
        for (needed, option) in needs {
            let cases = self.cases.iter().filter(|case| case.workers == needed).count();
            if cases > 0 && !self.lineup.worker_counts().iter().any(|&workers| needed.allows(workers)) {
                let noun = if cases == 1 { "case needs" } else { "cases need" };
                notes.push(format!("skipped: {cases} {noun} {option}"));
            }
        }
        let skipped = self.cases.iter().flat_map(|case| case.skipped.iter().map(move |skip| (case, skip)));
        for (case, (contender, why)) in skipped {
            if self.lineup.contenders.iter().any(|entry| entry.more == *contender) {
                notes.push(format!("skipped: {} on {} ({why})", contender.name(), case.name));
            }
        }
        notes
    }

    fn conclusion(&self) -> Result<String, Failure> {
        // In a run of its own, because the others run without counters.
        let wrong = |wrong| Failure::Wrong { context: "xtasking with counters".to_string(), wrong };
        let descriptors = own::descriptors(self.tasks).map_err(wrong)?;
        Ok(format!(
            "{descriptors}\nns: nanoseconds per task, less is better; all tasks were counted, all objects \
            checked"
        ))
    }
}

/// Selects the cases whose names contain one of the words, or all cases if there are none.
fn select_cases(words: &[String]) -> Result<Vec<&'static Case>, String> {
    if words.is_empty() {
        return Ok(cases::ALL.iter().collect());
    }
    let names: Vec<_> = cases::ALL.iter().map(|case| case.name).collect();
    let selected = matching_cases(words, &names)?;
    Ok(selected.into_iter().map(|index| &cases::ALL[index]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| word.to_string()).collect()
    }

    #[test]
    fn a_part_of_their_names_selects_cases() {
        assert_eq!(select_cases(&[]).unwrap().len(), cases::ALL.len());
        let found = select_cases(&owned(&["ROUND trip", "external"])).unwrap();
        assert_eq!(found.iter().map(|case| case.name).collect::<Vec<_>>(), ["round trip", "external"]);
        assert_eq!(select_cases(&owned(&["spawn-run local"])).unwrap().len(), 1);
        assert!(select_cases(&owned(&["spawn-run"])).unwrap().len() > 1);
        assert!(select_cases(&owned(&["rond trip"])).err().unwrap().contains("did you mean 'round trip'?"));
    }

    #[derive(clap::Parser)]
    struct Arguments {
        #[command(flatten)]
        options: TasksOptions,
    }

    #[test]
    fn all_contenders_run_unless_some_are_named() {
        let names = |words: &[&str]| {
            let arguments = <Arguments as clap::Parser>::parse_from([&["test"], words].concat());
            let lineup = Experiment::new(&arguments.options).unwrap().lineup;
            lineup.contenders.iter().map(|entry| entry.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&[]), ["xtasking", "atomics", "limit", "rayon", "tokio"]);
        assert_eq!(names(&["--against", "tokio,xtasking"]), ["xtasking", "tokio"]);
    }

    #[test]
    fn names_of_cases_are_unique_and_the_runtime_is_first() {
        for (index, case) in cases::ALL.iter().enumerate() {
            assert!(cases::ALL[..index].iter().all(|earlier| earlier.name != case.name), "{}", case.name);
            assert_eq!(case.runs[0].contender, Contender::Xtasking, "{}", case.name);
        }
    }
}
