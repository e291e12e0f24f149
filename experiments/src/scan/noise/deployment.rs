//! Divides the table among the workers, beside competitors.

use std::time::{Duration, Instant};
use xtasking_harness::failure::Failure;
use xtasking_harness::lineup::Entry;
use xtasking_knowledge::facts::{CpuSet, Facts, Load};
use xtasking_knowledge::system::{System, Watch};
use xtasking_knowledge::{AdvicePolicy, Adviser, Bound, Knowledge, Plan, Request};

/// How the table is divided among the workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deployment {
    /// Equal parts, whatever else the machine is doing.
    Naive,
    /// Equal parts, on CPUs without other load only.
    Exclude,
    /// Parts in proportion to the share of each CPU that other load leaves.
    Weighted,
    /// Equal at first; changed on the advice of an adviser that observes the machine.
    Adaptive,
}

/// All deployments; ratios are relative to the first.
pub(super) static ALL: &[Entry<Deployment>] = &[
    Entry {
        name: "naive",
        about: "a partition of equal size for each worker",
        is_parallel: true,
        start: |_| Ok(Deployment::Naive),
        more: (),
    },
    Entry {
        name: "exclude",
        about: "equal partitions, without the CPUs that other programs use",
        is_parallel: true,
        start: |_| Ok(Deployment::Exclude),
        more: (),
    },
    Entry {
        name: "weighted",
        about: "partitions in proportion to what other programs leave of each CPU",
        is_parallel: true,
        start: |_| Ok(Deployment::Weighted),
        more: (),
    },
    Entry {
        name: "adaptive",
        about: "equal at first; redistributed while batches run, once that has paid off for a second",
        is_parallel: true,
        start: |_| Ok(Deployment::Adaptive),
        more: (),
    },
];

/// A CPU of which competitors take more than this is left out by [`Deployment::Exclude`].
const COMPETING_LIMIT: f64 = 0.25;

/// The CPUs of the workers, and what is known about the machine.
pub(super) struct Machine {
    cpus: Vec<u32>,
    request: Request,
    system: System,
    facts: Facts,
}

fn unknown(error: impl std::fmt::Display) -> Failure {
    Failure::Usage(format!("--competitors: the load of the machine cannot be observed: {error}"))
}

impl Machine {
    /// Creates the view for workers on `cpus`, and a table of `bytes` bytes.
    pub(super) fn new(cpus: Vec<u32>, bytes: u64) -> Result<Self, Failure> {
        let system = System::here();
        let facts = system.facts().map_err(unknown)?;
        let others = facts.cpus.iter().map(|cpu| cpu.id).filter(|cpu| !cpus.contains(cpu));
        let keep: CpuSet = others.collect();
        let request = Request { excluded: keep, ..Request::new(bytes, Bound::Compute) };
        Ok(Self { cpus, request, system, facts })
    }

    /// Returns the CPU of the last worker.
    pub(super) fn last(&self) -> u32 {
        *self.cpus.last().expect("a table has at least one worker")
    }

    /// Starts to observe the load of the machine.
    pub(super) fn watch(&self) -> Result<Watch, Failure> {
        self.system.watch().map_err(unknown)
    }

    /// Returns the weights of a plan, by worker.
    pub(super) fn weights(&self, plan: &Plan) -> Vec<f64> {
        self.cpus.iter().map(|&cpu| plan.on(cpu).map_or(0.0, |partition| partition.weight)).collect()
    }

    fn plan(&self, request: &Request, load: Option<Load>) -> Result<Plan, Failure> {
        let facts = Facts { load, ..self.facts.clone() };
        Knowledge::new(facts).suggest_allocation(request, None).map(|answer| answer.plan).map_err(unknown)
    }

    /// Returns the weights of the workers under the given load.
    pub(super) fn divide(&self, deployment: Deployment, load: Load) -> Result<Vec<f64>, Failure> {
        Ok(match deployment {
            Deployment::Naive | Deployment::Adaptive => vec![1.0; self.cpus.len()],
            Deployment::Exclude => {
                let is_taken =
                    |cpu: &&u32| load.cpu(**cpu).is_some_and(|load| load.competing() > COMPETING_LIMIT);
                let free = |cpu: &u32| if is_taken(&cpu) { 0.0 } else { 1.0 };
                let weights: Vec<_> = self.cpus.iter().map(free).collect();
                if weights.contains(&1.0) { weights } else { vec![1.0; self.cpus.len()] }
            }
            Deployment::Weighted => self.weights(&self.plan(&self.request, Some(load))?),
        })
    }

    /// Creates an adviser that starts from equal parts.
    pub(super) fn adviser(&self) -> Result<Observer<'_>, Failure> {
        let plan = self.plan(&self.request, None)?;
        let adviser = Adviser::new(self.request.clone(), plan, AdvicePolicy::default());
        Ok(Observer { ground: self, watch: self.watch()?, adviser, began: Instant::now() })
    }
}

/// An adviser that observes the machine from time to time.
pub(super) struct Observer<'a> {
    ground: &'a Machine,
    watch: Watch,
    adviser: Adviser,
    began: Instant,
}

impl Observer<'_> {
    /// Time between two observations.
    pub(super) const INTERVAL: Duration = Duration::from_millis(100);

    /// Observes the machine. Returns the new weights if the best plan has changed.
    pub(super) fn observe(&mut self) -> Result<Option<Vec<f64>>, Failure> {
        let load = self.watch.load().map_err(unknown)?;
        let facts = Facts { load: Some(load), ..self.ground.facts.clone() };
        let advice = self.adviser.update(self.began.elapsed(), &facts).map_err(unknown)?;
        Ok(advice.map(|advice| self.ground.weights(&advice.plan)))
    }
}
