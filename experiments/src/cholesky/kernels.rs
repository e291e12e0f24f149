//! The four things that are done to tiles. A tile is square, row by row; its order is the square root of its length.
//!
//! They are plain loops that the compiler makes vectors of: all contenders use the same ones, and it is not them that is
//! measured.

/// Rows and columns of a tile.
fn order(tile: &[f64]) -> usize {
    tile.len().isqrt()
}

/// The scalar product of two rows. Several sums at once, as one would have to wait for each addition.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

/// A tile on the diagonal becomes its own lower factor; what is above its diagonal becomes 0.
pub(crate) fn factorise(tile: &mut [f64]) {
    let n = order(tile);
    for row in 0..n {
        let (above, current) = tile.split_at_mut(row * n);
        let current = &mut current[..n];
        for column in 0..row {
            let upper = &above[column * n..][..n];
            current[column] = (current[column] - dot(&current[..column], &upper[..column])) / upper[column];
        }
        current[row] = (current[row] - dot(&current[..row], &current[..row])).sqrt();
        current[row + 1..].fill(0.0);
    }
}

/// A tile below the diagonal becomes that of the result: it is divided by the transpose of its column's `factor`.
pub(crate) fn divide(tile: &mut [f64], factor: &[f64]) {
    let n = order(tile);
    for row in tile.chunks_exact_mut(n) {
        for (column, factor) in factor.chunks_exact(n).enumerate() {
            row[column] = (row[column] - dot(&row[..column], &factor[..column])) / factor[column];
        }
    }
}

/// Takes the product of one tile and the transpose of another away from a third.
pub(crate) fn subtract_product(tile: &mut [f64], left: &[f64], right: &[f64]) {
    let n = order(tile);
    for (row, left) in tile.chunks_exact_mut(n).zip(left.chunks_exact(n)) {
        for (value, right) in row.iter_mut().zip(right.chunks_exact(n)) {
            *value -= dot(left, right);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_times_its_transpose_is_what_it_was_made_of() {
        let n = 5;
        let matrix: Vec<f64> = (0..n * n)
            .map(
                |index| {
                    if index / n == index % n { 9.0 } else { 1.0 / (1.0 + (index / n + index % n) as f64) }
                },
            )
            .collect();
        let mut factor = matrix.clone();
        factorise(&mut factor);
        let mut rest = matrix.clone();
        subtract_product(&mut rest, &factor, &factor);
        assert!(rest.iter().all(|value| value.abs() < 1e-12), "{rest:?}");
        // Divided by what it was multiplied with.
        let mut product = vec![0.0; n * n];
        subtract_product(&mut product, &matrix, &factor);
        product.iter_mut().for_each(|value| *value = -*value);
        divide(&mut product, &factor);
        assert!(product.iter().zip(&matrix).all(|(found, expected)| (found - expected).abs() < 1e-12));
    }

    #[test]
    fn rows_of_any_length_are_multiplied() {
        for length in 0..20 {
            let row: Vec<f64> = (0..length).map(f64::from).collect();
            assert_eq!(dot(&row, &row), row.iter().map(|value| value * value).sum::<f64>());
        }
    }
}
