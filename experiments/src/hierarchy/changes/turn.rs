//! Runs one turn of tasks on a fresh hierarchy, and checks their results and what they leave.

use super::super::granules::claim;
use super::super::load::{Access, Targets, Task};
use super::super::testbed::{Recorder, Testbed, TurnSettings};
use super::super::turn::Turn;
use super::execution::{Execution, InjectedPanic, pick_parent};
use super::jobs::{Job, Operation};
use super::ledger::{ChangeResult, Ledger, LinkResult, TaskNumber};
use super::repair::{Repair, repair};
use super::replay::Model;
use super::value::Value;
use std::collections::VecDeque;
use std::sync::Arc;
use xtasking::{Claim, Context, Handle, Held, JoinError};
use xtasking_harness::controls::Isolation;
use xtasking_harness::failure::Failure;
use xtasking_hierarchy::{Hierarchy, Shape, Slab, View};

/// The input of a turn.
pub(crate) struct Work<'w> {
    pub shape: &'w Shape,
    pub granules: u32,
    pub jobs: &'w Arc<[Job]>,
    /// Sizes of the sub-trees that are named.
    pub targets: &'w Targets,
}

/// Default of the maximal number of tasks in flight: failures are seen soon.
const IN_FLIGHT: usize = 100;
/// Number of spawns between two collections of finished tasks.
const COLLECT_INTERVAL: usize = 16;

/// State that all tasks share.
struct TurnState {
    jobs: Arc<[Job]>,
    ledger: Ledger,
    alive: Arc<()>,
    recorder: Option<Arc<Recorder>>,
}

/// Counts of what became of tasks.
#[derive(Default)]
struct Account {
    panicked: usize,
    poisoned: usize,
    repaired: usize,
    finished: usize,
    repairs: usize,
    inserted: usize,
    removed: usize,
    linked: usize,
    unlinked: usize,
}

impl Work<'_> {
    /// Runs the tasks.
    pub fn turn(&self, settings: &TurnSettings) -> Result<Turn, Failure> {
        // A relayout that would move poisoned data fails, and is requested again: ignore its
        // failure.
        let mut testbed = Testbed::new(settings, self.jobs.len(), |_| ())?;
        let alive = Arc::new(());
        let Isolation::Granules(control) = settings.isolation else {
            unreachable!("the lineup has only hierarchies of granules if tasks change them")
        };
        let builder = Hierarchy::builder(self.shape.clone()).granules(self.granules);
        let tree = builder.control(control).build(&testbed.rt, |_| Value::new(0, &alive));
        let state = Arc::new(TurnState {
            jobs: self.jobs.clone(),
            ledger: Ledger::new(self.jobs.len()),
            alive,
            recorder: testbed.recorder(),
        });
        testbed.begin();
        let mut flight = InFlight {
            testbed: &testbed,
            tree: &tree,
            state: &state,
            repairs: VecDeque::new(),
            results: Vec::with_capacity(self.jobs.len()),
            account: Account::default(),
        };
        let run = flight.run(self.targets, settings.in_flight.unwrap_or(IN_FLIGHT));
        let InFlight { results, account, .. } = flight;
        let (time, statistics) = testbed.end();
        let rate = results.len() as f64 / time / 1e3;
        let checked = run.and_then(|()| self.check(&testbed, &tree, &state, results, account));
        let mut turn = Turn { rate, statistics, note: None, wrong: None };
        match checked {
            Ok(note) => turn.note = Some(note),
            Err(wrong) => turn.wrong = Some(wrong),
        }
        // Dropping the hierarchy and the runtime drops all values.
        drop((tree, testbed));
        let left = match Arc::try_unwrap(state) {
            Ok(TurnState { alive, .. }) => Arc::strong_count(&alive) - 1,
            Err(_) => return Ok(Turn { wrong: Some("a task outlived its runtime".to_string()), ..turn }),
        };
        let leaked = (left > 0).then(|| format!("{left} values outlived the hierarchy"));
        Ok(Turn { wrong: turn.wrong.or(leaked), ..turn })
    }

    /// Compares results and final data with a replay. Returns a summary.
    fn check(
        &self,
        testbed: &Testbed,
        tree: &Hierarchy<Value>,
        state: &TurnState,
        mut results: Vec<(TaskNumber, ChangeResult)>,
        mut account: Account,
    ) -> Result<String, String> {
        if tree.is_poisoned() {
            return Err("poisoned data remain after the last repair".to_string());
        }
        let undone = self.jobs.len() - results.len();
        if undone != account.panicked + account.poisoned - account.finished {
            return Err(format!("{undone} tasks are not done, which differs from the number of failures"));
        }
        results.sort_unstable_by_key(|(task, _)| state.ledger.serial(*task));
        let mut model = Model::of(self.shape);
        for (task, result) in &results {
            account.count(result);
            let job = &self.jobs[*task as usize - 1];
            model.replay(job, result).map_err(|wrong| format!("task {task}: {wrong}"))?;
        }
        let expected = self.shape.len() + account.inserted - account.removed;
        if model.len() != expected {
            return Err(format!("the replay has {} nodes; expected {expected}", model.len()));
        }
        let task = testbed.rt.task(()).claim(tree.read_all());
        let differs = task.submit_with(move |(), held, _| model.differs(&View::new(held)));
        match differs.join() {
            Ok(None) => Ok(account.to_string()),
            Ok(Some(wrong)) => Err(wrong),
            Err(failure) => Err(format!("the hierarchy cannot be read: {failure}")),
        }
    }
}

/// The tasks in flight and their results.
struct InFlight<'c> {
    testbed: &'c Testbed,
    tree: &'c Hierarchy<Value>,
    state: &'c Arc<TurnState>,
    repairs: VecDeque<Handle<Repair>>,
    results: Vec<(TaskNumber, ChangeResult)>,
    account: Account,
}

impl InFlight<'_> {
    fn run(&mut self, targets: &Targets, in_flight: usize) -> Result<(), String> {
        let mut open: Vec<(TaskNumber, Handle<ChangeResult>)> = Vec::with_capacity(in_flight);
        for number in 1..=self.state.jobs.len() as TaskNumber {
            open.push((number, self.spawn(number, targets)));
            if open.len() >= in_flight || (number as usize).is_multiple_of(COLLECT_INTERVAL) {
                open.extract_if(.., |(_, handle)| handle.is_finished())
                    .try_for_each(|(number, handle)| self.settle(number, handle))?;
                while self.repairs.front().is_some_and(Handle::is_finished) {
                    self.settle_repair()?;
                }
            }
            if open.len() >= in_flight {
                let (number, handle) = open.remove(0);
                self.settle(number, handle)?;
            }
        }
        open.into_iter().try_for_each(|(number, handle)| self.settle(number, handle))?;
        while !self.repairs.is_empty() {
            self.settle_repair()?;
        }
        Ok(())
    }

    fn spawn(&self, number: TaskNumber, targets: &Targets) -> Handle<ChangeResult> {
        let job = &self.state.jobs[number as usize - 1];
        let tree = self.tree;
        let claim: Claim<'_, Slab<Value>> = match &job.operation {
            Operation::Visit(Task { nodes, access }) => {
                let writes = *access == Access::Write;
                claim(tree, nodes, writes).expect("a task names at least one node").into()
            }
            &Operation::Insert { under, .. } | &Operation::Remove { under } => {
                tree.node(under).write().into()
            }
            &Operation::Link { parent, child } => tree.linking(parent, child),
            &Operation::Unlink { child, chance } => tree.planned(move |look| {
                look.write_alone(child);
                if let Some(parent) = look.peek(child, |node| pick_parent(node.parents(), chance)) {
                    look.write_alone(parent);
                }
            }),
        };
        let size = match &job.operation {
            Operation::Visit(task) => task.nodes.iter().map(|&node| u64::from(targets.size(node))).sum(),
            _ => 0,
        };
        let state = self.state.clone();
        let spawned = Recorder::spawned(&state.recorder);
        let task = self.testbed.rt.task(()).claim(claim);
        task.submit_with(move |(), held, cx| state.execute(number, size, spawned, held, cx))
    }

    /// Joins a task, and spawns a repair if it panicked.
    fn settle(&mut self, number: TaskNumber, handle: Handle<ChangeResult>) -> Result<(), String> {
        match handle.join() {
            Ok(result) => self.results.push((number, result)),
            Err(JoinError::Poisoned) => self.account.poisoned += 1,
            Err(JoinError::Panicked(payload)) => {
                let message = payload.message().to_string();
                if payload.into_inner().downcast::<InjectedPanic>().is_err() {
                    return Err(format!("task {number} panicked: {message}"));
                }
                self.account.panicked += 1;
                if self.tree.is_poisoned() {
                    let state = self.state.clone();
                    let task = self.testbed.rt.task(()).claim(self.tree.write_poisoned());
                    self.repairs.push_back(
                        task.submit_with(move |(), held, _| repair(&mut View::new(held), &state.ledger)),
                    );
                }
            }
            Err(failure) => return Err(format!("task {number} failed: {failure}")),
        }
        Ok(())
    }

    fn settle_repair(&mut self) -> Result<(), String> {
        let Some(repair_task) = self.repairs.pop_front() else { return Ok(()) };
        let Repair { nodes, finished } =
            repair_task.join().map_err(|failure| format!("a repair task failed: {failure}"))?;
        self.account.repairs += 1;
        self.account.repaired += nodes;
        self.account.finished += finished.len();
        self.results.extend(finished);
        Ok(())
    }
}

impl TurnState {
    fn execute(
        &self,
        number: TaskNumber,
        size: u64,
        spawned: u64,
        held: Held<'_, Slab<Value>>,
        cx: &mut Context,
    ) -> ChangeResult {
        let index = number as usize - 1;
        let _running = self.recorder.as_ref().map(|recorder| recorder.begin(index, spawned, cx.worker()));
        let job = &self.jobs[index];
        let mut execution = Execution { view: View::new(held), number, job, size, alive: &self.alive };
        let (result, visited) = execution.run(cx);
        if let Some(recorder) = &self.recorder {
            recorder.spend(visited);
        }
        self.ledger.note(number);
        result
    }
}

impl Account {
    fn count(&mut self, result: &ChangeResult) {
        match result {
            ChangeResult::Inserted(nodes) => self.inserted += nodes.len(),
            ChangeResult::Removed(Some((_, count))) => self.removed += count,
            ChangeResult::Linked(LinkResult::New) => self.linked += 1,
            ChangeResult::Unlinked(Some(_)) => self.unlinked += 1,
            _ => {}
        }
    }
}

impl std::fmt::Display for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { panicked, poisoned, repaired, finished, repairs, inserted, removed, linked, unlinked } =
            self;
        write!(
            f,
            "{panicked} tasks panicked, {poisoned} did not run because of poisoned data; {repairs} tasks "
        )?;
        write!(f, "repaired {repaired} nodes and finished {finished} changes; ")?;
        write!(f, "{inserted} nodes inserted and {removed} removed, ")?;
        write!(f, "{linked} links added and {unlinked} removed")
    }
}
