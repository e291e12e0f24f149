//! The options, checked and completed, and what one turn is.

use super::Options;
use super::contenders;
use super::load::{Sizes, Tasks};
use super::sources::Profile;
use super::turn::{Times, Work, expected};
use crate::failure::Failure;
use crate::lineup::Lineup;
use crate::progress::Progress;
use crate::report::{Measurement, Parameters};
use crate::virtual_time::Spread;
use crate::ycsb::plan::Wrong;
use std::cell::RefCell;
use std::collections::BTreeMap;
use xtasking::Control;

/// An experiment that can be run.
pub(super) struct Experiment {
    title: String,
    profile: Profile,
    notes: Vec<String>,
    work: Work,
    cases: Vec<String>,
    tasks: usize,
    times: Option<Times>,
    lineup: Lineup<(), Control>,
    seed: u64,
    /// By case and workers and who it was: how even the work was, and how much was waited.
    spreads: RefCell<BTreeMap<Place, Spread>>,
}

/// A case, a number of workers, and who it was.
type Place = (usize, usize, &'static str);

const UNIT: &str = "ktasks/s";
const GRANULES: usize = 4096;

impl Experiment {
    /// Checks and completes the options, and makes or reads the hierarchy.
    pub(super) fn new(options: &Options) -> Result<Self, Failure> {
        let common = &options.common;
        options.load.check()?;
        let lineup = Lineup::new(contenders::ALL, &[], common)?;
        let few = common.quick || options.is_virtual;
        let tasks = options.tasks.unwrap_or(if few { 10_000 } else { 100_000 }) as usize;
        if !(1..=100_000_000).contains(&tasks) {
            return Err(Failure::Usage(format!("--tasks is {tasks}; choose 1 to 100M")));
        }
        let source = options.source.load(common)?;
        let targets = options.load.targets(&source.shape)?;
        let settings = options.load.settings(&targets)?;
        let most = source.shape.len().min(GRANULES) as u32;
        let granules = options.granules.unwrap_or(most);
        if granules == 0 {
            return Err(Failure::Usage("--granules is 0: each node is in a granule".to_string()));
        }
        let mut notes = source.notes;
        let (mut cases, mut all) = (Vec::new(), Vec::new());
        for settings in settings {
            let case = format!("{} nodes, {}% read, skew {}", settings.nodes, settings.reads, settings.skew);
            let drawn: Vec<_> = Tasks::new(&targets, settings, common.seed, 0).take(tasks).collect();
            notes.push(format!("{case}: {}", Sizes::of(&targets, &drawn)));
            cases.push(case);
            all.push(drawn);
        }
        let expected = all.iter().map(|tasks| expected(&source.shape, tasks)).collect();
        let profile = Profile::of(&source.shape);
        let times = options.is_virtual.then_some(Times {
            seed: common.seed,
            node: options.node_time,
            task: options.task_time,
        });
        Ok(Self {
            title: source.title,
            profile,
            notes,
            work: Work { shape: source.shape, granules, tasks: all, expected },
            cases,
            tasks,
            times,
            lineup,
            seed: common.seed,
            spreads: RefCell::default(),
        })
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
        format!(
            "hierarchy: {} · {} tasks · {} granules · seed {}{time}\n{}\n{}",
            self.title,
            self.tasks,
            self.work.granules,
            self.seed,
            self.lineup.describe(),
            self.profile
        )
    }

    fn parameters(&self) -> Parameters {
        let mut parameters = Parameters::default();
        parameters.add("hierarchy", self.title.clone());
        parameters.add("nodes", self.work.shape.len());
        parameters.add("tasks", self.tasks);
        parameters.add("granules", self.work.granules);
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
        self.lineup.steps(self.cases.len())
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        self.lineup.measure(progress, UNIT, &self.cases, |case, entry, workers, context| {
            let turn = self.work.turn(case, entry.more, workers, self.times)?;
            if turn.wrong > 0 {
                let wrong = Wrong::new(format!("{} nodes were not written as often as asked", turn.wrong));
                return Err(Failure::Wrong { context: context.to_string(), wrong });
            }
            if let Some(spread) = turn.spread {
                self.spreads.borrow_mut().insert((case, workers, entry.name), spread);
            }
            Ok(turn.rate)
        })
    }

    fn notes(&self) -> Vec<String> {
        let spread = |(&(case, workers, name), spread): (&Place, &Spread)| {
            format!("{} · {name} with {workers}: {spread}", self.cases[case])
        };
        self.notes.iter().cloned().chain(self.spreads.borrow().iter().map(spread)).collect()
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok("thousands of tasks a second: more is better; after each turn all nodes were compared with what had to come of the \
            tasks"
            .to_string())
    }
}
