//! Fast registration: a target is had at once, or nothing is changed.

use super::counts::Site;
use super::gate::{Counted, GateSlot};
use super::mode::{Mode, Modes};
use super::node::{NONE, Node, NodeSlot};
use super::queue::{ClaimPtr, ClusterEntry, GateEntry, OwnedClaim, Ready, Stripe};
use super::rights::{Exact, Rights, Target};
use super::segments::SegmentIndex;
use super::table::TreeTable;
use crate::sync::{Acquire, AtomicU32, Backoff, Relaxed, Release, SeqCst, fence};

/// What came of an attempt to register a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// The claim holds the target.
    Granted,
    /// Others are in the way. Nothing was changed.
    Blocked,
    /// The node does not exist.
    Missing,
}

/// The way to a node, as it was when it was looked up.
#[derive(Clone, Copy)]
pub(crate) struct Path<'t> {
    slot: &'t NodeSlot,
    pub place: Place,
    /// The first gate above the node that is not the node itself; [`NONE`] for the root.
    pub above: u32,
    /// Where that is stored.
    above_in: &'t AtomicU32,
}

/// Where a claim registers a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The node is this gate.
    Gate(u32),
    /// The node is in this cluster.
    Cluster(u32),
}

impl Path<'_> {
    /// Checks that the way to a node, which a claim has registered, is what it was when it was
    /// looked up.
    #[inline(always)]
    fn check(&self, node: Node) -> Attempt {
        let slot = self.slot;
        // Acquire: as in `path`.
        let is_here = || match self.place {
            Place::Gate(gate) => slot.gate.load(Acquire) == gate,
            Place::Cluster(cluster) => {
                slot.gate.load(Acquire) == NONE && slot.cluster.load(Acquire) == cluster
            }
        };
        let is_current = slot.generation.load(Acquire) == node.generation
            && is_here()
            && self.above_in.load(Acquire) == self.above;
        if is_current || planted!("tree-path-unvalidated") { Attempt::Granted } else { Attempt::Moved }
    }
}

/// What came of one attempt to register a target.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attempt {
    Granted,
    /// Others are in the way.
    Clash,
    /// The node does not exist.
    Missing,
    /// The tree has changed meanwhile; the path has to be looked up again.
    Moved,
}

impl TreeTable {
    /// Looks up the way to a node; `None` if the node does not exist.
    pub fn path(&self, node: Node) -> Option<Path<'_>> {
        let mut backoff = Backoff::new();
        loop {
            if let Some(path) = self.path_from(self.find(node)?) {
                return Some(path);
            }
            // A change will publish the rest.
            backoff.wait();
        }
    }

    /// Looks up the way from a slot; `None` if a change has published only a part of it.
    #[inline(always)]
    fn path_from<'t>(&'t self, slot: &'t NodeSlot) -> Option<Path<'t>> {
        // Acquire, here and below, pairs with the Release of the change that published the place:
        // its entries in the queues are seen.
        match slot.gate.load(Acquire) {
            NONE => self.path_in_cluster(slot).map(|found| found.1),
            gate => Some(self.path_at_gate(slot, gate).1),
        }
    }

    /// Looks up the way from the slot of a gate. Returns the gate as well.
    #[inline(always)]
    fn path_at_gate<'t>(&'t self, slot: &'t NodeSlot, number: u32) -> (&'t GateSlot, Path<'t>) {
        let gate = self.gate(number);
        let above = gate.above.load(Acquire);
        (gate, Path { slot, place: Place::Gate(number), above, above_in: &gate.above })
    }

    /// Looks up the way from a slot in a cluster, like `path_from`. Returns the cluster as well.
    #[inline(always)]
    fn path_in_cluster<'t>(&'t self, slot: &'t NodeSlot) -> Option<(u32, Path<'t>)> {
        let cluster = slot.cluster.load(Acquire);
        let above_in = &self.nodes.get(cluster)?.above;
        let above = above_in.load(Acquire);
        (above != NONE).then_some((cluster, Path { slot, place: Place::Cluster(cluster), above, above_in }))
    }

    /// Tries to add a target to what a claim holds; the `FIRST` of a claim that holds nothing.
    ///
    /// The path is read while nothing is held, so it is read again after it was registered. From
    /// then on it stays: no node of it moves without all claims below being gone.
    #[inline(always)]
    pub fn try_add<const FIRST: bool>(
        &self,
        site: Site,
        mut owned: OwnedClaim<'_>,
        target: &Target,
        ready: &mut Ready,
    ) -> Added {
        let had = if FIRST { (0, 0) } else { (owned.rights.counted.len(), owned.rights.exact.len()) };
        match self.attempt::<FIRST>(site, owned.reborrow(), target) {
            Attempt::Granted => owned.rights.targets.push(*target),
            Attempt::Missing => return Added::Missing,
            refused => return self.try_again(refused, site, owned, had, target, ready),
        }
        Added::Granted
    }

    /// Adds the first target of a claim, like [`try_add`](Self::try_add).
    #[inline(never)]
    pub fn try_add_first(
        &self,
        site: Site,
        owned: OwnedClaim<'_>,
        target: &Target,
        ready: &mut Ready,
    ) -> Added {
        self.try_add::<true>(site, owned, target, ready)
    }

    /// Gives back what a refused attempt has registered, and tries again for as long as the tree
    /// changes. The claim had lists of these lengths before.
    #[cold]
    fn try_again(
        &self,
        mut refused: Attempt,
        site: Site,
        mut owned: OwnedClaim<'_>,
        had: (usize, usize),
        target: &Target,
        ready: &mut Ready,
    ) -> Added {
        let mut backoff = Backoff::new();
        loop {
            self.take_back(site, owned.reborrow(), had, ready);
            if refused == Attempt::Clash {
                return Added::Blocked;
            }
            backoff.wait();
            refused = self.attempt::<false>(site, owned.reborrow(), target);
            match refused {
                Attempt::Granted => owned.rights.targets.push(*target),
                Attempt::Missing => return Added::Missing,
                _ => continue,
            }
            return Added::Granted;
        }
    }

    /// Tries once. What it has registered stays if it is refused.
    #[inline(always)]
    fn attempt<const FIRST: bool>(&self, site: Site, owned: OwnedClaim<'_>, target: &Target) -> Attempt {
        let Some(slot) = self.find(target.node) else { return Attempt::Missing };
        let gate = slot.gate.load(Acquire);
        if gate != NONE {
            return self.add_at_gate(site, owned, target, slot, gate);
        }
        let Some((cluster, path)) = self.path_in_cluster(slot) else { return Attempt::Moved };
        self.add_in_cluster::<FIRST>(site, owned, target, cluster, &path)
    }

    /// Registers a target in a cluster.
    #[inline(always)]
    fn add_in_cluster<const FIRST: bool>(
        &self,
        site: Site,
        OwnedClaim { claim, rights }: OwnedClaim<'_>,
        target: &Target,
        cluster: u32,
        path: &Path<'_>,
    ) -> Attempt {
        let first = if FIRST { 0 } else { rights.counted.len() };
        let end = self.count_above::<FIRST>(site, rights, path.above, Mode::intention(target.write));
        match self.pass_gates(claim, rights, first, end) {
            Attempt::Granted => self.try_enter(claim, rights, target, cluster, path),
            refused => refused,
        }
    }

    /// Registers a target that is a gate.
    #[inline(never)]
    fn add_at_gate(
        &self,
        site: Site,
        OwnedClaim { claim, rights }: OwnedClaim<'_>,
        target: &Target,
        slot: &NodeSlot,
        gate: u32,
    ) -> Attempt {
        let (record, path) = self.path_at_gate(slot, gate);
        let (mode, first) = (target.mode_at_gate(), rights.counted.len());
        let counted = rights.counted.modes_at(record);
        if mode != Mode::ReadAlone {
            // What the claim itself has at this gate is merged with this by the slow way.
            if rights.explicit_at(gate).is_some() || counted.meets(mode.clashes()) {
                return Attempt::Clash;
            }
        } else if !counted.has(mode) {
            self.counts.at(site).count_in(gate, mode);
            rights.counted.push(Counted::new(record, mode));
        }
        let end = self.count_above::<false>(site, rights, path.above, Mode::intention(target.write));
        match self.pass_gates(claim, rights, first, end) {
            Attempt::Granted if mode == Mode::ReadAlone => path.check(target.node),
            Attempt::Granted => self.try_hold(claim, rights, (gate, record, mode), target.node, &path),
            refused => refused,
        }
    }

    /// Enters the queue of a gate, unless others there are in the way.
    fn try_hold(
        &self,
        claim: ClaimPtr,
        rights: &mut Rights,
        (number, gate, mode): (u32, &GateSlot, Mode),
        node: Node,
        path: &Path<'_>,
    ) -> Attempt {
        let modes = Modes::only(mode);
        let mut queue = gate.queue.lock();
        gate.flag.store(true, Relaxed);
        // Pairs with the fence of `pass_gates`: either this sees what is counted there, or that
        // thread sees the flag.
        fence(SeqCst);
        let is_free = queue.admits_now(claim, modes, rights.is_unordered)
            && !self.counts.is_counted(number, mode.clashes());
        let attempt = if is_free { path.check(node) } else { Attempt::Clash };
        if attempt == Attempt::Granted {
            queue.hold(GateEntry { claim, modes });
            rights.explicit.push((number, mode));
        } else if queue.is_empty() {
            gate.flag.store(false, Release);
        }
        attempt
    }

    /// Counts an intention at all gates from one upwards where the claim does not have it yet.
    /// Returns the gate where it has it already, and so at all above; [`NONE`] behind the root.
    #[inline(always)]
    fn count_above<const FIRST: bool>(
        &self,
        site: Site,
        rights: &mut Rights,
        from: u32,
        intention: Mode,
    ) -> u32 {
        let counts = self.counts.at(site);
        // All tables have a gate at the same place, which is computed once.
        let mut next = SegmentIndex::of(from);
        while let Some(gate) = self.gates.get_at(next) {
            if !FIRST && rights.counted.intends(gate, intention) {
                return gate.number();
            }
            counts.count_in_at(next, intention);
            rights.counted.push(Counted::new(gate, intention));
            next = SegmentIndex::of(gate.above.load(Acquire));
        }
        NONE
    }

    /// Passes the gates where a claim has just counted: those of its list from `first` on, which
    /// were one above the other, and below `end`.
    #[inline(always)]
    fn pass_gates(&self, claim: ClaimPtr, rights: &Rights, first: usize, end: u32) -> Attempt {
        let counted = &rights.counted[first..];
        if !counted.is_empty() && !planted!("tree-count-without-fence") {
            // Pairs with the fences of `try_hold` and `enqueue`: either those see the counts,
            // or this sees their flags.
            fence(SeqCst);
        }
        let mut next = counted.first().map_or(end, |first| first.slot(&self.gates).number());
        let mut moves = 0_u32;
        for counted in counted {
            let gate = counted.slot(&self.gates);
            // Acquire, here and below, pairs with the Release of `move_gate`.
            moves = moves.wrapping_add(gate.moves.load(Acquire));
            if gate.number() != next && !planted!("tree-path-unvalidated") {
                return Attempt::Moved;
            }
            // Acquire pairs with the Release by which a gate's flag goes down, so that this sees
            // what the tasks there did.
            if gate.flag.load(Acquire) && !self.admits(claim, rights, counted) {
                return Attempt::Clash;
            }
            // A task that comes to this gate from here on does not move it. Acquire: as in `path`.
            next = gate.above.load(Acquire);
        }
        // A task at a gate further up may have moved this one before it left there.
        let moved = counted
            .iter()
            .fold(moves, |left, counted| left.wrapping_sub(counted.slot(&self.gates).moves.load(Acquire)));
        let is_way = next == end && moved == 0 || planted!("tree-path-unvalidated");
        if is_way { Attempt::Granted } else { Attempt::Moved }
    }

    /// Returns true if what was counted at a gate with a flag clashes with nothing there.
    #[cold]
    fn admits(&self, claim: ClaimPtr, rights: &Rights, counted: &Counted) -> bool {
        let (gate, modes) = (counted.slot(&self.gates), Modes::only(counted.mode()));
        gate.queue.lock().admits_now(claim, modes, rights.is_unordered)
            && !rights.explicit_at(gate.number()).is_some_and(|held| held.clashes().meets(modes))
    }

    /// Enters a cluster, unless others there are in the way.
    #[inline(always)]
    fn try_enter(
        &self,
        claim: ClaimPtr,
        rights: &mut Rights,
        target: &Target,
        cluster: u32,
        path: &Path<'_>,
    ) -> Attempt {
        let mut stripe = self.stripe(cluster).lock();
        if !stripe.is_empty() && !self.enters(claim, rights, Exact { cluster, target: *target }, &mut stripe)
        {
            return Attempt::Clash;
        }
        stripe.hold(ClusterEntry { claim, exact: Exact { cluster, target: *target } });
        drop(stripe);
        rights.exact.push(Exact { cluster, target: *target });
        let attempt = path.check(target.node);
        // SAFETY: the caller owns the claim.
        let is_displaced = unsafe { &claim.0.as_ref().is_displaced };
        // Acquire pairs with the Release of `enter_cluster`. It is read behind the path: a node
        // that was seen to have come back has displaced the claim before.
        if is_displaced.load(Acquire) { Attempt::Moved } else { attempt }
    }

    /// Returns true if a claim may enter a cluster, in a stripe where others are.
    #[inline(never)]
    fn enters(&self, claim: ClaimPtr, rights: &Rights, exact: Exact, stripe: &mut Stripe) -> bool {
        let meet = |one: &ClusterEntry, other: &ClusterEntry, waits| self.meet(one, other, waits);
        stripe.admits_now(&ClusterEntry { claim, exact }, rights.is_unordered, meet)
    }

    /// Gives back what an attempt has registered: what is behind these lengths of the lists. Lets
    /// those go on that it has blocked.
    #[cold]
    fn take_back(
        &self,
        site: Site,
        OwnedClaim { claim, rights }: OwnedClaim<'_>,
        (counted, exact): (usize, usize),
        ready: &mut Ready,
    ) {
        let out = &rights.counted[counted..];
        self.counts.at(site).count_all_out(out, &self.gates);
        self.serve_flagged(site, out, ready);
        rights.counted.truncate(counted);
        rights.exact[exact..].iter().for_each(|exact| self.leave_cluster(claim, exact, ready));
        rights.exact.truncate(exact);
        // SAFETY: the caller owns the claim.
        let is_displaced = unsafe { &claim.0.as_ref().is_displaced };
        // Relaxed: the entries of this attempt, if any, have gone, and what the claim holds is not
        // outdated.
        is_displaced.store(false, Relaxed);
    }
}
