//! Sets of CPU numbers, in the notation of the Linux kernel.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// A set of CPU numbers; displayed and parsed as a list of ranges, such as `0-3,8`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct CpuSet(BTreeSet<u32>);

/// The error of parsing a [`CpuSet`]: the text is not a list of CPU ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidCpuSet(String);

/// No machine has more CPUs; longer lists are rejected, so that a mistake does not exhaust memory.
const CPU_NUMBER_LIMIT: u32 = 1 << 20;

impl CpuSet {
    /// Returns true if the set contains `cpu`.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    /// Returns the number of CPUs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the CPUs in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u32> {
        self.0.iter().copied()
    }

    /// Returns the intersection of both sets.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self(&self.0 & &other.0)
    }

    /// Returns true if the sets intersect.
    pub fn meets(&self, other: &Self) -> bool {
        !self.0.is_disjoint(&other.0)
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        Self(cpus.into_iter().collect())
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut separator = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = last.checked_add(1).and_then(|next| cpus.next_if_eq(&next)) {
                last = next;
            }
            write!(f, "{separator}{first}")?;
            if last > first {
                write!(f, "-{last}")?;
            }
            separator = ",";
        }
        Ok(())
    }
}

impl FromStr for CpuSet {
    type Err = InvalidCpuSet;

    fn from_str(text: &str) -> Result<Self, InvalidCpuSet> {
        let wrong = || InvalidCpuSet(text.to_string());
        let number = |text: &str| {
            text.trim().parse().ok().filter(|&number| number < CPU_NUMBER_LIMIT).ok_or_else(wrong)
        };
        let mut ranges = Vec::new();
        for part in text.trim().split(',').filter(|part| !part.trim().is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (u32, u32) = (number(first)?, number(last)?);
            if first > last {
                return Err(wrong());
            }
            ranges.push(first..=last);
        }
        // Repeated ranges cost as much as new ones, so they count.
        if ranges.iter().map(|range| range.clone().count()).sum::<usize>() > CPU_NUMBER_LIMIT as usize {
            return Err(wrong());
        }
        Ok(Self(ranges.into_iter().flatten().collect()))
    }
}

impl TryFrom<String> for CpuSet {
    type Error = InvalidCpuSet;

    fn try_from(text: String) -> Result<Self, InvalidCpuSet> {
        text.parse()
    }
}

impl From<CpuSet> for String {
    fn from(cpus: CpuSet) -> Self {
        cpus.to_string()
    }
}

impl fmt::Display for InvalidCpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a valid list of CPUs such as `0-3,8`", self.0)
    }
}

impl std::error::Error for InvalidCpuSet {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn kernel_lists_are_parsed() {
        let set = |text: &str| text.parse::<CpuSet>();
        assert_eq!(set("0-3,8\n").unwrap(), CpuSet::from_iter([0, 1, 2, 3, 8]));
        assert!(set("").unwrap().is_empty() && set("\n").unwrap().is_empty());
        for wrong in ["x", "3-1", "1-", "-1", "0-4294967295", "1;2", "0-999999,0-999999"] {
            assert!(set(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_greatest_number_is_displayed() {
        assert_eq!(CpuSet::from_iter([u32::MAX - 1, u32::MAX]).to_string(), "4294967294-4294967295");
    }

    proptest! {
        #[test]
        fn display_and_parse_round_trip(cpus: BTreeSet<u16>) {
            let set: CpuSet = cpus.into_iter().map(u32::from).collect();
            prop_assert_eq!(set.to_string().parse::<CpuSet>().unwrap(), set);
        }
    }
}
