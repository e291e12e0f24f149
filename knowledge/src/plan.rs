//! Plans: for each partition of the data, its CPU and its memory.

use crate::cpu_map::CpuMap;
use crate::facts::CpuSet;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Partitioned data, with a CPU and a node for each partition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The partitions, in the order of the data and without gaps.
    pub partitions: Vec<Partition>,
    /// The predicted time, where 1 is the time that one undisturbed CPU of the fastest kind, alone
    /// on its core, takes for all the work.
    pub predicted: f64,
}

/// A part of the data, with its worker and its memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Partition {
    /// The first byte.
    pub low: u64,
    /// The byte after the last.
    pub high: u64,
    /// The CPU of its worker; no other partition of the plan has it.
    pub cpu: u32,
    /// The node whose memory should hold it.
    pub node: u32,
    /// Its share of all data, from 0 to 1.
    pub weight: f64,
}

/// One step from one plan to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Change {
    /// A CPU gets a worker.
    Add {
        /// The CPU.
        cpu: u32,
        /// The node whose memory should hold its partition.
        node: u32,
        /// Size of its partition in bytes.
        size: u64,
    },
    /// The worker of a CPU is removed.
    Remove {
        /// The CPU.
        cpu: u32,
    },
    /// The partition of a CPU changes its size.
    Resize {
        /// The CPU.
        cpu: u32,
        /// Bytes before.
        from: u64,
        /// Bytes after.
        to: u64,
    },
    /// The partition of a CPU moves to the memory of another node.
    Migrate {
        /// The CPU.
        cpu: u32,
        /// The node that holds it now.
        from: u32,
        /// The node that should hold it.
        to: u32,
    },
}

impl Partition {
    /// Returns its size in bytes.
    pub fn size(&self) -> u64 {
        self.high - self.low
    }
}

impl Plan {
    /// Returns the CPUs that have a worker.
    pub fn cpus(&self) -> CpuSet {
        self.partitions.iter().map(|partition| partition.cpu).collect()
    }

    /// Returns the total size of all partitions in bytes.
    pub fn bytes(&self) -> u64 {
        self.partitions.iter().map(Partition::size).sum()
    }

    /// Returns the partition of a CPU.
    pub fn on(&self, cpu: u32) -> Option<&Partition> {
        self.partitions.iter().find(|partition| partition.cpu == cpu)
    }

    /// Returns the changes that lead here from `present`: first removals, then changes, then
    /// additions.
    pub fn changes_from(&self, present: &Plan) -> Vec<Change> {
        let [then, now] = [present, self].map(|plan| -> CpuMap<&Partition> {
            plan.partitions.iter().map(|partition| (partition.cpu, partition)).collect()
        });
        let gone = then.cpus().filter(|&cpu| !now.contains(cpu));
        let mut changes: Vec<_> = gone.map(|cpu| Change::Remove { cpu }).collect();
        let mut added = Vec::new();
        for partition in &self.partitions {
            let (cpu, node, size) = (partition.cpu, partition.node, partition.size());
            if let Some(before) = then.get(cpu) {
                if before.node != node {
                    changes.push(Change::Migrate { cpu, from: before.node, to: node });
                }
                // A remainder of one byte that moves is no change.
                if before.size().abs_diff(size) > 1 {
                    changes.push(Change::Resize { cpu, from: before.size(), to: size });
                }
            } else {
                added.push(Change::Add { cpu, node, size });
            }
        }
        changes.append(&mut added);
        changes
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Add { cpu, node, size } => {
                write!(f, "add a worker on CPU {cpu} with {} in memory of node {node}", Bytes(size))
            }
            Self::Remove { cpu } => write!(f, "remove the worker on CPU {cpu}"),
            Self::Resize { cpu, from, to } => {
                write!(f, "resize the partition of CPU {cpu} from {} to {}", Bytes(from), Bytes(to))
            }
            Self::Migrate { cpu, from, to } => {
                write!(f, "move the partition of CPU {cpu} from node {from} to node {to}")
            }
        }
    }
}

/// A number of bytes, written with a unit such as `8 GiB` and parsed from `4096`, `512MiB` or `8
/// GiB`.
///
/// ```
/// use xtasking_knowledge::Bytes;
///
/// assert_eq!("8GiB".parse(), Ok(Bytes(8 << 30)));
/// assert_eq!(Bytes(3 << 29).to_string(), "1.5 GiB");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

/// The error of parsing [`Bytes`]: the text is not a whole number with an optional unit, or exceeds
/// 2⁶⁴ − 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidBytes;

impl FromStr for Bytes {
    type Err = InvalidBytes;

    fn from_str(text: &str) -> Result<Self, InvalidBytes> {
        const UNITS: [(&str, u32); 5] = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40), ("B", 0)];
        let unit = UNITS.iter().find_map(|&(unit, shift)| Some((text.strip_suffix(unit)?, shift)));
        let (digits, shift) = unit.unwrap_or((text, 0));
        let number = digits.trim_end().parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
        number.map(Bytes).ok_or(InvalidBytes)
    }
}

impl fmt::Display for InvalidBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("write bytes such as 4096, 512MiB or 8GiB")
    }
}

impl std::error::Error for InvalidBytes {}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        if self.0 < 1024 {
            return write!(f, "{} B", self.0);
        }
        let exponent = (self.0.ilog2() / 10) as usize;
        let value = self.0 as f64 / (1_u64 << (10 * exponent)) as f64;
        // Whole numbers have no fraction.
        let digits = usize::from(value.fract() != 0.0);
        write!(f, "{value:.digits$} {}", UNITS[exponent - 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(parts: &[(u32, u32, u64)]) -> Plan {
        let bytes: u64 = parts.iter().map(|part| part.2).sum();
        let mut low = 0;
        let partitions = parts
            .iter()
            .map(|&(cpu, node, size)| {
                low += size;
                Partition { low: low - size, high: low, cpu, node, weight: size as f64 / bytes as f64 }
            })
            .collect();
        Plan { partitions, predicted: 1.0 }
    }

    #[test]
    fn changes_lead_from_one_plan_to_another() {
        let (present, next) =
            (plan(&[(0, 0, 100), (1, 0, 100), (2, 1, 100)]), plan(&[(1, 1, 101), (2, 1, 99), (3, 1, 50)]));
        assert_eq!(
            next.changes_from(&present),
            [
                Change::Remove { cpu: 0 },
                Change::Migrate { cpu: 1, from: 0, to: 1 },
                Change::Add { cpu: 3, node: 1, size: 50 }
            ]
        );
        let resized = plan(&[(1, 1, 50), (2, 1, 99), (3, 1, 50)]);
        assert_eq!(resized.changes_from(&next), [Change::Resize { cpu: 1, from: 101, to: 50 }]);
        assert!(next.changes_from(&next).is_empty());
    }

    #[test]
    fn bytes_have_a_unit() {
        let text = |bytes| Bytes(bytes).to_string();
        assert_eq!(text(1023), "1023 B");
        assert_eq!(text(32 << 10), "32 KiB");
        assert_eq!(text(3 << 29), "1.5 GiB");
        assert_eq!(text(u64::MAX), "16 EiB");
    }

    #[test]
    fn bytes_are_parsed_with_their_unit() {
        for (text, bytes) in [("7", 7), ("64B", 64), ("3KiB", 3 << 10), ("8GiB", 8 << 30), ("2 TiB", 2 << 40)]
        {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
        for text in ["", "GiB", "-1", "1.5GiB", "8GB", "8gib", "99999999TiB", "é"] {
            assert_eq!(text.parse::<Bytes>(), Err(InvalidBytes), "{text}");
        }
    }
}
