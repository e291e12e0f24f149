//! Whether the best plan has changed, told only when it is worth a move.

use crate::facts::{CpuLoad, Facts, Load};
use crate::plan::{Change, Plan};
use crate::questions::{Knowledge, NoPlan, Request};
use crate::register::Register;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// When a move is worth it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Patience {
    /// The part of the time that a better plan has to save.
    pub gain: f64,
    /// For how long it has to be better without a break.
    pub stretch: Duration,
    /// A change of load is believed by half after that time.
    pub half_life: Duration,
    /// Strangers that take no more of a CPU are not seen.
    pub ignored: f64,
    /// If no stranger is seen any more, what is gained does not matter, but it has to last that long: what a stranger left
    /// behind is put right, at leisure.
    pub calm: Duration,
}

/// A better plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// The plan, which is taken for the present one from now on.
    pub plan: Plan,
    /// What leads to it from the one before.
    pub changes: Vec<Change>,
    /// The part of the time that it saves; 1 if the one before cannot be carried out any more.
    pub gain: f64,
}

/// Looks at facts again and again, and says when the best plan for a request has changed.
///
/// It has no thread and no clock: who looks gives both. The loads of CPUs are smoothed over time, so that noise moves
/// nothing; a plan that cannot be carried out any more (a CPU was taken away, the quota is smaller) is replaced at once.
/// Strangers that load all CPUs alike slow all plans alike: none is better, and nothing is moved.
#[derive(Clone, Debug)]
pub struct Adviser {
    request: Request,
    /// What was known last: what follows from it by rules stays, as long as only loads and quotas change.
    knowledge: Knowledge,
    patience: Patience,
    plan: Plan,
    smooth: Option<(Duration, Load)>,
    /// Since when a better plan has been seen, and whether it was calm then.
    better: Option<(Duration, bool)>,
}

impl Default for Patience {
    /// A tenth for a second, half-lives of a quarter of a second, a sixteenth is not seen, calm for 5 seconds.
    fn default() -> Self {
        Self {
            gain: 0.1,
            stretch: Duration::from_secs(1),
            half_life: Duration::from_millis(250),
            ignored: 1.0 / 16.0,
            calm: Duration::from_secs(5),
        }
    }
}

impl Adviser {
    /// Watches over `plan`, which was made for `request`.
    pub fn new(request: Request, plan: Plan, patience: Patience) -> Self {
        Self { request, knowledge: Knowledge::default(), patience, plan, smooth: None, better: None }
    }

    /// Leaves room for the runtimes in `register` as well, also for those that come later: they are seen at the next look.
    ///
    /// It has to be told, as there is no register of a whole process: facts are read from the system, which does not know
    /// what our own runtimes are about to use, and who keeps several registers means it so. It is the register that
    /// [`Knowledge::with_register`] was given when the plan was made.
    #[must_use]
    pub fn with_register(self, register: Register) -> Self {
        Self { knowledge: self.knowledge.with_register(register), ..self }
    }

    /// The plan that was advised last, or the first one.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Looks at what is known at the time `at`, which counts from any moment and does not go back.
    ///
    /// # Errors
    ///
    /// If there is no plan any more, as [`Knowledge::suggest_allocation`].
    pub fn look(&mut self, at: Duration, facts: &Facts) -> Result<Option<Advice>, NoPlan> {
        let mut facts = facts.clone();
        let calm = match facts.load.take() {
            Some(load) => {
                let seen = self.smoothed(at, load);
                let calm = seen.cpus.iter().all(|cpu| cpu.strangers() == 0.0);
                facts.load = Some(seen);
                calm
            }
            None => true,
        };
        self.knowledge.update(facts);
        let question = self.knowledge.question(&self.request, Some(&self.plan));
        let best = question.best(&question.sorted(&question.machine), &self.request)?.plan;
        let Some(present) = question.machine.predict(&self.plan) else {
            return Ok(Some(self.advise(best, 1.0)));
        };
        let gain = 1.0 - best.predicted / present;
        let (worth, stretch) =
            if calm { (1e-3, self.patience.calm) } else { (self.patience.gain, self.patience.stretch) };
        if gain < worth {
            self.better = None;
            return Ok(None);
        }
        let since = match self.better {
            Some((since, before)) if before == calm => since,
            _ => at,
        };
        self.better = Some((since, calm));
        Ok((at.saturating_sub(since) >= stretch).then(|| self.advise(best, gain)))
    }

    fn advise(&mut self, plan: Plan, gain: f64) -> Advice {
        let changes = plan.changes_from(&self.plan);
        self.better = None;
        self.plan = plan.clone();
        Advice { plan, changes, gain }
    }

    /// The loads, smoothed, without what is not seen.
    fn smoothed(&mut self, at: Duration, load: Load) -> Load {
        let smooth = match self.smooth.take() {
            Some((before, mut smooth)) => {
                let half_lives =
                    at.saturating_sub(before).as_secs_f64() / self.patience.half_life.as_secs_f64().max(1e-9);
                let keep = (-half_lives).exp2();
                let mix = |old: f64, new: f64| old * keep + new * (1.0 - keep);
                let cpus = load.cpus.iter().map(|new| match smooth.of(new.cpu) {
                    Some(old) => CpuLoad {
                        cpu: new.cpu,
                        own: mix(old.own, new.own),
                        others: mix(old.others, new.others),
                        nice: mix(old.nice, new.nice),
                        steal: mix(old.steal, new.steal),
                    },
                    None => new.clone(),
                });
                // Of whom nothing was seen this time is taken for what it was.
                let unseen = smooth.cpus.iter().filter(|old| load.of(old.cpu).is_none()).cloned();
                let mut cpus: Vec<_> = cpus.chain(unseen).collect();
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
            if cpu.strangers() <= self.patience.ignored {
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
    use crate::questions::Bound;

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
            let adviser = Adviser::new(request, plan, Patience::default());
            Self { facts, adviser, step: STEP, now: Duration::ZERO, random: 42 }
        }

        /// Looks once a step: on each CPU `hogs` compete with us, and noise takes up to `noise`.
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
                if let Some(new) = self.adviser.look(self.now, &self.facts).unwrap() {
                    advice.push((self.now - begin, new));
                }
            }
            advice
        }
    }

    #[test]
    fn noise_moves_nothing() {
        for noise in [0.05, 0.1, 0.3] {
            assert!(World::new(8).run(120, |_| 0.0, noise).is_empty(), "noise of {noise}");
        }
    }

    #[test]
    fn a_hog_comes_and_goes() {
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
    fn four_looks_a_second_are_enough_to_tell_within_two() {
        let mut world = World { step: Duration::from_millis(250), ..World::new(4) };
        assert!(world.run(10, |_| 0.0, 0.05).is_empty());
        let moves = world.run(10, |cpu| f64::from(u8::from(cpu == 1)), 0.05);
        assert_eq!(moves.len(), 1);
        assert!(moves[0].0 <= Duration::from_secs(2), "{:?}", moves[0].0);
    }

    #[test]
    fn of_whom_nothing_is_seen_stays_as_it_was() {
        let mut world = World::new(2);
        world.run(5, f64::from, 0.0);
        let plan = world.adviser.plan().clone();
        assert!(plan.on(1).unwrap().weight < 0.4);
        // For longer than it takes to be calm.
        for _ in 0..100 {
            world.now += STEP;
            world.facts.load = Some(Load::default());
            assert_eq!(world.adviser.look(world.now, &world.facts), Ok(None));
        }
    }

    #[test]
    fn a_load_on_all_cpus_moves_nothing() {
        assert!(World::new(4).run(30, |_| 1.0, 0.05).is_empty());
    }

    #[test]
    fn who_is_registered_later_gets_room() {
        let register = Register::default();
        let mut world = World::new(4);
        world.adviser = world.adviser.with_register(register.clone());
        assert!(world.run(10, |_| 0.0, 0.0).is_empty());
        let runtime = Registration { name: "other".into(), cpus: vec![1], memory: Vec::new() };
        let registered = register.register(runtime);
        // No stranger is seen: it has to last.
        let moves = world.run(10, |_| 0.0, 0.0);
        assert_eq!(moves.len(), 1);
        let weight = |adviser: &Adviser, cpu| adviser.plan().on(cpu).unwrap().weight;
        assert!((weight(&world.adviser, 1) / weight(&world.adviser, 0) - 0.5).abs() < 1e-9);
        drop(registered);
        assert_eq!(world.run(10, |_| 0.0, 0.0).len(), 1);
        assert!((weight(&world.adviser, 1) - 0.25).abs() < 1e-9);
    }

    #[test]
    fn what_cannot_be_any_more_is_left_at_once() {
        let mut world = World::new(4);
        world.facts.limits.affinity = Some("0-2".parse().unwrap());
        let moves = world.run(1, |_| 0.0, 0.0);
        assert_eq!((moves.len(), moves[0].0, moves[0].1.gain), (1, STEP, 1.0));
        assert!(moves[0].1.changes.contains(&Change::Remove { cpu: 3 }));
        world.facts.limits.quota = Some(Quota { cpus: 1.5, source: "cpu.max".into() });
        world.run(1, |_| 0.0, 0.0);
        assert_eq!(world.adviser.plan().partitions.len(), 2);
        world.facts.limits.affinity = Some("9".parse().unwrap());
        assert!(world.adviser.look(world.now + STEP, &world.facts).is_err());
    }
}
