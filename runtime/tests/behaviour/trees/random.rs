//! Random programs on a tree. Each task takes a stamp while it holds what it has claimed, so the
//! stamps are an order in which a model replays what the tasks did.
//!
//! `XTASKING_TREE_SEEDS=N` runs N seeds for each setting, of ten times as many tasks.

use crate::common::{Setting, lock, on_each, silence_tasks};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use xtasking::task::{Membership, Spawner};
use xtasking::trees::{Node, Nodes, Tree, TreeError, TreePlan};
use xtasking::{Context, Runtime, TaskBuilder};
use xtasking_testing::Random;

/// The data of a node: a number, and a count of its tasks. Readers raise it, writers lower it.
struct Cell {
    number: u64,
    inside: AtomicI32,
}

impl Cell {
    fn new(number: u64) -> Self {
        Self { number, inside: AtomicI32::new(0) }
    }

    fn begin_read(&self) {
        assert!(self.inside.fetch_add(1, SeqCst) >= 0, "a reader runs beside a writer");
    }

    fn end_read(&self) {
        self.inside.fetch_sub(1, SeqCst);
    }

    fn begin_write(&self) {
        assert_eq!(self.inside.swap(-1000, SeqCst), 0, "a writer is the only task");
    }

    fn end_write(&self) {
        self.inside.store(0, SeqCst);
    }
}

#[derive(Clone, Copy, Debug)]
enum Action {
    /// Reads a sub-tree.
    Sum(Node),
    /// Adds to all numbers of a sub-tree.
    Add(Node, u64),
    ReadOne(Node),
    SetOne(Node, u64),
    /// Sets a number and panics.
    Panic(Node, u64),
    /// Inserts a number of leaves before the child of this index, or behind all.
    Insert(Node, u64, usize, usize),
    /// Inserts a chain.
    Chain(Node, u64, usize),
    Remove(Node),
    Move(Node, Node),
    Swap(Node, Node),
    /// Adds the sum of a sub-tree to all of another.
    Pair(Node, Node),
    /// Links a node behind the children of the first.
    Link(Node, Node),
    /// Unlinks a node from the parent with this number, modulo theirs.
    Unlink(Node, usize),
}
use Action::{Add, Chain, Insert, Link, Move, Pair, Panic, ReadOne, Remove, SetOne, Sum, Swap, Unlink};

#[derive(Clone, Debug, PartialEq)]
enum Outcome {
    Missing,
    Refused,
    Done,
    Numbers(Vec<u64>),
    New(Vec<Node>),
}

struct World {
    tree: Tree<Cell>,
    stamp: AtomicU64,
    log: Mutex<Vec<(u64, Action, Outcome)>>,
    nodes: Mutex<Vec<Node>>,
    /// Nodes that were linked once.
    linked: Mutex<Vec<Node>>,
    left: AtomicI64,
}

impl World {
    fn stamp(&self) -> u64 {
        self.stamp.fetch_add(1, SeqCst)
    }

    /// Draws an action on any nodes that there are or were, often on the first few.
    fn draw(&self, random: &mut Random) -> Action {
        let nodes = lock(&self.nodes);
        let all = nodes.len() as u64;
        let most = if random.percent(25) { all.min(8) } else { all };
        let (one, other) = (nodes[random.below(most) as usize], nodes[random.below(most) as usize]);
        let number = random.below(1000);
        let linked = lock(&self.linked);
        match random.below(100) {
            0..10 => Sum(one),
            10..19 => Add(one, number),
            19..25 => Link(one, other),
            25..30 if linked.is_empty() => ReadOne(one),
            25..30 => Unlink(linked[random.below(linked.len() as u64) as usize], random.below(3) as usize),
            30..37 => ReadOne(one),
            37..47 => SetOne(one, number),
            47..49 => Panic(one, number),
            49..58 => Insert(one, number, random.below(3) as usize, 1),
            58..59 => Insert(one, number, 0, 40),
            59..61 => Chain(one, number, random.below(90) as usize),
            61..67 if one != nodes[0] => Remove(one),
            61..84 => Move(one, other),
            84..92 => Swap(one, other),
            _ => Pair(one, other),
        }
    }

    /// Does what the action says with the nodes that it has claimed. Returns the moment, and what
    /// came of it.
    fn act(&self, action: Action, nodes: &mut Nodes<'_, Cell>) -> Result<(u64, Outcome), TreeError> {
        Ok(match action {
            Sum(node) => {
                nodes.subtree(node)?.for_each(|(_, cell)| cell.begin_read());
                nodes.subtree(node)?.for_each(|(parent, _)| check_link_data(nodes, parent));
                let numbers = nodes.subtree(node)?.map(|(_, cell)| cell.number).collect();
                let stamp = self.stamp();
                nodes.subtree(node)?.for_each(|(_, cell)| cell.end_read());
                (stamp, Outcome::Numbers(numbers))
            }
            Add(node, number) => {
                nodes.subtree_mut(node)?.for_each(|(_, cell)| {
                    cell.begin_write();
                    cell.number += number;
                });
                let stamp = self.stamp();
                nodes.subtree(node)?.for_each(|(_, cell)| cell.end_write());
                (stamp, Outcome::Done)
            }
            ReadOne(node) => {
                let cell = nodes.get(node)?;
                cell.begin_read();
                let stamp = self.stamp();
                cell.end_read();
                (stamp, Outcome::Numbers(vec![cell.number]))
            }
            SetOne(node, number) | Panic(node, number) => {
                let cell = nodes.get_mut(node)?;
                cell.begin_write();
                cell.number = number;
                let stamp = self.stamp();
                cell.end_write();
                (stamp, Outcome::Done)
            }
            Insert(node, number, at, count) => {
                nodes.get(node)?.begin_write();
                let at = at.min(nodes.children(node)?.len());
                let new = (0..count).map(|nth| nodes.insert_at(node, at + nth, Cell::new(number)));
                let new = new.collect::<Result<Vec<_>, _>>()?;
                for (nth, &child) in new.iter().enumerate() {
                    nodes.set_link_data(node, at + nth, child)?;
                }
                let stamp = self.stamp();
                nodes.get(node)?.end_write();
                (stamp, Outcome::New(new))
            }
            Chain(node, number, count) => {
                nodes.get(node)?.begin_write();
                let mut new = Vec::new();
                for _ in 0..count {
                    let last = new.last().copied().unwrap_or(node);
                    let child = nodes.insert(last, Cell::new(number))?;
                    nodes.set_link_data(last, nodes.children(last)?.len() - 1, child)?;
                    new.push(child);
                }
                let stamp = self.stamp();
                nodes.get(node)?.end_write();
                (stamp, Outcome::New(new))
            }
            Remove(node) => {
                let below: Vec<Node> = nodes.subtree(node)?.map(|(below, _)| below).collect();
                nodes.subtree(node)?.for_each(|(_, cell)| cell.begin_write());
                let stamp = self.stamp();
                let removed = nodes.remove(node);
                // What links lead to stays.
                below.into_iter().filter_map(|below| nodes.get(below).ok()).for_each(Cell::end_write);
                match removed {
                    Ok(cells) => {
                        (stamp, Outcome::Numbers(cells.into_iter().map(|cell| cell.number).collect()))
                    }
                    Err(TreeError::OtherParent(..)) => (stamp, Outcome::Refused),
                    Err(error) => return Err(error),
                }
            }
            Link(parent, node) => {
                nodes.get(node)?;
                nodes.get(parent)?.begin_write();
                if parent != node {
                    nodes.get(node)?.begin_write();
                }
                let linked = nodes.link_with(parent, node, node);
                let stamp = self.stamp();
                nodes.get(parent)?.end_write();
                nodes.get(node)?.end_write();
                match linked {
                    Ok(()) => {
                        lock(&self.linked).push(node);
                        (stamp, Outcome::Done)
                    }
                    Err(TreeError::Cycle(..)) => (stamp, Outcome::Refused),
                    Err(error) => return Err(error),
                }
            }
            Unlink(node, nth) => {
                let parents = nodes.parents(node)?;
                let Some(&parent) = parents.get(nth % parents.len().max(1)) else {
                    return Ok((self.stamp(), Outcome::Refused));
                };
                nodes.get(parent)?.begin_write();
                nodes.get(node)?.begin_write();
                let unlinked = nodes.unlink(parent, node);
                let stamp = self.stamp();
                nodes.get(parent)?.end_write();
                nodes.get(node)?.end_write();
                match unlinked {
                    Ok(()) => (stamp, Outcome::Done),
                    Err(TreeError::OnlyParent(_)) => (stamp, Outcome::Refused),
                    Err(error) => return Err(error),
                }
            }
            Move(node, to) => {
                nodes.get(to)?;
                nodes.subtree(node)?.for_each(|(_, cell)| cell.begin_write());
                let moved = nodes.relocate(node, to);
                let stamp = self.stamp();
                nodes.subtree(node)?.for_each(|(_, cell)| cell.end_write());
                match moved {
                    Ok(()) => (stamp, Outcome::Done),
                    Err(TreeError::Root | TreeError::Cycle(..)) => (stamp, Outcome::Refused),
                    Err(error) => return Err(error),
                }
            }
            Swap(one, other) => {
                let (first, second) = (nodes.get(one)?.number, nodes.get(other)?.number);
                nodes.get(one)?.begin_write();
                if one != other {
                    nodes.get(other)?.begin_write();
                }
                nodes.get_mut(one)?.number = second;
                nodes.get_mut(other)?.number = first;
                let stamp = self.stamp();
                nodes.get(one)?.end_write();
                nodes.get(other)?.end_write();
                (stamp, Outcome::Done)
            }
            Pair(from, to) => {
                let read: HashSet<Node> = nodes.subtree(from)?.map(|(node, _)| node).collect();
                if nodes.subtree(to)?.any(|(node, _)| read.contains(&node)) {
                    return Ok((self.stamp(), Outcome::Refused));
                }
                nodes.subtree(from)?.for_each(|(_, cell)| cell.begin_read());
                let sum = nodes.subtree(from)?.map(|(_, cell)| cell.number).fold(0, u64::wrapping_add);
                nodes.subtree_mut(to)?.for_each(|(_, cell)| {
                    cell.begin_write();
                    cell.number = cell.number.wrapping_add(sum);
                });
                let stamp = self.stamp();
                nodes.subtree(from)?.for_each(|(_, cell)| cell.end_read());
                nodes.subtree(to)?.for_each(|(_, cell)| cell.end_write());
                (stamp, Outcome::Numbers(vec![sum]))
            }
        })
    }

    fn run(&self, action: Action, nodes: &mut Nodes<'_, Cell>) {
        let (stamp, outcome) = match self.act(action, nodes) {
            Ok(done) => done,
            Err(TreeError::Missing(_)) => (self.stamp(), Outcome::Missing),
            Err(error) => panic!("{action:?}: {error}"),
        };
        if let Outcome::New(new) = &outcome {
            lock(&self.nodes).extend(new);
        }
        lock(&self.log).push((stamp, action, outcome));
        assert!(!matches!(action, Panic(..)), "provoked");
    }
}

/// Checks that the data of the link to each child of a node are the child's handle, as they were
/// set when the child came.
fn check_link_data(nodes: &Nodes<'_, Cell>, parent: Node) {
    for (at, child) in nodes.children(parent).unwrap().iter().enumerate() {
        assert_eq!(nodes.link_data(parent, at), Ok(Some(child)), "child {at} of {parent:?}");
    }
}

/// Names what an action takes.
fn plan(action: Action, plan: &mut TreePlan<'_, '_, Cell>) {
    match action {
        Sum(node) => plan.read(node),
        Add(node, _) => plan.write(node),
        ReadOne(node) => plan.read_alone(node),
        SetOne(node, _) | Panic(node, _) | Insert(node, ..) | Chain(node, ..) => plan.write_alone(node),
        Remove(node) => plan.remove(node),
        Move(node, to) => plan.relocate(node, to),
        Swap(one, other) => {
            // Seen before it is written, to go the slow way now and then.
            plan.peek(one);
            plan.write_alone(one);
            plan.write_alone(other);
        }
        Pair(from, to) => {
            plan.read(from);
            plan.write(to);
        }
        Link(parent, node) => plan.link(parent, node),
        Unlink(node, nth) => {
            if let Some(parents) = plan.parents(node)
                && let Some(&parent) = parents.get(nth % parents.len().max(1))
            {
                plan.unlink(parent, node);
            }
        }
    }
}

/// Spawns a task that does a random action, and then spawns the next one.
fn launch<P: Spawner, M: Membership>(builder: TaskBuilder<P, (), M>, world: &Arc<World>, mut random: Random) {
    let action = world.draw(&mut random);
    let there = world.clone();
    let next = move |cx: &mut Context, random: Random| {
        if there.left.fetch_sub(1, SeqCst) > 0 {
            launch(cx.task(()).as_sibling(), &there, random);
        }
    };
    let here = world.clone();
    let tree = &world.tree;
    match action {
        Add(node, _) if random.percent(50) => {
            builder.claim(tree.write(node).even_poisoned()).spawn_with(move |(), mut nodes, cx| {
                here.run(action, &mut nodes);
                next(cx, random);
            });
        }
        Pair(from, to) if random.percent(50) => {
            let claim = tree.read(from).and_write(to).even_poisoned();
            builder.claim(claim).spawn_with(move |(), mut nodes, cx| {
                here.run(action, &mut nodes);
                next(cx, random);
            });
        }
        _ => {
            let claim = tree.planned(move |view| plan(action, view)).even_poisoned();
            let claim = if random.percent(50) { claim.unordered() } else { claim };
            builder.claim(claim).spawn_with(move |(), ((), mut nodes), cx| {
                // A task that panics has no follow-up of its own.
                if let Panic(..) = action {
                    next(cx, random.clone());
                }
                here.run(action, &mut nodes);
                next(cx, random);
            });
        }
    }
}

/// The tree as it is after the tasks that were replayed.
#[derive(Default)]
struct Model(HashMap<Node, ModelNode>);

#[derive(Default)]
struct ModelNode {
    parent: Option<Node>,
    /// One for each link.
    further: Vec<Node>,
    children: Vec<Node>,
    number: u64,
}

impl Model {
    fn has(&self, node: Node) -> bool {
        self.0.contains_key(&node)
    }

    fn at(&mut self, node: Node) -> &mut ModelNode {
        self.0.get_mut(&node).unwrap()
    }

    /// Returns a node and all below it, by links as well, each once.
    fn below(&self, node: Node) -> Vec<Node> {
        let mut all = Vec::new();
        self.walk(node, &mut HashSet::new(), &mut all, |_, _| true);
        all
    }

    /// Returns a node and all below it, without links.
    fn own_below(&self, node: Node) -> Vec<Node> {
        let mut all = Vec::new();
        self.walk(node, &mut HashSet::new(), &mut all, |parent, child| self.0[&child].parent == Some(parent));
        all
    }

    fn walk(
        &self,
        node: Node,
        seen: &mut HashSet<Node>,
        all: &mut Vec<Node>,
        follows: impl Fn(Node, Node) -> bool + Copy,
    ) {
        if seen.insert(node) {
            all.push(node);
            for &child in self.0[&node].children.iter().filter(|child| follows(node, **child)) {
                self.walk(child, seen, all, follows);
            }
        }
    }

    fn overlap(&self, one: Node, other: Node) -> bool {
        let below: HashSet<Node> = self.below(one).into_iter().collect();
        self.below(other).iter().any(|node| below.contains(node))
    }

    fn numbers(&self, node: Node) -> Vec<u64> {
        self.below(node).iter().map(|node| self.0[node].number).collect()
    }

    fn insert(&mut self, parent: Node, at: usize, node: Node, number: u64) {
        self.at(parent).children.insert(at, node);
        let new = ModelNode { parent: Some(parent), number, ..ModelNode::default() };
        assert!(self.0.insert(node, new).is_none(), "a handle is used once");
    }

    /// Takes a node out of a list of children.
    fn take_out(&mut self, node: Node, parent: Node) {
        remove_last(&mut self.at(parent).children, node);
    }

    /// Takes a node out of the list of the parent that it is below without a link.
    fn leave(&mut self, node: Node) {
        self.take_out(node, self.0[&node].parent.unwrap());
    }

    fn unlink(&mut self, node: Node, nth: usize) -> Outcome {
        let Some(own) = self.at(node).parent else { return Outcome::Refused };
        let mut further = self.at(node).further.clone();
        let parents: Vec<Node> = [own].into_iter().chain(further.iter().copied()).collect();
        let parent = parents[nth % parents.len()];
        if further.contains(&parent) {
            remove_last(&mut further, parent);
        } else if let Some(&heir) = further.first() {
            self.at(node).parent = Some(heir);
            remove_last(&mut further, heir);
        } else {
            return Outcome::Refused;
        }
        self.at(node).further = further;
        self.take_out(node, parent);
        Outcome::Done
    }

    fn remove(&mut self, top: Node) -> Outcome {
        let nodes = self.own_below(top);
        let inside: HashSet<Node> = nodes.iter().copied().collect();
        if nodes.iter().any(|node| self.0[node].further.iter().any(|parent| !inside.contains(parent))) {
            return Outcome::Refused;
        }
        self.leave(top);
        for &node in &nodes {
            let outside = self.0[&node].children.iter().filter(|&child| !inside.contains(child));
            for child in outside.copied().collect::<Vec<_>>() {
                remove_last(&mut self.at(child).further, node);
            }
        }
        // The list comes level by level from the tree, and in depth from here.
        Outcome::Numbers(nodes.iter().map(|node| self.0.remove(node).unwrap().number).collect())
    }

    /// Replays an action. Returns what must have come of it.
    fn replay(&mut self, action: Action, outcome: &Outcome) -> Outcome {
        let (one, other) = match action {
            Move(one, other) | Swap(one, other) | Pair(one, other) | Link(one, other) => (one, other),
            Sum(one) | Add(one, _) | ReadOne(one) | SetOne(one, _) | Panic(one, _) => (one, one),
            Insert(one, ..) | Chain(one, ..) | Remove(one) | Unlink(one, _) => (one, one),
        };
        if !self.has(one) || !self.has(other) {
            return Outcome::Missing;
        }
        match action {
            Sum(_) => return Outcome::Numbers(self.numbers(one)),
            Add(_, number) => self.below(one).into_iter().for_each(|node| self.at(node).number += number),
            ReadOne(_) => return Outcome::Numbers(vec![self.at(one).number]),
            SetOne(_, number) | Panic(_, number) => self.at(one).number = number,
            Insert(_, number, at, _) => {
                let Outcome::New(new) = outcome else { return Outcome::New(Vec::new()) };
                let at = at.min(self.at(one).children.len());
                new.iter().enumerate().for_each(|(nth, &node)| self.insert(one, at + nth, node, number));
                return outcome.clone();
            }
            Chain(_, number, _) => {
                let Outcome::New(new) = outcome else { return Outcome::New(Vec::new()) };
                let mut last = one;
                for &node in new {
                    let end = self.at(last).children.len();
                    self.insert(last, end, node, number);
                    last = node;
                }
                return outcome.clone();
            }
            Remove(_) => return self.remove(one),
            Unlink(_, nth) => return self.unlink(one, nth),
            Link(..) if self.below(other).contains(&one) => return Outcome::Refused,
            Link(..) => {
                self.at(one).children.push(other);
                self.at(other).further.push(one);
            }
            Move(..) if self.at(one).parent.is_none() || self.below(one).contains(&other) => {
                return Outcome::Refused;
            }
            Move(..) => {
                self.leave(one);
                self.at(other).children.push(one);
                self.at(one).parent = Some(other);
            }
            Swap(..) => {
                let (first, second) = (self.at(one).number, self.at(other).number);
                self.at(one).number = second;
                self.at(other).number = first;
            }
            Pair(..) if self.overlap(one, other) => {
                return Outcome::Refused;
            }
            Pair(..) => {
                let sum = self.numbers(one).into_iter().fold(0, u64::wrapping_add);
                for node in self.below(other) {
                    let number = &mut self.at(node).number;
                    *number = number.wrapping_add(sum);
                }
                return Outcome::Numbers(vec![sum]);
            }
        }
        Outcome::Done
    }
}

/// Removes the last occurrence of a node.
fn remove_last(list: &mut Vec<Node>, node: Node) {
    let at = list.iter().rposition(|entry| *entry == node).unwrap();
    list.remove(at);
}

/// Numbers of a removed sub-tree come in no order that the model knows.
fn sorted(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Numbers(mut numbers) => {
            numbers.sort_unstable();
            Outcome::Numbers(numbers)
        }
        other => other,
    }
}

fn check(rt: &Runtime, seed: u64, tasks: i64) {
    let tree = rt.tree(Cell::new(0));
    let root = tree.root();
    let world = Arc::new(World {
        stamp: AtomicU64::new(0),
        log: Mutex::default(),
        nodes: Mutex::new(vec![root]),
        linked: Mutex::default(),
        left: AtomicI64::new(tasks),
        tree,
    });
    let mut random = Random(seed);
    let group = rt.group();
    for _ in 0..24 {
        launch(rt.task(()).of(&group), &world, Random(random.word()));
    }
    // Other threads spawn as well.
    while world.left.fetch_sub(1, SeqCst) > 0 && !rt.is_simulated() {
        launch(rt.task(()).of(&group), &world, Random(random.word()));
        world.left.fetch_sub(9, SeqCst);
        std::thread::yield_now();
    }
    // It fails by the panics that were provoked.
    _ = group.wait();
    let mut log = std::mem::take(&mut *lock(&world.log));
    log.sort_by_key(|entry| entry.0);
    let mut model = Model(HashMap::from([(root, ModelNode::default())]));
    for (stamp, action, outcome) in log {
        let expected = model.replay(action, &outcome);
        let (expected, outcome) = match action {
            Remove(_) => (sorted(expected), sorted(outcome)),
            _ => (expected, outcome),
        };
        assert_eq!(outcome, expected, "seed {seed}, stamp {stamp}: {action:?}");
    }
    let claim = world.tree.read(root).even_poisoned();
    let end = rt.task(()).claim(claim).submit_with(move |(), nodes, _| {
        nodes.subtree(root).unwrap().map(|(_, cell)| cell.number).collect::<Vec<_>>()
    });
    assert_eq!(end.join().unwrap(), model.numbers(root), "seed {seed}: the tree at the end");
}

#[test]
fn random_changes_are_those_of_a_model() {
    silence_tasks();
    let seeds: Option<u64> = std::env::var("XTASKING_TREE_SEEDS").ok().and_then(|text| text.parse().ok());
    let tasks = if cfg!(miri) { 60 } else { seeds.map_or(600, |_| 6000) };
    on_each(Setting::threads().chain(Setting::simulations(&[1, 7])), |setting| {
        for seed in 0..seeds.unwrap_or(2) {
            let rt = setting.builder().on_failure(|_| ()).build().unwrap();
            check(&rt, seed.wrapping_mul(77) + setting.seed(), tasks);
        }
    });
}
