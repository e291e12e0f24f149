//! How many partitions, on which CPUs, in whose memory.

use super::divide::divide;
use super::{Bound, Knowledge, NoPlan, Request, Suggestion, alternatives, why};
use crate::classes::{Class, classes};
use crate::facts::{CpuSet, Facts, Registration};
use crate::machine::Machine;
use crate::pick::pick;
use crate::plan::Plan;
use crate::rules::{Derived, distance};
use crate::solver::{Program, Rules};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A question, and what was found out for it.
pub(crate) struct Question<'a> {
    pub facts: &'a Facts,
    pub request: &'a Request,
    /// Runtimes of ours that are in the way.
    pub others: Vec<Registration>,
    pub derived: Derived,
    pub machine: Machine,
    pub present: Option<&'a Plan>,
}

/// A machine, sorted for a search: whatever is asked for.
pub(crate) struct Sorted<'a> {
    pub machine: &'a Machine,
    classes: Vec<Class>,
    /// The nodes in the order in which they are filled.
    order: Vec<u32>,
}

impl Sorted<'_> {
    /// Whether the memories nearest to the cores hold so much.
    fn fits(&self, bytes: u64) -> bool {
        let nearest = self.order.iter().filter_map(|node| self.machine.reach.get(node)?.first());
        let nearest: BTreeSet<&u32> = nearest.collect();
        let free = nearest.into_iter().map(|home| self.machine.memory[home].free);
        let all = free.into_iter().try_fold(0_u64, |all, free| Some(all.saturating_add(free?)));
        all.is_none_or(|all| all >= bytes)
    }
}

/// A plan, and which rules had to be given up for it.
pub(crate) struct Found {
    pub plan: Plan,
    /// Workers are spread evenly over the nodes.
    pub even: bool,
    /// Each partition lies in the memory nearest to its worker.
    pub fit: bool,
}

impl Knowledge {
    /// Divides `size` bytes into as many partitions as help, each with a CPU and a node.
    ///
    /// # Errors
    ///
    /// See [`Knowledge::suggest_allocation`].
    pub fn suggest_partitions(&self, size: u64, bound: Bound) -> Result<Suggestion, NoPlan> {
        self.suggest_allocation(&Request::new(size, bound), None)
    }

    /// Divides data and gives each partition a CPU and a node, so that the predicted time is the least; of plans that take
    /// as long the one with the fewest partitions, then of those the one whose nodes are near to one another, whose caches
    /// are shared as asked for, and that needs the fewest changes from `present`, in this order.
    ///
    /// The time is the largest of all partitions' share of the data divided by the speed of its CPU, and not below the
    /// time that the quota allows.
    ///
    /// # Errors
    ///
    /// If no CPU may be used, more partitions are asked for than there may be, or the data does not fit into memory.
    pub fn suggest_allocation(
        &self,
        request: &Request,
        present: Option<&Plan>,
    ) -> Result<Suggestion, NoPlan> {
        let question = self.question(request, present);
        let sorted = question.sorted(&question.machine);
        let found = question.best(&sorted, request)?;
        let why = why::reasons(&question, &found);
        let alternatives = alternatives::alternatives(&question, &sorted, &found.plan);
        let changes = present.map(|present| found.plan.changes_from(present));
        Ok(Suggestion { plan: found.plan, why, alternatives, changes })
    }

    /// The plan of [`Knowledge::suggest_allocation`] alone, without reasons and alternatives: for who asks again and
    /// again.
    ///
    /// # Errors
    ///
    /// See [`Knowledge::suggest_allocation`].
    pub fn best_plan(&self, request: &Request, present: Option<&Plan>) -> Result<Plan, NoPlan> {
        let question = self.question(request, present);
        question.best(&question.sorted(&question.machine), request).map(|found| found.plan)
    }

    /// The time that `plan` would take now, as [`Plan::predicted`]; `None` if it cannot be carried out: one of its CPUs or
    /// memories may not be used, or it has more workers than are allowed.
    pub fn predict(&self, request: &Request, plan: &Plan) -> Option<f64> {
        self.question(request, None).machine.predict(plan)
    }

    pub(crate) fn question<'a>(&'a self, request: &'a Request, present: Option<&'a Plan>) -> Question<'a> {
        let facts = &self.facts;
        let mut others = self.registered();
        others.retain(|other| request.asker.as_ref() != Some(&other.name));
        let derived = Derived::of(facts, self.topology(&request.keep), &others);
        let machine = Machine::new(facts, &derived, &others, request);
        Question { facts, request, others, derived, machine, present }
    }
}

impl Question<'_> {
    /// Sorts what there is of `machine`, which may be less than the question's.
    pub fn sorted<'m>(&self, machine: &'m Machine) -> Sorted<'m> {
        Sorted { machine, classes: classes(machine), order: self.order(machine) }
    }

    /// The best plan for `request`, which may differ from the question's.
    pub fn best(&self, sorted: &Sorted<'_>, request: &Request) -> Result<Found, NoPlan> {
        let machine = sorted.machine;
        let (fewest, most) = self.counts(machine, request)?;
        self.memory(machine, request)?;
        let present = self.present.map_or_else(CpuSet::default, Plan::cpus);
        let memory = request.bound == Bound::Memory;
        let tries: &[(bool, bool)] = if memory {
            &[(true, true), (true, false), (false, true)]
        } else {
            &[(true, false), (false, false)]
        };
        let fits = sorted.fits(request.bytes);
        for &(fit, even) in tries.iter().filter(|tries| fits || !tries.0) {
            let Request { bytes, weighted, .. } = *request;
            let rules = Rules { bytes, fewest, most, weighted, even, fit };
            let program = Program { machine, classes: &sorted.classes, order: &sorted.order };
            let Some(counts) = program.solve(&rules) else { continue };
            let cpus = pick(machine, &sorted.classes, &counts, request.caches, &present);
            if let Some(plan) = divide(machine, request, cpus, fit) {
                return Ok(Found { plan, even, fit });
            }
        }
        Err(self.no_memory(machine, request))
    }

    fn counts(&self, machine: &Machine, request: &Request) -> Result<(u64, u64), NoPlan> {
        if machine.cores.is_empty() {
            return Err(NoPlan::NoCpu {
                online: self.facts.cpus.iter().map(|cpu| cpu.id).collect(),
                affinity: self.facts.limits.affinity.clone(),
                group: self.facts.limits.group.clone(),
                keep: request.keep.clone(),
            });
        }
        let (fewest, most) = request.counts();
        if fewest > most {
            return Err(NoPlan::Contradiction { fewest, most });
        }
        let room: usize = machine.cores.iter().map(|core| machine.room(core)).sum();
        let usable = room.min(machine.granted());
        if fewest > usable as u64 {
            let quota = machine.quota.filter(|_| usable < room);
            return Err(NoPlan::TooFewCpus { wanted: fewest, usable: usable as u64, quota });
        }
        Ok((fewest, most))
    }

    fn memory(&self, machine: &Machine, request: &Request) -> Result<(), NoPlan> {
        let all =
            machine.memory.values().try_fold(0_u64, |all, memory| Some(all.saturating_add(memory.free?)));
        let bounds = [all, self.facts.limits.memory];
        if machine.memory.is_empty() || bounds.into_iter().flatten().any(|bound| bound < request.bytes) {
            return Err(self.no_memory(machine, request));
        }
        Ok(())
    }

    fn no_memory(&self, machine: &Machine, request: &Request) -> NoPlan {
        let free = machine.memory.iter().map(|(&node, memory)| (node, memory.free)).collect();
        NoPlan::Memory { bytes: request.bytes, free, limit: self.facts.limits.memory }
    }

    /// Nodes in the order in which they are filled: those first that are nearest to memory that may be used; of these the
    /// strongest, or of several the one that has most workers now, then those that are near to it.
    fn order(&self, machine: &Machine) -> Vec<u32> {
        let present = self.present.map_or_else(CpuSet::default, Plan::cpus);
        let mut strength = BTreeMap::<u32, (u32, usize)>::new();
        for cores in machine.cores.chunk_by(|a, b| a.node == b.node) {
            let here = strength.entry(cores[0].node).or_default();
            here.0 += cores.iter().map(|core| machine.workers(core, 1).sum).sum::<u32>();
            let threads = cores.iter().flat_map(|core| &core.threads);
            here.1 += threads.filter(|thread| present.contains(thread.cpu)).count();
        }
        let index: BTreeMap<u32, usize> =
            (0..).zip(&self.facts.nodes).map(|(index, node)| (node.id, index)).collect();
        let far = |from: u32, to: u32| {
            let (Some(&from), Some(&to)) = (index.get(&from), index.get(&to)) else { return u32::MAX };
            distance(self.facts, &self.facts.nodes[from], to)
        };
        // How much farther it is to memory than to the node's own.
        let abroad = |node: u32| {
            let home = machine.reach.get(&node).and_then(|reach| reach.first());
            home.map_or(u32::MAX, |&home| far(node, home).saturating_sub(far(node, node)))
        };
        let mut order: Vec<(u32, u32)> = strength.keys().map(|&node| (abroad(node), node)).collect();
        let first =
            order.iter().max_by_key(|&&(abroad, node)| (Reverse(abroad), strength[&node], Reverse(node)));
        if let Some(&(_, first)) = first {
            let presence = |node| Reverse(strength[&node].1);
            order.sort_by_cached_key(|&(abroad, node)| (abroad, far(first, node), presence(node), node));
        }
        order.into_iter().map(|node| node.1).collect()
    }
}
