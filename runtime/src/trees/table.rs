//! The tables of a tree: nodes, gates, the stripes of clusters, and counts. They do not depend on
//! the type of the data.

use super::counts::Counts;
use super::gate::GateSlot;
use super::link_data::LinkData;
use super::mode::{Mode, Modes};
use super::node::{Children, NONE, Node, NodeSlot};
use super::parents::Links;
use super::poison::PoisonedNodes;
use super::queue::{ClaimPtr, ClusterEntry, GateEntry, Stripe};
use super::rights::Exact;
use super::segments::Segments;
use crate::sync::{
    Acquire, AtomicU32, AtomicU64, Padded, Relaxed, Release, SeqCst, SpinMutex, fence, under_model,
};
use alloc::boxed::Box;
use alloc::vec::Vec;
use smallvec::SmallVec;

/// A cluster with more nodes is split.
pub(super) const MOST_IN_CLUSTER: u32 = under_model(64, 2) as u32;
/// Stripes for each worker, which bound how often two clusters share a latch.
const STRIPES: usize = under_model(256, 1) as usize;
const MOST_STRIPES: usize = under_model(4096, 1) as usize;

/// Numbers that are handed out once, and again after they were given back.
#[derive(Default)]
struct Numbers {
    next: AtomicU32,
    free: SpinMutex<Vec<u32>>,
}

impl Numbers {
    fn take(&self) -> u32 {
        let free = self.free.lock().pop();
        // Relaxed: each number is handed out once, whatever the order.
        free.unwrap_or_else(|| self.next.fetch_add(1, Relaxed))
    }

    fn give_back(&self, numbers: impl Iterator<Item = u32>) {
        self.free.lock().extend(numbers);
    }
}

/// All that concerns a tree but its data.
pub(crate) struct TreeTable {
    pub nodes: Segments<NodeSlot>,
    pub gates: Segments<GateSlot>,
    pub counts: Counts,
    stripes: Box<[Padded<SpinMutex<Stripe>>]>,
    node_numbers: Numbers,
    gate_numbers: Numbers,
    /// The last stamp of each worker.
    stamps: Box<[Padded<AtomicU64>]>,
    pub poisoned: PoisonedNodes,
    pub links: Links,
    pub link_data: LinkData,
}

impl TreeTable {
    /// The root is the first node, and always a gate.
    pub const ROOT: Node = Node { index: 0, generation: 1 };

    /// Makes the tables of a tree that has a root.
    pub fn new(workers: usize) -> Self {
        let stripes = (workers * STRIPES).next_power_of_two().min(MOST_STRIPES);
        let table = Self {
            nodes: Segments::default(),
            gates: Segments::default(),
            counts: Counts::new(workers),
            stripes: (0..stripes).map(|_| Padded::default()).collect(),
            node_numbers: Numbers::default(),
            gate_numbers: Numbers::default(),
            stamps: (0..workers).map(|_| Padded::default()).collect(),
            poisoned: PoisonedNodes::default(),
            links: Links::default(),
            link_data: LinkData::default(),
        };
        let (root, gate) = (table.node_numbers.take(), table.new_gate(0, NONE, None));
        let slot = table.nodes.get_or_make(root);
        // Relaxed: the handle of the tree publishes it.
        slot.gate.store(gate, Relaxed);
        slot.generation.store(Self::ROOT.generation, Relaxed);
        table
    }

    /// Returns the slot of a node that was taken once.
    #[inline(always)]
    pub fn slot(&self, index: u32) -> &NodeSlot {
        self.nodes.get(index).expect("a node was here")
    }

    /// Returns the slot of a node, if it exists. It may be removed meanwhile, unless the caller
    /// holds it.
    #[inline(always)]
    pub fn find(&self, node: Node) -> Option<&NodeSlot> {
        let slot = self.nodes.get(node.index)?;
        // Acquire pairs with the Release of `insert`: what was stored before the node was is seen.
        (slot.generation.load(Acquire) == node.generation).then_some(slot)
    }

    pub fn gate(&self, gate: u32) -> &GateSlot {
        self.gates.get(gate).expect("a gate was here")
    }

    /// Returns the stripe of a cluster.
    #[inline]
    pub fn stripe(&self, cluster: u32) -> &SpinMutex<Stripe> {
        &self.stripes[self.stripe_number(cluster)].0
    }

    /// Returns the number of a cluster's stripe; stripes are locked in ascending order.
    #[inline]
    pub fn stripe_number(&self, cluster: u32) -> usize {
        // Fibonacci hashing: neighbours go to different stripes.
        let hash = cluster.wrapping_mul(0x9E37_79B1) >> 16;
        hash as usize & (self.stripes.len() - 1)
    }

    pub fn numbered_stripe(&self, number: usize) -> &SpinMutex<Stripe> {
        &self.stripes[number].0
    }

    /// Returns true if a node is another one or below it, both in this cluster (anywhere if there
    /// is none). The answer stays right for as long as a claim holds the node.
    #[inline]
    pub fn is_under(&self, node: u32, above: u32, cluster: u32) -> bool {
        let mut next = node;
        while next != above {
            if next == cluster {
                return false;
            }
            // Acquire pairs with the Release of a move: this sees what the mover has entered.
            let Some(slot) = self.nodes.get(next) else { return false };
            next = slot.parent.load(Acquire);
        }
        true
    }

    /// Returns true if two targets in the same cluster clash, as the tree is now.
    pub fn clash(&self, one: &Exact, other: &Exact) -> bool {
        let cluster = one.cluster;
        let (one, other) = (one.target, other.target);
        (one.write || other.write)
            && (one.node == other.node
                || !one.alone && self.is_under(other.node.index, one.node.index, cluster)
                || !other.alone && self.is_under(one.node.index, other.node.index, cluster))
    }

    /// Returns true if two entries of different claims in the same cluster clash.
    ///
    /// Whether targets clash depends on the tree, which changes while claims wait. So a claim could
    /// come to clash with a later one that has an entry here and waits elsewhere, perhaps for the
    /// first: a deadlock. But only if the entry of one of them is outdated, by the move of its
    /// node; such a claim registers anew in any case, so it is not waited for here.
    ///
    /// If one of them waits, that is asked first: from a node that has left the cluster, the way to
    /// the root would be climbed.
    #[inline(never)]
    pub fn meet(&self, one: &ClusterEntry, other: &ClusterEntry, one_waits: bool) -> bool {
        let are_current = || !self.is_outdated(one) && !self.is_outdated(other);
        let clash = || self.clash(&one.exact, &other.exact);
        (!one_waits || are_current()) && clash() && (one_waits || are_current())
    }

    /// Returns true if the claim of an entry waits, and will have to register anew because of it.
    #[cold]
    fn is_outdated(&self, entry: &ClusterEntry) -> bool {
        // SAFETY: the registration lives as long as it has an entry, and the caller has locked the
        // stripe of this one.
        let registration = unsafe { entry.claim.0.as_ref() };
        // Acquire, here and below, pairs with the Release of a change, and of a grant: hints, as
        // the claim validates its entries when it is granted.
        registration.pending.load(Acquire) > 0
            && (registration.is_displaced.load(Acquire)
                || !self.is_in(entry.exact.target.node, entry.exact.cluster))
    }

    /// Returns true if a node exists and is in this cluster.
    fn is_in(&self, node: Node, cluster: u32) -> bool {
        self.find(node)
            .is_some_and(|slot| slot.gate.load(Acquire) == NONE && slot.cluster.load(Acquire) == cluster)
    }

    /// Returns a new stamp, which no other task has.
    #[inline]
    pub fn new_stamp(&self, worker: usize) -> u64 {
        let last = &self.stamps[worker].0;
        // Only the worker's own thread is here, so nothing is lost between load and store.
        let stamp = last.load(Relaxed) + 1;
        last.store(stamp, Relaxed);
        (worker as u64) << 48 | stamp
    }

    /// Returns a free slot for a node. Its generation is even.
    pub fn new_node(&self) -> (u32, &NodeSlot) {
        let index = self.node_numbers.take();
        (index, self.nodes.get_or_make(index))
    }

    /// Makes the record of a gate, for this node and below another gate, and enters it with a claim
    /// that writes all below. It is not published.
    ///
    /// A record that was freed may still have claims that came by its old gate, and have not found
    /// out yet that it has gone. It is left to them, and another one taken: else such a claim would
    /// find its way valid again if the same node became the same gate.
    pub fn new_gate(&self, node: u32, above: u32, holder: Option<ClaimPtr>) -> u32 {
        let mut used = SmallVec::<[u32; 4]>::new();
        let number = loop {
            let number = self.gate_numbers.take();
            if self.enter_new_gate(number, holder) {
                break number;
            }
            used.push(number);
        };
        self.gate_numbers.give_back(used.into_iter());
        let gate = self.gate(number);
        // Relaxed: published with the number.
        gate.node.store(node, Relaxed);
        gate.load.store(0, Relaxed);
        gate.gates.store(0, Relaxed);
        if above != NONE {
            self.gate(above).gates.fetch_add(1, Relaxed);
        }
        // Release pairs with the Acquire of a claim that climbs.
        gate.above.store(above, Release);
        number
    }

    /// Enters a record that was free. Returns false if other claims are there.
    fn enter_new_gate(&self, number: u32, holder: Option<ClaimPtr>) -> bool {
        let gate = self.gates.get_or_make(number);
        // Relaxed: the caller publishes it. A record that is used again has its number.
        gate.number.store(number, Relaxed);
        let mut queue = gate.queue.lock();
        let Some(claim) = holder else { return true };
        // Relaxed: ordered by the fence.
        gate.flag.store(true, Relaxed);
        // Pairs with the fence of `pass_gates`: either this sees what is counted there, or that
        // thread sees the flag.
        fence(SeqCst);
        let modes = Modes::only(Mode::Write);
        let is_free = queue.is_empty() && !self.counts.is_counted(number, modes.clashes());
        if is_free {
            queue.hold(GateEntry { claim, modes });
        } else if queue.is_empty() {
            // Release pairs with the Acquire of a claim that reads the flag.
            gate.flag.store(false, Release);
        }
        is_free
    }

    /// Gives back the slots of removed nodes. A slot whose generations are used up is left out.
    pub fn free_nodes(&self, nodes: &[u32]) {
        // Relaxed: the caller has removed the nodes.
        let lasts = |index: &u32| self.slot(*index).generation.load(Relaxed) < u32::MAX - 1;
        self.node_numbers.give_back(nodes.iter().copied().filter(lasts));
    }

    pub fn free_gates(&self, gates: impl Iterator<Item = u32>) {
        self.gate_numbers.give_back(gates);
    }

    /// Returns the node and all below it, each with the place of its parent in the list, which is
    /// before it. Links are not followed.
    ///
    /// # Safety
    ///
    /// The caller holds all of them.
    pub unsafe fn list(&self, top: u32) -> Vec<(u32, usize)> {
        let mut list = Vec::from([(top, 0)]);
        // Relaxed: the caller holds all below.
        let has_links = self.slot(top).links.load(Relaxed) != 0;
        let mut next = 0;
        while next < list.len() {
            let node = list[next].0;
            if has_links {
                // SAFETY: forwarded.
                list.extend(unsafe { self.own_children(node) }.map(|child| (child.index, next)));
            } else {
                // SAFETY: forwarded.
                let children: &Children = unsafe { self.slot(node).children() };
                list.extend(children.iter().map(|child| (child.index, next)));
            }
            next += 1;
        }
        list
    }
}
