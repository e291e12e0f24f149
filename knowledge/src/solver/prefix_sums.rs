//! The best throughput for each number of workers.

use std::borrow::Cow;

/// The throughput of `first` workers, of one more, and so on.
#[derive(Clone, Debug)]
pub(crate) struct PrefixSums<'a> {
    /// The smallest number of workers.
    first: usize,
    values: Cow<'a, [f64]>,
    /// Upper bound on the throughput.
    cap: f64,
    /// True if each further worker adds no more than the previous one.
    concave: bool,
}

impl PrefixSums<'_> {
    /// Creates sums from at least one value.
    pub fn new(first: usize, values: Vec<f64>) -> Self {
        let concave = values.windows(3).all(|three| three[2] - three[1] <= three[1] - three[0]);
        Self { first, values: values.into(), cap: f64::INFINITY, concave }
    }

    /// Returns the sums of nothing: no workers, no throughput.
    pub fn nothing() -> Self {
        Self::new(0, vec![0.0])
    }

    /// Returns the throughput of `workers` workers, if that number is possible.
    pub fn at(&self, workers: usize) -> Option<f64> {
        Some(self.values.get(workers.checked_sub(self.first)?)?.min(self.cap))
    }

    /// Iterates over the numbers of workers and their throughput.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (usize, f64)> {
        self.values.iter().enumerate().map(|(index, value)| (self.first + index, value.min(self.cap)))
    }

    /// Restricts the sums to `least` to `most` workers, all of them possible numbers.
    pub fn between(&self, least: usize, most: usize) -> PrefixSums<'_> {
        let values = &self.values[least - self.first..=most - self.first];
        PrefixSums { first: least, values: values.into(), ..*self }
    }

    /// Returns the sums with a lower upper bound.
    pub fn capped(&self, cap: f64) -> PrefixSums<'_> {
        PrefixSums { values: (*self.values).into(), cap: self.cap.min(cap), ..*self }
    }

    /// Returns the best sums of workers from both.
    pub fn with(&self, other: &Self) -> PrefixSums<'static> {
        let (short, long) =
            if self.values.len() < other.values.len() { (self, other) } else { (other, self) };
        let long: Vec<f64> = long.iter().map(|sum| sum.1).collect();
        let mut values = vec![f64::NEG_INFINITY; short.values.len() + long.len() - 1];
        for (index, (_, more)) in short.iter().enumerate() {
            for (value, sum) in values[index..].iter_mut().zip(&long) {
                *value = if *value < sum + more { sum + more } else { *value };
            }
        }
        PrefixSums::new(self.first + other.first, values)
    }
}

/// Several sums combined.
pub(crate) struct CombinedSums<'a> {
    all: &'a [PrefixSums<'a>],
    /// The combined sums.
    pub sums: PrefixSums<'static>,
    /// The gain of every worker beyond the first number of each, largest first, if all sums are
    /// concave.
    further: Option<Vec<MarginalGain>>,
}

/// The gain of one more worker.
struct MarginalGain {
    gain: f64,
    /// The index of its sums.
    of: usize,
}

impl<'a> CombinedSums<'a> {
    pub fn new(all: &'a [PrefixSums<'a>]) -> Self {
        if !all.iter().all(|sums| sums.concave) {
            return Self { all, sums: pairwise(all), further: None };
        }
        let many = all.iter().map(|sums| sums.values.len() - 1).sum();
        let (mut first, mut sum, mut further) = (0, 0.0, Vec::with_capacity(many));
        for (of, sums) in all.iter().enumerate() {
            let mut before = sums.values[0].min(sums.cap);
            (first, sum) = (first + sums.first, sum + before);
            for value in sums.values[1..].iter().map(|value| value.min(sums.cap)) {
                further.push(MarginalGain { gain: value - before, of });
                before = value;
            }
        }
        further.sort_unstable_by(|a, b| b.gain.total_cmp(&a.gain));
        let mut values = Vec::with_capacity(many + 1);
        values.push(sum);
        values.extend(further.iter().map(|one| {
            sum += one.gain;
            sum
        }));
        let sums = PrefixSums { first, values: values.into(), cap: f64::INFINITY, concave: true };
        Self { all, sums, further: Some(further) }
    }

    /// Splits `workers` so that they reach `need`: as many as possible go to the first sums, then
    /// to the second, and so on. Returns `None` if they do not reach it.
    pub fn split(&self, workers: usize, need: f64) -> Option<Vec<usize>> {
        // Rounding differs with the order of summation.
        let need = need - 1e-9 * need.abs().max(1.0);
        match &self.further {
            Some(further) => self.exchanged(further, workers, need),
            None => split(self.all, &tails(self.all), workers, need),
        }
    }

    /// Starts from the split with the highest throughput. Then moves workers to the first sums
    /// while the total reaches `need`, then to the second, and so on. It takes those that add least
    /// from later sums first. Each exchange loses at least as much as the one before, and the
    /// remaining workers are still those that add most.
    fn exchanged(&self, further: &[MarginalGain], workers: usize, need: f64) -> Option<Vec<usize>> {
        let mut spare = self.sums.at(workers)? - need;
        if spare < 0.0 {
            return None;
        }
        let mut later = &further[..workers - self.sums.first];
        let mut taken: Vec<usize> = self.all.iter().map(|sums| sums.first).collect();
        later.iter().for_each(|one| taken[one.of] += 1);
        for (index, sums) in self.all.iter().enumerate() {
            while let Some((last, others)) = later.split_last() {
                if last.of > index {
                    let Some(more) = sums.at(taken[index] + 1) else { break };
                    let loss = last.gain - (more - sums.at(taken[index])?);
                    if loss > spare {
                        break;
                    }
                    spare -= loss;
                    taken[index] += 1;
                    taken[last.of] -= 1;
                }
                later = others;
            }
        }
        Some(taken)
    }
}

/// Combines all sums.
fn pairwise(all: &[PrefixSums<'_>]) -> PrefixSums<'static> {
    // Combine pairs first, so that long sums are combined rarely.
    match all {
        [] => PrefixSums::nothing(),
        [one] => one.with(&PrefixSums::nothing()),
        more => {
            let (some, others) = more.split_at(more.len() / 2);
            pairwise(some).with(&pairwise(others))
        }
    }
}

/// Returns the combined sums of all, of all but the first, and so on, down to nothing.
fn tails(all: &[PrefixSums<'_>]) -> Vec<PrefixSums<'static>> {
    let mut tails = vec![PrefixSums::nothing()];
    for sums in all.iter().rev() {
        let tail = sums.with(&tails[tails.len() - 1]);
        tails.push(tail);
    }
    tails.reverse();
    tails
}

/// Splits `workers` among `all`, given their `tails`.
fn split(all: &[PrefixSums<'_>], tails: &[PrefixSums<'_>], workers: usize, need: f64) -> Option<Vec<usize>> {
    let (mut left, mut need) = (workers, need);
    let mut taken = Vec::with_capacity(all.len());
    for (sums, tail) in all.iter().zip(&tails[1..]) {
        let enough = |&(here, value): &(usize, f64)| {
            let rest = left.checked_sub(here).and_then(|rest| tail.at(rest));
            rest.is_some_and(|rest| value + rest >= need)
        };
        let (here, value) = sums.iter().rev().find(enough)?;
        (left, need) = (left - here, need - value);
        taken.push(here);
    }
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn combined_sums_take_the_largest_gains_first() {
        let (a, b) = (PrefixSums::new(1, vec![5.0, 9.0, 10.0]), PrefixSums::new(0, vec![0.0, 3.0, 6.0]));
        let both = [a.clone(), b];
        let sums = [(1, 5.0), (2, 9.0), (3, 12.0), (4, 15.0), (5, 16.0)];
        assert!(CombinedSums::new(&both).sums.iter().eq(sums) && both[0].with(&both[1]).iter().eq(sums));
        assert!(a.capped(9.5).iter().eq([(1, 5.0), (2, 9.0), (3, 9.5)]));
        assert_eq!(a.between(2, 3).at(2), Some(9.0));
        assert_eq!((a.at(0), a.at(4)), (None, None));
    }

    proptest! {
        #[test]
        fn splits_equal_those_of_an_exhaustive_search(
            all in prop::collection::vec((0..3_usize, prop::collection::vec(0..50_u8, 1..6)), 3..4),
            sorted in any::<bool>(),
            share in 0.0..1.0_f64,
        ) {
            let sums = |(first, gains): &(usize, Vec<u8>)| {
                let mut gains = gains.clone();
                if sorted {
                    gains.sort_by(|a, b| b.cmp(a));
                }
                let sum = |sum: &mut f64, gain| {
                    *sum += f64::from(gain);
                    Some(*sum)
                };
                PrefixSums::new(*first, gains.into_iter().scan(0.0, sum).collect())
            };
            let all: Vec<_> = all.iter().map(sums).collect();
            let joint = CombinedSums::new(&all);
            let tails = tails(&all);
            for (workers, most) in tails[0].iter() {
                let need = (most * share).round();
                let mut splits = Vec::new();
                for (a, x) in all[0].iter() {
                    for (b, y) in all[1].iter() {
                        let c = workers.checked_sub(a + b).and_then(|c| Some((c, all[2].at(c)?)));
                        splits.extend(c.map(|(c, z)| (x + y + z, vec![a, b, c])));
                    }
                }
                let best = splits.iter().map(|split| split.0).fold(0.0, f64::max);
                prop_assert_eq!(best, most);
                prop_assert_eq!(joint.sums.at(workers), Some(most));
                let first = splits.into_iter().filter(|split| split.0 >= need).map(|split| split.1).max();
                prop_assert_eq!(split(&all, &tails, workers, need), first.clone());
                prop_assert_eq!(joint.split(workers, need), first);
                prop_assert_eq!(joint.split(workers, most + 1.0), None);
            }
        }
    }
}
