//! Checks and completes the options, and runs one turn of a case.

use super::cases::{Case, Cases, Workload};
use super::changes;
use super::figures::{Figures, Observation};
use super::options::HierarchyOptions;
use super::testbed::TurnSettings;
use super::turn::{Times, Turn, Work};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use xtasking_harness::common::check_range;
use xtasking_harness::controls::{self, Isolation};
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::lineup::Lineup;
use xtasking_harness::progress::Progress;
use xtasking_harness::report::{Measurement, Parameters};

/// An experiment that can be run.
pub(super) struct Experiment {
    cases: Cases,
    names: Vec<String>,
    /// Number of tasks, or the largest one if it depends on the number of workers.
    tasks: usize,
    tasks_per_worker: Option<usize>,
    in_flight: Option<usize>,
    times: Option<Times>,
    lineup: Lineup<(), Isolation>,
    seed: u64,
    figures: RefCell<Figures>,
    /// Notes of turns, by the context of the turn.
    notes: RefCell<BTreeMap<String, String>>,
}

const UNIT: &str = "ktasks/s";
const GRANULES: RangeInclusive<u32> = 1..=1 << 24;
const IN_FLIGHT: RangeInclusive<u64> = 1..=100_000_000;
/// Up to a second.
const VIRTUAL_TIME_NS: RangeInclusive<u64> = 0..=1_000_000_000;

impl Experiment {
    /// Checks and completes the options, and generates or reads the hierarchies.
    pub(super) fn new(options: &HierarchyOptions) -> Result<Self, Failure> {
        let common = &options.common;
        options.load.check()?;
        let changes = options.load.has_changes();
        let lineup = Lineup::new(controls::ALL, &[], common)?
            .with_rule(move |_, entry, _| !changes || entry.more != Isolation::Trees);
        let few = common.quick || options.is_virtual;
        let tasks_per_worker = options.tasks_per_worker.map(|tasks| tasks as usize);
        if tasks_per_worker.is_some() && options.load.has_changes() {
            let why = "--tasks-per-worker is for tasks that neither change the hierarchy nor panic";
            return Err(Failure::Usage(why.to_string()));
        }
        let tasks = match tasks_per_worker {
            Some(tasks) => tasks.saturating_mul(common.worker_counts()?.into_iter().max().unwrap_or(1)),
            None => options.tasks.unwrap_or(if few { 10_000 } else { 100_000 }) as usize,
        };
        if !(1..=100_000_000).contains(&tasks) {
            return Err(Failure::Usage(format!("--tasks is {tasks}; choose 1 to 100M")));
        }
        check_range("--granules", options.granules.unwrap_or(1), &GRANULES, "")?;
        check_range("--in-flight", options.in_flight.unwrap_or(1), &IN_FLIGHT, "")?;
        check_range("--node-time", options.node_time, &VIRTUAL_TIME_NS, "ns")?;
        check_range("--task-time", options.task_time.into(), &VIRTUAL_TIME_NS, "ns")?;
        let mut cases = Cases::new(options, tasks)?;
        if changes && lineup.contenders.iter().any(|entry| entry.more == Isolation::Trees) {
            cases.notes.push("trees: left out, where tasks change the hierarchy or panic".to_string());
        }
        let names = cases.all.iter().map(|case| case.name.clone()).collect();
        let times = options.is_virtual.then_some(Times {
            seed: common.seed,
            node: options.node_time,
            task: options.task_time,
        });
        let in_flight = options.in_flight.map(|limit| limit as usize);
        Ok(Self {
            cases,
            names,
            tasks,
            tasks_per_worker,
            in_flight,
            times,
            lineup,
            seed: common.seed,
            figures: RefCell::default(),
            notes: RefCell::default(),
        })
    }

    fn turn(&self, case: &Case, isolation: Isolation, workers: usize, record: bool) -> Result<Turn, Failure> {
        let (times, in_flight, stealing) = (self.times, self.in_flight, case.stealing);
        let settings = TurnSettings { isolation, workers, stealing, times, in_flight, is_recorded: record };
        let hierarchy = &self.cases.hierarchies[case.hierarchy];
        let (shape, granules) = (&hierarchy.shape, hierarchy.granules);
        match &case.workload {
            Workload::Visits { tasks, expected } => match self.tasks_per_worker {
                None => Work { shape, granules, tasks, expected }.turn(&settings),
                Some(number) => {
                    let tasks = &tasks[..number * workers];
                    Work { shape, granules, tasks, expected: &super::turn::expected(shape, tasks) }
                        .turn(&settings)
                }
            },
            Workload::Changes(jobs) => {
                changes::Work { shape, granules, jobs, targets: &hierarchy.targets }.turn(&settings)
            }
        }
    }
}

impl xtasking_harness::experiment::Experiment for Experiment {
    const NAME: &'static str = "hierarchy";
    const TITLE: &'static str = "Claims on sub-trees under each kind of lock: throughput of tasks";

    fn describe(&self) -> String {
        let time = match self.times {
            None => String::new(),
            Some(Times { node, task, .. }) => {
                format!(
                    "\nin virtual time: {task} ns for a task and {node} ns for a node; \
                     locks and queues cost nothing"
                )
            }
        };
        let tasks = match self.tasks_per_worker {
            Some(tasks) => format!("{tasks} tasks for each worker"),
            None => format!("{} tasks", self.tasks),
        };
        let mut text = format!("{tasks} · seed {}{time}\n{}", self.seed, self.lineup.describe());
        for hierarchy in &self.cases.hierarchies {
            text +=
                &format!("\n{} · {} granules\n{}", hierarchy.title, hierarchy.granules, hierarchy.profile);
        }
        text
    }

    fn outline(&self) -> Outline {
        let hierarchies = &self.cases.hierarchies;
        let mut parameters = Parameters::default();
        let titles: Vec<_> = hierarchies.iter().map(|hierarchy| hierarchy.title.clone()).collect();
        parameters.add("hierarchy", titles);
        parameters
            .add("nodes", hierarchies.iter().map(|hierarchy| hierarchy.shape.len()).collect::<Vec<_>>());
        parameters
            .add("granules", hierarchies.iter().map(|hierarchy| hierarchy.granules).collect::<Vec<_>>());
        parameters.add("tasks", self.tasks);
        parameters.add("tasks_per_worker", self.tasks_per_worker);
        parameters.add("in_flight", self.in_flight);
        parameters.add("virtual", self.times.is_some());
        if let Some(Times { node, task, .. }) = self.times {
            parameters.add("node_ns", node);
            parameters.add("task_ns", task);
        }
        self.lineup.add_to(&mut parameters);
        parameters.add("seed", self.seed);
        self.lineup.outline(parameters, self.names.len())
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let results = self.lineup.measure(progress, UNIT, &self.names, |at, entry, workers, context| {
            let case = &self.cases.all[at];
            let key = (case.name.clone(), workers, entry.name);
            let once = |record| {
                let turn = self.turn(case, entry.more, workers, record)?;
                if let Some(wrong) = turn.wrong {
                    return Err(Failure::Wrong { context: context.to_string(), wrong: Wrong::new(wrong) });
                }
                if let Some(note) = turn.note {
                    self.notes.borrow_mut().insert(context.to_string(), note);
                }
                if let Some(statistics) = turn.statistics {
                    let conflicts = case.conflicts.under(entry.more);
                    self.figures.borrow_mut().add(key.clone(), Observation { statistics, conflicts });
                }
                Ok(turn.rate)
            };
            // Recording takes time unless time is virtual: so it has a turn of its own, which is
            // not measured.
            if self.times.is_none() && !self.figures.borrow().has(&key) {
                once(true)?;
            }
            once(self.times.is_some())
        });
        Ok(self.figures.borrow().added_to(results?))
    }

    fn notes(&self) -> Vec<String> {
        let notes = self.notes.borrow();
        let notes = notes.iter().map(|(context, note)| format!("{context}: {note}"));
        let figures = self.figures.borrow().table(self.times.is_some());
        self.cases.notes.iter().cloned().chain(notes).chain([figures]).collect()
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("thousands of tasks a second, more is better; after each turn all nodes were compared with \
            the expected result"
            .to_string())
    }
}
