//! A map from CPU numbers to values: a sorted list, because all keys are known at construction and
//! lookups dominate.

use std::ops::Index;

/// Values by CPU number.
#[derive(Clone, Debug, Default)]
pub(crate) struct CpuMap<T>(Vec<(u32, T)>);

impl<T> CpuMap<T> {
    pub fn get(&self, cpu: u32) -> Option<&T> {
        self.0.binary_search_by_key(&cpu, |entry| entry.0).ok().map(|index| &self.0[index].1)
    }

    pub fn contains(&self, cpu: u32) -> bool {
        self.get(cpu).is_some()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the CPU numbers in ascending order.
    pub fn cpus(&self) -> impl Iterator<Item = u32> {
        self.0.iter().map(|entry| entry.0)
    }
}

impl<T> FromIterator<(u32, T)> for CpuMap<T> {
    /// Of several values for one CPU, the first counts.
    fn from_iter<I: IntoIterator<Item = (u32, T)>>(values: I) -> Self {
        let mut values = Vec::from_iter(values);
        values.sort_by_key(|entry| entry.0);
        values.dedup_by_key(|entry| entry.0);
        Self(values)
    }
}

impl<T> Index<u32> for CpuMap<T> {
    type Output = T;

    fn index(&self, cpu: u32) -> &T {
        self.get(cpu).expect("the CPU has a value")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_number() {
        let values = CpuMap::from_iter([(7, 'a'), (2, 'b'), (7, 'c'), (300, 'd')]);
        assert_eq!(values.cpus().collect::<Vec<_>>(), [2, 7, 300]);
        assert_eq!((values.get(7), values.get(8), values.len()), (Some(&'a'), None, 3));
        assert!(values[2] == 'b' && values.contains(300) && !values.contains(0));
    }
}
