//! The estimate, by Otmar Ertl: "New cardinality estimation algorithms for HyperLogLog sketches",
//! arXiv 1702.01284, algorithm 6.

use super::element::{REGISTERS, ZERO_BITS};

/// How many registers have each number.
pub(super) type Histogram = [u32; 64];

/// `1 / (2 ln 2)`.
const ALPHA: f64 = 0.721_347_520_444_481_7;

/// Returns about how many different elements there were.
pub(super) fn estimate(histogram: &Histogram) -> u64 {
    let registers = REGISTERS as f64;
    let share = |number: f64| number / registers;
    let last = ZERO_BITS as usize + 1;
    let mut z = registers * tau(share(registers - f64::from(histogram[last])));
    for &number in histogram[1..last].iter().rev() {
        z = 0.5 * (z + f64::from(number));
    }
    z += registers * sigma(share(f64::from(histogram[0])));
    let estimate = (ALPHA * registers * registers / z).round();
    // A sketch whose registers are beyond what a hash can offer has no estimate.
    if estimate.is_finite() { estimate as u64 } else { 1 << 63 }
}

/// The sum of `x` to the power of `2^k`, times `2^(k-1)`, for all `k` from 1, and `x`.
fn sigma(mut x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut z) = (1.0, x);
    loop {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if z == before {
            return z;
        }
    }
}

/// A third of `1 - x` less the sum, for all `k` from 1, of the square of `1 - x^(2^-k)`, times
/// `2^-k`.
fn tau(mut x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut y, mut z) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = z;
        y *= 0.5;
        z -= (1.0 - x) * (1.0 - x) * y;
        if z == before {
            return z / 3.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_have_an_estimate() {
        let mut histogram = [0; 64];
        histogram[0] = REGISTERS as u32;
        assert_eq!(estimate(&histogram), 0);
        (histogram[0], histogram[1]) = (REGISTERS as u32 - 1, 1);
        assert_eq!(estimate(&histogram), 1);
        histogram = [0; 64];
        histogram[63] = REGISTERS as u32;
        assert_eq!(estimate(&histogram), 1 << 63);
    }
}
