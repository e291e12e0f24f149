//! A value for each of some CPUs: a sorted list, since all of them are known at once and are looked up again and again.

use std::ops::Index;

/// Values by the number of a CPU.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByCpu<T>(Vec<(u32, T)>);

impl<T> ByCpu<T> {
    pub fn get(&self, cpu: u32) -> Option<&T> {
        self.0.binary_search_by_key(&cpu, |entry| entry.0).ok().map(|index| &self.0[index].1)
    }

    pub fn contains(&self, cpu: u32) -> bool {
        self.get(cpu).is_some()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The CPUs, by number.
    pub fn cpus(&self) -> impl Iterator<Item = u32> {
        self.0.iter().map(|entry| entry.0)
    }
}

impl<T> FromIterator<(u32, T)> for ByCpu<T> {
    /// Of what is said of one CPU again and again, the first counts.
    fn from_iter<I: IntoIterator<Item = (u32, T)>>(values: I) -> Self {
        let mut values = Vec::from_iter(values);
        values.sort_by_key(|entry| entry.0);
        values.dedup_by_key(|entry| entry.0);
        Self(values)
    }
}

impl<T> Index<u32> for ByCpu<T> {
    type Output = T;

    fn index(&self, cpu: u32) -> &T {
        self.get(cpu).expect("the CPU is one of those that have a value")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_number() {
        let values = ByCpu::from_iter([(7, 'a'), (2, 'b'), (7, 'c'), (300, 'd')]);
        assert_eq!(values.cpus().collect::<Vec<_>>(), [2, 7, 300]);
        assert_eq!((values.get(7), values.get(8), values.len()), (Some(&'a'), None, 3));
        assert!(values[2] == 'b' && values.contains(300) && !values.contains(0));
    }
}
