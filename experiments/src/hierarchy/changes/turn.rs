//! One turn: all tasks on a fresh hierarchy, what becomes of them, and what they leave.

use super::super::ground::{Ground, Pace, Setting};
use super::super::load::{Access, Targets, Task};
use super::super::turn::{Turn, claim};
use super::act::{Act, Provoked, pick};
use super::deeds::{Deed, Job};
use super::ledger::{Done, Ledger, Linked, TaskNumber};
use super::mend::{Mended, mend};
use super::replay::Model;
use super::value::Value;
use crate::failure::Failure;
use std::collections::VecDeque;
use std::sync::Arc;
use xtasking::{Claim, Context, Handle, Held, JoinError};
use xtasking_hierarchy::{Hierarchy, Shape, Slab, View};

/// What the tasks work on.
pub(crate) struct Work<'w> {
    pub shape: &'w Shape,
    pub granules: u32,
    pub jobs: &'w Arc<[Job]>,
    /// How large the sub-trees are that are named.
    pub targets: &'w Targets,
}

/// So many tasks are on their way, unless it is told: then failures are seen soon.
const IN_FLIGHT: usize = 100;
/// After so many have been spawned it is looked which are over.
const OFTEN: usize = 16;

/// What tasks share.
struct Common {
    jobs: Arc<[Job]>,
    ledger: Ledger,
    alive: Arc<()>,
    pace: Option<Arc<Pace>>,
}

/// What has become of tasks.
#[derive(Default)]
struct Account {
    panicked: usize,
    poisoned: usize,
    mended: usize,
    finished: usize,
    menders: usize,
    inserted: usize,
    removed: usize,
    linked: usize,
    unlinked: usize,
}

impl Work<'_> {
    /// Runs the tasks.
    pub fn turn(&self, setting: &Setting) -> Result<Turn, Failure> {
        // A new layout that would move what is poisoned does not come about, and is asked for again.
        let mut ground = Ground::new(setting, self.jobs.len(), |_| ())?;
        let alive = Arc::new(());
        let builder = Hierarchy::builder(self.shape.clone()).granules(self.granules);
        let tree = builder.control(setting.control).build(&ground.rt, |_| Value::new(0, &alive));
        let common = Arc::new(Common {
            jobs: self.jobs.clone(),
            ledger: Ledger::new(self.jobs.len()),
            alive,
            pace: ground.pace(),
        });
        ground.begin();
        let mut course = Course {
            ground: &ground,
            tree: &tree,
            common: &common,
            menders: VecDeque::new(),
            done: Vec::with_capacity(self.jobs.len()),
            account: Account::default(),
        };
        let run = course.run(self.targets, setting.in_flight.unwrap_or(IN_FLIGHT));
        let Course { done, account, .. } = course;
        let (time, seen) = ground.end();
        let rate = done.len() as f64 / time / 1e3;
        let checked = run.and_then(|()| self.check(&ground, &tree, &common, done, account));
        let mut turn = Turn { rate, seen, note: None, wrong: None };
        match checked {
            Ok(note) => turn.note = Some(note),
            Err(wrong) => turn.wrong = Some(wrong),
        }
        // All that there was goes with these.
        drop((tree, ground));
        let left = match Arc::try_unwrap(common) {
            Ok(Common { alive, .. }) => Arc::strong_count(&alive) - 1,
            Err(_) => return Ok(Turn { wrong: Some("a task was left".to_string()), ..turn }),
        };
        let leaked = (left > 0).then(|| format!("{left} nodes were left when the hierarchy was gone"));
        Ok(Turn { wrong: turn.wrong.or(leaked), ..turn })
    }

    /// Compares all that was done and left. Returns what is to be told of it.
    fn check(
        &self,
        ground: &Ground,
        tree: &Hierarchy<Value>,
        common: &Common,
        mut done: Vec<(TaskNumber, Done)>,
        mut account: Account,
    ) -> Result<String, String> {
        if tree.is_poisoned() {
            return Err("something was poisoned and not mended".to_string());
        }
        let undone = self.jobs.len() - done.len();
        if undone != account.panicked + account.poisoned - account.finished {
            return Err(format!("of {undone} tasks nobody knows what has become of them"));
        }
        done.sort_unstable_by_key(|(task, _)| common.ledger.serial(*task));
        let mut model = Model::of(self.shape);
        for (task, done) in &done {
            account.count(done);
            let job = &self.jobs[*task as usize - 1];
            model.again(job, done).map_err(|wrong| format!("task {task}: {wrong}"))?;
        }
        let expected = self.shape.len() + account.inserted - account.removed;
        if model.len() != expected {
            return Err(format!("{} nodes came of it, not {expected}", model.len()));
        }
        let task = ground.rt.task(()).claim(tree.read_all());
        let differs = task.submit_with(move |(), held, _| model.differs(&View::new(held)));
        match differs.join() {
            Ok(None) => Ok(account.to_string()),
            Ok(Some(wrong)) => Err(wrong),
            Err(failure) => Err(format!("the hierarchy cannot be read: {failure}")),
        }
    }
}

/// All tasks, on their way.
struct Course<'c> {
    ground: &'c Ground,
    tree: &'c Hierarchy<Value>,
    common: &'c Arc<Common>,
    menders: VecDeque<Handle<Mended>>,
    done: Vec<(TaskNumber, Done)>,
    account: Account,
}

impl Course<'_> {
    fn run(&mut self, targets: &Targets, in_flight: usize) -> Result<(), String> {
        let mut open: Vec<(TaskNumber, Handle<Done>)> = Vec::with_capacity(in_flight);
        for number in 1..=self.common.jobs.len() as TaskNumber {
            open.push((number, self.spawn(number, targets)));
            if open.len() >= in_flight || (number as usize).is_multiple_of(OFTEN) {
                open.extract_if(.., |(_, handle)| handle.is_finished())
                    .try_for_each(|(number, handle)| self.settle(number, handle))?;
                while self.menders.front().is_some_and(Handle::is_finished) {
                    self.mended()?;
                }
            }
            if open.len() >= in_flight {
                let (number, handle) = open.remove(0);
                self.settle(number, handle)?;
            }
        }
        open.into_iter().try_for_each(|(number, handle)| self.settle(number, handle))?;
        while !self.menders.is_empty() {
            self.mended()?;
        }
        Ok(())
    }

    fn spawn(&self, number: TaskNumber, targets: &Targets) -> Handle<Done> {
        let job = &self.common.jobs[number as usize - 1];
        let tree = self.tree;
        let claim: Claim<'_, Slab<Value>> = match &job.deed {
            Deed::Visit(Task { nodes, access }) => {
                let writes = *access == Access::Write;
                claim(tree, nodes, writes).expect("a task names a node").into()
            }
            &Deed::Insert { under, .. } | &Deed::Remove { under } => tree.node(under).write().into(),
            &Deed::Link { parent, child } => tree.linking(parent, child),
            &Deed::Unlink { child, chance } => tree.planned(move |look| {
                look.write_alone(child);
                if let Some(parent) = look.see(child, |seen| pick(seen.parents(), chance)) {
                    look.write_alone(parent);
                }
            }),
        };
        let size = match &job.deed {
            Deed::Visit(task) => task.nodes.iter().map(|&node| u64::from(targets.size(node))).sum(),
            _ => 0,
        };
        let common = self.common.clone();
        let spawned = Pace::spawned(&common.pace);
        let task = self.ground.rt.task(()).claim(claim);
        task.submit_with(move |(), held, cx| common.act(number, size, spawned, held, cx))
    }

    /// Notes what has become of a task, and has mended what it has left.
    fn settle(&mut self, number: TaskNumber, handle: Handle<Done>) -> Result<(), String> {
        match handle.join() {
            Ok(done) => self.done.push((number, done)),
            Err(JoinError::Poisoned) => self.account.poisoned += 1,
            Err(JoinError::Panicked(payload)) => {
                let message = payload.message().to_string();
                if payload.into_inner().downcast::<Provoked>().is_err() {
                    return Err(format!("task {number} panicked: {message}"));
                }
                self.account.panicked += 1;
                if self.tree.is_poisoned() {
                    let common = self.common.clone();
                    let task = self.ground.rt.task(()).claim(self.tree.write_poisoned());
                    self.menders.push_back(
                        task.submit_with(move |(), held, _| mend(&mut View::new(held), &common.ledger)),
                    );
                }
            }
            Err(failure) => return Err(format!("task {number} failed: {failure}")),
        }
        Ok(())
    }

    fn mended(&mut self) -> Result<(), String> {
        let Some(mender) = self.menders.pop_front() else { return Ok(()) };
        let Mended { nodes, finished } = mender.join().map_err(|failure| format!("a mender: {failure}"))?;
        self.account.menders += 1;
        self.account.mended += nodes;
        self.account.finished += finished.len();
        self.done.extend(finished);
        Ok(())
    }
}

impl Common {
    fn act(
        &self,
        number: TaskNumber,
        size: u64,
        spawned: u64,
        held: Held<'_, Slab<Value>>,
        cx: &mut Context,
    ) -> Done {
        let index = number as usize - 1;
        let _begun = self.pace.as_ref().map(|pace| pace.begin(index, spawned, cx.worker()));
        let job = &self.jobs[index];
        let mut act = Act { view: View::new(held), number, job, size, alive: &self.alive };
        let (done, visited) = act.run(cx);
        if let Some(pace) = &self.pace {
            pace.spend(visited);
        }
        self.ledger.note(number);
        done
    }
}

impl Account {
    fn count(&mut self, done: &Done) {
        match done {
            Done::Inserted(nodes) => self.inserted += nodes.len(),
            Done::Removed(Some((_, count))) => self.removed += count,
            Done::Linked(Linked::New) => self.linked += 1,
            Done::Unlinked(Some(_)) => self.unlinked += 1,
            _ => {}
        }
    }
}

impl std::fmt::Display for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { panicked, poisoned, mended, finished, menders, inserted, removed, linked, unlinked } =
            self;
        write!(
            f,
            "{panicked} tasks panicked, {poisoned} did not run as something was poisoned; {menders} tasks "
        )?;
        write!(
            f,
            "mended {mended} nodes and finished {finished} changes; {inserted} nodes came and {removed} went, "
        )?;
        write!(f, "{linked} links came and {unlinked} went")
    }
}
