//! Detects that the best plan has changed, and advises a change only if it is worth the move.

use crate::facts::{CpuLoad, Facts, Load};
use crate::plan::{Change, Plan};
use crate::query::{Knowledge, NoPlan};
use crate::registry::Registry;
use crate::request::Request;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// When a change of plan is worth it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdvicePolicy {
    /// The minimum share of the time that a better plan saves, from 0 to 1.
    pub gain_min: f64,
    /// How long the plan must stay better without interruption.
    pub hold: Duration,
    /// The half-life of a load measurement in the smoothed load.
    pub half_life: Duration,
    /// Competing load of at most this share of a CPU is ignored.
    pub load_floor: f64,
    /// How long a plan must stay better if no competing load is left. A gain of 0.001 is enough
    /// then, so the plan recovers after competitors have gone.
    pub quiet_hold: Duration,
}

/// A better plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Advice {
    /// The plan; from now on the adviser takes it as the current one.
    pub plan: Plan,
    /// The changes from the previous plan.
    pub changes: Vec<Change>,
    /// The share of the time that it saves; 1 if the previous plan is no longer feasible.
    pub gain: f64,
}

/// Watches facts over time and reports when the best plan for a request has changed.
///
/// An adviser has no thread and no clock; the caller supplies both. Loads are smoothed over time,
/// so noise causes no change. A plan that is no longer feasible, because a CPU is gone or the quota
/// shrank, is replaced at once. Competing load that is equal on all CPUs slows all plans equally
/// and causes no change.
#[derive(Clone, Debug)]
pub struct Adviser {
    request: Request,
    /// The facts of the last update. The topology is kept while only loads and quotas change.
    knowledge: Knowledge,
    policy: AdvicePolicy,
    plan: Plan,
    smooth: Option<(Duration, Load)>,
    /// When a better plan was first seen, and whether the machine was quiet then.
    better: Option<(Duration, bool)>,
}

impl Default for AdvicePolicy {
    /// A gain of 0.1 for 1 s, a half-life of 250 ms, loads up to 1/16 ignored, 5 s on a quiet
    /// machine.
    fn default() -> Self {
        Self {
            gain_min: 0.1,
            hold: Duration::from_secs(1),
            half_life: Duration::from_millis(250),
            load_floor: 1.0 / 16.0,
            quiet_hold: Duration::from_secs(5),
        }
    }
}

impl Adviser {
    /// Creates an adviser for `plan`, which was made for `request`.
    pub fn new(request: Request, plan: Plan, policy: AdvicePolicy) -> Self {
        Self { request, knowledge: Knowledge::default(), policy, plan, smooth: None, better: None }
    }

    /// Also takes the runtimes in `register` into account, including those that register later.
    ///
    /// There is no registry for the whole process: the system does not know what runtimes plan to
    /// use, and an application may keep several registries on purpose. Pass the one that
    /// [`Knowledge::with_registry`] got when the plan was made.
    #[must_use]
    pub fn with_registry(self, register: Registry) -> Self {
        Self { knowledge: self.knowledge.with_registry(register), ..self }
    }

    /// Returns the plan that was advised last, or the first one.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Evaluates the facts of time `at`, which counts from any origin and must not decrease.
    /// Returns advice if the plan should change.
    ///
    /// # Errors
    ///
    /// If there is no feasible plan, as in [`Knowledge::suggest_allocation`].
    pub fn update(&mut self, at: Duration, facts: &Facts) -> Result<Option<Advice>, NoPlan> {
        let mut facts = facts.clone();
        let quiet = match facts.load.take() {
            Some(load) => {
                let seen = self.smoothed(at, load, &facts);
                let quiet = self.is_quiet(&facts, &seen);
                facts.load = Some(seen);
                quiet
            }
            None => true,
        };
        self.knowledge.update(facts);
        let query = self.knowledge.query(&self.request, Some(&self.plan));
        let best = query.best(&query.search_space(&query.machine), &self.request);
        // The hold time does not go on after an error.
        let best = best.inspect_err(|_| self.better = None)?.plan;
        let Some(present) = query.machine.predict(&self.plan) else {
            return Ok(Some(self.advise(best, 1.0)));
        };
        let gain = 1.0 - best.predicted / present;
        let (gain_min, hold) =
            if quiet { (1e-3, self.policy.quiet_hold) } else { (self.policy.gain_min, self.policy.hold) };
        let is_better = gain > 0.0 && gain >= gain_min;
        if !is_better {
            self.better = None;
            return Ok(None);
        }
        let since = match self.better {
            Some((since, before)) if before == quiet => since,
            _ => at,
        };
        self.better = Some((since, quiet));
        Ok((at.saturating_sub(since) >= hold).then(|| self.advise(best, gain)))
    }

    fn advise(&mut self, plan: Plan, gain: f64) -> Advice {
        let changes = plan.changes_from(&self.plan);
        self.better = None;
        self.plan = plan.clone();
        Advice { plan, changes, gain }
    }

    /// Returns true if no competing load is left on the CPUs that a plan may use.
    fn is_quiet(&self, facts: &Facts, seen: &Load) -> bool {
        let may_be_used = |cpu: u32| facts.limits.allow(cpu) && !self.request.excluded.contains(cpu);
        seen.cpus.iter().filter(|load| may_be_used(load.cpu)).all(|load| load.competing() == 0.0)
    }

    /// Returns the smoothed loads without those below the floor.
    fn smoothed(&mut self, at: Duration, load: Load, facts: &Facts) -> Load {
        let smooth = match self.smooth.take() {
            Some((before, mut smooth)) => {
                let half_lives =
                    at.saturating_sub(before).as_secs_f64() / self.policy.half_life.as_secs_f64().max(1e-9);
                let keep = (-half_lives).exp2();
                let mix = |old: f64, new: f64| old * keep + new * (1.0 - keep);
                let cpus = load.cpus.iter().map(|new| match smooth.cpu(new.cpu) {
                    Some(old) => CpuLoad {
                        cpu: new.cpu,
                        own: mix(old.own, new.own),
                        others: mix(old.others, new.others),
                        nice: mix(old.nice, new.nice),
                        steal: mix(old.steal, new.steal),
                    },
                    None => new.clone(),
                });
                // A CPU without a measurement keeps its last load while it is online.
                let unseen = smooth.cpus.iter().filter(|old| load.cpu(old.cpu).is_none()).cloned();
                let mut cpus: Vec<_> = cpus.chain(unseen).collect();
                cpus.retain(|load| facts.cpu(load.cpu).is_some());
                cpus.sort_unstable_by_key(|cpu| cpu.cpu);
                smooth.cpus = cpus;
                smooth.span = load.span;
                smooth
            }
            None => load,
        };
        let mut seen = smooth.clone();
        self.smooth = Some((at, smooth));
        for cpu in &mut seen.cpus {
            if cpu.competing() <= self.policy.load_floor {
                (cpu.others, cpu.steal) = (0.0, 0.0);
            }
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Quota, Registration};
    use crate::request::Bound;

    const STEP: Duration = Duration::from_millis(100);

    struct World {
        facts: Facts,
        adviser: Adviser,
        step: Duration,
        now: Duration,
        random: u64,
    }

    impl World {
        fn new(cpus: u32) -> Self {
            let facts = Facts::symmetric(1, 1, cpus, 1);
            let request = Request::new(1 << 30, Bound::Compute);
            let plan = Knowledge::new(facts.clone()).best_plan(&request, None).unwrap();
            let adviser = Adviser::new(request, plan, AdvicePolicy::default());
            Self { facts, adviser, step: STEP, now: Duration::ZERO, random: 42 }
        }

        /// Updates once a step. On each CPU, `hogs` processes compete with us; noise adds up to
        /// `noise`.
        fn run(&mut self, seconds: u64, hogs: impl Fn(u32) -> f64, noise: f64) -> Vec<(Duration, Advice)> {
            let begin = self.now;
            let mut advice = Vec::new();
            while self.now < begin + Duration::from_secs(seconds) {
                let mut random = || {
                    self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (self.random >> 33) as f64 / (1_u64 << 31) as f64
                };
                let load = |cpu: u32| {
                    let others = (hogs(cpu) / (1.0 + hogs(cpu)) + noise * random()).min(1.0);
                    CpuLoad { cpu, own: 1.0 - others, others, ..CpuLoad::default() }
                };
                let cpus = (0..self.facts.cpus.len() as u32).map(load).collect();
                self.facts.load = Some(Load { span: self.step, cpus });
                self.now += self.step;
                if let Some(new) = self.adviser.update(self.now, &self.facts).unwrap() {
                    advice.push((self.now - begin, new));
                }
            }
            advice
        }
    }

    #[test]
    fn noise_causes_no_change() {
        for noise in [0.05, 0.1, 0.3] {
            assert!(World::new(8).run(120, |_| 0.0, noise).is_empty(), "noise of {noise}");
        }
    }

    #[test]
    fn a_competitor_appears_and_disappears() {
        for cpus in [2, 8, 16] {
            let mut world = World::new(cpus);
            let even = world.adviser.plan().clone();
            assert!(world.run(3, |_| 0.0, 0.05).is_empty());
            let moves = world.run(30, |cpu| f64::from(u8::from(cpu == 1)), 0.05);
            assert_eq!(moves.len(), 1, "{cpus} CPUs");
            assert!(moves[0].0 <= Duration::from_secs(2), "{:?}", moves[0].0);
            let (hogged, other) = (world.adviser.plan().on(1).unwrap(), world.adviser.plan().on(0).unwrap());
            assert!((hogged.weight / other.weight - 0.5).abs() < 0.15, "{} {}", hogged.weight, other.weight);
            let back = world.run(30, |_| 0.0, 0.05);
            assert!((1..=2).contains(&back.len()), "{} moves on {cpus} CPUs", back.len());
            assert!(even.changes_from(world.adviser.plan()).is_empty());
        }
    }

    #[test]
    fn four_updates_a_second_detect_a_change_within_two() {
        let mut world = World { step: Duration::from_millis(250), ..World::new(4) };
        assert!(world.run(10, |_| 0.0, 0.05).is_empty());
        let moves = world.run(10, |cpu| f64::from(u8::from(cpu == 1)), 0.05);
        assert_eq!(moves.len(), 1);
        assert!(moves[0].0 <= Duration::from_secs(2), "{:?}", moves[0].0);
    }

    #[test]
    fn a_cpu_without_a_measurement_keeps_its_load() {
        let mut world = World::new(2);
        world.run(5, f64::from, 0.0);
        let plan = world.adviser.plan().clone();
        assert!(plan.on(1).unwrap().weight < 0.4);
        // Longer than the hold time of a quiet machine.
        for _ in 0..100 {
            world.now += STEP;
            world.facts.load = Some(Load::default());
            assert_eq!(world.adviser.update(world.now, &world.facts), Ok(None));
        }
    }

    /// Load on CPUs that the plan cannot use does not end the quiet.
    #[test]
    fn a_plan_recovers_beside_load_on_excluded_cpus() {
        for is_online in [true, false] {
            let mut world = World::new(4);
            world.facts.load = Some(Load::default());
            if is_online {
                world.adviser.request.excluded = "3".parse().unwrap();
            }
            world.run(3, |_| 0.0, 0.0);
            let hogs = |cpu: u32| f64::from(cpu / 2);
            assert!(!world.run(10, hogs, 0.0).is_empty());
            if !is_online {
                world.facts.cpus.truncate(3);
            }
            // A gain that is too small to count on a busy machine.
            world.adviser.policy.gain_min = 1.0;
            assert!(!world.run(20, |cpu| f64::from(cpu / 3), 0.0).is_empty());
            let weight = |cpu| world.adviser.plan().on(cpu).unwrap().weight;
            assert_eq!(weight(2), weight(0));
        }
    }

    /// The time without a feasible plan is not one in which a plan was better.
    #[test]
    fn an_error_ends_the_hold_time() {
        let mut world = World::new(4);
        let hogs = |cpu: u32| f64::from(u8::from(cpu == 1));
        world.adviser.policy.half_life = Duration::ZERO;
        world.adviser.policy.hold = Duration::from_secs(2);
        assert!(world.run(1, hogs, 0.0).is_empty());
        world.facts.limits.affinity = Some("9".parse().unwrap());
        world.now += Duration::from_secs(10);
        assert!(world.adviser.update(world.now, &world.facts).is_err());
        world.facts.limits.affinity = None;
        assert!(world.run(1, hogs, 0.0).is_empty());
        assert_eq!(world.run(2, hogs, 0.0).len(), 1);
    }

    /// A policy that asks for no gain does not advise equal plans.
    #[test]
    fn an_equal_plan_is_not_advised() {
        let mut world = World::new(4);
        (world.adviser.policy.gain_min, world.adviser.policy.hold) = (-1.0, Duration::ZERO);
        assert!(world.run(2, |_| 1.0, 0.0).is_empty());
    }

    #[test]
    fn an_equal_load_on_all_cpus_causes_no_change() {
        assert!(World::new(4).run(30, |_| 1.0, 0.05).is_empty());
    }

    #[test]
    fn later_registrations_are_considered() {
        let register = Registry::default();
        let mut world = World::new(4);
        world.adviser = world.adviser.with_registry(register.clone());
        assert!(world.run(10, |_| 0.0, 0.0).is_empty());
        let runtime = Registration { name: "other".into(), cpus: vec![1], memory: Vec::new() };
        let registered = register.register(runtime);
        // No competing load is seen, so the long hold time applies.
        let moves = world.run(10, |_| 0.0, 0.0);
        assert_eq!(moves.len(), 1);
        let weight = |adviser: &Adviser, cpu| adviser.plan().on(cpu).unwrap().weight;
        assert!((weight(&world.adviser, 1) / weight(&world.adviser, 0) - 0.5).abs() < 1e-9);
        drop(registered);
        assert_eq!(world.run(10, |_| 0.0, 0.0).len(), 1);
        assert!((weight(&world.adviser, 1) - 0.25).abs() < 1e-9);
    }

    #[test]
    fn an_infeasible_plan_is_replaced_at_once() {
        let mut world = World::new(4);
        world.facts.limits.affinity = Some("0-2".parse().unwrap());
        let moves = world.run(1, |_| 0.0, 0.0);
        assert_eq!((moves.len(), moves[0].0, moves[0].1.gain), (1, STEP, 1.0));
        assert!(moves[0].1.changes.contains(&Change::Remove { cpu: 3 }));
        world.facts.limits.quota = Some(Quota { cpus: 1.5, source: "cpu.max".into() });
        world.run(1, |_| 0.0, 0.0);
        assert_eq!(world.adviser.plan().partitions.len(), 2);
        world.facts.limits.affinity = Some("9".parse().unwrap());
        assert!(world.adviser.update(world.now + STEP, &world.facts).is_err());
    }
}
