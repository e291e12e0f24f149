//! Other plans that are nearly as good.

use super::suggest::{Question, Sorted};
use super::{Alternative, Request};
use crate::machine::Machine;
use crate::plan::Plan;
use crate::speed::WHOLE;
use std::collections::BTreeMap;

/// Plans that take longer by more than this part are not near.
const NEAR: f64 = 0.5;
/// Times that differ by no more than this part are the same.
const SAME: f64 = 1e-6;

/// What else could be done than `best`: without disturbed CPUs, without siblings, with equal partitions, on fewer nodes,
/// with a worker less; and to stay as it is.
pub(crate) fn alternatives(question: &Question<'_>, sorted: &Sorted<'_>, best: &Plan) -> Vec<Alternative> {
    let mut found = Vec::<Alternative>::new();
    let mut add = |what: String, plan: Plan, near: bool| {
        let costs = plan.predicted / best.predicted - 1.0;
        let known = |other: &Plan| {
            plan.partitions.len() == other.partitions.len() && plan.changes_from(other).is_empty()
        };
        // What is faster has given up a rule, as that of even spread, which is about fewer CPUs there.
        if costs < -SAME || (near && costs > NEAR) || found.iter().any(|other| known(&other.plan)) {
            return;
        }
        let changes = plan.changes_from(best);
        if !changes.is_empty() {
            found.push(Alternative { what, plan, costs, changes });
        }
    };
    if let Some(present) = question.present
        && let Some(predicted) = question.machine.predict(present)
    {
        add("stay as it is".into(), Plan { predicted, ..present.clone() }, false);
    }
    for (what, machine, request) in variants(question, best) {
        let found = match &machine {
            Some(machine) => question.best(&question.sorted(machine), &request),
            None => question.best(sorted, &request),
        };
        if let Ok(found) = found {
            add(what, found.plan, true);
        }
    }
    found.sort_by(|a, b| a.costs.total_cmp(&b.costs));
    found
}

/// What else to ask for, on which machine, if that is another one.
fn variants(question: &Question<'_>, best: &Plan) -> Vec<(String, Option<Machine>, Request)> {
    let (machine, request) = (&question.machine, question.request);
    let mut variants = Vec::new();
    let places: Vec<_> =
        best.partitions.iter().filter_map(|partition| machine.places.get(partition.cpu)).collect();
    let busy = |&&(core, thread): &&(usize, usize)| machine.cores[core].threads[thread].busy > 0;
    if places.iter().any(busy) {
        let quiet = machine.without(|_, thread| thread.busy > 0);
        variants.push(("without the CPUs that others use".into(), Some(quiet), request.clone()));
    }
    let mut cores: Vec<_> = places.iter().map(|place| place.0).collect();
    cores.sort_unstable();
    if cores.windows(2).any(|pair| pair[0] == pair[1]) {
        variants.push((
            "one worker for each core".into(),
            Some(machine.of_single_threads()),
            request.clone(),
        ));
    }
    let even = 1.0 / best.partitions.len() as f64;
    if request.weighted
        && best.partitions.iter().any(|part| (part.weight - even).abs() * f64::from(WHOLE) > 0.5)
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
        let request = Request { most: Some(most), ..request.clone() };
        variants.push(("one worker less".into(), None, request));
    }
    variants
}
