//! The search for the best plan: how many partitions, on which CPUs, in which memory.

use super::partitioning::divide;
use super::{Knowledge, NoPlan, Suggestion, alternatives, explain};
use crate::facts::{CpuSet, Facts, Registration};
use crate::inference::{DerivedFacts, distance};
use crate::machine::Machine;
use crate::plan::Plan;
use crate::request::{Bound, Request};
use crate::solver::core_classes::{Class, classes};
use crate::solver::cpu_selection::select_cpus;
use crate::solver::{Constraints, Problem};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A request with everything derived for it.
pub(crate) struct Query<'a> {
    pub facts: &'a Facts,
    pub request: &'a Request,
    /// Other registered runtimes.
    pub others: Vec<Registration>,
    pub derived: DerivedFacts,
    pub machine: Machine,
    pub present: Option<&'a Plan>,
}

/// A machine prepared for the solver, independent of the request.
pub(crate) struct SearchSpace<'a> {
    pub machine: &'a Machine,
    classes: Vec<Class>,
    /// The nodes, in the order in which they are filled.
    order: Vec<u32>,
}

impl SearchSpace<'_> {
    /// Returns true if the memories nearest to the cores hold `bytes`.
    fn fits(&self, bytes: u64) -> bool {
        let nearest = self.order.iter().filter_map(|node| self.machine.reach.get(node)?.first());
        let nearest: BTreeSet<&u32> = nearest.collect();
        let free = nearest.into_iter().map(|home| self.machine.memory[home].free);
        let all = free.into_iter().try_fold(0_u64, |all, free| Some(all.saturating_add(free?)));
        all.is_none_or(|all| all >= bytes)
    }
}

/// A plan, and which constraints it satisfies.
pub(crate) struct Solution {
    pub plan: Plan,
    /// Workers are spread evenly over the nodes.
    pub even: bool,
    /// Each partition lies in the memory nearest to its worker.
    pub fit: bool,
}

impl Knowledge {
    /// Divides `size` bytes into partitions and assigns each a CPU and a node.
    ///
    /// # Errors
    ///
    /// See [`Knowledge::suggest_allocation`].
    pub fn suggest_partitions(&self, size: u64, bound: Bound) -> Result<Suggestion, NoPlan> {
        self.suggest_allocation(&Request::new(size, bound), None)
    }

    /// Divides data into partitions and assigns each a CPU and a node, so that the predicted time
    /// is minimal. Ties are broken in this order: fewest partitions, nodes near each other, shared
    /// caches as requested, fewest changes from `present`.
    ///
    /// The time is the maximum over all partitions of share / CPU speed, and at least what the
    /// quota allows.
    ///
    /// # Errors
    ///
    /// If no CPU may be used, if the data does not fit into memory, or if the minimum number of
    /// partitions exceeds the maximum or the possible number of workers.
    pub fn suggest_allocation(
        &self,
        request: &Request,
        present: Option<&Plan>,
    ) -> Result<Suggestion, NoPlan> {
        let query = self.query(request, present);
        let sorted = query.search_space(&query.machine);
        let found = query.best(&sorted, request)?;
        let why = explain::reasons(&query, &found);
        let alternatives = alternatives::alternatives(&query, &sorted, &found.plan);
        let changes = present.map(|present| found.plan.changes_from(present));
        Ok(Suggestion { plan: found.plan, why, alternatives, changes })
    }

    /// Returns the plan of [`Knowledge::suggest_allocation`] without reasons and alternatives, for
    /// frequent queries.
    ///
    /// # Errors
    ///
    /// See [`Knowledge::suggest_allocation`].
    pub fn best_plan(&self, request: &Request, present: Option<&Plan>) -> Result<Plan, NoPlan> {
        let query = self.query(request, present);
        query.best(&query.search_space(&query.machine), request).map(|found| found.plan)
    }

    /// Predicts the time of `plan` under the present load, as in [`Plan::predicted`]. Returns
    /// `None` if it is infeasible: a CPU or memory may not be used, or it has too many workers.
    pub fn predict(&self, request: &Request, plan: &Plan) -> Option<f64> {
        self.query(request, None).machine.predict(plan)
    }

    pub(crate) fn query<'a>(&'a self, request: &'a Request, present: Option<&'a Plan>) -> Query<'a> {
        let facts = &self.facts;
        let mut others = self.registered();
        others.retain(|other| request.requester.as_ref() != Some(&other.name));
        let derived = DerivedFacts::derive(facts, self.topology(&request.excluded), &others);
        let machine = Machine::new(facts, &derived, &others, request);
        Query { facts, request, others, derived, machine, present }
    }
}

impl Query<'_> {
    /// Prepares `machine`, which may be a part of the query's machine.
    pub fn search_space<'m>(&self, machine: &'m Machine) -> SearchSpace<'m> {
        SearchSpace { machine, classes: classes(machine), order: self.order(machine) }
    }

    /// Returns the best plan for `request`, which may differ from that of the query.
    pub fn best(&self, sorted: &SearchSpace<'_>, request: &Request) -> Result<Solution, NoPlan> {
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
            let constraints = Constraints { bytes, fewest, most, weighted, even, fit };
            let problem = Problem { machine, classes: &sorted.classes, order: &sorted.order };
            let Some(counts) = problem.solve(&constraints) else { continue };
            let cpus = select_cpus(machine, &sorted.classes, &counts, request.caches, &present);
            if let Some(plan) = divide(machine, request, cpus, fit) {
                return Ok(Solution { plan, even, fit });
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
                keep: request.excluded.clone(),
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

    /// Returns the nodes in the order in which they are filled. Nodes nearest to usable memory come
    /// first, then those near the start node. The start node is the strongest; of equal ones, that
    /// with most present workers.
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
        // How much farther the nearest usable memory is than the node's own.
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
