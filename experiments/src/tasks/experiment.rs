//! The options, checked and completed: what cannot work is refused here, in one line that says what to do instead.

use super::Options;
use super::cases::{self, Case, Span, Who};
use super::runner;
use crate::experiment::turns;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::report::{Measurement, Parameters};
use crate::suggestion::{closest, take_part};

/// An experiment that can be run.
pub(super) struct Experiment {
    pub(super) cases: Vec<&'static Case>,
    pub(super) implementations: Vec<Who>,
    pub(super) worker_counts: Vec<usize>,
    pub(super) repetitions: usize,
    pub(super) tasks: u64,
    pub(super) seed: u64,
}

/// Beyond this, what waits in the pools might not fit into memory.
const MOST_TASKS: u64 = 50_000_000;
/// With fewer, a case would have nothing to divide by.
const FEWEST_TASKS: u64 = 1_000;

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &Options) -> Result<Self, Failure> {
        let common = &options.common;
        let tasks = options.tasks.unwrap_or(if common.quick { 200_000 } else { 2_000_000 });
        if !(FEWEST_TASKS..=MOST_TASKS).contains(&tasks) {
            let text = format!("--tasks is {tasks}; choose {FEWEST_TASKS} to {MOST_TASKS}");
            return Err(Failure::Usage(text));
        }
        let experiment = Self {
            cases: select_cases(&options.cases).map_err(Failure::Usage)?,
            implementations: select_implementations(common.against.as_deref()).map_err(Failure::Usage)?,
            worker_counts: common.worker_counts()?,
            repetitions: common.repetition_count()?,
            tasks,
            seed: common.seed,
        };
        if experiment.worker_counts.iter().all(|&workers| experiment.cases_for(workers).next().is_none()) {
            let text = "no case that was asked for can run with these --workers; choose 1,2".to_string();
            return Err(Failure::Usage(text));
        }
        common.check_outputs()?;
        Ok(experiment)
    }

    /// The cases that can run with a number of workers.
    pub(super) fn cases_for(&self, workers: usize) -> impl Iterator<Item = &'static Case> {
        self.cases.iter().copied().filter(move |case| case.span.allows(workers))
    }
}

impl crate::experiment::Experiment for Experiment {
    const NAME: &'static str = "tasks";

    fn describe(&self) -> String {
        let names: Vec<_> = self.implementations.iter().map(|who| who.name()).collect();
        let turns = turns("implementations", &names, &self.worker_counts, self.repetitions);
        let (cases, tasks, seed) = (self.cases.len(), self.tasks, self.seed);
        format!("tasks {cases} cases · up to {tasks} tasks each · seed {seed}\n{turns}")
    }

    fn parameters(&self) -> Parameters {
        let mut parameters = Parameters::default();
        parameters.add("cases", self.cases.iter().map(|case| case.name).collect::<Vec<_>>());
        parameters.add("tasks", self.tasks);
        parameters.add("workers", self.worker_counts.clone());
        parameters.add("repetitions", self.repetitions);
        parameters.add("seed", self.seed);
        parameters
    }

    fn steps(&self) -> u64 {
        runner::steps(self)
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        runner::run(self, progress)
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for (span, needs) in [(Span::One, "--workers 1"), (Span::Several, "--workers 2 or more")] {
            let cases = self.cases.iter().filter(|case| case.span == span).count();
            if cases > 0 && !self.worker_counts.iter().any(|&workers| span.allows(workers)) {
                let noun = if cases == 1 { "case needs" } else { "cases need" };
                notes.push(format!("skipped: {cases} {noun} {needs}"));
            }
        }
        let skipped = self.cases.iter().flat_map(|case| case.skipped.iter().map(move |skip| (case, skip)));
        for (case, (who, why)) in skipped {
            if self.implementations.contains(who) {
                notes.push(format!("skipped: {} on {} ({why})", who.name(), case.name));
            }
        }
        notes
    }

    fn conclusion(&self) -> Result<String, Failure> {
        let descriptors = runner::descriptors(self)?;
        Ok(format!("{descriptors}\nnanoseconds: less is better; all tasks were counted, all objects checked"))
    }
}

/// The cases that are named, or whose names contain one of the words, in their own order.
fn select_cases(words: &[String]) -> Result<Vec<&'static Case>, String> {
    let words: Vec<_> = words.iter().map(|word| word.trim().to_lowercase()).collect();
    let named = |word: &str| cases::ALL.iter().any(|case| case.name == word);
    // A whole name stands for itself alone, even where others contain it.
    let matches = |case: &Case, word: &str| case.name == word || (!named(word) && case.name.contains(word));
    for word in &words {
        if !cases::ALL.iter().any(|case| matches(case, word)) {
            let names = cases::ALL.iter().map(|case| case.name);
            let meant =
                closest(word, names).map(|name| format!("did you mean '{name}'? ")).unwrap_or_default();
            return Err(format!("no case has '{word}' in its name; {meant}xtasking tasks --help lists them"));
        }
    }
    let wanted = |case: &&Case| words.is_empty() || words.iter().any(|word| matches(case, word));
    Ok(cases::ALL.iter().filter(wanted).collect())
}

/// Those that take part: the first, and those asked for, in their order; nothing asked for means all.
fn select_implementations(against: Option<&[String]>) -> Result<Vec<Who>, String> {
    let Some(against) = against else { return Ok(Who::ALL.to_vec()) };
    let places = take_part("implementation", &Who::ALL.map(Who::name), against)?;
    Ok(places.into_iter().map(|place| Who::ALL[place]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| word.to_string()).collect()
    }

    #[test]
    fn cases_are_found_by_a_part_of_their_names() {
        assert_eq!(select_cases(&[]).unwrap().len(), cases::ALL.len());
        let found = select_cases(&owned(&["ROUND trip", "external"])).unwrap();
        assert_eq!(found.iter().map(|case| case.name).collect::<Vec<_>>(), ["round trip", "external"]);
        assert_eq!(select_cases(&owned(&["spawn-run local"])).unwrap().len(), 1);
        assert!(select_cases(&owned(&["spawn-run"])).unwrap().len() > 1);
        assert!(select_cases(&owned(&["rond trip"])).err().unwrap().contains("did you mean 'round trip'?"));
    }

    #[test]
    fn all_take_part_unless_some_are_named() {
        assert_eq!(select_implementations(None).unwrap(), Who::ALL);
        let selected = select_implementations(Some(&owned(&["tokio", "xtasking"]))).unwrap();
        assert_eq!(selected, [Who::Xtasking, Who::Tokio]);
    }

    #[test]
    fn every_case_has_a_name_of_its_own_and_begins_with_the_runtime() {
        for (place, case) in cases::ALL.iter().enumerate() {
            assert!(cases::ALL[..place].iter().all(|earlier| earlier.name != case.name), "{}", case.name);
            assert_eq!(case.runs[0].who, Who::Xtasking, "{}", case.name);
        }
    }
}
