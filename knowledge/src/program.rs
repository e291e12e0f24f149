//! The same numbers by an integer program, which is slow: what is found on larger machines is compared with it.

use crate::classes::{Class, classes};
use crate::facts::Facts;
use crate::oracle::{machines_of, requests};
use crate::questions::{Bound, Knowledge};
use crate::solver::{CLOSE, Counts, Program, Rules};
use crate::speed::WHOLE;
use crate::weighted::together;
use good_lp::{
    Expression, ProblemVariables, Solution as _, SolverModel, constraint, microlp, variable, variables,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The most that workers no slower than `slowest` do, and how many of them are needed for it.
fn by_program(program: &Program<'_>, rules: &Rules, slowest: u32) -> Option<(f64, usize)> {
    let machine = program.machine;
    let mut vars = variables!();
    let mut constraints = Vec::new();
    let mut workers = Expression::default();
    let mut nodes = BTreeMap::<u32, (Expression, usize)>::new();
    let mut homes = BTreeMap::<u32, Expression>::new();
    for class in program.classes {
        let mut cores = Expression::default();
        for n in 1..=class.allowed(slowest) {
            let count = vars.add(variable().integer().min(0).max(class.cores.len() as f64));
            cores += count;
            workers += n as f64 * count;
            nodes.entry(class.node).or_default().0 += n as f64 * count;
            let does = if rules.weighted { class.value(n) } else { n as f64 };
            *homes.entry(machine.reach[&class.node][0]).or_default() += does * count;
        }
        if class.allowed(slowest) > 0 {
            constraints.push(constraint!(cores <= class.cores.len() as f64));
            nodes.entry(class.node).or_default().1 += class.cores.len();
        }
    }
    let most = program.most(rules).min(machine.places.len());
    if nodes.is_empty() || rules.fewest > most as u64 {
        return None;
    }
    constraints.push(constraint!(workers.clone() >= rules.fewest as f64));
    constraints.push(constraint!(workers.clone() <= most as f64));
    let mut all = Expression::default();
    let mut done = Vec::new();
    for (&home, speed) in &homes {
        let here = if rules.weighted {
            let here = vars.add(variable().min(0));
            constraints.push(constraint!(here <= speed.clone()));
            Expression::from(here)
        } else {
            speed.clone()
        };
        all += here.clone();
        done.push((home, here));
    }
    for (home, here) in done {
        let part = program.part(rules, home);
        if part < 1.0 {
            constraints.push(constraint!(here <= part * all.clone()));
        }
    }
    if rules.even && nodes.len() > 1 {
        let small = program.small(rules);
        let level = vars.add(variable().integer().min(0).max(most as f64));
        for (node, (here, cores)) in nodes {
            constraints.push(constraint!(here.clone() <= level + 1));
            if !small.contains(&node) {
                let full = vars.add(variable().binary());
                constraints.push(constraint!(here.clone() + most as f64 * full >= level));
                constraints.push(constraint!(here >= cores as f64 * full));
            }
        }
    }
    let speed = if rules.weighted { all } else { f64::from(slowest) * all };
    let granted = vars.add(variable().min(0).max(machine.quota.map_or(1e9, |cpus| cpus * f64::from(WHOLE))));
    constraints.push(constraint!(granted <= speed.clone()));
    let solve = |vars: ProblemVariables, objective: Expression, constraints: &[good_lp::Constraint]| {
        let mut model = vars.minimise(objective.clone()).using(microlp);
        for constraint in constraints {
            model = model.with(constraint.clone());
        }
        Some(model.solve().ok()?.eval(objective))
    };
    let value = -solve(vars.clone(), -1.0 * granted, &constraints)?;
    if value < 0.5 {
        return None;
    }
    constraints.push(constraint!(speed >= value * (1.0 - CLOSE)));
    let workers = solve(vars, workers, &constraints)?;
    Some((value, workers.round() as usize))
}

/// What `counts` come to: what they do, and how many workers they are.
fn outcome(program: &Program<'_>, rules: &Rules, counts: &Counts) -> (f64, usize) {
    let (mut workers, mut slowest, mut homes) = (0, WHOLE, BTreeMap::<u32, f64>::new());
    let each = |(class, counts): (&Class, &Vec<usize>)| {
        for (n, &count) in (1..).zip(counts).filter(|(_, count)| **count > 0) {
            workers += n * count;
            slowest = slowest.min(class.options[n - 1].slowest);
            *homes.entry(program.machine.reach[&class.node][0]).or_default() += class.value(n) * count as f64;
        }
    };
    program.classes.iter().zip(counts).for_each(each);
    if !rules.weighted {
        return (program.granted((workers as u32 * slowest).into()), workers);
    }
    let parts: Vec<f64> = homes.keys().map(|&home| program.part(rules, home)).collect();
    let speeds: Vec<f64> = homes.into_values().collect();
    (program.granted(together(&speeds, &parts).map_or(0.0, |found| found.0)), workers)
}

fn larger() -> impl Strategy<Value = Facts> {
    let shape = prop_oneof![
        Just((2, 1, 8, 2)),
        Just((4, 1, 4, 1)),
        Just((1, 1, 12, 2)),
        Just((3, 1, 3, 2)),
        Just((2, 2, 3, 3)),
        Just((4, 1, 8, 1)),
        Just((2, 1, 4, 4)),
    ];
    machines_of(shape, 36)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]
    #[test]
    fn the_program_finds_nothing_better(
        mut facts in larger(),
        request in requests(),
        fit in prop_oneof![1 => Just(false), 4 => Just(true)],
        few in any::<bool>(),
        quota in any::<bool>(),
        coarse in 1..5_u32,
    ) {
        // There are few classes, so that the program comes to an end.
        facts.load.iter_mut().flat_map(|load| &mut load.cpus).for_each(|load| {
            load.others = (load.others * f64::from(coarse)).round() / f64::from(coarse);
            load.own = 0.0;
        });
        facts.limits.quota = facts.limits.quota.filter(|_| quota);
        let request = crate::Request { most: request.most.filter(|_| few), ..request };
        let knowledge = Knowledge::new(facts);
        let question = knowledge.question(&request, None);
        let machine = &question.machine;
        let (classes, order) = (classes(machine), [0, 1, 2, 3]);
        let program = Program { machine, classes: &classes, order: &order };
        prop_assume!(classes.len() <= 16);
        let (fewest, most) = request.counts();
        let even = request.bound == Bound::Memory;
        let rules = Rules { bytes: request.bytes, fewest, most, weighted: request.weighted, even, fit };
        let mut speeds: Vec<u32> =
            classes.iter().flat_map(|class| &class.options).map(|option| option.slowest).collect();
        speeds.sort_unstable();
        speeds.dedup();
        let speeds = if rules.weighted { vec![0] } else { speeds };
        let found = speeds.iter().filter_map(|&slowest| by_program(&program, &rules, slowest));
        let expected = found.reduce(|best, new| {
            let same = (new.0 / best.0 - 1.0).abs() < 1e-6;
            if if same { new.1 < best.1 } else { new.0 > best.0 } { new } else { best }
        });
        let found = program.solve(&rules).map(|counts| outcome(&program, &rules, &counts));
        match (found, expected) {
            (Some(found), Some(expected)) => {
                prop_assert!((found.0 / expected.0 - 1.0).abs() < 3e-6, "{found:?} instead of {expected:?}");
                prop_assert_eq!(found.1, expected.1);
            }
            (found, expected) => prop_assert_eq!(found, expected),
        }
    }
}
