//! Zipf's distribution, as YCSB draws from it.

use super::Random;

/// Draws `0..items` with Zipf's distribution: item 0 is the most frequent, item `i` is about `(i + 1)^θ` times rarer.
///
/// The method is that of Gray et al., "Quickly generating billion-record synthetic databases" (SIGMOD 1994), as in
/// YCSB's `ZipfianGenerator`.
#[derive(Clone, Debug)]
pub struct Zipfian {
    items: u64,
    theta: f64,
    alpha: f64,
    zeta_2: f64,
    zeta_items: f64,
    eta: f64,
}

impl Zipfian {
    /// A distribution over `0..items`, which must not be empty, with `0 < theta < 1`.
    pub fn new(items: u64, theta: f64) -> Self {
        assert!(items > 0 && theta > 0.0 && theta < 1.0, "options were checked before any work");
        let mut zipfian = Self {
            items,
            theta,
            alpha: 1.0 / (1.0 - theta),
            zeta_2: 1.0 + 0.5f64.powf(theta),
            zeta_items: zeta(items, theta),
            eta: 0.0,
        };
        zipfian.set_eta();
        zipfian
    }

    /// Over how many items it draws.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Adds one item at the rare end.
    pub fn grow(&mut self) {
        self.items += 1;
        self.zeta_items += (self.items as f64).powf(-self.theta);
        self.set_eta();
    }

    fn set_eta(&mut self) {
        let tail = (2.0 / self.items as f64).powf(1.0 - self.theta);
        self.eta = (1.0 - tail) / (1.0 - self.zeta_2 / self.zeta_items);
    }

    /// Draws an item.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        let fraction = random.fraction();
        let scaled = fraction * self.zeta_items;
        // With one or two items, everything ends here: the approximation below is for the others.
        if scaled < 1.0 {
            return 0;
        }
        if scaled < self.zeta_2 || self.items <= 2 {
            return 1.min(self.items - 1);
        }
        let item = self.items as f64 * (self.eta * fraction - self.eta + 1.0).powf(self.alpha);
        (item as u64).min(self.items - 1)
    }
}

/// The generalised harmonic number `1 + 2^-θ + … + n^-θ`.
///
/// The first terms are summed, the rest is Euler and Maclaurin's formula: exact to about 15 digits, and at once even for
/// the ten billion items of the scrambled distribution, whose sum YCSB keeps as a constant for one θ.
pub(super) fn zeta(n: u64, theta: f64) -> f64 {
    const SUMMED: u64 = 10_000;
    let term = |i: u64| (i as f64).powf(-theta);
    let head: f64 = (1..=n.min(SUMMED)).rev().map(term).sum();
    if n <= SUMMED {
        return head;
    }
    let (from, to) = (SUMMED as f64, n as f64);
    let integral = (to.powf(1.0 - theta) - from.powf(1.0 - theta)) / (1.0 - theta);
    let edges = (term(n) - term(SUMMED)) / 2.0;
    let slopes = theta / 12.0 * (from.powf(-theta - 1.0) - to.powf(-theta - 1.0));
    head + integral + edges + slopes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeta_is_the_sum() {
        for theta in [0.5, 0.9, 0.99] {
            let sum: f64 = (1..=100_000).rev().map(|i| f64::from(i).powf(-theta)).sum();
            assert!((zeta(100_000, theta) - sum).abs() < 1e-9, "θ = {theta}");
        }
        // The constant in YCSB's ScrambledZipfianGenerator, which was summed up term by term.
        assert!((zeta(10_000_000_000, 0.99) - 26.469_028_201_783_02).abs() < 1e-6);
    }

    #[test]
    fn growing_is_like_having_been_larger() {
        let mut grown = Zipfian::new(1_000, 0.99);
        (0..500).for_each(|_| grown.grow());
        let large = Zipfian::new(1_500, 0.99);
        assert_eq!(grown.items(), large.items());
        assert!((grown.zeta_items - large.zeta_items).abs() < 1e-9);
        assert!((grown.eta - large.eta).abs() < 1e-9);
    }

    #[test]
    fn the_head_is_as_frequent_as_it_should_be() {
        let (items, draws) = (100_000, 1_000_000);
        let zipfian = Zipfian::new(items, 0.99);
        let mut random = Random::new(1, &[]);
        let mut seen = vec![0u32; items as usize];
        (0..draws).for_each(|_| seen[zipfian.draw(&mut random) as usize] += 1);
        // The first two are exact in Gray's method.
        for (item, share) in [(0, 1.0), (1, 2f64.powf(-0.99))] {
            let expected = share / zeta(items, 0.99) * f64::from(draws);
            assert!(
                (f64::from(seen[item]) - expected).abs() < 0.02 * expected,
                "item {item}: {}",
                seen[item]
            );
        }
        // The rest is an approximation: the first thousand get what they should to within some percent.
        let head: u32 = seen[..1_000].iter().sum();
        let expected = zeta(1_000, 0.99) / zeta(items, 0.99) * f64::from(draws);
        assert!((f64::from(head) - expected).abs() < 0.05 * expected, "{head} instead of {expected}");
        assert!(seen[0] > seen[10] && seen[10] > seen[100] && seen[100] > seen[10_000]);
    }

    #[test]
    fn few_items_are_all_drawn_and_no_others() {
        for items in 1..=5 {
            let zipfian = Zipfian::new(items, 0.99);
            let mut random = Random::new(items, &[]);
            let mut seen = vec![false; items as usize];
            (0..10_000).for_each(|_| seen[zipfian.draw(&mut random) as usize] = true);
            assert!(seen.iter().all(|seen| *seen), "{items} items");
        }
    }
}
