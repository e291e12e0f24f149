//! The trees of the runtime: each operation is a task whose plan finds and claims what it touches.
//!
//! What the plan has found goes to the body, which does not look it up again.

use super::super::body::Body;
use super::super::client::Client;
use super::super::contender::{Entry, Profile};
use super::super::contents::Contents;
use super::super::layout::{Locations, NODES, Name, Path, ROOT, entries};
use super::super::operation::{Action, Answer, Operation, ROUND, Sum, Way};
use super::tasks::{OnRuntime, TaskTree, Turn};
use std::collections::BTreeMap;
use std::sync::Arc;
use xtasking::trees::{Node, Nodes, Tree, TreeError, TreePlan};
use xtasking::{Context, Runtime};
use xtasking_harness::failure::Wrong;

pub(super) const ENTRY: Entry = Entry {
    name: "xtasking-trees",
    about: "xtasking::trees, a task for each operation, which claims its nodes in a plan",
    is_parallel: true,
    start: |settings| OnRuntime::boxed(settings, FileTree::new),
    more: Profile { has_handles: true, is_atomic: true, clients: 4, is_virtual: true },
};

/// A node's data.
struct FileNode {
    entries: BTreeMap<Name, Node>,
    value: u64,
}

struct FileTree {
    nodes: Tree<FileNode>,
    /// The handles of all nodes, by number.
    handles: Arc<[Node]>,
}

/// What a plan has found.
#[derive(Clone, Copy)]
enum Found {
    Target(Node),
    Rename { from: Node, directory: Node, to: Node },
}

type Plan<'s, 'p> = TreePlan<'s, 'p, FileNode>;

/// Walks from the root along a path.
fn walk(path: &Path, plan: &mut Plan<'_, '_>) -> Option<Node> {
    path.names().iter().try_fold(plan.root(), |node, name| plan.peek(node)?.entries.get(name).copied())
}

/// Finds what an operation touches, and names it.
fn plan(operation: &Operation, handles: &[Node], plan: &mut Plan<'_, '_>) -> Option<Found> {
    let mut find = |path: &Path| match operation.way {
        Way::Handle => Some(handles[path.number() as usize]),
        Way::Path => walk(path, plan),
    };
    if operation.action == Action::Move {
        let from = find(&operation.from().path())?;
        let to = find(&operation.to.path())?;
        // First what is written, so that it is had in one step.
        plan.write_alone(from);
        let directory = *plan.peek(from)?.entries.get(&operation.name())?;
        plan.relocate(directory, to);
        return Some(Found::Rename { from, directory, to });
    }
    let node = find(&operation.target)?;
    match operation.action {
        Action::Read => plan.read_alone(node),
        Action::Write => plan.write_alone(node),
        Action::Sum => plan.read(node),
        _ => plan.write(node),
    }
    Some(Found::Target(node))
}

/// Carries out an operation on what its plan has found.
fn carry_out(
    operation: &Operation,
    body: &Body,
    found: Found,
    nodes: &mut Nodes<'_, FileNode>,
    locations: &Locations,
) -> Result<Answer, TreeError> {
    let node = match found {
        Found::Target(node) => node,
        Found::Rename { from, directory, to } => {
            body.compute(1);
            nodes.relocate(directory, to)?;
            nodes.get_mut(from)?.entries.remove(&operation.name());
            nodes.get_mut(to)?.entries.insert(operation.name(), directory);
            locations.set(operation.name(), operation.to);
            return Ok(Answer::Moved);
        }
    };
    Ok(match operation.action {
        Action::Read => {
            body.compute(1);
            Answer::Read(nodes.get(node)?.value)
        }
        Action::Write => {
            body.compute(1);
            nodes.get_mut(node)?.value += 1;
            Answer::Written
        }
        Action::Sum => {
            let mut sum = Sum::default();
            nodes.subtree(node)?.for_each(|(_, node)| sum.visit(node.value));
            body.compute(sum.nodes);
            Answer::Sum(sum)
        }
        _ => {
            let mut count = 0;
            for (_, node) in nodes.subtree_mut(node)? {
                node.value += ROUND;
                count += 1;
            }
            body.compute(count);
            Answer::Added(count)
        }
    })
}

/// Builds the file system below the root. Returns the handles of all nodes.
fn build(root: Node, mut nodes: Nodes<'_, FileNode>) -> Result<Vec<Node>, TreeError> {
    let mut handles = vec![root; NODES as usize];
    for (parent, name, number) in entries() {
        let parent = handles[parent as usize];
        let node = nodes.insert(parent, FileNode { entries: BTreeMap::new(), value: 0 })?;
        nodes.get_mut(parent)?.entries.insert(name, node);
        handles[number as usize] = node;
    }
    Ok(handles)
}

/// Returns what a tree contains.
fn contents(root: Node, nodes: &Nodes<'_, FileNode>) -> Result<Contents, String> {
    let said = |error: TreeError| error.to_string();
    let (mut contents, mut open) = (Contents::new(), vec![(root, Path::new(&[]))]);
    while let Some((node, path)) = open.pop() {
        let FileNode { entries, value } = nodes.get(node).map_err(said)?;
        contents.add(&path, *value);
        let children = nodes.children(node).map_err(said)?.len();
        if children != entries.len() {
            return Err(format!("{path:?} has {} entries, but {children} children", entries.len()));
        }
        for (&name, &entry) in entries {
            if nodes.parent(entry).map_err(said)? != Some(node) {
                return Err(format!("entry {name} of {path:?} has another parent"));
            }
            open.push((entry, path.child(name)));
        }
    }
    Ok(contents)
}

impl FileTree {
    fn new(rt: &Runtime) -> Self {
        let nodes = rt.tree(FileNode { entries: BTreeMap::new(), value: 0 });
        let root = nodes.root();
        let built =
            rt.task(()).claim(nodes.write(root)).submit_with(move |(), nodes, _| build(root, nodes)).join();
        let handles = built.expect("no task is in the way").expect("the claim covers the tree");
        assert_eq!(handles[ROOT as usize], root);
        Self { nodes, handles: handles.into() }
    }
}

impl TaskTree for FileTree {
    fn spawn(turn: &Arc<Turn<Self>>, mut client: Box<Client>, cx: &mut Context) {
        let FileTree { nodes, handles } = &turn.tree;
        let (next, operation, handles) = (turn.clone(), client.operation, handles.clone());
        let claim = nodes.planned(move |view| plan(&operation, &handles, view));
        cx.task(()).as_sibling().claim(claim).spawn_with(move |(), (found, mut nodes), cx| {
            let carried = found.map(|found| {
                let answer = carry_out(&operation, &client.body, found, &mut nodes, &next.locations);
                answer.expect("the plan has named what the body touches")
            });
            client.note(carried.unwrap_or(Answer::Missed));
            next.proceed(client, cx);
        });
    }

    fn contents(&self, rt: &Runtime) -> Result<Contents, Wrong> {
        let root = self.nodes.root();
        let task = rt.task(()).claim(self.nodes.read(root));
        let read = task.submit_with(move |(), nodes, _| contents(root, &nodes));
        read.join().map_err(|error| Wrong::new(error.to_string()))?.map_err(Wrong::new)
    }
}
