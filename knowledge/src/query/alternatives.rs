//! Plans that are nearly as good as the best.

use super::Alternative;
use super::search::{Query, SearchSpace};
use crate::machine::Machine;
use crate::plan::Plan;
use crate::request::Request;
use crate::speed::FULL_SPEED;
use std::collections::BTreeMap;

/// Plans that take longer by more than this share are not reported.
const COST_MAX: f64 = 0.5;
/// Times with a smaller relative difference are equal.
const TIME_TOLERANCE: f64 = 1e-6;

/// Finds alternatives to `best`: without busy CPUs, one worker for each core, equal partitions, one
/// node fewer, one worker fewer, and no change.
pub(crate) fn alternatives(query: &Query<'_>, sorted: &SearchSpace<'_>, best: &Plan) -> Vec<Alternative> {
    let mut found = Vec::<Alternative>::new();
    let mut add = |what: String, plan: Plan, near: bool| {
        let costs = plan.predicted / best.predicted - 1.0;
        let known = |other: &Plan| {
            plan.partitions.len() == other.partitions.len() && plan.changes_from(other).is_empty()
        };
        // A faster plan violates a constraint, such as the even spread over more nodes.
        if costs < -TIME_TOLERANCE
            || (near && costs > COST_MAX)
            || found.iter().any(|other| known(&other.plan))
        {
            return;
        }
        let changes = plan.changes_from(best);
        if !changes.is_empty() {
            found.push(Alternative { what, plan, costs, changes });
        }
    };
    if let Some(present) = query.present
        && let Some(predicted) = query.machine.predict(present)
    {
        add("no change".into(), Plan { predicted, ..present.clone() }, false);
    }
    for (what, machine, request) in variants(query, best) {
        let found = match &machine {
            Some(machine) => query.best(&query.search_space(machine), &request),
            None => query.best(sorted, &request),
        };
        if let Ok(found) = found {
            add(what, found.plan, true);
        }
    }
    found.sort_by(|a, b| a.costs.total_cmp(&b.costs));
    found
}

/// Returns the variants to try: a description, a reduced machine if any, and a request.
fn variants(query: &Query<'_>, best: &Plan) -> Vec<(String, Option<Machine>, Request)> {
    let (machine, request) = (&query.machine, query.request);
    let mut variants = Vec::new();
    let places: Vec<_> =
        best.partitions.iter().filter_map(|partition| machine.places.get(partition.cpu)).collect();
    let busy = |&&(core, thread): &&(usize, usize)| machine.cores[core].threads[thread].busy > 0;
    if places.iter().any(busy) {
        let quiet = machine.without(|_, thread| thread.busy > 0);
        variants.push(("without busy CPUs".into(), Some(quiet), request.clone()));
    }
    let mut cores: Vec<_> = places.iter().map(|place| place.0).collect();
    cores.sort_unstable();
    if cores.windows(2).any(|pair| pair[0] == pair[1]) {
        variants.push((
            "one worker for each core".into(),
            Some(machine.with_one_worker_per_core()),
            request.clone(),
        ));
    }
    let even = 1.0 / best.partitions.len() as f64;
    if request.weighted
        && best.partitions.iter().any(|part| (part.weight - even).abs() * f64::from(FULL_SPEED) > 0.5)
    {
        let request = Request { weighted: false, ..request.clone() };
        variants.push(("equal partitions".into(), None, request));
    }
    let mut nodes = BTreeMap::<u32, usize>::new();
    for place in &places {
        *nodes.entry(machine.cores[place.0].node).or_default() += 1;
    }
    if let Some((&least, _)) =
        nodes.iter().min_by_key(|node| (*node.1, u32::MAX - node.0)).filter(|_| nodes.len() > 1)
    {
        let fewer = machine.without(|node, _| node == least || !nodes.contains_key(&node));
        variants.push((format!("without node {least}"), Some(fewer), request.clone()));
    }
    if let Some(most) = (best.partitions.len() as u32).checked_sub(1).filter(|&most| most > 0) {
        let request = Request { partitions_max: Some(most), ..request.clone() };
        variants.push(("one worker fewer".into(), None, request));
    }
    variants
}
