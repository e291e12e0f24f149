//! Slow registration: a claim enters all its queues in one step, and may wait in each.

use super::counts::Site;
use super::gate::{Counted, GateSlot};
use super::mode::{Mode, Modes};
use super::queue::{ClaimPtr, ClusterEntry, GateEntry, GateQueue, Ready, Stripe};
use super::register::Place;
use super::rights::{Exact, Rights};
use super::table::TreeTable;
use crate::sync::{Acquire, Guard, Relaxed, Release, SeqCst, fence};
use alloc::vec::Vec;
use core::iter::successors;
use smallvec::SmallVec;

/// Queues of gates, locked in ascending order.
type LockedGates<'t> = SmallVec<[(u32, Guard<'t, GateQueue>); 4]>;
/// Stripes, locked in ascending order.
type LockedStripes<'t> = SmallVec<[(usize, Guard<'t, Stripe>); 4]>;

/// The locks that a claim holds while it registers.
struct Locked<'t> {
    gates: LockedGates<'t>,
    stripes: LockedStripes<'t>,
}

impl Locked<'_> {
    fn has_gate(&self, gate: u32) -> bool {
        self.gates.binary_search_by_key(&gate, |locked| locked.0).is_ok()
    }
}

impl TreeTable {
    /// Registers all targets of a claim that holds nothing. Returns true if it was granted all at
    /// once. If not, the claim belongs to the thread that grants the last entry.
    ///
    /// All locks are taken before the first entry is made. So of two claims one comes first in all
    /// queues that both enter, and waiting follows one total order. An intention at a gate without
    /// a flag is counted there with no lock: it comes before all claims that raise the flag later.
    ///
    /// # Safety
    ///
    /// The caller owns the claim, and gives it up unless this returns true.
    pub unsafe fn enqueue(&self, site: Site, claim: ClaimPtr, ready: &mut Ready) -> bool {
        // SAFETY: the caller owns the claim, and so the registration lives.
        let registration = unsafe { claim.0.as_ref() };
        // SAFETY: the caller owns the claim until an entry waits, under the locks.
        let rights = unsafe { registration.rights() };
        // Relaxed: the claim has no entries, so no other thread sets it meanwhile.
        registration.is_displaced.store(false, Relaxed);
        loop {
            self.resolve::<false>(rights);
            let mut locked = self.lock_all(rights);
            for &(gate, _) in rights.explicit.iter() {
                self.gate(gate).flag.store(true, Relaxed);
            }
            let unlocked = |counted: &Counted| !locked.has_gate(counted.slot(&self.gates).number());
            let open: SmallVec<[Counted; 4]> = rights.counted.iter().copied().filter(unlocked).collect();
            self.counts.at(site).count_all_in(&open, &self.gates);
            // Pairs with the fences of `pass_gates`, `serve_flagged` and this one: of a claim that
            // counts and one that has raised a flag, one sees the other.
            fence(SeqCst);
            // Acquire pairs with the Release of `serve`.
            let is_flagged = open.iter().any(|counted| counted.slot(&self.gates).flag.load(Acquire));
            if is_flagged || !self.is_current(rights) {
                self.unlock(locked);
                self.counts.at(site).count_all_out(&open, &self.gates);
                self.serve_flagged(site, &open, ready);
                continue;
            }
            let is_granted = self.enter_all(site, claim, rights, &mut locked);
            // Gives the claim away if it waits: nothing of it is borrowed by a caller from here on.
            drop(locked);
            return is_granted;
        }
    }

    /// Locks the queues that a claim enters: those of its own gates and of flagged ones, then the
    /// stripes.
    fn lock_all(&self, rights: &Rights) -> Locked<'_> {
        // Acquire pairs with the Release of `serve`.
        let counted = rights.counted.iter().map(|counted| counted.slot(&self.gates));
        let flagged = counted.filter(|gate| gate.flag.load(Acquire)).map(GateSlot::number);
        let mut gates: SmallVec<[u32; 8]> =
            rights.explicit.iter().map(|entry| entry.0).chain(flagged).collect();
        gates.sort_unstable();
        gates.dedup();
        let mut stripes: SmallVec<[usize; 8]> =
            rights.exact.iter().map(|exact| self.stripe_number(exact.cluster)).collect();
        stripes.sort_unstable();
        stripes.dedup();
        Locked {
            gates: gates.into_iter().map(|gate| (gate, self.gate(gate).queue.lock())).collect(),
            stripes: stripes.into_iter().map(|at| (at, self.numbered_stripe(at).lock())).collect(),
        }
    }

    /// Gives the locks back without an entry.
    fn unlock(&self, locked: Locked<'_>) {
        for (gate, queue) in &locked.gates {
            if queue.is_empty() {
                // Release pairs with the Acquire of a claim that reads the flag.
                self.gate(*gate).flag.store(false, Release);
            }
        }
    }

    /// Makes the entries of a claim. Returns true if all were granted. The claim is given away with
    /// the locks, which the caller does: here its rights are borrowed to the end.
    fn enter_all(&self, site: Site, claim: ClaimPtr, rights: &mut Rights, locked: &mut Locked<'_>) -> bool {
        debug_assert!(rights.counts_each_once(), "what is counted in once would be counted out twice");
        let mut pending = 0;
        for (gate, queue) in &mut locked.gates {
            pending += self.enter_gate(site, claim, rights, *gate, queue);
        }
        for &exact in rights.exact.iter() {
            let number = self.stripe_number(exact.cluster);
            let at = locked.stripes.binary_search_by_key(&number, |stripe| stripe.0);
            let stripe = &mut *locked.stripes[at.expect("the stripe is locked")].1;
            let entry = ClusterEntry { claim, exact };
            if stripe.admits(&entry, |one, other, waits| self.meet(one, other, waits)) {
                stripe.hold(entry);
            } else {
                stripe.wait(entry);
                pending += 1;
            }
        }
        // SAFETY: no entry is granted before the locks are given back.
        let registration = unsafe { claim.0.as_ref() };
        // Relaxed: the locks publish it with the entries.
        registration.pending.store(pending, Relaxed);
        pending == 0
    }

    /// Enters the queue of a gate. Returns the number of entries that wait.
    fn enter_gate(
        &self,
        site: Site,
        claim: ClaimPtr,
        rights: &mut Rights,
        gate: u32,
        queue: &mut GateQueue,
    ) -> u32 {
        let mut pending = 0;
        let counted = rights.counted.modes_at(self.gate(gate));
        if !counted.is_empty() {
            if queue.admits(claim, counted) {
                self.counts.at(site).count_modes_in(gate, counted);
            } else {
                queue.wait(GateEntry { claim, modes: counted });
                pending += 1;
            }
        }
        if let Some(mode) = rights.explicit_at(gate) {
            let entry = GateEntry { claim, modes: Modes::only(mode) };
            let clashes = mode.clashes();
            if queue.admits(claim, entry.modes) && !self.counts.is_counted(gate, clashes) {
                queue.hold(entry);
            } else {
                queue.wait(entry);
                pending += 1;
            }
        }
        pending
    }

    /// Sets what a claim to these targets registers, as the tree is now. Nodes that do not exist
    /// are left out.
    ///
    /// While a task moves gates, the way up from a target may come by a gate twice. It is counted
    /// once at most if this is `EXACT`.
    fn resolve<const EXACT: bool>(&self, rights: &mut Rights) {
        rights.counted.clear();
        rights.explicit.clear();
        rights.exact.clear();
        let mut moves = 0_u32;
        for at in 0..rights.targets.len() {
            let target = rights.targets[at];
            let Some(path) = self.path(target.node) else { continue };
            match path.place {
                Place::Gate(gate) => match target.mode_at_gate() {
                    mode @ Mode::ReadAlone => rights.counted.add(self.gate(gate), mode),
                    mode => rights.add_explicit(gate, mode),
                },
                Place::Cluster(cluster) => {
                    let exact = Exact { cluster, target };
                    if !rights.exact.contains(&exact) {
                        rights.exact.push(exact);
                    }
                }
            }
            // Acquire pairs with the Release of the change that published the gate's place.
            let way = successors(self.gates.get(path.above), |gate| self.gates.get(gate.above.load(Acquire)));
            // Acquire pairs with the Release of `move_gate`.
            let way = way.inspect(|gate| moves = moves.wrapping_add(gate.moves.load(Acquire)));
            rights.add_intentions::<EXACT>(way, Mode::intention(target.write));
            if let Place::Gate(gate) = path.place {
                moves = moves.wrapping_add(self.gate(gate).moves.load(Acquire));
            }
        }
        rights.moves = moves;
        rights.merge_own(|gate| self.gate(gate));
    }

    /// Returns true if a claim has registered what it would register now, each once, and no gate on
    /// the way has moved meanwhile. One that has and has come back may have been where the claim
    /// counts nothing.
    pub fn is_current(&self, rights: &Rights) -> bool {
        let mut now = Rights::new(rights.is_unordered);
        now.targets = rights.targets.clone();
        // A list that has a gate twice differs from each that has none.
        self.resolve::<true>(&mut now);
        // The order of the gates in these lists follows from that of the targets and the paths.
        let is_same = *now.counted == *rights.counted
            && *now.explicit == *rights.explicit
            && *now.exact == *rights.exact;
        is_same && (now.moves == rights.moves || planted!("tree-gate-comes-back-unseen"))
    }
}

impl Rights {
    /// Adds an intention at gates one above the other, up to the first where the claim has it. Of
    /// the first target it has none before, so gates are looked up only if this is `EXACT`: then
    /// none is added twice, even if the way comes by it twice.
    fn add_intentions<'t, const EXACT: bool>(
        &mut self,
        way: impl Iterator<Item = &'t GateSlot>,
        intention: Mode,
    ) {
        let looks_up = EXACT && !planted!("tree-gate-counted-twice") || !self.counted.is_empty();
        for gate in way {
            if looks_up && self.counted.modes_at(gate).has(intention) {
                return;
            }
            self.counted.push(Counted::new(gate, intention));
        }
    }

    /// Returns true if the claim counts no mode twice at a gate.
    fn counts_each_once(&self) -> bool {
        let mut entries: Vec<_> =
            self.counted.iter().map(|counted| (counted.gate(), counted.column())).collect();
        entries.sort_unstable();
        entries.is_sorted_by(|one, other| one < other)
    }

    /// Adds an entry at a gate. Two different ones become one that covers both.
    fn add_explicit(&mut self, gate: u32, mode: Mode) {
        match self.explicit.iter_mut().find(|entry| entry.0 == gate) {
            Some(entry) if entry.1 != mode => entry.1 = Mode::Write,
            Some(_) => {}
            None => self.explicit.push((gate, mode)),
        }
    }

    /// Merges what the claim counts at a gate with its entry there, with which that would clash.
    fn merge_own<'t>(&mut self, find: impl Fn(u32) -> &'t GateSlot) {
        for (gate, mode) in self.explicit.iter_mut() {
            let gate = find(*gate);
            let clashes = |counted: &Counted| {
                counted.is_at(gate) && (*mode != Mode::WriteAlone || counted.mode() == Mode::ReadAlone)
            };
            let widens = |counted: &Counted| counted.is_at(gate) && counted.mode() == Mode::IntendWrite;
            let is_widened = *mode == Mode::Read && self.counted.iter().any(widens);
            self.counted.retain(|counted| !clashes(counted));
            if is_widened {
                *mode = Mode::Write;
            }
        }
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;

    /// A way up that is torn, because a task has moved gates meanwhile.
    #[test]
    fn a_gate_on_the_way_twice_is_counted_once() {
        let [low, high, root] = [(); 3].map(|()| GateSlot::default());
        let way = [&low, &high, &low, &root];
        let (mut as_read, mut now) = (Rights::new(false), Rights::new(false));
        as_read.add_intentions::<false>(way.into_iter(), Mode::IntendWrite);
        now.add_intentions::<true>(way.into_iter(), Mode::IntendWrite);
        let counted = [&low, &high].map(|gate| Counted::new(gate, Mode::IntendWrite));
        assert_eq!(*now.counted, counted);
        assert!(now.counts_each_once() && !as_read.counts_each_once());
        // So a claim that has registered the one is not what it would be now.
        assert_ne!(*now.counted, *as_read.counted);
    }
}
