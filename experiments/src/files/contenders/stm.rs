//! Software transactional memory: each value and each set of entries is a transactional variable.
//!
//! The crate is `fast-stm`, a maintained successor of `stm`, whose last release is of 2018. A
//! handle is a clone of the node's variables.

use super::super::body::Body;
use super::super::contender::{Entry, Profile};
use super::super::contents::Contents;
use super::super::layout::{Locations, Name, Path, ROOT, entries};
use super::super::operation::{Action, Answer, Operation, ROUND, Sum, Way};
use super::simulated;
use super::threads::{OnThreads, SharedTree};
use fast_stm::{StmClosureResult, TVar, Transaction, atomically};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) const ENTRY: Entry = Entry {
    name: "stm",
    about: "software transactional memory of the crate fast-stm, on plain threads",
    is_parallel: true,
    start: |settings| match settings.virtual_seed {
        None => OnThreads::boxed(Transactional::new(&settings.locations)),
        Some(seed) => simulated::memory::transactional(&settings, seed),
    },
    more: Profile { has_handles: true, is_atomic: true, clients: 1, is_virtual: true },
};

struct Transactional {
    /// All nodes by their numbers: the handles.
    nodes: Vec<StmNode>,
    locations: Arc<Locations>,
}

#[derive(Clone)]
struct StmNode {
    entries: TVar<Arc<BTreeMap<Name, StmNode>>>,
    value: TVar<u64>,
    /// How often the node has moved.
    moves: TVar<u64>,
}

impl StmNode {
    fn new() -> Self {
        Self { entries: TVar::new(Arc::default()), value: TVar::new(0), moves: TVar::new(0) }
    }

    fn sum(&self, transaction: &mut Transaction, sum: &mut Sum) -> StmClosureResult<()> {
        sum.visit(self.value.read(transaction)?);
        self.entries.read(transaction)?.values().try_for_each(|entry| entry.sum(transaction, sum))
    }

    /// Adds a round to a sub-tree, and returns its number of nodes.
    fn add(&self, transaction: &mut Transaction) -> StmClosureResult<u32> {
        let (value, mut nodes) = (self.value.read(transaction)?, 1);
        self.value.write(transaction, value + ROUND)?;
        for entry in self.entries.read(transaction)?.values() {
            nodes += entry.add(transaction)?;
        }
        Ok(nodes)
    }

    fn walk(&self, path: Path, contents: &mut Contents) {
        contents.add(&path, self.value.read_atomic());
        let entries = self.entries.read_atomic();
        entries.iter().for_each(|(&name, entry)| entry.walk(path.child(name), contents));
    }
}

impl Transactional {
    fn new(locations: &Arc<Locations>) -> Self {
        let (mut nodes, mut maps) = (vec![StmNode::new()], vec![BTreeMap::new()]);
        for (parent, name, _) in entries() {
            let node = StmNode::new();
            maps[parent as usize].insert(name, node.clone());
            nodes.push(node);
            maps.push(BTreeMap::new());
        }
        for (node, map) in nodes.iter().zip(maps) {
            atomically(|transaction| node.entries.write(transaction, Arc::new(map.clone())));
        }
        Self { nodes, locations: locations.clone() }
    }

    fn find(
        &self,
        transaction: &mut Transaction,
        way: Way,
        path: &Path,
    ) -> StmClosureResult<Option<StmNode>> {
        if way == Way::Handle {
            return Ok(Some(self.nodes[path.number() as usize].clone()));
        }
        let mut node = self.nodes[ROOT as usize].clone();
        for name in path.names() {
            let entries = node.entries.read(transaction)?;
            let Some(entry) = entries.get(name) else { return Ok(None) };
            node = entry.clone();
        }
        Ok(Some(node))
    }

    fn operate(
        &self,
        transaction: &mut Transaction,
        operation: &Operation,
        body: &Body,
    ) -> StmClosureResult<Answer> {
        let Some(node) = self.find(transaction, operation.way, &operation.target)? else {
            return Ok(Answer::Missed);
        };
        Ok(match operation.action {
            Action::Read => {
                let value = node.value.read(transaction)?;
                body.compute(1);
                Answer::Read(value)
            }
            Action::Write => {
                let value = node.value.read(transaction)?;
                body.compute(1);
                node.value.write(transaction, value + 1)?;
                Answer::Written
            }
            Action::Sum => {
                let mut sum = Sum::default();
                node.sum(transaction, &mut sum)?;
                body.compute(sum.nodes);
                Answer::Sum(sum)
            }
            _ => {
                let nodes = node.add(transaction)?;
                body.compute(nodes);
                Answer::Added(nodes)
            }
        })
    }

    /// Returns how often the directory has moved; `None` if it is not there.
    fn rename(
        &self,
        transaction: &mut Transaction,
        operation: &Operation,
        body: &Body,
    ) -> StmClosureResult<Option<u64>> {
        let from = self.find(transaction, operation.way, &operation.from().path())?;
        let to = self.find(transaction, operation.way, &operation.to.path())?;
        let Some((from, to)) = from.zip(to) else { return Ok(None) };
        let mut source = (*from.entries.read(transaction)?).clone();
        let Some(directory) = source.remove(&operation.name()) else { return Ok(None) };
        body.compute(1);
        let mut target = (*to.entries.read(transaction)?).clone();
        let moves = directory.moves.read(transaction)? + 1;
        directory.moves.write(transaction, moves)?;
        target.insert(operation.name(), directory);
        from.entries.write(transaction, Arc::new(source))?;
        to.entries.write(transaction, Arc::new(target))?;
        Ok(Some(moves))
    }
}

impl SharedTree for Transactional {
    fn perform(&self, operation: &Operation, body: &Body) -> Answer {
        if operation.action != Action::Move {
            return atomically(|transaction| self.operate(transaction, operation, body));
        }
        match atomically(|transaction| self.rename(transaction, operation, body)) {
            None => Answer::Missed,
            Some(moves) => {
                // After the transaction, so that a later move may come before this line.
                self.locations.set_after(operation.name(), operation.to, moves);
                Answer::Moved
            }
        }
    }

    fn contents(&self) -> Contents {
        let mut contents = Contents::new();
        self.nodes[ROOT as usize].walk(Path::new(&[]), &mut contents);
        contents
    }
}
