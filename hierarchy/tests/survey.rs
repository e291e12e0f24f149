//! Surveys see what was there at one moment, whatever others write meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use xtasking::{Context, Control, Held, JoinError, Promise, Runtime};
use xtasking_hierarchy::{Hierarchy, Node, Seen, Shape, Slab, Surveyed, Surveyor, View, generate};
use xtasking_testing::{Setting, on_each};

const CONTROLS: [Control; 6] =
    [Control::Lines, Control::Coarse, Control::InOrder, Control::DomLock, Control::NumLock, Control::Toggle];

/// So many nodes there are in the beginning.
const NODES: u64 = 120;

fn settings() -> impl Iterator<Item = Setting> {
    Setting::threads().chain(Setting::simulations(&[1, 2, 3]))
}

/// A number that looks as if it came by chance.
fn mixed(number: u64) -> u64 {
    let mixed = (number ^ number >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 16
}

/// What a task has changed.
#[derive(Clone, Debug)]
enum Event {
    Set(Node, i64),
    Insert { parent: Node, new: Node, value: i64 },
    Remove(Node),
    Link(Node, Node),
    Unlink(Node, Node),
}

/// A hierarchy for one.
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

    /// Nodes, with all below them or without: their values and children.
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

/// What all tasks of a test share.
#[derive(Default)]
struct Shared {
    stamps: AtomicU64,
    history: Mutex<Vec<(u64, Vec<Event>)>>,
    surveys: Mutex<Vec<Told>>,
}

/// What was named, the stamp of the moment, and what was there.
type Told = (Vec<(Node, bool)>, u64, Surveyed<(i64, Vec<Node>)>);

impl Shared {
    fn stamp(&self) -> u64 {
        self.stamps.fetch_add(1, Relaxed)
    }

    /// The caller has all yet that it has changed.
    fn done(&self, events: Vec<Event>) {
        self.history.lock().unwrap().push((self.stamp(), events));
    }
}

/// Keeps the value and the children of each node, and draws a stamp.
struct Stamped {
    named: Vec<(Node, bool)>,
    stamp: u64,
    shared: Arc<Shared>,
}

impl Surveyor<i64> for Stamped {
    type Kept = (i64, Vec<Node>);

    fn look(&mut self, seen: Seen<'_, i64>) -> Self::Kept {
        (*seen.value(), seen.children().to_vec())
    }

    fn moment(&mut self, _: usize, _: &mut Context) {
        self.stamp = self.shared.stamp();
    }

    fn over(self, surveyed: Surveyed<Self::Kept>, _: &mut Context) {
        self.shared.surveys.lock().unwrap().push((self.named, self.stamp, surveyed));
    }
}

/// Something that changes values or the shape, by chance.
fn change(rt: &Runtime, tree: &Hierarchy<i64>, group: &xtasking::Group, shared: &Arc<Shared>, chance: u64) {
    let [one, other] = [chance % NODES, chance / NODES % NODES].map(|node| Node(node as u32));
    let (shared, kind) = (shared.clone(), chance / NODES / NODES % 8);
    let both = || tree.node(one).alone().write().and(tree.node(other).alone().write());
    let claim = match kind {
        0 | 1 => tree.node(one).alone().write().into(),
        2 => tree.planned(move |look| {
            let first = look.see(one, |seen| seen.children().first().copied()).flatten();
            look.write_alone(one);
            first.into_iter().for_each(|first| look.remove(first));
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
        shared.done(events);
    });
}

/// Nodes come, go, are linked and unlinked, and money goes from node to node. Done again one after the other in the order of their
/// stamps, changes make at the moment of each survey what it has seen, be it below several nodes, of which some are below others.
#[test]
fn a_survey_sees_one_moment() {
    let (repeated, all) = (AtomicUsize::new(0), AtomicUsize::new(0));
    on_each(settings(), |setting| {
        let rt = setting.build();
        for control in CONTROLS {
            let shape = generate::random_dag(NODES as u32, 3, setting.seed());
            let builder = Hierarchy::builder(shape.clone()).granules(60).control(control);
            let tree = builder.build(&rt, |_| 100i64);
            let (group, shared) = (rt.group(), Arc::new(Shared::default()));
            for number in 0..400u64 {
                let chance = mixed(number + setting.seed() * 1000);
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
                let surveyor = Stamped { named, stamp: u64::MAX, shared: shared.clone() };
                rt.task(()).of(&group).spawn(move |(), cx| survey.follow(cx, surveyor));
                if number % 100 == 50 {
                    _ = tree.renumber(&rt);
                }
            }
            group.wait().unwrap();
            let mut history = std::mem::take(&mut *shared.history.lock().unwrap());
            let mut surveys = std::mem::take(&mut *shared.surveys.lock().unwrap());
            history.sort_by_key(|&(stamp, _)| stamp);
            surveys.sort_by_key(|&(_, stamp, _)| stamp);
            let (mut model, mut history) = (Model::of(&shape), history.into_iter().peekable());
            for (named, stamp, surveyed) in surveys {
                while let Some((_, events)) = history.next_if(|&(at, _)| at < stamp) {
                    events.iter().for_each(|event| model.apply(event));
                }
                if control == Control::Lines {
                    all.fetch_add(1, Relaxed);
                    repeated.fetch_add(usize::from(surveyed.repeats() > 0), Relaxed);
                } else {
                    assert!(surveyed.is_claimed(), "nobody counts what is written");
                }
                let seen: BTreeMap<_, _> = surveyed.into_iter().collect();
                assert_eq!(seen, model.below(&named), "{control:?}: {named:?} at {stamp}");
            }
        }
    });
    let (repeated, all) = (repeated.into_inner(), all.into_inner());
    assert!(repeated > 0 && repeated < all, "{repeated} of {all} were repeated");
}

/// Has somebody write when all is about to be compared, so often.
struct Disturbed {
    /// When it is, and which worker waits meanwhile.
    write: Sender<(u32, usize)>,
    written: Receiver<()>,
    times: u32,
    most: u32,
    looks: Arc<AtomicUsize>,
    promise: Promise<Surveyed<u32>>,
}

impl Surveyor<u32> for Disturbed {
    type Kept = u32;

    fn look(&mut self, seen: Seen<'_, u32>) -> u32 {
        self.looks.fetch_add(1, Relaxed);
        *seen.value()
    }

    fn moment(&mut self, granules: usize, cx: &mut Context) {
        // None are compared when all is claimed: then nobody could write.
        if granules > 0 && self.times < self.most {
            self.write.send((self.times, cx.worker())).unwrap();
            self.written.recv().unwrap();
            self.times += 1;
        }
    }

    fn over(self, surveyed: Surveyed<u32>, _: &mut Context) {
        self.promise.fulfil(surveyed);
    }
}

/// Somebody writes where a survey has been while it is elsewhere: nobody waits for the other, and the survey looks there again, and
/// nowhere else. If that happens again and again, it claims everything.
#[test]
fn a_survey_keeps_nobody_waiting() {
    for (most, repeats, looks, values) in [(0, 0, 3, [0, 0, 0]), (1, 1, 4, [1, 0, 0]), (99, 9, 14, [9, 8, 0])]
    {
        let rt = Runtime::builder().workers(2).build().unwrap();
        // 0 has the children 1 and 2, each in a granule of its own.
        let shape = Shape::from_edges(3, &[(0, 1), (0, 2)]).unwrap();
        let tree = Hierarchy::builder(shape).granules(3).build(&rt, |_| 0u32);
        let ((write, writes), (done, written), (promise, handle)) = (channel(), channel(), rt.promise());
        let counted = Arc::new(AtomicUsize::new(0));
        let surveyor = Disturbed { write, written, times: 0, most, looks: counted.clone(), promise };
        let (survey, group) = (tree.survey([tree.node(Node(0))]), rt.group());
        rt.task(()).of(&group).spawn(move |(), cx| survey.follow(cx, surveyor));
        for (time, waits) in writes {
            // The survey has the children when it compares for the first time, and then what was written last.
            let node = Node(time % 2);
            let task = rt.task(()).claim(tree.node(node).alone().write()).core(1 - waits as u16);
            let task = task.submit_with(move |(), held, _| View::new(held)[node] = time + 1);
            task.join().unwrap();
            done.send(()).unwrap();
        }
        let survey = handle.join().unwrap();
        assert_eq!((survey.repeats(), survey.is_claimed()), (repeats, most == 99));
        assert!(survey.values().eq(&values), "{survey:?}");
        assert_eq!(counted.load(Relaxed), looks);
        group.wait().unwrap();
    }
}

#[test]
fn what_fails_is_told() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let tree = Hierarchy::builder(generate::complete(2, 4).unwrap()).build(&rt, |_| 1u32);
    let fails = tree.survey([tree.node(Node(0))]).submit(&rt, |_| -> u32 { panic!("provoked") });
    assert!(matches!(fails.join(), Err(JoinError::Abandoned)));
    let none = tree.survey([tree.node(Node(99))]).submit(&rt, |_| ()).join().unwrap();
    assert!(none.is_empty() && none.get(Node(99)).is_none() && none.children(Node(0)).is_none());
    assert!(tree.survey([]).submit(&rt, |_| ()).join().unwrap().is_empty());
}
