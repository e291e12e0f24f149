//! Defines the cases to measure: each kind of tasks, on each hierarchy, with and without stealing.

use super::changes::{Chances, Job, draw};
use super::load::conflicts::{Conflicts, Resolution, conflicts};
use super::load::{Sizes, Targets, Task, TaskSettings, Tasks};
use super::options::{HierarchyOptions, Stealing};
use super::sources::{Hierarchy, ShapeProfile};
use super::turn::expected;
use std::rc::Rc;
use std::sync::Arc;
use xtasking::claims::{Control, Granularity};
use xtasking_harness::controls::Isolation;
use xtasking_harness::failure::Failure;
use xtasking_hierarchy::{Numbering, Shape};

/// A hierarchy with what is derived from it.
pub(super) struct PreparedHierarchy {
    pub title: String,
    pub shape: Shape,
    pub profile: ShapeProfile,
    pub granules: u32,
    pub targets: Targets,
}

/// All cases, and the hierarchies that they use.
pub(super) struct Cases {
    pub hierarchies: Vec<PreparedHierarchy>,
    pub all: Vec<Case>,
    /// Remarks on the hierarchies and the tasks, a line each.
    pub notes: Vec<String>,
}

/// Tasks on a hierarchy.
pub(super) struct Case {
    pub name: String,
    /// Index into [`Cases::hierarchies`].
    pub hierarchy: usize,
    pub stealing: bool,
    pub workload: Workload,
    pub conflicts: ConflictRates,
}

/// What the tasks do.
#[derive(Clone)]
pub(super) enum Workload {
    /// The tasks read or count. `expected` has the number of writes of each node.
    Visits { tasks: Rc<[Task]>, expected: Rc<[u32]> },
    /// The tasks may also change the hierarchy, and panic.
    Changes(Arc<[Job]>),
}

/// Conflict rates of a sample of task pairs.
#[derive(Clone, Copy)]
pub(super) struct ConflictRates {
    granules: Conflicts,
    interval: Conflicts,
    /// Share of false conflicts of claims of trees. Of graphs it is not known: a claim of much that
    /// several parents share takes more than that.
    trees: Option<f64>,
}

/// By default there is a granule for each 40 nodes, clamped to 4,096 and 65,536, and to the number
/// of nodes.
const NODES: usize = 40;
const MIN_GRANULES: usize = 4096;
const MAX_GRANULES: usize = 65_536;
/// Number of tasks of which all pairs are checked for conflicts.
const SAMPLE: usize = 400;
/// Maximal number of granule intervals for each node that a task names.
const INTERVALS: usize = 8;

impl Cases {
    pub fn new(options: &HierarchyOptions, tasks: usize) -> Result<Self, Failure> {
        let mut cases = Self { hierarchies: Vec::new(), all: Vec::new(), notes: Vec::new() };
        let hierarchies = options.source.load(&options.common)?;
        let several = hierarchies.len() > 1;
        for Hierarchy { title, shape, notes } in hierarchies {
            cases.notes.extend(notes);
            let targets = options.load.targets(&shape)?;
            let granules = (shape.len() / NODES).clamp(MIN_GRANULES, MAX_GRANULES).min(shape.len());
            let granules = options.granules.unwrap_or(granules as u32);
            let numbering = Numbering::new(shape.clone(), granules);
            for settings in options.load.settings(&targets)? {
                let TaskSettings { nodes, reads, skew, .. } = settings;
                let mut name = format!("{nodes} nodes, {reads}% read, skew {skew}");
                if several {
                    name = format!("{} nodes in all: {name}", shape.len());
                }
                let drawn = || Tasks::new(&targets, settings, options.common.seed, 0).take(tasks);
                let sample: Vec<Task> = drawn().take(SAMPLE).collect();
                let rates = ConflictRates::of(&numbering, &sample, nodes);
                cases
                    .notes
                    .push(format!("{name}: {}; {rates}", Sizes::of(&targets, &drawn().collect::<Vec<_>>())));
                cases.add(options, name, (&shape, &targets), drawn, rates);
            }
            let profile = ShapeProfile::of(&shape);
            cases.hierarchies.push(PreparedHierarchy { title, shape, profile, granules, targets });
        }
        Ok(cases)
    }

    /// Adds a case for each combination of structural changes, panics and stealing.
    fn add<I: Iterator<Item = Task>>(
        &mut self,
        options: &HierarchyOptions,
        name: String,
        (shape, targets): (&Shape, &Targets),
        drawn: impl Fn() -> I,
        conflicts: ConflictRates,
    ) {
        let chances = options.load.chances();
        let calm = Chances { structural: 0, panics: 0 };
        // Being ready to change the hierarchy costs time even if a task does not: so all tasks are
        // ready for it, or none is.
        let visits = chances.iter().all(|&chances| chances == calm);
        for &chances in &chances {
            let workload = if visits {
                let tasks: Rc<[Task]> = drawn().collect();
                Workload::Visits { expected: expected(shape, &tasks).into(), tasks }
            } else {
                Workload::Changes(draw(drawn(), shape, targets, chances, options.common.seed).into())
            };
            let mut name = name.clone();
            if !visits {
                name += &format!(", {}% structural, {}% panic", chances.structural, chances.panics);
            }
            for &stealing in &options.stealing {
                let (hierarchy, workload) = (self.hierarchies.len(), workload.clone());
                let name = match stealing {
                    Stealing::On => name.clone(),
                    Stealing::Off => format!("{name}, no stealing"),
                };
                self.all.push(Case {
                    name,
                    hierarchy,
                    stealing: stealing == Stealing::On,
                    workload,
                    conflicts,
                });
            }
        }
    }
}

impl ConflictRates {
    fn of(numbering: &Numbering, tasks: &[Task], nodes: usize) -> Self {
        let resolutions = [Resolution::Granules(INTERVALS * nodes), Resolution::Granules(1)];
        let results = conflicts(numbering, tasks, &resolutions);
        let shape = numbering.shape();
        let trees = (!shape.nodes().any(|node| shape.is_shared(node))).then_some(0.0);
        Self { granules: results[0], interval: results[1], trees }
    }

    /// Returns the percentage of pairs that conflict, and of pairs with a false conflict under
    /// an isolation. The second is `None` where its control picks the number of intervals itself.
    pub fn under(&self, isolation: Isolation) -> (f64, Option<f64>) {
        let real = self.granules.real_ratio();
        let Isolation::Granules(control) = isolation else {
            return (100.0 * real, self.trees.map(|ratio| 100.0 * ratio));
        };
        let false_rate = match (control, control.granularity()) {
            (Control::Fifo, _) => Some(self.granules.false_ratio()),
            (_, Some(Granularity::All)) => Some(1.0 - real),
            (_, Some(Granularity::Hull)) => Some(self.interval.false_ratio()),
            _ => None,
        };
        (100.0 * real, false_rate.map(|ratio| 100.0 * ratio))
    }
}

impl std::fmt::Display for ConflictRates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { granules, interval, .. } = self;
        write!(f, "of the pairs of {SAMPLE} tasks {:.2}% conflict; ", 100.0 * granules.real_ratio())?;
        write!(f, "false conflicts: {:.2}% with granules, ", 100.0 * granules.false_ratio())?;
        write!(f, "{:.2}% with one interval of granules", 100.0 * interval.false_ratio())
    }
}
