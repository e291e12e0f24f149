//! One run of a request: registers what is named.

use super::counts::Site;
use super::poison::OnPoison;
use super::queue::{ClaimPtr, OwnedClaim, Ready};
use super::register::Added;
use super::rights::{Rights, Target};
use super::short_list::ShortList;
use super::table::TreeTable;
use crate::task::JoinError;

/// Targets of a claim.
pub(crate) type Targets = ShortList<Target, 2>;

/// Names the nodes of a claim.
pub trait RunPlan: Send {
    /// Returns the only node that the request names, if it names one and no plan.
    #[doc(hidden)]
    fn only(&self) -> Option<&Target> {
        None
    }

    /// Returns true if dropping the request does anything.
    #[doc(hidden)]
    fn has_memory(&self) -> bool {
        true
    }

    /// Names the nodes. Called again when the claim holds what it named before, if that was not to
    /// be had at once.
    ///
    /// # Errors
    ///
    /// If the application's code panics.
    #[doc(hidden)]
    fn run(&mut self, probe: &mut PlanProbe<'_>) -> Result<(), JoinError>;
}

/// One run of a request.
pub struct PlanProbe<'s> {
    pub(super) table: &'s TreeTable,
    site: Site,
    claim: ClaimPtr,
    pub(super) rights: &'s mut Rights,
    ready: &'s mut Ready,
    /// Targets that were not to be had at once, and those that were named after the first of them.
    pub(super) refused: &'s mut Targets,
    /// A node with all below comes with what is below by links.
    follows_links: bool,
    /// Nodes that were named in this run because links lead there.
    pub(super) linked: usize,
    /// The plan sees the data of poisoned nodes.
    pub(super) even_poisoned: bool,
}

impl TreeTable {
    /// Adds the only target of a claim, without a view of a plan. Returns false if the request has
    /// to run: the claim may have to follow links.
    #[inline(always)]
    pub fn add_only(
        &self,
        site: Site,
        owned: OwnedClaim<'_>,
        target: &Target,
        ready: &mut Ready,
        refused: &mut Targets,
    ) -> bool {
        if !target.alone && self.has_links() {
            return false;
        }
        let added = self.try_add_first(site, owned, target, ready);
        if added == Added::Blocked {
            refused.push(*target);
        }
        // The first link of the tree may have been made below the node until it was held. What it
        // leads to is added by the run.
        let is_alone = target.alone || planted!("tree-first-link-overlooked");
        added != Added::Granted || is_alone || !self.has_links()
    }
}

impl<'s> PlanProbe<'s> {
    /// Begins a run in which `refused` gets what is not to be had.
    #[inline(always)]
    pub(crate) fn new(
        table: &'s TreeTable,
        site: Site,
        OwnedClaim { claim, rights }: OwnedClaim<'s>,
        ready: &'s mut Ready,
        refused: &'s mut Targets,
        on_poison: OnPoison,
    ) -> Self {
        let (even_poisoned, follows_links) = (on_poison != OnPoison::Fail, on_poison != OnPoison::Keep);
        Self { table, site, claim, rights, ready, refused, follows_links, linked: 0, even_poisoned }
    }

    /// Names a target, and what is below it by links. Returns true if the claim holds it from here
    /// on.
    #[inline(never)]
    pub(crate) fn add(&mut self, target: Target) -> bool {
        let is_old = planted!("tree-links-not-looked-up-anew") && self.holds(&target);
        let is_held = self.hold(&target);
        if is_held && !target.alone && self.follows_links && self.table.has_links() && !is_old {
            self.close(target);
        }
        is_held
    }

    /// Names a target without what is below by links. Returns true if the claim holds it from here
    /// on.
    #[inline(always)]
    pub(super) fn hold(&mut self, target: &Target) -> bool {
        if self.rights.targets.is_empty() && self.refused.is_empty() {
            self.hold_new::<true>(target)
        } else {
            self.hold_further(target)
        }
    }

    #[inline(never)]
    fn hold_further(&mut self, target: &Target) -> bool {
        if self.holds(target) {
            return true;
        }
        if !self.refused.is_empty() {
            self.refused.push(*target);
            return false;
        }
        self.hold_new::<false>(target)
    }

    /// Names a target that the claim does not hold, where all others were had. It is the `FIRST`
    /// of a claim that holds nothing.
    #[inline(always)]
    fn hold_new<const FIRST: bool>(&mut self, target: &Target) -> bool {
        let Self { table, site, claim, .. } = *self;
        let owned = OwnedClaim { claim, rights: self.rights };
        let added = if FIRST {
            table.try_add_first(site, owned, target, self.ready)
        } else {
            table.try_add::<false>(site, owned, target, self.ready)
        };
        match added {
            Added::Granted => true,
            Added::Missing => false,
            Added::Blocked => {
                self.refused.push(*target);
                false
            }
        }
    }

    #[inline]
    fn holds(&self, &Target { node, alone, write }: &Target) -> bool {
        if alone {
            self.table.covers(self.rights, node, write)
        } else {
            self.table.find(node).is_some() && self.table.covers_all(self.rights, node.index, write)
        }
    }
}
