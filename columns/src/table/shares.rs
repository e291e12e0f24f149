//! Which part of the rows each partition has.

/// The share of each partition; together they are 1. New rows are dealt so that what each has got stays as close to its
/// share as whole rows allow.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    of: Box<[f64]>,
    dealt: Box<[u64]>,
}

impl Shares {
    /// Shares in proportion to these weights. `None` if one is negative or no number, or if all are zero.
    pub fn new(weights: &[f64]) -> Option<Self> {
        let sum: f64 = weights.iter().sum();
        let right = weights.iter().all(|&weight| weight >= 0.0) && sum > 0.0 && sum.is_finite();
        right.then(|| Self {
            of: weights.iter().map(|weight| weight / sum).collect(),
            dealt: vec![0; weights.len()].into(),
        })
    }

    /// The partitions that have a share.
    pub fn some(&self) -> Box<[usize]> {
        (0..self.of.len()).filter(|&part| self.of[part] > 0.0).collect()
    }

    /// Cuts so many new rows into parts, and tells where each one's ends.
    pub fn deal(&mut self, rows: usize) -> Box<[usize]> {
        let parts = self.whole(rows as u64 + self.dealt.iter().sum::<u64>(), rows as u64);
        let ends = parts.iter().scan(0, |end, &part| {
            *end += part as usize;
            Some(*end)
        });
        let ends = ends.collect();
        self.dealt.iter_mut().zip(parts).for_each(|(dealt, part)| *dealt += part);
        ends
    }

    /// How many of `rows` each gets, so that of `all` each has its share.
    fn whole(&self, all: u64, rows: u64) -> Vec<u64> {
        let lacks: Vec<f64> = self
            .of
            .iter()
            .zip(&self.dealt)
            .map(|(share, &dealt)| (share * all as f64 - dealt as f64).max(0.0))
            .collect();
        // Those that have too much lack nothing, so the others may lack more than there is.
        let sum: f64 = lacks.iter().sum();
        let wishes: Vec<f64> = lacks.iter().map(|lack| lack / sum * rows as f64).collect();
        let mut parts: Vec<u64> = wishes.iter().map(|&wish| wish as u64).collect();
        let mut order: Vec<usize> = self.some().into();
        order.sort_by(|&a, &b| wishes[b].fract().total_cmp(&wishes[a].fract()));
        let given: u64 = parts.iter().sum();
        for &part in order.iter().cycle().take(rows.saturating_sub(given) as usize) {
            parts[part] += 1;
        }
        parts
    }

    /// Moves of chunks, after which each has its share of them: from which partition to which, and how many.
    pub fn moves(&self, chunks: &[usize]) -> Vec<(usize, usize, usize)> {
        let all = chunks.iter().sum::<usize>() as u64;
        let fresh = Self { of: self.of.clone(), dealt: vec![0; self.of.len()].into() };
        let wanted = fresh.whole(all, all);
        let mut more: Vec<_> =
            (0..chunks.len()).map(|at| (at, chunks[at].saturating_sub(wanted[at] as usize))).collect();
        let mut moves = Vec::new();
        for to in 0..chunks.len() {
            let mut lacks = (wanted[to] as usize).saturating_sub(chunks[to]);
            for (from, more) in more.iter_mut() {
                let count = lacks.min(*more);
                if count > 0 {
                    moves.push((*from, to, count));
                    *more -= count;
                    lacks -= count;
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
            .prop_filter("somebody has some", |of| of.iter().any(|&of| of > 0))
    }

    proptest! {
        #[test]
        fn everybody_gets_a_share(weights in shares(), counts in proptest::collection::vec(0usize..100, 1..50)) {
            let weights: Vec<f64> = weights.into_iter().map(f64::from).collect();
            let mut shares = Shares::new(&weights).unwrap();
            let (mut got, mut all) = (vec![0; weights.len()], 0);
            for rows in counts {
                let ends = shares.deal(rows);
                prop_assert_eq!(*ends.last().unwrap(), rows);
                let begins = [0].iter().chain(ends.iter());
                for (got, (begin, end)) in got.iter_mut().zip(begins.zip(ends.iter())) {
                    prop_assert!(begin <= end);
                    *got += end - begin;
                }
                all += rows;
                for (&got, weight) in got.iter().zip(&weights) {
                    let wish = weight / weights.iter().sum::<f64>() * all as f64;
                    prop_assert!((got as f64 - wish).abs() < weights.len() as f64 + 1.0, "{} of {}", got, wish);
                    prop_assert!(*weight > 0.0 || got == 0);
                }
            }
        }

        #[test]
        fn moves_bring_all_to_their_shares(pairs in proptest::collection::vec((1u8..5, 0usize..100), 1..9)) {
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
                let wish = weight / weights.iter().sum::<f64>() * all as f64;
                prop_assert!((chunks as f64 - wish).abs() < 1.0 + 1e-9);
            }
            prop_assert!(shares.moves(&chunks).is_empty());
        }
    }

    #[test]
    fn senseless_weights_are_refused() {
        for weights in [&[][..], &[0.0, 0.0], &[1.0, -1.0, 3.0], &[f64::NAN], &[f64::INFINITY, 1.0]] {
            assert!(Shares::new(weights).is_none(), "{weights:?}");
        }
    }
}
