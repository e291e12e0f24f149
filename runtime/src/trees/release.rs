//! Release: a claim leaves, and the next ones are granted.

use super::counts::Site;
use super::gate::{Counted, GateSlot};
use super::queue::{ClaimPtr, GateQueue, Ready, Stripe};
use super::rights::{Exact, Rights};
use super::table::TreeTable;
use crate::sync::{Acquire, Release, SeqCst, fence};

impl TreeTable {
    /// Gives back all that a claim holds but its targets, and grants what has waited for it.
    pub fn leave(&self, site: Site, claim: ClaimPtr, rights: &mut Rights, ready: &mut Ready) {
        self.counts.at(site).count_all_out(&rights.counted, &self.gates);
        self.serve_flagged(site, &rights.counted, ready);
        rights.counted.clear();
        rights.exact.iter().for_each(|exact| self.leave_cluster(claim, exact, ready));
        rights.exact.clear();
        if !rights.explicit.is_empty() {
            self.leave_gates(site, claim, rights, ready);
        }
    }

    /// Gives back the entries of a claim at gates.
    #[inline(never)]
    fn leave_gates(&self, site: Site, claim: ClaimPtr, rights: &mut Rights, ready: &mut Ready) {
        for &(number, _) in rights.explicit.iter() {
            let gate = self.gate(number);
            let mut queue = gate.queue.lock();
            queue.remove(claim);
            self.serve(site, (number, gate), &mut queue, ready);
        }
        rights.explicit.clear();
    }

    /// Grants waiters at gates where something was just counted out.
    #[inline(always)]
    pub fn serve_flagged(&self, site: Site, counted: &[Counted], ready: &mut Ready) {
        if counted.is_empty() || planted!("tree-undo-serves-no-waiter") {
            return;
        }
        // Pairs with the fences of `try_hold` and `enqueue`: either a claim at the gate sees that
        // this one has left, or this sees the flag of that claim.
        fence(SeqCst);
        for counted in counted {
            // Acquire pairs with the Release of `serve`.
            if counted.slot(&self.gates).flag.load(Acquire) {
                self.lock_and_serve(site, counted.slot(&self.gates), ready);
            }
        }
    }

    #[inline(never)]
    fn lock_and_serve(&self, site: Site, gate: &GateSlot, ready: &mut Ready) {
        self.serve(site, (gate.number(), gate), &mut gate.queue.lock(), ready);
    }

    /// Grants waiters at a gate, whose queue the caller has locked. Lowers the flag if none is
    /// left.
    #[inline(always)]
    fn serve(&self, site: Site, (number, gate): (u32, &GateSlot), queue: &mut GateQueue, ready: &mut Ready) {
        if queue.has_waiters() {
            self.grant_gate(site, number, queue, ready);
        }
        if queue.is_empty() {
            // Release pairs with the Acquire of a claim that reads the flag: it sees what the tasks
            // did that were here.
            gate.flag.store(false, Release);
        }
    }

    #[inline(never)]
    fn grant_gate(&self, site: Site, gate: u32, queue: &mut GateQueue, ready: &mut Ready) {
        queue.grant(
            |modes| self.counts.is_counted(gate, modes),
            |modes| self.counts.at(site).count_modes_in(gate, modes),
            ready,
        );
    }

    /// Removes an entry from its cluster, and grants the next ones there.
    #[inline(always)]
    pub fn leave_cluster(&self, claim: ClaimPtr, exact: &Exact, ready: &mut Ready) {
        let mut stripe = self.stripe(exact.cluster).lock();
        stripe.remove(claim, exact);
        if stripe.has_waiters() {
            self.grant_cluster(exact.cluster, &mut stripe, ready);
        }
    }

    #[inline(never)]
    fn grant_cluster(&self, cluster: u32, stripe: &mut Stripe, ready: &mut Ready) {
        stripe.grant(cluster, |one, other| self.meet(one, other, true), ready);
    }
}
