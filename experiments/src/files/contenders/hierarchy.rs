//! The crate `xtasking-hierarchy`: each operation is a task that claims what it touches.
//!
//! By path, a plan walks from the root and names what it finds; by handle, the claim names nodes.

use super::super::body::Body;
use super::super::client::Client;
use super::super::contender::{Entry, Profile};
use super::super::contents::Contents;
use super::super::layout::{Locations, NODES, Name, Path, ROOT, entries};
use super::super::operation::{Action, Answer, Operation, ROUND, Sum, Way};
use super::tasks::{OnRuntime, TaskTree, Turn};
use std::collections::BTreeMap;
use std::sync::Arc;
use xtasking::{Claim, Context, Runtime};
use xtasking_harness::failure::Wrong;
use xtasking_hierarchy::{Hierarchy, Node, NodePlanView, Shape, Slab, View};

pub(super) const UNORDERED: Entry = Entry {
    name: "xtasking",
    about: "xtasking-hierarchy, a task for each operation, which claims its nodes unordered",
    is_parallel: true,
    start: |settings| OnRuntime::boxed(settings, |rt| FileTree::new(rt, false)),
    more: Profile { has_handles: true, is_atomic: true, clients: 4, is_virtual: true },
};

pub(super) const ORDERED: Entry = Entry {
    name: "xtasking-ordered",
    about: "the same, ordered: of tasks that conflict, the one that was spawned first runs first",
    is_parallel: true,
    start: |settings| OnRuntime::boxed(settings, |rt| FileTree::new(rt, true)),
    more: Profile { has_handles: true, is_atomic: true, clients: 4, is_virtual: true },
};

/// A node's data.
struct FileNode {
    entries: BTreeMap<Name, Node>,
    value: u64,
}

struct FileTree {
    nodes: Hierarchy<FileNode>,
    is_ordered: bool,
}

/// What a plan and a body look up alike.
trait Lookup {
    /// Returns an entry of a directory.
    fn entry(&mut self, directory: Node, name: Name) -> Option<Node>;

    /// Walks from the root along a path.
    fn walk(&mut self, path: &Path) -> Option<Node> {
        path.names().iter().try_fold(Node(ROOT), |node, name| self.entry(node, *name))
    }

    /// Finds the node of a path or a handle.
    fn find(&mut self, way: Way, path: &Path) -> Option<Node> {
        if way == Way::Handle { Some(Node(path.number())) } else { self.walk(path) }
    }
}

impl Lookup for NodePlanView<'_, '_, '_, FileNode> {
    fn entry(&mut self, directory: Node, name: Name) -> Option<Node> {
        self.peek(directory, |node| node.value().entries.get(&name).copied())?
    }
}

impl Lookup for View<'_, FileNode> {
    fn entry(&mut self, directory: Node, name: Name) -> Option<Node> {
        self[directory].entries.get(&name).copied()
    }
}

/// Names what an operation touches.
fn plan(operation: &Operation, plan: &mut NodePlanView<'_, '_, '_, FileNode>) {
    if operation.action == Action::Move {
        let from = plan.find(operation.way, &operation.from().path());
        let to = plan.find(operation.way, &operation.to.path());
        if let Some((from, to)) = from.zip(to)
            && let Some(directory) = directory(operation, from, plan)
        {
            plan.write_alone(from);
            plan.link(to, directory);
        }
        return;
    }
    let Some(node) = plan.find(operation.way, &operation.target) else { return };
    match operation.action {
        Action::Read => plan.read_alone(node),
        Action::Write => plan.write_alone(node),
        Action::Sum => plan.read(node),
        _ => plan.write(node),
    }
}

/// Returns the directory that an operation moves.
fn directory(operation: &Operation, from: Node, lookup: &mut impl Lookup) -> Option<Node> {
    match operation.way {
        Way::Handle => Some(Node(operation.target.number())),
        Way::Path => lookup.entry(from, operation.name()),
    }
}

/// Carries out an operation. Returns `None` if its target is not there.
fn carry_out(
    operation: &Operation,
    body: &Body,
    view: &mut View<'_, FileNode>,
    locations: &Locations,
) -> Option<Answer> {
    if operation.action == Action::Move {
        return rename(operation, body, view, locations);
    }
    let node = view.find(operation.way, &operation.target)?;
    Some(match operation.action {
        Action::Read => {
            body.compute(1);
            Answer::Read(view[node].value)
        }
        Action::Write => {
            body.compute(1);
            view[node].value += 1;
            Answer::Written
        }
        Action::Sum => {
            let mut sum = Sum::default();
            view.subtree(node).for_each(|node| sum.visit(view[node].value));
            body.compute(sum.nodes);
            Answer::Sum(sum)
        }
        _ => {
            let mut nodes = 0;
            view.for_each_in_subtree(node, |node| {
                node.value += ROUND;
                nodes += 1;
            });
            body.compute(nodes);
            Answer::Added(nodes)
        }
    })
}

fn rename(
    operation: &Operation,
    body: &Body,
    view: &mut View<'_, FileNode>,
    locations: &Locations,
) -> Option<Answer> {
    let from = view.find(operation.way, &operation.from().path())?;
    let to = view.find(operation.way, &operation.to.path())?;
    let directory = view[from].entries.get(&operation.name()).copied()?;
    body.compute(1);
    view.link(to, directory).expect("the directory is elsewhere");
    view.unlink(from, directory).expect("the directory is there");
    view[from].entries.remove(&operation.name());
    view[to].entries.insert(operation.name(), directory);
    locations.set(operation.name(), operation.to);
    Some(Answer::Moved)
}

impl FileTree {
    fn new(rt: &Runtime, is_ordered: bool) -> Self {
        let mut maps = vec![BTreeMap::new(); NODES as usize];
        entries().for_each(|(parent, name, node)| _ = maps[parent as usize].insert(name, Node(node)));
        let edges: Vec<_> = entries().map(|(parent, _, node)| (parent, node)).collect();
        let shape = Shape::from_edges(maps.len(), &edges).expect("a tree has no cycles");
        let node = |node: Node| FileNode { entries: std::mem::take(&mut maps[node.index()]), value: 0 };
        Self { nodes: Hierarchy::builder(shape).build(rt, node), is_ordered }
    }

    fn claim(&self, operation: Operation) -> Claim<'_, Slab<FileNode>> {
        let named = match operation {
            Operation { way: Way::Handle, action, target, .. } if action != Action::Move => {
                let node = self.nodes.node(Node(target.number()));
                Some(match action {
                    Action::Read => node.alone().read(),
                    Action::Write => node.alone().write(),
                    Action::Sum => node.read(),
                    _ => node.write(),
                })
            }
            _ => None,
        };
        let claim = match named {
            Some(named) => named.into(),
            None => self.nodes.planned(move |view| plan(&operation, view)),
        };
        if self.is_ordered { claim } else { claim.unordered() }
    }
}

impl TaskTree for FileTree {
    fn spawn(turn: &Arc<Turn<Self>>, mut client: Box<Client>, cx: &mut Context) {
        let (next, claim) = (turn.clone(), turn.tree.claim(client.operation));
        cx.task(()).as_sibling().claim(claim).spawn_with(move |(), held, cx| {
            let answer = carry_out(&client.operation, &client.body, &mut View::new(held), &next.locations);
            client.note(answer.unwrap_or(Answer::Missed));
            next.proceed(client, cx);
        });
    }

    fn contents(&self, rt: &Runtime) -> Result<Contents, Wrong> {
        let task = rt.task(()).claim(self.nodes.read_all()).submit_with(|(), held, _| {
            let (view, mut contents) = (View::new(held), Contents::new());
            let mut open = vec![(Node(ROOT), Path::new(&[]))];
            while let Some((node, path)) = open.pop() {
                let FileNode { entries, value } = &view[node];
                contents.add(&path, *value);
                let linked = view.children(node).len();
                if linked != entries.len() {
                    return Err(format!("{path:?} has {} entries, but {linked} children", entries.len()));
                }
                for (&name, &entry) in entries {
                    if view.parents(entry) != [node] {
                        return Err(format!("entry {name} of {path:?} has other parents"));
                    }
                    open.push((entry, path.child(name)));
                }
            }
            Ok(contents)
        });
        task.join().map_err(|error| Wrong::new(error.to_string()))?.map_err(Wrong::new)
    }
}
