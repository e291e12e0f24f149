//! What is measured: each kind of tasks, on each hierarchy, with and without stealing.

use super::changes::{Chances, Job, draw};
use super::load::meetings::{Meetings, Resolution, meetings};
use super::load::{Settings, Sizes, Targets, Task, Tasks};
use super::options::{Options, Stealing};
use super::sources::{Hierarchy, Profile};
use super::turn::expected;
use crate::failure::Failure;
use std::rc::Rc;
use std::sync::Arc;
use xtasking::Control;
use xtasking_hierarchy::{Numbering, Shape};

/// A hierarchy.
pub(super) struct Place {
    pub title: String,
    pub shape: Shape,
    pub profile: Profile,
    pub granules: u32,
    pub targets: Targets,
}

/// All that is measured.
pub(super) struct Cases {
    pub grounds: Vec<Place>,
    pub all: Vec<Case>,
    /// What is to be said of the hierarchies and the tasks, a line each.
    pub notes: Vec<String>,
}

/// Tasks on a hierarchy.
pub(super) struct Case {
    pub name: String,
    /// Which hierarchy.
    pub ground: usize,
    pub stealing: bool,
    pub doing: Doing,
    pub meetings: Met,
}

/// What the tasks do.
#[derive(Clone)]
pub(super) enum Doing {
    /// They count, or read; and how often each node is written then.
    Visits { tasks: Rc<[Task]>, expected: Rc<[u32]> },
    /// They may change the hierarchy, and panic.
    Changes(Arc<[Job]>),
}

/// How many of all pairs of tasks meet, or are taken to.
#[derive(Clone, Copy)]
pub(super) struct Met {
    granules: Meetings,
    interval: Meetings,
}

/// A large hierarchy has a granule for so many nodes, but no more of them than that; a small one as many as it can have.
const NODES: usize = 40;
const FEWEST: usize = 4096;
const MOST: usize = 65_536;
/// So many tasks are looked at to see which meet.
const SAMPLE: usize = 400;
/// Intervals of granules that a node's sub-tree may lie in.
const INTERVALS: usize = 8;

impl Cases {
    pub fn new(options: &Options, tasks: usize) -> Result<Self, Failure> {
        let mut cases = Self { grounds: Vec::new(), all: Vec::new(), notes: Vec::new() };
        let hierarchies = options.source.load(&options.common)?;
        let several = hierarchies.len() > 1;
        for Hierarchy { title, shape, notes } in hierarchies {
            cases.notes.extend(notes);
            let targets = options.load.targets(&shape)?;
            let granules = (shape.len() / NODES).clamp(FEWEST, MOST).min(shape.len());
            let granules = options.granules.unwrap_or(granules as u32);
            let numbering = Numbering::new(shape.clone(), granules);
            for settings in options.load.settings(&targets)? {
                let Settings { nodes, reads, skew, .. } = settings;
                let mut name = format!("{nodes} nodes, {reads}% read, skew {skew}");
                if several {
                    name = format!("of {}: {name}", shape.len());
                }
                let drawn = || Tasks::new(&targets, settings, options.common.seed, 0).take(tasks);
                let sample: Vec<Task> = drawn().take(SAMPLE).collect();
                let met = Met::of(&numbering, &sample, nodes);
                cases
                    .notes
                    .push(format!("{name}: {}; {met}", Sizes::of(&targets, &drawn().collect::<Vec<_>>())));
                cases.add(options, name, (&shape, &targets), drawn, met);
            }
            let profile = Profile::of(&shape);
            cases.grounds.push(Place { title, shape, profile, granules, targets });
        }
        Ok(cases)
    }

    /// All that these tasks may do besides.
    fn add<I: Iterator<Item = Task>>(
        &mut self,
        options: &Options,
        name: String,
        (shape, targets): (&Shape, &Targets),
        drawn: impl Fn() -> I,
        meetings: Met,
    ) {
        let chances = options.load.chances();
        let calm = Chances { structural: 0, panics: 0 };
        // Tasks that are ready to change something cost more even if they do not: so all are, or none is.
        let visits = chances.iter().all(|&chances| chances == calm);
        for &chances in &chances {
            let doing = if visits {
                let tasks: Rc<[Task]> = drawn().collect();
                Doing::Visits { expected: expected(shape, &tasks).into(), tasks }
            } else {
                Doing::Changes(draw(drawn(), shape, targets, chances, options.common.seed).into())
            };
            let mut name = name.clone();
            if !visits {
                name += &format!(", {}% structural, {}% panic", chances.structural, chances.panics);
            }
            for &stealing in &options.stealing {
                let (ground, doing) = (self.grounds.len(), doing.clone());
                let name = match stealing {
                    Stealing::On => name.clone(),
                    Stealing::Off => format!("{name}, no stealing"),
                };
                self.all.push(Case { name, ground, stealing: stealing == Stealing::On, doing, meetings });
            }
        }
    }
}

impl Met {
    fn of(numbering: &Numbering, tasks: &[Task], nodes: usize) -> Self {
        let resolutions = [Resolution::Granules(INTERVALS * nodes), Resolution::Granules(1)];
        let found = meetings(numbering, tasks, &resolutions);
        Self { granules: found[0], interval: found[1] }
    }

    /// How many of a hundred pairs meet, and how many others are taken to by this control; of one that takes as many intervals
    /// as it thinks fit, that is not known.
    pub fn of_control(&self, control: Control) -> (f64, Option<f64>) {
        let real = self.granules.real_ratio();
        let needless = match control {
            Control::Lines => Some(self.granules.needless_ratio()),
            Control::Coarse => Some(1.0 - real),
            Control::DomLock => Some(self.interval.needless_ratio()),
            _ => None,
        };
        (100.0 * real, needless.map(|ratio| 100.0 * ratio))
    }
}

impl std::fmt::Display for Met {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { granules, interval } = self;
        write!(f, "of the pairs of {SAMPLE} tasks {:.2}% meet, ", 100.0 * granules.real_ratio())?;
        write!(f, "by granules {:.2}% besides, ", 100.0 * granules.needless_ratio())?;
        write!(f, "by one interval of them {:.2}%", 100.0 * interval.needless_ratio())
    }
}
