//! The experiment: options checked and completed, the description, parameters and notes of a run.
//!
//! Options that cannot work are refused here, before any work, in one line that says what to
//! choose.

use super::YcsbOptions;
use super::contender::{CANNOT_INSERT, Entry};
use super::lineup::{self, Lineup};
use super::options::MAX_PREFETCH_DISTANCE;
use super::schedule;
use super::settings::{ContenderSettings, Prefetch};
use crate::peers::threads::limit::Interleaving;
use clap::ValueEnum;
use serde_json::Value;
use std::fs;
use std::path::Path;
use xtasking_harness::common::Common;
use xtasking_harness::experiment::Outline;
use xtasking_harness::failure::Failure;
use xtasking_harness::machine;
use xtasking_harness::progress::Progress;
use xtasking_harness::report::{Measurement, Parameters};
use xtasking_ycsb::keyspace::Keyspace;
use xtasking_ycsb::plan::{ACKNOWLEDGED_AFTER, Operation, OperationKind};
use xtasking_ycsb::workload::properties::{self, Property};
use xtasking_ycsb::workload::{STANDARD, Workload, standard};

/// The cases that run if none is named.
const DEFAULT_CASES: [&str; 3] = [INSERT, "A", "C"];
/// The cases of `all`. As YCSB recommends, those that insert come last, because they change the set
/// of records.
const ALL_CASES: [&str; 7] = [INSERT, "A", "B", "C", "F", "D", "E"];
/// The case that measures the loading of the records.
pub(super) const INSERT: &str = "insert";
/// The sizes of a node in bytes.
const NODE_SIZES: [usize; 4] = [512, 1024, 2048, 4096];

/// An experiment whose options have been checked and completed.
pub(super) struct Experiment {
    /// Whether loading is measured, as a case of its own.
    pub(super) measure_loads: bool,
    pub(super) workloads: Vec<Workload>,
    pub(super) lineup: Lineup,
    pub(super) records: u64,
    pub(super) seed: u64,
    pub(super) keyspace: Keyspace,
    operations: u64,
    /// The settings of contenders, except for the number of workers.
    settings: ContenderSettings,
    properties: Vec<Property>,
    unused: Vec<String>,
}

impl Experiment {
    /// Checks and completes the options.
    pub(super) fn new(options: &YcsbOptions) -> Result<Self, Failure> {
        let mut properties = Vec::new();
        for path in &options.workload_files {
            properties.extend(read_properties(path)?);
        }
        for text in &options.properties {
            properties.extend(read_override(text)?);
        }
        let mut cases = named_cases(options)?;
        let measure_loads = cases.iter().any(|case| case == INSERT);
        cases.retain(|case| case != INSERT);

        // Loading uses some of the properties, even if no workload follows.
        let mut base = Workload::new(INSERT);
        base.apply(&properties).map_err(Failure::Usage)?;
        let workloads = workloads(options, cases, &properties)?;
        // All workloads run on the same records: the standard ones do not set the insert order, and
        // a workload from files runs alone.
        debug_assert!(workloads.iter().all(|workload| workload.insert_order == base.insert_order));

        let (records, operations) =
            if options.common.quick { (200_000, 200_000) } else { (2_000_000, 1_000_000) };
        let records = options.records.or(base.records).unwrap_or(records);
        let operations = options.operations.or(base.operations).unwrap_or(operations);
        let seed = options.common.seed;
        let settings = ContenderSettings {
            workers: 1,
            records,
            simulation: options.simulation.then_some(seed),
            primitive: options.primitive,
            prefetch: options.prefetch_distance.unwrap_or(Prefetch::Automatic),
            in_flight: options.in_flight,
            node_size: options.node_size,
            layout: options.layout,
            batches: options.limit_batch.clone(),
        };
        // Peers cannot run on virtual cores.
        let against = if options.simulation { Some(Vec::new()) } else { options.common.against.clone() };
        let lineup = lineup::select(&Common { against, ..options.common.clone() })?;
        let experiment = Self {
            measure_loads,
            workloads,
            lineup,
            records,
            operations,
            seed,
            keyspace: Keyspace::new(base.insert_order, seed),
            settings,
            unused: base.unused,
            properties,
        };
        experiment.validate().map_err(Failure::Usage)?;
        Ok(experiment)
    }

    /// Returns the settings of contenders for a number of workers.
    pub(super) fn settings(&self, workers: usize) -> ContenderSettings {
        ContenderSettings { workers, ..self.settings.clone() }
    }

    /// Returns the number of operations of a run.
    pub(super) fn operations(&self) -> u64 {
        self.operations
    }

    fn validate(&self) -> Result<(), String> {
        if self.records == 0 {
            return Err("--records: 0 would measure nothing; choose 1 or more".to_string());
        }
        if self.operations == 0 {
            return Err("--operations: 0 would measure nothing; choose 1 or more".to_string());
        }
        if let Some(in_flight) = self.settings.in_flight.filter(|n| !(1..=ACKNOWLEDGED_AFTER).contains(n)) {
            return Err(format!("--in-flight is {in_flight}; choose 1 to {ACKNOWLEDGED_AFTER}"));
        }
        if let Prefetch::Distance(distance) = self.settings.prefetch
            && distance > MAX_PREFETCH_DISTANCE
        {
            return Err(format!(
                "--prefetch-distance is {distance}; choose 1 to {MAX_PREFETCH_DISTANCE}, or off"
            ));
        }
        if let Some(size) = self.settings.node_size.filter(|size| !NODE_SIZES.contains(size)) {
            return Err(format!("--node-size is {size}; choose 512, 1024, 2048 or 4096"));
        }
        let largest = Interleaving::MAX_BATCH;
        if let Some(batches) = &self.settings.batches
            && (batches.is_empty() || !batches.iter().all(|batch| (1..=largest).contains(batch)))
        {
            return Err(format!("--limit-batch is {batches:?}; choose sizes from 1 to {largest}"));
        }
        self.check_sequences()?;
        machine::available_memory().map_or(Ok(()), |available| self.check_memory(available))
    }

    /// Checks that the 32-bit sequence numbers of writes suffice for all runs of an instance.
    fn check_sequences(&self) -> Result<(), String> {
        let runs = (self.workloads.len() * self.lineup.repetitions()) as u64;
        let needed = self.operations.saturating_mul(runs).saturating_add(self.records);
        if needed < u64::from(u32::MAX) {
            return Ok(());
        }
        Err(format!(
            "--operations: {} records and {runs} runs of {} operations exceed the limit of 2^32 requests; \
            lower --records, --operations or --repetitions",
            self.records, self.operations
        ))
    }

    pub(super) fn check_memory(&self, available: u64) -> Result<(), String> {
        let needed = self.memory();
        if needed <= available {
            return Ok(());
        }
        let gibibytes = |bytes: u64| bytes as f64 / (1u64 << 30) as f64;
        Err(format!(
            "about {:.1} GiB of memory are needed, but only {:.1} GiB are available; lower --records \
            (now {}) or --operations (now {}), or name fewer implementations in --against",
            gibibytes(needed),
            gibibytes(available),
            self.records,
            self.operations
        ))
    }

    /// Estimates the peak memory in bytes: all contenders at once, the plan of a run, and an audit.
    fn memory(&self) -> u64 {
        let per_record: u64 = self.lineup.contenders.iter().map(|entry| entry.more.bytes_per_record).sum();
        let inserted = |workload: &Workload| {
            (self.operations as f64 * workload.proportion(OperationKind::Insert)) as u64
                * self.lineup.repetitions() as u64
        };
        let records = self.records + self.workloads.iter().map(inserted).max().unwrap_or(0);
        let scans = self.workloads.iter().any(Workload::scans);
        let per_operation = size_of::<Operation>() as u64 * if scans { 2 } else { 1 };
        let sorted = if scans { 12 } else { 0 };
        let audited = 4;
        let trace = if self.workloads.is_empty() { 0 } else { self.operations.saturating_mul(per_operation) };
        records.saturating_mul(per_record + sorted + audited).saturating_add(trace)
    }

    fn case_names(&self) -> Vec<&str> {
        let load = self.measure_loads.then_some(INSERT);
        load.into_iter().chain(self.workloads.iter().map(|workload| workload.name.as_str())).collect()
    }

    /// Returns the cases that a contender cannot run, by reason, as a line; or `None` if it runs
    /// all.
    fn skipped(&self, entry: &Entry) -> Option<String> {
        let load =
            (self.measure_loads && !entry.more.abilities.can_insert).then_some((CANNOT_INSERT, INSERT));
        let refused = self.workloads.iter().filter_map(|workload| {
            entry.more.abilities.refusal(workload).map(|reason| (reason, workload.name.as_str()))
        });
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for (reason, case) in load.into_iter().chain(refused) {
            match reasons.iter_mut().find(|(other, _)| *other == reason) {
                Some((_, cases)) => cases.push(case),
                None => reasons.push((reason, vec![case])),
            }
        }
        let parts: Vec<_> =
            reasons.iter().map(|(reason, cases)| format!("{} ({reason})", cases.join(", "))).collect();
        (!parts.is_empty()).then(|| format!("skipped: {} on {}", entry.name, parts.join("; on ")))
    }
}

impl xtasking_harness::experiment::Experiment for Experiment {
    const NAME: &'static str = "ycsb";
    const TITLE: &'static str =
        "Ordered indexes run the YCSB workloads at this throughput: more operations per second are better.";

    fn describe(&self) -> String {
        let properties: Vec<_> =
            self.properties.iter().map(|property| format!("{}={}", property.name, property.value)).collect();
        let mut text = format!(
            "workloads {} · {} records · {} operations · seed {}\n{}",
            self.case_names().join(", "),
            self.records,
            self.operations,
            self.seed,
            self.lineup.describe()
        );
        if !properties.is_empty() {
            text += &format!("\nproperties {}", properties.join(", "));
        }
        text
    }

    fn outline(&self) -> Outline {
        let or_automatic = |value: Option<Value>| value.unwrap_or_else(|| "automatic".into());
        let mut parameters = Parameters::default();
        parameters.add("workloads", self.case_names());
        parameters.add("records", self.records);
        parameters.add("operations", self.operations);
        self.lineup.add_to(&mut parameters);
        parameters.add("simulation", self.settings.simulation.is_some());
        parameters.add("seed", self.seed);
        let prefetch = match self.settings.prefetch {
            Prefetch::Automatic => None,
            Prefetch::Off => Some("off".into()),
            Prefetch::Distance(distance) => Some(distance.into()),
        };
        parameters.add("primitive", or_automatic(self.settings.primitive.map(|choice| name(choice).into())));
        parameters.add("prefetch-distance", or_automatic(prefetch));
        parameters.add("in-flight", or_automatic(self.settings.in_flight.map(Value::from)));
        parameters.add("node-size", or_automatic(self.settings.node_size.map(Value::from)));
        parameters.add("limit-batch", or_automatic(self.settings.batches.clone().map(Value::from)));
        parameters.add("layout", or_automatic(self.settings.layout.map(|choice| name(choice).into())));
        let properties =
            self.properties.iter().map(|property| (property.name.clone(), property.value.clone().into()));
        parameters.add("properties", serde_json::Map::from_iter(properties));
        Outline { parameters, legend: self.lineup.legend(), steps: schedule::steps(self) }
    }

    fn measure(&self, progress: &Progress) -> Result<Vec<Measurement>, Failure> {
        schedule::run(self, progress)
    }

    fn notes(&self) -> Vec<String> {
        let mut notes: Vec<_> =
            self.lineup.contenders.iter().filter_map(|entry| self.skipped(entry)).collect();
        if self.settings.simulation.is_some() {
            notes.push("simulation: one thread ran all workers, so the times mean nothing".to_string());
        }
        if !self.unused.is_empty() {
            notes.push(format!("ignored properties of YCSB: {}", self.unused.join(", ")));
        }
        notes
    }

    fn conclusion(&self) -> Result<String, Failure> {
        Ok(format!("every result was checked (seed {})", self.seed))
    }
}

/// Returns the command-line name of a choice.
fn name(choice: impl ValueEnum) -> String {
    choice.to_possible_value().map(|value| value.get_name().to_string()).unwrap_or_default()
}

fn read_properties(path: &Path) -> Result<Vec<Property>, Failure> {
    let wrong = |error: &dyn std::fmt::Display| {
        Failure::Usage(format!("cannot read workload file {}: {error}", path.display()))
    };
    let bytes = fs::read(path).map_err(|error| wrong(&error))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong(&"it is not text in UTF-8"))?;
    properties::parse(&text).map_err(|error| wrong(&error))
}

fn read_override(text: &str) -> Result<Vec<Property>, Failure> {
    let wrong = |hint: String| Failure::Usage(format!("-p {text}: {hint}"));
    if !text.contains('=') {
        return Err(wrong("write -p name=value".to_string()));
    }
    properties::parse(text).map_err(|error| wrong(error.message))
}

/// Returns the named cases without duplicates, or the default ones; none if property files define
/// the workload.
fn named_cases(options: &YcsbOptions) -> Result<Vec<String>, Failure> {
    if !options.workload_files.is_empty() {
        return Ok(Vec::new());
    }
    let mut cases: Vec<String> = Vec::new();
    let mut add = |case: &str| {
        if !cases.iter().any(|known| known == case) {
            cases.push(case.to_string());
        }
    };
    if options.workloads.is_empty() {
        DEFAULT_CASES.into_iter().for_each(&mut add);
    }
    for name in &options.workloads {
        let standard = STANDARD.iter().find(|(letter, _)| letter.eq_ignore_ascii_case(name));
        match (name.to_lowercase().as_str(), standard) {
            ("all", _) => ALL_CASES.into_iter().for_each(&mut add),
            (INSERT, _) => add(INSERT),
            (_, Some((letter, _))) => add(letter),
            _ => {
                let text = format!(
                    "unknown workload '{name}'; choose A, B, C, D, E, F, {INSERT} or all, \
                or name a property file with -P"
                );
                return Err(Failure::Usage(text));
            }
        }
    }
    Ok(cases)
}

/// Returns the workloads to run, with all properties applied and checked.
fn workloads(
    options: &YcsbOptions,
    cases: Vec<String>,
    properties: &[Property],
) -> Result<Vec<Workload>, Failure> {
    let from_files = options.workload_files.last().map(|path| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Workload::new(name)
    });
    let named = cases.iter().map(|case| standard(case).expect("named cases are standard workloads"));
    let mut workloads: Vec<_> = from_files.into_iter().chain(named).collect();
    for workload in &mut workloads {
        let result = workload.apply(properties).and_then(|()| workload.validate());
        result.map_err(|error| Failure::Usage(format!("workload {}: {error}", workload.name)))?;
    }
    Ok(workloads)
}
