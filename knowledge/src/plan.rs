//! Plans: which partition of the data is worked on where.

use crate::by_cpu::ByCpu;
use crate::facts::CpuSet;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Data divided, and a place for each partition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The partitions, in the order of the data: there is no gap between them.
    pub partitions: Vec<Partition>,
    /// The time that the work is predicted to take, where 1 is what one undisturbed CPU of the strongest kind, alone on
    /// its core, would take for all of it.
    pub predicted: f64,
}

/// A part of the data, its worker and its memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Partition {
    /// The first byte.
    pub low: u64,
    /// The byte after the last.
    pub high: u64,
    /// The CPU of its worker: no other partition of the plan has it.
    pub cpu: u32,
    /// The node whose memory it should lie in.
    pub node: u32,
    /// Its share of all data, 0 to 1.
    pub weight: f64,
}

/// One step from a plan to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Change {
    /// A CPU gets a worker.
    Add {
        /// The CPU.
        cpu: u32,
        /// The node whose memory its partition should lie in.
        node: u32,
        /// Bytes of its partition.
        size: u64,
    },
    /// The worker of a CPU goes.
    Remove {
        /// The CPU.
        cpu: u32,
    },
    /// A partition of a CPU changes its size.
    Resize {
        /// The CPU.
        cpu: u32,
        /// Bytes before.
        from: u64,
        /// Bytes from now on.
        to: u64,
    },
    /// A partition of a CPU goes to the memory of another node.
    Migrate {
        /// The CPU.
        cpu: u32,
        /// The node where it lies.
        from: u32,
        /// The node where it should lie.
        to: u32,
    },
}

impl Partition {
    /// How many bytes it has.
    pub fn size(&self) -> u64 {
        self.high - self.low
    }
}

impl Plan {
    /// The CPUs that have a worker.
    pub fn cpus(&self) -> CpuSet {
        self.partitions.iter().map(|partition| partition.cpu).collect()
    }

    /// Bytes of all partitions.
    pub fn bytes(&self) -> u64 {
        self.partitions.iter().map(Partition::size).sum()
    }

    /// The partition of that CPU.
    pub fn on(&self, cpu: u32) -> Option<&Partition> {
        self.partitions.iter().find(|partition| partition.cpu == cpu)
    }

    /// What has to be done to get here from `present`: first what goes, then what is changed, then what comes.
    pub fn changes_from(&self, present: &Plan) -> Vec<Change> {
        let [then, now] = [present, self].map(|plan| -> ByCpu<&Partition> {
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
                // Where a remainder of bytes goes is no change.
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

/// Bytes, written for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        if self.0 < 1024 {
            return write!(f, "{} B", self.0);
        }
        let exponent = (self.0.ilog2() / 10) as usize;
        let value = self.0 as f64 / (1_u64 << (10 * exponent)) as f64;
        // Whole numbers are written as such.
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
    fn the_way_from_one_plan_to_another() {
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
    fn bytes_for_people() {
        let text = |bytes| Bytes(bytes).to_string();
        assert_eq!(text(1023), "1023 B");
        assert_eq!(text(32 << 10), "32 KiB");
        assert_eq!(text(3 << 29), "1.5 GiB");
        assert_eq!(text(u64::MAX), "16 EiB");
    }
}
