//! Runs long reads without a claim: a survey reads what an operation names, and the operation runs
//! on a snapshot of it.

use super::concurrent::SharedPart;
use super::layout::Layout;
use super::node::{Node, NodeList};
use super::operations::{Operation, Scratch};
use super::parts::Part;
use super::snapshot::{NodeCopy, Snapshot};
use super::turn::TurnState;
use super::world::{Mode, Planner};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use xtasking::Context;
use xtasking_hierarchy::{NodeView, SurveyResult, Surveyor};

/// The nodes that an operation names, if its plan need not look at any.
pub(super) struct NamedNodes {
    /// Nodes, with true for a node without those below it.
    pub nodes: Vec<(Node, bool)>,
    /// Whether the plan looked at a node.
    is_blind: bool,
}

impl NamedNodes {
    /// Returns the named nodes; `None` if the plan has to look at nodes.
    pub fn of(operation: Operation, seed: u64, layout: &Layout) -> Option<Self> {
        let mut names = Self { nodes: Vec::new(), is_blind: false };
        _ = operation.plan(layout, seed, &mut Scratch::default(), &mut names);
        (!names.is_blind).then_some(names)
    }
}

impl Planner for NamedNodes {
    fn peek<R>(&mut self, _: Node, _: impl FnOnce(&Part, &NodeList<'_>) -> R) -> Option<R> {
        self.is_blind = true;
        None
    }

    fn peek_parents<R>(&mut self, _: Node, _: impl FnOnce(&NodeList<'_>) -> R) -> Option<R> {
        self.is_blind = true;
        None
    }

    fn claim_node(&mut self, node: Node, _: Mode) {
        self.nodes.push((node, true));
    }

    fn claim_tree(&mut self, node: Node, _: Mode) {
        self.nodes.push((node, false));
    }
}

/// Takes a snapshot of what an operation names, and runs the operation on it.
///
/// The operation draws its stamp when all nodes have been read, before versions are compared. A
/// writer draws its stamp while it holds its granules. This orders the read correctly among
/// writers. Let s be the survey's stamp, and w that of a task that writes a granule of the survey.
///
/// - The task held the granule before the survey read it: it had released it by then, so w was
///   drawn before s, and the survey saw the write.
/// - The task got the granule after the read, but before the comparison: the comparison detects it,
///   and s is dropped. The next attempt draws another stamp; unused stamps do no harm, as stamps
///   are only compared.
/// - The task got the granule after the comparison: w is drawn after s, and the survey did not see
///   the write.
///
/// Stamps come from one atomic number, and granules from one lock each: what happens before a stamp
/// or the lock on one thread happens before it for all.
pub(super) struct SurveyedRead {
    pub state: Arc<TurnState>,
    /// The number of the operation.
    pub number: usize,
    pub stamp: u64,
}

impl Surveyor<SharedPart> for SurveyedRead {
    type Output = NodeCopy;

    fn read_node(&mut self, node: NodeView<'_, SharedPart>) -> NodeCopy {
        NodeCopy::of(node.value(), &NodeList::Numbers(node.children()), &NodeList::Numbers(node.parents()))
    }

    fn nodes_read(&mut self, nodes: usize, _: &mut Context) {
        self.state.spend_on_reads(nodes);
    }

    fn before_validation(&mut self, granules: usize, _: &mut Context) {
        self.stamp = self.state.stamp();
        // Before versions are compared, so that later writes are detected.
        self.state.spend_on_validation(granules);
    }

    fn finish(self, surveyed: SurveyResult<NodeCopy>, cx: &mut Context) {
        let Self { state, number, stamp } = self;
        state.surveys.count(&surveyed);
        state.read(number, stamp, Snapshot::from(surveyed), cx);
    }
}

/// Counts of surveys.
#[derive(Debug, Default)]
pub(super) struct Surveys {
    all: AtomicU64,
    repeated: AtomicU64,
    repeats: AtomicU64,
    claimed: AtomicU64,
}

impl Surveys {
    fn count<R>(&self, surveyed: &SurveyResult<R>) {
        let repeats = surveyed.retries();
        // Relaxed: the counts are read after all operations have ended.
        self.all.fetch_add(1, Relaxed);
        self.repeated.fetch_add(u64::from(repeats > 0), Relaxed);
        self.repeats.fetch_add(repeats.into(), Relaxed);
        self.claimed.fetch_add(surveyed.is_claimed().into(), Relaxed);
    }

    /// Returns a summary for reports; `None` if there were no surveys.
    pub fn summary(&self) -> Option<String> {
        (self.all.load(Relaxed) > 0).then(|| self.to_string())
    }
}

impl fmt::Display for Surveys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [all, repeated, repeats, claimed] =
            [&self.all, &self.repeated, &self.repeats, &self.claimed].map(|count| count.load(Relaxed));
        write!(
            f,
            "{all} surveys, of which {repeated} were repeated, {repeats} times in all, \
             and {claimed} fell back to claims"
        )
    }
}
