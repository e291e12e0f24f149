//! YCSB's generator of Zipf's distribution.

use xtasking_harness_core::random::Random;

/// Draws from `0..items` with Zipf's distribution: item 0 is the most frequent, and item `i` is
/// about `(i + 1)^θ` times rarer.
///
/// The method is that of YCSB's `ZipfianGenerator`, by Gray et al., "Quickly generating
/// billion-record synthetic databases" (SIGMOD 1994).
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
    /// Creates a distribution over `0..items`.
    ///
    /// # Panics
    ///
    /// If it is empty, or `theta` is not between 0 and 1.
    pub fn new(items: u64, theta: f64) -> Self {
        let is_valid = items > 0 && theta > 0.0 && theta < 1.0;
        assert!(
            is_valid,
            "Zipf's distribution needs an item and 0 < θ < 1, not {items} items and θ = {theta}"
        );
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

    /// Returns the number of items.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Adds an item, which is the rarest one.
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
        // The approximation below is for items from 2 on.
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

/// Computes the generalised harmonic number `1 + 2^-θ + … + n^-θ`, exact to about 15 digits.
///
/// It sums the first terms and approximates the rest by the Euler–Maclaurin formula. This is fast
/// even for the ten billion items of the scrambled distribution, whose sum YCSB has as a constant
/// for one θ.
pub(super) fn zeta(n: u64, theta: f64) -> f64 {
    const SUMMED_TERMS: u64 = 10_000;
    let term = |i: u64| (i as f64).powf(-theta);
    let head: f64 = (1..=n.min(SUMMED_TERMS)).rev().map(term).sum();
    if n <= SUMMED_TERMS {
        return head;
    }
    let (from, to) = (SUMMED_TERMS as f64, n as f64);
    let integral = (to.powf(1.0 - theta) - from.powf(1.0 - theta)) / (1.0 - theta);
    let edges = (term(n) - term(SUMMED_TERMS)) / 2.0;
    let slopes = theta / 12.0 * (from.powf(-theta - 1.0) - to.powf(-theta - 1.0));
    head + integral + edges + slopes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeta_matches_the_sum_of_all_terms() {
        for theta in [0.5, 0.9, 0.99] {
            let sum: f64 = (1..=100_000).rev().map(|i| f64::from(i).powf(-theta)).sum();
            assert!((zeta(100_000, theta) - sum).abs() < 1e-9, "θ = {theta}");
        }
        // The constant in YCSB's ScrambledZipfianGenerator, a sum of all terms.
        assert!((zeta(10_000_000_000, 0.99) - 26.469_028_201_783_02).abs() < 1e-6);
    }

    #[test]
    fn a_grown_distribution_equals_a_larger_one() {
        let mut grown = Zipfian::new(1_000, 0.99);
        (0..500).for_each(|_| grown.grow());
        let large = Zipfian::new(1_500, 0.99);
        assert_eq!(grown.items(), large.items());
        assert!((grown.zeta_items - large.zeta_items).abs() < 1e-9);
        assert!((grown.eta - large.eta).abs() < 1e-9);
    }

    #[test]
    fn frequent_items_have_their_frequency() {
        let (items, draws) = (100_000, 1_000_000);
        let zipfian = Zipfian::new(items, 0.99);
        let mut random = Random::new(1, &[]);
        let mut counts = vec![0u32; items as usize];
        (0..draws).for_each(|_| counts[zipfian.draw(&mut random) as usize] += 1);
        // The first two are exact in Gray's method.
        for (item, share) in [(0, 1.0), (1, 2f64.powf(-0.99))] {
            let expected = share / zeta(items, 0.99) * f64::from(draws);
            assert!(
                (f64::from(counts[item]) - expected).abs() < 0.02 * expected,
                "item {item}: {}",
                counts[item]
            );
        }
        // The rest is an approximation, which is within 5 % for the first thousand items.
        let head: u32 = counts[..1_000].iter().sum();
        let expected = zeta(1_000, 0.99) / zeta(items, 0.99) * f64::from(draws);
        assert!((f64::from(head) - expected).abs() < 0.05 * expected, "{head} instead of {expected}");
        assert!(counts[0] > counts[10] && counts[10] > counts[100] && counts[100] > counts[10_000]);
    }

    #[test]
    fn a_few_items_are_all_drawn() {
        for items in 1..=5 {
            let zipfian = Zipfian::new(items, 0.99);
            let mut random = Random::new(items, &[]);
            let mut is_drawn = vec![false; items as usize];
            (0..10_000).for_each(|_| is_drawn[zipfian.draw(&mut random) as usize] = true);
            assert!(is_drawn.iter().all(|drawn| *drawn), "{items} items");
        }
    }
}
