//! Who gets how much of the table, beside competitors.

use crate::failure::Failure;
use crate::lineup::Entry;
use std::time::{Duration, Instant};
use xtasking_knowledge::facts::{CpuSet, Facts, Load};
use xtasking_knowledge::system::{System, Watch};
use xtasking_knowledge::{Adviser, Bound, Knowledge, Patience, Plan, Request};

/// How the table is divided among the workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deployment {
    /// Into equal parts, whatever else the machine is doing.
    Naive,
    /// Into equal parts on CPUs that have nothing else to do.
    Exclude,
    /// By what the other CPUs' owners leave of each.
    Weighted,
    /// Equal at first, and then as an adviser says, who looks at the machine meanwhile.
    Adaptive,
}

/// All of them; ratios are those to the first.
pub(super) static ALL: &[Entry<Deployment>] = &[
    Entry {
        name: "naive",
        about: "a partition for each worker, all of one size",
        is_parallel: true,
        start: |_| Ok(Deployment::Naive),
        more: (),
    },
    Entry {
        name: "exclude",
        about: "the same without the CPUs that strangers use",
        is_parallel: true,
        start: |_| Ok(Deployment::Exclude),
        more: (),
    },
    Entry {
        name: "weighted",
        about: "partitions in proportion to what strangers leave of each CPU",
        is_parallel: true,
        start: |_| Ok(Deployment::Weighted),
        more: (),
    },
    Entry {
        name: "adaptive",
        about: "equal at first; changed while batches are served, when that has been worth it for a second",
        is_parallel: true,
        start: |_| Ok(Deployment::Adaptive),
        more: (),
    },
];

/// Strangers that take more of a CPU have it for themselves, where they are to be kept out of the way of.
const TAKEN: f64 = 0.25;

/// The CPUs of the workers, and what is known of the machine.
pub(super) struct Ground {
    cpus: Vec<u32>,
    request: Request,
    system: System,
    facts: Facts,
}

fn unknown(error: impl std::fmt::Display) -> Failure {
    Failure::Usage(format!("--competitors: what the machine is doing cannot be told: {error}"))
}

impl Ground {
    /// For workers on these CPUs, and a table of so many bytes.
    pub(super) fn new(cpus: Vec<u32>, bytes: u64) -> Result<Self, Failure> {
        let system = System::here();
        let facts = system.facts().map_err(unknown)?;
        let others = facts.cpus.iter().map(|cpu| cpu.id).filter(|cpu| !cpus.contains(cpu));
        let keep: CpuSet = others.collect();
        let request = Request { keep, ..Request::new(bytes, Bound::Compute) };
        Ok(Self { cpus, request, system, facts })
    }

    /// The CPU of the last worker.
    pub(super) fn last(&self) -> u32 {
        *self.cpus.last().expect("there are workers")
    }

    /// Begins to look at what the machine is doing.
    pub(super) fn watch(&self) -> Result<Watch, Failure> {
        self.system.watch().map_err(unknown)
    }

    /// The parts of a plan, worker by worker.
    pub(super) fn weights(&self, plan: &Plan) -> Vec<f64> {
        self.cpus.iter().map(|&cpu| plan.on(cpu).map_or(0.0, |partition| partition.weight)).collect()
    }

    fn plan(&self, request: &Request, load: Option<Load>) -> Result<Plan, Failure> {
        let facts = Facts { load, ..self.facts.clone() };
        Knowledge::new(facts).suggest_allocation(request, None).map(|answer| answer.plan).map_err(unknown)
    }

    /// How the table is divided where the machine does this.
    pub(super) fn divide(&self, deployment: Deployment, load: Load) -> Result<Vec<f64>, Failure> {
        Ok(match deployment {
            Deployment::Naive | Deployment::Adaptive => vec![1.0; self.cpus.len()],
            Deployment::Exclude => {
                let taken = |cpu: &&u32| load.of(**cpu).is_some_and(|load| load.strangers() > TAKEN);
                let free = |cpu: &u32| if taken(&cpu) { 0.0 } else { 1.0 };
                let weights: Vec<_> = self.cpus.iter().map(free).collect();
                if weights.contains(&1.0) { weights } else { vec![1.0; self.cpus.len()] }
            }
            Deployment::Weighted => self.weights(&self.plan(&self.request, Some(load))?),
        })
    }

    /// Who watches over equal parts.
    pub(super) fn adviser(&self) -> Result<Looks<'_>, Failure> {
        let plan = self.plan(&self.request, None)?;
        let adviser = Adviser::new(self.request.clone(), plan, Patience::default());
        Ok(Looks { ground: self, watch: self.watch()?, adviser, began: Instant::now() })
    }
}

/// An adviser who looks at the machine from time to time.
pub(super) struct Looks<'a> {
    ground: &'a Ground,
    watch: Watch,
    adviser: Adviser,
    began: Instant,
}

impl Looks<'_> {
    /// Time between two looks.
    pub(super) const PAUSE: Duration = Duration::from_millis(100);

    /// Looks; if the best plan has changed, how the table is to be divided from now on.
    pub(super) fn look(&mut self) -> Result<Option<Vec<f64>>, Failure> {
        let load = self.watch.load().map_err(unknown)?;
        let facts = Facts { load: Some(load), ..self.ground.facts.clone() };
        let advice = self.adviser.look(self.began.elapsed(), &facts).map_err(unknown)?;
        Ok(advice.map(|advice| self.ground.weights(&advice.plan)))
    }
}
