//! Surveys return a consistent snapshot while other tasks write.

mod controls;

use controls::{CONTROLS, Control, controlled};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use xtasking::{Context, Held, JoinError, Promise, Runtime};
use xtasking_hierarchy::{Hierarchy, Node, NodeView, Shape, Slab, SurveyResult, Surveyor, View, generate};
use xtasking_testing::{Setting, lock, on_each};

/// Initial number of nodes.
const NODES: u64 = 120;

fn settings() -> impl Iterator<Item = Setting> {
    Setting::threads().chain(Setting::simulations(&[1, 2, 3]))
}

/// A pseudo-random number.
fn pseudo_random(number: u64) -> u64 {
    let bits = (number ^ number >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (bits ^ bits >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 16
}

/// A change that a task has made.
#[derive(Clone, Debug)]
enum Event {
    Set(Node, i64),
    Insert { parent: Node, new: Node, value: i64 },
    Remove(Node),
    Link(Node, Node),
    Unlink(Node, Node),
}

/// A sequential model of a hierarchy.
#[derive(Clone, Debug, Default)]
struct Model {
    values: BTreeMap<Node, i64>,
    children: BTreeMap<Node, Vec<Node>>,
}

impl Model {
    fn of(shape: &Shape) -> Self {
        let nodes = (0..shape.len() as u32).map(Node);
        let children = nodes.clone().map(|node| (node, shape.children(node).collect()));
        Self { values: nodes.map(|node| (node, 100)).collect(), children: children.collect() }
    }

    fn apply(&mut self, event: &Event) {
        match *event {
            Event::Set(node, value) => assert!(self.values.insert(node, value).is_some()),
            Event::Insert { parent, new, value } => {
                assert!(self.values.insert(new, value).is_none());
                self.children.insert(new, Vec::new());
                self.children.get_mut(&parent).unwrap().push(new);
            }
            Event::Remove(node) => {
                for gone in self.below(&[(node, true)]).into_keys() {
                    self.values.remove(&gone);
                    self.children.remove(&gone);
                }
                self.children.values_mut().for_each(|children| children.retain(|&child| child != node));
            }
            Event::Link(parent, child) => self.children.get_mut(&parent).unwrap().push(child),
            Event::Unlink(parent, child) => {
                self.children.get_mut(&parent).unwrap().retain(|&other| other != child);
            }
        }
    }

    /// The values and children of the given nodes, each with its descendants or without.
    fn below(&self, named: &[(Node, bool)]) -> BTreeMap<Node, (i64, Vec<Node>)> {
        let (mut below, mut met) = (BTreeMap::new(), BTreeSet::new());
        let mut open = named.to_vec();
        while let Some((node, with_all)) = open.pop() {
            let Some(&value) = self.values.get(&node) else { continue };
            let children = self.children[&node].clone();
            if with_all && met.insert(node) {
                open.extend(children.iter().map(|&child| (child, true)));
            }
            below.insert(node, (value, children));
        }
        below
    }
}

/// The data that all tasks of a test share.
#[derive(Default)]
struct TestState {
    stamps: AtomicU64,
    history: Mutex<Vec<(u64, Vec<Event>)>>,
    surveys: Mutex<Vec<SurveyRecord>>,
}

/// The selected nodes, the stamp of the linearization point, and the result.
type SurveyRecord = (Vec<(Node, bool)>, u64, SurveyResult<(i64, Vec<Node>)>);

impl TestState {
    fn stamp(&self) -> u64 {
        self.stamps.fetch_add(1, Relaxed)
    }

    /// Records changes; the calling task still holds what it has changed.
    fn record(&self, events: Vec<Event>) {
        lock(&self.history).push((self.stamp(), events));
    }
}

/// Keeps the value and the children of each node, and draws a stamp before each validation.
struct StampingSurveyor {
    named: Vec<(Node, bool)>,
    stamp: u64,
    shared: Arc<TestState>,
}

impl Surveyor<i64> for StampingSurveyor {
    type Output = (i64, Vec<Node>);

    fn read_node(&mut self, node: NodeView<'_, i64>) -> Self::Output {
        (*node.value(), node.children().to_vec())
    }

    fn before_validation(&mut self, _: usize, _: &mut Context) {
        self.stamp = self.shared.stamp();
    }

    fn finish(self, surveyed: SurveyResult<Self::Output>, _: &mut Context) {
        lock(&self.shared.surveys).push((self.named, self.stamp, surveyed));
    }
}

/// Spawns a task that makes a random change of values or of the shape.
fn change(
    rt: &Runtime,
    tree: &Hierarchy<i64>,
    group: &xtasking::Group,
    shared: &Arc<TestState>,
    chance: u64,
) {
    let [one, other] = [chance % NODES, chance / NODES % NODES].map(|node| Node(node as u32));
    let (shared, kind) = (shared.clone(), chance / NODES / NODES % 8);
    let both = || tree.node(one).alone().write().and(tree.node(other).alone().write());
    let claim = match kind {
        0 | 1 => tree.node(one).alone().write().into(),
        2 => tree.planned(move |plan| {
            let first = plan.peek(one, |node| node.children().first().copied()).flatten();
            plan.write_alone(one);
            first.into_iter().for_each(|first| plan.remove(first));
        }),
        3 => tree.linking(one, other),
        _ => both().into(),
    };
    let task = rt.task(()).of(group).claim(claim);
    task.spawn_with(move |(), held: Held<'_, Slab<i64>>, cx| {
        let mut view = View::new(held);
        if view.find(one).is_none() || matches!(kind, 3..) && view.find(other).is_none() {
            return;
        }
        let mut events = Vec::new();
        match kind {
            0 | 1 => {
                let new = view.insert(one, 40, cx).unwrap();
                view[one] -= 40;
                events.push(Event::Insert { parent: one, new, value: 40 });
                events.push(Event::Set(one, view[one]));
            }
            2 => {
                let Some(&first) = view.children(one).first() else { return };
                let Ok(values) = view.remove(first) else { return };
                view[one] += values.iter().sum::<i64>();
                events.push(Event::Remove(first));
                events.push(Event::Set(one, view[one]));
            }
            3 => {
                let linked = view.link(one, other).map(|()| Event::Link(one, other));
                events.extend(linked);
            }
            4 => {
                let Some(&first) = view.children(one).iter().find(|&&child| child == other) else { return };
                if view.unlink(one, first).is_ok() {
                    events.push(Event::Unlink(one, first));
                }
            }
            _ if one != other => {
                view[one] -= 3;
                view[other] += 3;
                events.extend([one, other].map(|node| Event::Set(node, view[node])));
            }
            _ => {}
        }
        shared.record(events);
    });
}

/// Tasks insert, remove, link and unlink nodes, and move money between them. The changes are
/// replayed in the order of their stamps: at the stamp of each survey, the model must equal its
/// result.
#[test]
fn a_survey_is_a_consistent_snapshot() {
    let (retried, all) = (AtomicUsize::new(0), AtomicUsize::new(0));
    on_each(settings(), |setting| {
        let rt = setting.build();
        for control in CONTROLS {
            let shape = generate::random_dag(NODES as u32, 3, setting.seed());
            let builder = controlled(Hierarchy::builder(shape.clone()).granules(60), control);
            let tree = builder.build(&rt, |_| 100i64);
            let (group, shared) = (rt.group(), Arc::new(TestState::default()));
            for number in 0..400u64 {
                let chance = pseudo_random(number + setting.seed() * 1000);
                if !chance.is_multiple_of(10) {
                    change(&rt, &tree, &group, &shared, chance / 10);
                    continue;
                }
                let pick = |at: u32| Node((chance / 10 / NODES.pow(at) % NODES) as u32);
                let named = match number % 3 {
                    0 => shape.roots().map(|root| (root, true)).collect(),
                    1 => vec![(pick(0), true), (pick(1), false), (pick(2), true), (pick(0), false)],
                    _ => vec![(pick(0), false), (Node(0), true), (pick(1), false), (Node(0), true)],
                };
                let at = |&(node, below): &(Node, bool)| {
                    let node = tree.node(node);
                    if below { node } else { node.alone() }
                };
                let survey = tree.survey(named.iter().map(at));
                let surveyor = StampingSurveyor { named, stamp: u64::MAX, shared: shared.clone() };
                rt.task(()).of(&group).spawn(move |(), cx| survey.follow(cx, surveyor));
                if number % 100 == 50 {
                    _ = tree.renumber(&rt);
                }
            }
            group.wait().unwrap();
            let mut history = std::mem::take(&mut *lock(&shared.history));
            let mut surveys = std::mem::take(&mut *lock(&shared.surveys));
            history.sort_by_key(|&(stamp, _)| stamp);
            surveys.sort_by_key(|&(_, stamp, _)| stamp);
            let (mut model, mut history) = (Model::of(&shape), history.into_iter().peekable());
            for (named, stamp, surveyed) in surveys {
                while let Some((_, events)) = history.next_if(|&(at, _)| at < stamp) {
                    events.iter().for_each(|event| model.apply(event));
                }
                if control == Control::Fifo {
                    all.fetch_add(1, Relaxed);
                    retried.fetch_add(usize::from(surveyed.retries() > 0), Relaxed);
                } else {
                    assert!(surveyed.is_claimed(), "granules without versions are claimed");
                }
                let seen: BTreeMap<_, _> = surveyed.into_iter().collect();
                assert_eq!(seen, model.below(&named), "{control:?}: {named:?} at {stamp}");
            }
        }
    });
    let (retried, all) = (retried.into_inner(), all.into_inner());
    assert!(retried > 0 && retried < all, "{retried} of {all} surveys were retried");
}

/// Lets another thread write before each of the first `max_times` validations.
struct DisturbedSurveyor {
    /// Sends the number of the validation and the worker that waits in it.
    write: Sender<(u32, usize)>,
    written: Receiver<()>,
    times: u32,
    max_times: u32,
    reads: Arc<AtomicUsize>,
    promise: Promise<SurveyResult<u32>>,
}

impl Surveyor<u32> for DisturbedSurveyor {
    type Output = u32;

    fn read_node(&mut self, node: NodeView<'_, u32>) -> u32 {
        self.reads.fetch_add(1, Relaxed);
        *node.value()
    }

    fn before_validation(&mut self, granules: usize, cx: &mut Context) {
        // If everything is claimed, no granules are validated, and a writer would have to wait.
        if granules > 0 && self.times < self.max_times {
            self.write.send((self.times, cx.worker())).unwrap();
            self.written.recv().unwrap();
            self.times += 1;
        }
    }

    fn finish(self, surveyed: SurveyResult<u32>, _: &mut Context) {
        self.promise.fulfil(surveyed);
    }
}

/// A task writes a node that a survey has read: neither waits for the other, and the survey reads
/// only that node again. If that happens again and again, the survey claims everything.
#[test]
fn a_survey_does_not_block_writers() {
    for (max_times, retries, reads, values) in
        [(0, 0, 3, [0, 0, 0]), (1, 1, 4, [1, 0, 0]), (99, 9, 14, [9, 8, 0])]
    {
        let rt = Runtime::builder().workers(2).build().unwrap();
        // Node 0 has the children 1 and 2, each in a granule of its own.
        let shape = Shape::from_edges(3, &[(0, 1), (0, 2)]).unwrap();
        let tree = Hierarchy::builder(shape).granules(3).build(&rt, |_| 0u32);
        let ((write, writes), (done, written), (promise, handle)) = (channel(), channel(), rt.promise());
        let counted = Arc::new(AtomicUsize::new(0));
        let surveyor =
            DisturbedSurveyor { write, written, times: 0, max_times, reads: counted.clone(), promise };
        let (survey, group) = (tree.survey([tree.node(Node(0))]), rt.group());
        rt.task(()).of(&group).spawn(move |(), cx| survey.follow(cx, surveyor));
        for (time, waits) in writes {
            // Writes alternate between a child that the survey has read and the root.
            let node = Node(time % 2);
            let task = rt.task(()).claim(tree.node(node).alone().write()).core(1 - waits as u16);
            let task = task.submit_with(move |(), held, _| View::new(held)[node] = time + 1);
            task.join().unwrap();
            done.send(()).unwrap();
        }
        let survey = handle.join().unwrap();
        assert_eq!((survey.retries(), survey.is_claimed()), (retries, max_times == 99));
        assert!(survey.values().eq(&values), "{survey:?}");
        assert_eq!(counted.load(Relaxed), reads);
        group.wait().unwrap();
    }
}

/// A task unlinks a node after a survey has read it, which still exists below another node. (While
/// it is validated, the survey holds only the granule of the last node.)
#[test]
fn a_survey_drops_what_was_unlinked() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let shape = Shape::from_edges(5, &[(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]).unwrap();
    let tree = Hierarchy::builder(shape).granules(5).granule_by(|node| node.0).build(&rt, |node| node.0);
    let ((write, writes), (done, written), (promise, handle)) = (channel(), channel(), rt.promise());
    let surveyor =
        DisturbedSurveyor { write, written, times: 0, max_times: 1, reads: Arc::default(), promise };
    let (survey, group) = (tree.survey([tree.node(Node(1))]), rt.group());
    rt.task(()).of(&group).spawn(move |(), cx| survey.follow(cx, surveyor));
    for (_, waits) in writes {
        let claim = tree.node(Node(1)).alone().write().and(tree.node(Node(3)).alone().write());
        let task = rt.task(()).claim(claim).core(1 - waits as u16);
        let task = task.submit_with(|(), held, _| View::new(held).unlink(Node(1), Node(3)));
        task.join().unwrap().unwrap();
        done.send(()).unwrap();
    }
    let survey = handle.join().unwrap();
    assert_eq!((survey.len(), survey.get(Node(3))), (1, None), "{survey:?}");
    group.wait().unwrap();
}

#[test]
fn failed_and_empty_surveys_are_reported() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let tree = Hierarchy::builder(generate::complete(2, 4).unwrap()).build(&rt, |_| 1u32);
    let fails = tree.survey([tree.node(Node(0))]).submit(&rt, |_| -> u32 { panic!("provoked") });
    assert!(matches!(fails.join(), Err(JoinError::Abandoned)));
    let none = tree.survey([tree.node(Node(99))]).submit(&rt, |_| ()).join().unwrap();
    assert!(none.is_empty() && none.get(Node(99)).is_none() && none.children(Node(0)).is_none());
    assert!(tree.survey([]).submit(&rt, |_| ()).join().unwrap().is_empty());
}
