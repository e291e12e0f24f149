//! The partitions' shares of the rows.

/// The shares of the partitions, which add up to 1. New rows are assigned so that each partition's
/// rows stay as close to its share as whole rows allow.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    shares: Box<[f64]>,
    assigned: Box<[u64]>,
}

impl Shares {
    /// Creates shares in proportion to weights. `None` if a weight is negative or not finite, or if
    /// all are zero.
    pub fn new(weights: &[f64]) -> Option<Self> {
        let sum: f64 = weights.iter().sum();
        let is_valid = weights.iter().all(|&weight| weight >= 0.0) && sum > 0.0 && sum.is_finite();
        is_valid.then(|| Self {
            shares: weights.iter().map(|weight| weight / sum).collect(),
            assigned: vec![0; weights.len()].into(),
        })
    }

    /// Returns the partitions with a share.
    pub fn with_share(&self) -> Box<[usize]> {
        (0..self.shares.len()).filter(|&part| self.shares[part] > 0.0).collect()
    }

    /// Cuts new rows into parts, one for each partition, and returns the end of each part.
    pub fn assign(&mut self, rows: usize) -> Box<[usize]> {
        let parts = self.apportion(rows as u64 + self.assigned.iter().sum::<u64>(), rows as u64);
        let ends = parts.iter().scan(0, |end, &part| {
            *end += part as usize;
            Some(*end)
        });
        let ends = ends.collect();
        self.assigned.iter_mut().zip(parts).for_each(|(assigned, part)| *assigned += part);
        ends
    }

    /// Apportions `rows` among the partitions by the largest-remainder method, so that of `all`
    /// rows each partition has its share.
    fn apportion(&self, all: u64, rows: u64) -> Vec<u64> {
        let deficits: Vec<f64> = self
            .shares
            .iter()
            .zip(&self.assigned)
            .map(|(share, &assigned)| (share * all as f64 - assigned as f64).max(0.0))
            .collect();
        // Partitions above their share have no deficit, so the others' deficits may exceed `rows`.
        let sum: f64 = deficits.iter().sum();
        let quotas: Vec<f64> = deficits.iter().map(|deficit| deficit / sum * rows as f64).collect();
        let mut parts: Vec<u64> = quotas.iter().map(|&quota| quota as u64).collect();
        let mut order: Vec<usize> = self.with_share().into();
        order.sort_by(|&a, &b| quotas[b].fract().total_cmp(&quotas[a].fract()));
        let floor_sum: u64 = parts.iter().sum();
        for &part in order.iter().cycle().take(rows.saturating_sub(floor_sum) as usize) {
            parts[part] += 1;
        }
        parts
    }

    /// Returns moves of chunks that give each partition its share: source, destination, number of
    /// chunks.
    pub fn moves(&self, chunks: &[usize]) -> Vec<(usize, usize, usize)> {
        let all = chunks.iter().sum::<usize>() as u64;
        let fresh = Self { shares: self.shares.clone(), assigned: vec![0; self.shares.len()].into() };
        let wanted = fresh.apportion(all, all);
        let mut more: Vec<_> =
            (0..chunks.len()).map(|at| (at, chunks[at].saturating_sub(wanted[at] as usize))).collect();
        let mut moves = Vec::new();
        for to in 0..chunks.len() {
            let mut deficits = (wanted[to] as usize).saturating_sub(chunks[to]);
            for (from, more) in more.iter_mut() {
                let count = deficits.min(*more);
                if count > 0 {
                    moves.push((*from, to, count));
                    *more -= count;
                    deficits -= count;
                }
            }
        }
        moves
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shares() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(0u8..5, 1..9)
            .prop_filter("at least one share", |of| of.iter().any(|&of| of > 0))
    }

    proptest! {
        #[test]
        fn each_partition_gets_its_share(
            weights in shares(),
            counts in proptest::collection::vec(0usize..100, 1..50),
        ) {
            let weights: Vec<f64> = weights.into_iter().map(f64::from).collect();
            let mut shares = Shares::new(&weights).unwrap();
            let (mut got, mut all) = (vec![0; weights.len()], 0);
            for rows in counts {
                let ends = shares.assign(rows);
                prop_assert_eq!(*ends.last().unwrap(), rows);
                let begins = [0].iter().chain(ends.iter());
                for (got, (begin, end)) in got.iter_mut().zip(begins.zip(ends.iter())) {
                    prop_assert!(begin <= end);
                    *got += end - begin;
                }
                all += rows;
                for (&got, weight) in got.iter().zip(&weights) {
                    let quota = weight / weights.iter().sum::<f64>() * all as f64;
                    let error = (got as f64 - quota).abs();
                    prop_assert!(error < weights.len() as f64 + 1.0, "{} of {}", got, quota);
                    prop_assert!(*weight > 0.0 || got == 0);
                }
            }
        }

        #[test]
        fn moves_give_each_partition_its_share(
            pairs in proptest::collection::vec((1u8..5, 0usize..100), 1..9),
        ) {
            let weights: Vec<f64> = pairs.iter().map(|pair| pair.0.into()).collect();
            let mut chunks: Vec<usize> = pairs.iter().map(|pair| pair.1).collect();
            let shares = Shares::new(&weights).unwrap();
            let all: usize = chunks.iter().sum();
            for (from, to, count) in shares.moves(&chunks) {
                prop_assert!(from != to && count > 0);
                chunks[from] -= count;
                chunks[to] += count;
            }
            prop_assert_eq!(chunks.iter().sum::<usize>(), all);
            for (&chunks, weight) in chunks.iter().zip(&weights) {
                let quota = weight / weights.iter().sum::<f64>() * all as f64;
                prop_assert!((chunks as f64 - quota).abs() < 1.0 + 1e-9);
            }
            prop_assert!(shares.moves(&chunks).is_empty());
        }
    }

    #[test]
    fn invalid_weights_are_rejected() {
        for weights in [&[][..], &[0.0, 0.0], &[1.0, -1.0, 3.0], &[f64::NAN], &[f64::INFINITY, 1.0]] {
            assert!(Shares::new(weights).is_none(), "{weights:?}");
        }
    }
}
