//! Fast registration: a target is had at once, or nothing is changed.

use super::counts::Site;
use super::mode::{Mode, Modes};
use super::node::{NONE, Node, NodeSlot};
use super::queue::{ClaimPtr, GateEntry, HomeEntry, Ready};
use super::rights::{Exact, Rights, Target};
use super::table::{GateSlot, TreeTable};
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
    /// The node is in this home.
    Home(u32),
}

impl Path<'_> {
    /// Refuses a claim that has registered a node, unless the way to the node is what it was when
    /// it was looked up.
    #[inline(always)]
    fn check(&self, node: Node) -> Option<Refused> {
        let slot = self.slot;
        // Acquire: as in `path`.
        let is_here = || match self.place {
            Place::Gate(gate) => slot.gate.load(Acquire) == gate,
            Place::Home(home) => slot.gate.load(Acquire) == NONE && slot.home.load(Acquire) == home,
        };
        let is_current = slot.generation.load(Acquire) == node.generation
            && is_here()
            && self.above_in.load(Acquire) == self.above;
        (!is_current && !planted!("tree-path-unvalidated")).then_some(Refused::Moved)
    }
}

/// Why a path is not had.
enum Refused {
    Clash,
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
        let gate = slot.gate.load(Acquire);
        if gate != NONE {
            let above_in = &self.gate(gate).above;
            return Some(Path { slot, place: Place::Gate(gate), above: above_in.load(Acquire), above_in });
        }
        let home = slot.home.load(Acquire);
        let above_in = &self.nodes.get(home)?.above;
        let above = above_in.load(Acquire);
        (above != NONE).then_some(Path { slot, place: Place::Home(home), above, above_in })
    }

    /// Tries to add a target to what a claim holds.
    ///
    /// The path is read while nothing is held, so it is read again after it was registered. From
    /// then on it stays: no node of it moves without all claims below being gone.
    #[inline(always)]
    pub fn try_add(
        &self,
        site: Site,
        claim: ClaimPtr,
        rights: &mut Rights,
        target: Target,
        ready: &mut Ready,
    ) -> Added {
        match self.attempt(site, claim, rights, target, ready) {
            Some(added) => added,
            None => self.try_again(site, claim, rights, target, ready),
        }
    }

    #[cold]
    fn try_again(
        &self,
        site: Site,
        claim: ClaimPtr,
        rights: &mut Rights,
        target: Target,
        ready: &mut Ready,
    ) -> Added {
        let mut backoff = Backoff::new();
        loop {
            backoff.wait();
            if let Some(added) = self.attempt(site, claim, rights, target, ready) {
                return added;
            }
        }
    }

    /// Tries to add a target by its path; `None` if the tree changes meanwhile.
    #[inline(always)]
    fn attempt(
        &self,
        site: Site,
        claim: ClaimPtr,
        rights: &mut Rights,
        target: Target,
        ready: &mut Ready,
    ) -> Option<Added> {
        let Some(slot) = self.find(target.node) else { return Some(Added::Missing) };
        let path = self.path_from(slot)?;
        let refused = match path.place {
            Place::Home(home) => self.add_in_home(site, claim, rights, target.exact(home), &path, ready),
            Place::Gate(gate) => self.add_at_gate(site, claim, rights, target, (gate, &path), ready),
        };
        match refused {
            None => {
                rights.targets.push(target);
                Some(Added::Granted)
            }
            Some(Refused::Clash) => Some(Added::Blocked),
            Some(Refused::Moved) => None,
        }
    }

    /// Registers a target in a home.
    #[inline(always)]
    fn add_in_home(
        &self,
        site: Site,
        claim: ClaimPtr,
        rights: &mut Rights,
        exact: Exact,
        path: &Path<'_>,
        ready: &mut Ready,
    ) -> Option<Refused> {
        let had = (rights.counted.len(), rights.exact.len());
        let end = self.count_above(site, rights, path.above, Mode::intention(exact.write));
        let refused = match self.refused(claim, rights, had.0, end) {
            None => self.try_enter(claim, rights, exact, path),
            refused => refused,
        };
        if refused.is_some() {
            self.take_back(site, claim, rights, had, ready);
        }
        refused
    }

    /// Registers a target that is a gate.
    #[inline(never)]
    fn add_at_gate(
        &self,
        site: Site,
        claim: ClaimPtr,
        rights: &mut Rights,
        target: Target,
        (gate, path): (u32, &Path<'_>),
        ready: &mut Ready,
    ) -> Option<Refused> {
        let mode = target.mode_at_gate();
        let had = (rights.counted.len(), rights.exact.len());
        let counted = rights.counted_at(gate);
        if mode != Mode::ReadAlone {
            // What the claim itself has at this gate is merged with this by the slow way.
            if rights.explicit_at(gate).is_some() || counted.meets(mode.clashes()) {
                return Some(Refused::Clash);
            }
        } else if !counted.has(mode) {
            self.counts.at(site).count_in(gate, mode);
            rights.counted.push((gate, Modes::only(mode)));
        }
        let end = self.count_above(site, rights, path.above, Mode::intention(target.write));
        let refused = match self.refused(claim, rights, had.0, end) {
            None if mode == Mode::ReadAlone => path.check(target.node),
            None => self.try_hold(claim, rights, (gate, mode), target.node, path),
            refused => refused,
        };
        if refused.is_some() {
            self.take_back(site, claim, rights, had, ready);
        }
        refused
    }

    /// Enters the queue of a gate, unless others there are in the way.
    fn try_hold(
        &self,
        claim: ClaimPtr,
        rights: &mut Rights,
        (number, mode): (u32, Mode),
        node: Node,
        path: &Path<'_>,
    ) -> Option<Refused> {
        let (gate, modes) = (self.gate(number), Modes::only(mode));
        let mut queue = gate.queue.lock();
        gate.flag.store(true, Relaxed);
        // Pairs with the fence of `refused`: either this sees what is counted there, or that thread
        // sees the flag.
        fence(SeqCst);
        let is_free = queue.admits_now(claim, modes, rights.is_unordered)
            && !self.counts.is_counted(number, modes.clashes());
        let refused = if is_free { path.check(node) } else { Some(Refused::Clash) };
        if refused.is_none() {
            queue.hold(GateEntry { claim, modes });
            rights.explicit.push((number, mode));
        } else if queue.is_empty() {
            gate.flag.store(false, Release);
        }
        refused
    }

    /// Counts an intention at all gates from one upwards where the claim does not have it yet.
    /// Returns the gate where it has it already, and so at all above; [`NONE`] behind the root.
    #[inline(always)]
    fn count_above(&self, site: Site, rights: &mut Rights, from: u32, intention: Mode) -> u32 {
        let counts = self.counts.at(site);
        let (is_first, enough) = (rights.counted.is_empty(), Modes::of(&[intention, Mode::IntendWrite]));
        let mut next = from;
        while let Some(gate) = self.gates.get(next) {
            if !is_first && rights.counted_at(next).meets(enough) {
                return next;
            }
            counts.count_in(next, intention);
            rights.counted.push((next, Modes::only(intention)));
            next = gate.above.load(Acquire);
        }
        NONE
    }

    /// Returns why a claim is refused at gates where it has just counted: those of its list from
    /// `first` on, which were one above the other, and below `end`.
    #[inline(always)]
    fn refused(&self, claim: ClaimPtr, rights: &Rights, first: usize, end: u32) -> Option<Refused> {
        let counted = &rights.counted[first..];
        if !counted.is_empty() && !planted!("tree-count-without-fence") {
            // Pairs with the fences of `try_hold` and `enqueue`: either those see the counts,
            // or this sees their flags.
            fence(SeqCst);
        }
        let mut next = counted.first().map_or(end, |first| first.0);
        for &(number, modes) in counted {
            if number != next && !planted!("tree-path-unvalidated") {
                return Some(Refused::Moved);
            }
            let gate = self.gate(number);
            // Acquire pairs with the Release by which a gate's flag goes down, so that this sees
            // what the tasks there did.
            if gate.flag.load(Acquire) && !self.admits(claim, rights, gate, number, modes) {
                return Some(Refused::Clash);
            }
            // From here on no task moves the gate. Acquire: as in `path`.
            next = gate.above.load(Acquire);
        }
        (next != end && !planted!("tree-path-unvalidated")).then_some(Refused::Moved)
    }

    /// Returns true if what was counted at a gate with a flag clashes with nothing there.
    #[cold]
    fn admits(&self, claim: ClaimPtr, rights: &Rights, gate: &GateSlot, number: u32, modes: Modes) -> bool {
        gate.queue.lock().admits_now(claim, modes, rights.is_unordered)
            && !rights.explicit_at(number).is_some_and(|held| held.clashes().meets(modes))
    }

    /// Enters a home, unless others there are in the way.
    #[inline(always)]
    fn try_enter(
        &self,
        claim: ClaimPtr,
        rights: &mut Rights,
        exact: Exact,
        path: &Path<'_>,
    ) -> Option<Refused> {
        let entry = HomeEntry { claim, exact };
        let mut stripe = self.stripe(exact.home).lock();
        if !stripe.admits_now(&entry, rights.is_unordered, |one, other, waits| self.meet(one, other, waits)) {
            return Some(Refused::Clash);
        }
        stripe.hold(entry);
        drop(stripe);
        rights.exact.push(exact);
        let refused = path.check(exact.node);
        // SAFETY: the caller owns the claim.
        let is_displaced = unsafe { &claim.0.as_ref().is_displaced };
        // Acquire pairs with the Release of `enter_home`. It is read behind the path: a node that
        // was seen to have come back has displaced the claim before.
        if is_displaced.load(Acquire) { Some(Refused::Moved) } else { refused }
    }

    /// Gives back what an attempt has registered: what is behind these lengths of the lists. Lets
    /// those go on that it has blocked.
    #[cold]
    fn take_back(
        &self,
        site: Site,
        claim: ClaimPtr,
        rights: &mut Rights,
        (counted, exact): (usize, usize),
        ready: &mut Ready,
    ) {
        let out = &rights.counted[counted..];
        self.counts.at(site).count_all_out(out);
        self.serve_flagged(site, out.iter().map(|entry| entry.0), ready);
        rights.counted.truncate(counted);
        for exact in rights.exact.drain(exact..) {
            self.leave_home(claim, &exact, ready);
        }
        // SAFETY: the caller owns the claim.
        let is_displaced = unsafe { &claim.0.as_ref().is_displaced };
        // Relaxed: the entry has gone, and what the claim holds is not outdated.
        is_displaced.store(false, Relaxed);
    }
}

impl Target {
    /// Returns the entry of the target in a home.
    pub fn exact(&self, home: u32) -> Exact {
        Exact { home, node: self.node, alone: self.alone, write: self.write }
    }

    /// Returns how the target uses its node if that is a gate.
    pub fn mode_at_gate(&self) -> Mode {
        match (self.alone, self.write) {
            (true, false) => Mode::ReadAlone,
            (true, true) => Mode::WriteAlone,
            (false, false) => Mode::Read,
            (false, true) => Mode::Write,
        }
    }
}
