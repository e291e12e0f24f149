//! What so many workers can do together at most, for each number of them.

/// What `first` workers do, one more, and so on.
#[derive(Clone, Debug)]
pub(crate) struct Sums {
    /// The fewest workers.
    pub first: usize,
    pub values: Vec<f64>,
    /// Each further worker adds no more than the one before it.
    concave: bool,
}

impl Sums {
    /// At least one value.
    pub fn new(first: usize, values: Vec<f64>) -> Self {
        let concave = values.windows(3).all(|three| three[2] - three[1] <= three[1] - three[0]);
        Self { first, values, concave }
    }

    /// No workers, who do nothing.
    pub fn nothing() -> Self {
        Self { first: 0, values: vec![0.0], concave: true }
    }

    /// What so many do.
    pub fn at(&self, workers: usize) -> Option<f64> {
        self.values.get(workers.checked_sub(self.first)?).copied()
    }

    /// Numbers of workers, each with what they do.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (usize, f64)> {
        self.values.iter().enumerate().map(|(index, &value)| (self.first + index, value))
    }

    /// The same for `least` to `most` workers: numbers that are there.
    pub fn between(&self, least: usize, most: usize) -> Self {
        let values = self.values[least - self.first..=most - self.first].to_vec();
        Self { first: least, values, concave: self.concave }
    }

    /// The same where no more than `cap` counts.
    pub fn capped(&self, cap: f64) -> Self {
        Self { values: self.values.iter().map(|value| value.min(cap)).collect(), ..*self }
    }

    /// What workers of both can do.
    pub fn with(&self, other: &Self) -> Self {
        let (a, b) = (&self.values, &other.values);
        let many = a.len() + b.len() - 1;
        let concave = self.concave && other.concave;
        let values = if concave {
            // The next is always the one that adds more.
            let (mut i, mut j) = (0, 0);
            let mut values = Vec::with_capacity(many);
            values.push(a[0] + b[0]);
            while values.len() < many {
                if j + 1 == b.len() || (i + 1 < a.len() && a[i + 1] - a[i] >= b[j + 1] - b[j]) {
                    i += 1;
                } else {
                    j += 1;
                }
                values.push(a[i] + b[j]);
            }
            values
        } else {
            let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
            let mut values = vec![f64::NEG_INFINITY; many];
            for (index, more) in short.iter().enumerate() {
                for (value, sum) in values[index..].iter_mut().zip(long) {
                    *value = if *value < sum + more { sum + more } else { *value };
                }
            }
            values
        };
        Self { first: self.first + other.first, values, concave }
    }
}

/// What all can do.
pub(crate) fn of_all(all: &[Sums]) -> Sums {
    // Pairs first, so that long ones are put together seldom.
    match all {
        [] => Sums::nothing(),
        [one] => one.clone(),
        [one, other] => one.with(other),
        more => {
            let (some, others) = more.split_at(more.len() / 2);
            of_all(some).with(&of_all(others))
        }
    }
}

/// What all can do, what all but the first can do, and so on, and at last nobody.
pub(crate) fn tails(all: &[Sums]) -> Vec<Sums> {
    let mut tails = vec![Sums::nothing()];
    for sums in all.iter().rev() {
        let tail = sums.with(&tails[tails.len() - 1]);
        tails.push(tail);
    }
    tails.reverse();
    tails
}

/// Splits `workers` among `all`, whose `tails` these are, so that they do at least `need`: as many as possible go to the
/// first, then to the second, and so on. `None` if they do not do so much.
pub(crate) fn split(all: &[Sums], tails: &[Sums], workers: usize, need: f64) -> Option<Vec<usize>> {
    // Sums in another order differ by less.
    let (mut left, mut need) = (workers, need - 1e-9 * need.abs().max(1.0));
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
    fn the_next_is_the_one_that_adds_more() {
        let (a, b) = (Sums::new(1, vec![5.0, 9.0, 10.0]), Sums::new(0, vec![0.0, 3.0, 6.0]));
        let both = a.with(&b);
        assert_eq!((both.first, both.values), (1, vec![5.0, 9.0, 12.0, 15.0, 16.0]));
        assert_eq!(a.capped(9.5).values, [5.0, 9.0, 9.5]);
        assert_eq!(a.between(2, 3).at(2), Some(9.0));
        assert_eq!((a.at(0), a.at(4)), (None, None));
    }

    proptest! {
        #[test]
        fn every_split_is_tried(
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
                Sums::new(*first, gains.into_iter().scan(0.0, sum).collect())
            };
            let all: Vec<_> = all.iter().map(sums).collect();
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
                prop_assert_eq!(of_all(&all).at(workers), Some(most));
                let first = splits.into_iter().filter(|split| split.0 >= need).map(|split| split.1).max();
                prop_assert_eq!(split(&all, &tails, workers, need), first);
                prop_assert_eq!(split(&all, &tails, workers, most + 1.0), None);
            }
        }
    }
}
