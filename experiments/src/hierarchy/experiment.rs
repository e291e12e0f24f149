//! The options, checked and completed, and what one turn is.

use super::cases::{Case, Cases, Doing};
use super::changes;
use super::contenders;
use super::figures::{Figures, Watched};
use super::ground::Setting;
use super::options::Options;
use super::turn::{Times, Turn, Work};
use crate::failure::Failure;
use crate::lineup::Lineup;
use crate::progress::Progress;
use crate::report::{Measurement, Parameters};
use crate::ycsb::plan::Wrong;
use std::cell::RefCell;
use std::collections::BTreeMap;
use xtasking::Control;

/// An experiment that can be run.
pub(super) struct Experiment {
    cases: Cases,
    names: Vec<String>,
    tasks: usize,
    in_flight: Option<usize>,
    times: Option<Times>,
    lineup: Lineup<(), Control>,
    seed: u64,
    figures: RefCell<Figures>,
    /// What turns had to tell, by what they were.
    told: RefCell<BTreeMap<String, String>>,
}

const UNIT: &str = "ktasks/s";

impl Experiment {
    /// Checks and completes the options, and makes or reads the hierarchies.
    pub(super) fn new(options: &Options) -> Result<Self, Failure> {
        let common = &options.common;
        options.load.check()?;
        let lineup = Lineup::new(contenders::ALL, &[], common)?;
        let few = common.quick || options.is_virtual;
        let tasks = options.tasks.unwrap_or(if few { 10_000 } else { 100_000 }) as usize;
        if !(1..=100_000_000).contains(&tasks) {
            return Err(Failure::Usage(format!("--tasks is {tasks}; choose 1 to 100M")));
        }
        if options.granules == Some(0) {
            return Err(Failure::Usage("--granules is 0: each node is in a granule".to_string()));
        }
        if options.in_flight == Some(0) {
            return Err(Failure::Usage("--in-flight is 0: no task would be spawned".to_string()));
        }
        let cases = Cases::new(options, tasks)?;
        let names = cases.all.iter().map(|case| case.name.clone()).collect();
        let times = options.is_virtual.then_some(Times {
            seed: common.seed,
            node: options.node_time,
            task: options.task_time,
        });
        let in_flight = options.in_flight.map(|most| most as usize);
        Ok(Self {
            cases,
            names,
            tasks,
            in_flight,
            times,
            lineup,
            seed: common.seed,
            figures: RefCell::default(),
            told: RefCell::default(),
        })
    }

    fn turn(&self, case: &Case, control: Control, workers: usize, watch: bool) -> Result<Turn, Failure> {
        let (times, in_flight, stealing) = (self.times, self.in_flight, case.stealing);
        let setting = Setting { control, workers, stealing, times, in_flight, is_watched: watch };
        let ground = &self.cases.grounds[case.ground];
        let (shape, granules) = (&ground.shape, ground.granules);
        match &case.doing {
            Doing::Visits { tasks, expected } => Work { shape, granules, tasks, expected }.turn(&setting),
            Doing::Changes(jobs) => {
                changes::Work { shape, granules, jobs, targets: &ground.targets }.turn(&setting)
            }
        }
    }
}

impl crate::experiment::Experiment for Experiment {
    const NAME: &'static str = "hierarchy";

    fn describe(&self) -> String {
        let time = match self.times {
            None => String::new(),
            Some(Times { node, task, .. }) => {
                format!("\nin virtual time: {task} ns a task and {node} ns a node; locks and lines take none")
            }
        };
        let mut text = format!("{} tasks · seed {}{time}\n{}", self.tasks, self.seed, self.lineup.describe());
        for ground in &self.cases.grounds {
            text += &format!("\n{} · {} granules\n{}", ground.title, ground.granules, ground.profile);
        }
        text
    }

    fn parameters(&self) -> Parameters {
        let grounds = &self.cases.grounds;
        let mut parameters = Parameters::default();
        let titles: Vec<_> = grounds.iter().map(|ground| ground.title.clone()).collect();
        parameters.add("hierarchy", titles);
        parameters.add("nodes", grounds.iter().map(|ground| ground.shape.len()).collect::<Vec<_>>());
        parameters.add("granules", grounds.iter().map(|ground| ground.granules).collect::<Vec<_>>());
        parameters.add("tasks", self.tasks);
        parameters.add("in_flight", self.in_flight);
        parameters.add("virtual", self.times.is_some());
        if let Some(Times { node, task, .. }) = self.times {
            parameters.add("node_ns", node);
            parameters.add("task_ns", task);
        }
        self.lineup.add_to(&mut parameters);
        parameters.add("seed", self.seed);
        parameters
    }

    fn steps(&self) -> u64 {
        self.lineup.steps(self.names.len())
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        let results = self.lineup.measure(progress, UNIT, &self.names, |at, entry, workers, context| {
            let case = &self.cases.all[at];
            let key = (case.name.clone(), workers, entry.name);
            let once = |watch| {
                let turn = self.turn(case, entry.more, workers, watch)?;
                if let Some(wrong) = turn.wrong {
                    return Err(Failure::Wrong { context: context.to_string(), wrong: Wrong::new(wrong) });
                }
                if let Some(note) = turn.note {
                    self.told.borrow_mut().insert(context.to_string(), note);
                }
                if let Some(seen) = turn.seen {
                    let meetings = case.meetings.of_control(entry.more);
                    self.figures.borrow_mut().add(key.clone(), Watched { seen, meetings });
                }
                Ok(turn.rate)
            };
            // Watching takes time, unless time is virtual: so it has a turn of its own, which is not measured.
            if self.times.is_none() && !self.figures.borrow().has(&key) {
                once(true)?;
            }
            once(self.times.is_some())
        });
        Ok(self.figures.borrow().added_to(results?))
    }

    fn notes(&self) -> Vec<String> {
        let told = self.told.borrow();
        let told = told.iter().map(|(who, what)| format!("{who}: {what}"));
        let figures = self.figures.borrow().table(self.times.is_some());
        self.cases.notes.iter().cloned().chain(told).chain([figures]).collect()
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("thousands of tasks a second: more is better; after each turn all nodes were compared with what had to come of the \
            tasks"
            .to_string())
    }
}
