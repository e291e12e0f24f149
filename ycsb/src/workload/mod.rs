//! Workloads in YCSB's terms: the proportions of operations, and the distribution of records.
//!
//! | file | what it holds |
//! |---|---|
//! | `properties` | the parser of Java property files |
//! | `names` | YCSB's property names: which are used, and which are ignored |
//! | `standard` | workloads A to F |

mod names;
pub mod properties;
mod standard;

pub use standard::{STANDARD, standard};

use super::plan::{MAX_SCAN_LENGTH, OperationKind};
use crate::keyspace::InsertOrder;
use properties::Property;
use xtasking_harness_core::random::Random;

/// The distribution of records over requests (YCSB's `requestdistribution`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestDistribution {
    /// All records from before the run are equally frequent.
    Uniform,
    /// Some records are much more frequent; they are spread over the key space.
    Zipfian,
    /// The newest records are the most frequent.
    Latest,
}

/// The distribution of scan lengths (YCSB's `scanlengthdistribution`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanLengths {
    /// All lengths are equally frequent.
    Uniform,
    /// Short scans are more frequent.
    Zipfian,
}

/// A workload. The defaults are those of YCSB's `CoreWorkload`.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// The name in tables.
    pub name: String,
    /// `recordcount`: the number of records to load, if set.
    pub records: Option<u64>,
    /// `operationcount`: the number of operations to run, if set.
    pub operations: Option<u64>,
    /// `requestdistribution`.
    pub request_distribution: RequestDistribution,
    /// `zipfianconstant`, a constant in YCSB's code: the skew of the zipfian and latest
    /// distributions.
    pub zipfian_constant: f64,
    /// `minscanlength`.
    pub min_scan_length: u64,
    /// `maxscanlength`.
    pub max_scan_length: u64,
    /// `scanlengthdistribution`.
    pub scan_lengths: ScanLengths,
    /// `insertorder`.
    pub insert_order: InsertOrder,
    /// Properties of YCSB that are ignored here.
    pub unused: Vec<String>,
    proportions: [f64; KINDS.len()],
}

/// The kinds of operation in the order of `Workload::proportions`.
const KINDS: [OperationKind; 5] = [
    OperationKind::Read,
    OperationKind::Update,
    OperationKind::Insert,
    OperationKind::Scan,
    OperationKind::ReadModifyWrite,
];

impl Workload {
    /// Creates a workload with YCSB's defaults.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            records: None,
            operations: None,
            request_distribution: RequestDistribution::Uniform,
            zipfian_constant: 0.99,
            min_scan_length: 1,
            max_scan_length: 1000,
            scan_lengths: ScanLengths::Uniform,
            insert_order: InsertOrder::Hashed,
            unused: Vec::new(),
            proportions: [0.95, 0.05, 0.0, 0.0, 0.0],
        }
    }

    /// Applies properties in order; later ones override earlier ones.
    ///
    /// # Errors
    ///
    /// A line that names the property and says what to write instead.
    pub fn apply(&mut self, properties: &[Property]) -> Result<(), String> {
        for property in properties {
            self.set(&property.name, property.value.trim()).map_err(|message| in_one_line(&message))?;
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "recordcount" => self.records = Some(count(name, value)?),
            "operationcount" => self.operations = Some(count(name, value)?),
            "readproportion" => self.proportions[0] = proportion(name, value)?,
            "updateproportion" => self.proportions[1] = proportion(name, value)?,
            "insertproportion" => self.proportions[2] = proportion(name, value)?,
            "scanproportion" => self.proportions[3] = proportion(name, value)?,
            "readmodifywriteproportion" => self.proportions[4] = proportion(name, value)?,
            "requestdistribution" => {
                self.request_distribution = choice(
                    name,
                    value,
                    &[
                        ("uniform", RequestDistribution::Uniform),
                        ("zipfian", RequestDistribution::Zipfian),
                        ("latest", RequestDistribution::Latest),
                    ],
                )?;
            }
            "zipfianconstant" => self.zipfian_constant = number(name, value)?,
            "minscanlength" => self.min_scan_length = count(name, value)?,
            "maxscanlength" => self.max_scan_length = count(name, value)?,
            "scanlengthdistribution" => {
                let choices = [("uniform", ScanLengths::Uniform), ("zipfian", ScanLengths::Zipfian)];
                self.scan_lengths = choice(name, value, &choices)?;
            }
            "insertorder" => {
                let choices = [("hashed", InsertOrder::Hashed), ("ordered", InsertOrder::Ordered)];
                self.insert_order = choice(name, value, &choices)?;
            }
            _ if names::is_unused(name) => self.unused.push(name.to_string()),
            _ => return Err(names::unknown(name)),
        }
        Ok(())
    }

    /// Checks that the workload can run.
    ///
    /// # Errors
    ///
    /// A line that names the property and says what to write instead.
    pub fn validate(&self) -> Result<(), String> {
        let sum: f64 = self.proportions.iter().sum();
        if (sum - 1.0).abs() > 1e-6 {
            let parts: Vec<_> = KINDS
                .iter()
                .zip(self.proportions)
                .filter(|(_, proportion)| *proportion > 0.0)
                .map(|(kind, proportion)| format!("{} {proportion}", kind.name()))
                .collect();
            return Err(format!(
                "the proportions add up to {}, not 1 ({}; read and update are 0.95 and 0.05 unless set)",
                (sum * 1e6).round() / 1e6,
                parts.join(" + ")
            ));
        }
        if !(self.zipfian_constant > 0.0 && self.zipfian_constant < 1.0) {
            return Err(format!(
                "zipfianconstant is {}; choose one between 0 and 1, such as 0.99",
                self.zipfian_constant
            ));
        }
        if self.min_scan_length == 0 || self.min_scan_length > self.max_scan_length {
            return Err(format!(
                "minscanlength is {} and maxscanlength {}; choose 1 <= minscanlength <= maxscanlength",
                self.min_scan_length, self.max_scan_length
            ));
        }
        if self.max_scan_length > MAX_SCAN_LENGTH {
            return Err(format!(
                "maxscanlength is {}; choose at most {MAX_SCAN_LENGTH}",
                self.max_scan_length
            ));
        }
        Ok(())
    }

    /// Returns the proportion of a kind of operation, from 0 to 1.
    pub fn proportion(&self, kind: OperationKind) -> f64 {
        let index = KINDS.iter().position(|candidate| *candidate == kind).expect("all kinds are listed");
        self.proportions[index]
    }

    /// Returns true if the workload inserts records.
    pub fn inserts(&self) -> bool {
        self.proportion(OperationKind::Insert) > 0.0
    }

    /// Returns true if the workload scans ranges.
    pub fn scans(&self) -> bool {
        self.proportion(OperationKind::Scan) > 0.0
    }

    /// Returns true if the workload writes values.
    pub fn writes(&self) -> bool {
        KINDS.iter().any(|kind| kind.writes() && self.proportion(*kind) > 0.0)
    }

    /// Returns the distribution of the kinds of operation.
    pub fn mix(&self) -> OperationMix {
        let mut sum = 0.0;
        let mut last = OperationKind::Read;
        let limits = KINDS.map(|kind| {
            let proportion = self.proportion(kind);
            if proportion > 0.0 {
                last = kind;
            }
            sum += proportion;
            (sum, kind)
        });
        OperationMix { limits, last }
    }
}

/// The distribution of the kinds of operation in a workload.
#[derive(Clone, Debug)]
pub struct OperationMix {
    limits: [(f64, OperationKind); KINDS.len()],
    /// The kind to draw if rounding leaves the sum of proportions below one.
    last: OperationKind,
}

impl OperationMix {
    /// Draws a kind.
    pub fn draw(&self, random: &mut Random) -> OperationKind {
        let fraction = random.fraction();
        self.limits.iter().find(|(limit, _)| fraction < *limit).map_or(self.last, |(_, kind)| *kind)
    }
}

/// Escapes control characters, such as line feeds in quoted names and values, so that a message is
/// one line.
fn in_one_line(message: &str) -> String {
    let shown = |character: char| match character {
        _ if character.is_control() => character.escape_default().to_string(),
        _ => character.to_string(),
    };
    message.chars().map(shown).collect()
}

fn count(name: &str, value: &str) -> Result<u64, String> {
    value.parse().map_err(|_| format!("{name} is '{value}'; write a whole number"))
}

fn number(name: &str, value: &str) -> Result<f64, String> {
    match value.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(format!("{name} is '{value}'; write a number such as 0.5")),
    }
}

fn proportion(name: &str, value: &str) -> Result<f64, String> {
    let number = number(name, value)?;
    if (0.0..=1.0).contains(&number) {
        Ok(number)
    } else {
        Err(format!("{name} is {number}; choose one from 0 to 1"))
    }
}

fn choice<T: Copy>(name: &str, value: &str, choices: &[(&str, T)]) -> Result<T, String> {
    choices.iter().find(|(word, _)| *word == value).map(|(_, choice)| *choice).ok_or_else(|| {
        let words: Vec<_> = choices.iter().map(|(word, _)| *word).collect();
        format!("{name} is '{value}'; choose one of {}", words.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str) -> Result<Workload, String> {
        let mut workload = Workload::new("test");
        workload.apply(&properties::parse(text).unwrap())?;
        workload.validate()?;
        Ok(workload)
    }

    #[test]
    fn the_defaults_are_those_of_ycsb() {
        let workload = with("").unwrap();
        assert_eq!(workload.proportion(OperationKind::Read), 0.95);
        assert_eq!(workload.proportion(OperationKind::Update), 0.05);
        assert_eq!(workload.request_distribution, RequestDistribution::Uniform);
        assert_eq!((workload.min_scan_length, workload.max_scan_length), (1, 1000));
    }

    #[test]
    fn the_last_value_of_a_property_wins() {
        let workload = with("recordcount=5\nrecordcount=7\ninsertorder=ordered").unwrap();
        assert_eq!(workload.records, Some(7));
        assert_eq!(workload.insert_order, InsertOrder::Ordered);
    }

    #[test]
    fn other_properties_of_ycsb_are_ignored() {
        let workload =
            with("table=usertable\nfieldcount=10\nzeropadding=1\nredis.host=x\nthreadcount=4").unwrap();
        assert_eq!(workload.unused.len(), 5);
    }

    #[test]
    fn an_error_names_the_mistake() {
        for (text, part) in [
            ("readpropotion=1", "did you mean 'readproportion'?"),
            ("readproportion=1.5", "from 0 to 1"),
            ("readproportion=-0.1", "from 0 to 1"),
            ("readproportion=NaN", "write a number"),
            ("readproportion=1", "add up to 1.05, not 1 (read 1 + update 0.05"),
            ("scanproportion=0.95\ninsertproportion=0.05", "add up to 2,"),
            ("recordcount=many", "whole number"),
            ("recordcount=-1", "whole number"),
            ("recordcount=1\\n2", "'1\\n2'; write a whole number"),
            ("record\\ncount=1", "unknown property 'record\\ncount'"),
            ("requestdistribution=hotspot", "choose one of uniform, zipfian, latest"),
            ("zipfianconstant=1", "between 0 and 1"),
            ("minscanlength=0", "1 <= minscanlength"),
            ("minscanlength=10\nmaxscanlength=9", "minscanlength <= maxscanlength"),
            ("maxscanlength=70000", "choose at most 65535"),
        ] {
            let error = with(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
            assert!(!error.contains('\n'), "{text}: {error}");
        }
    }

    #[test]
    fn kinds_are_drawn_in_proportion() {
        let text = "readproportion=0.5\nupdateproportion=0.2\ninsertproportion=0.1\nscanproportion=0.1\n\
                    readmodifywriteproportion=0.1";
        let workload = with(text).unwrap();
        let mix = workload.mix();
        let mut random = Random::new(1, &[]);
        let mut counts = [0u32; KINDS.len()];
        (0..100_000).for_each(|_| counts[mix.draw(&mut random) as usize] += 1);
        for kind in KINDS {
            let share = f64::from(counts[kind as usize]) / 100_000.0;
            assert!((share - workload.proportion(kind)).abs() < 0.01, "{}: {share}", kind.name());
        }
        let mix = standard("c").unwrap().mix();
        assert!((0..1_000).all(|_| mix.draw(&mut random) == OperationKind::Read));
    }
}
