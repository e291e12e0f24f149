//! The kernels of tiled Cholesky factorisation. A tile is square and row-major; its order is the
//! square root of its length.
//!
//! They are plain loops that the compiler vectorises. All contenders run the same kernels, so that
//! results differ by scheduling only.

/// Returns the number of rows and columns of a tile.
fn order(tile: &[f64]) -> usize {
    tile.len().isqrt()
}

/// Computes the dot product of two rows, with independent partial sums to hide the latency of
/// additions.
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

/// Rows that one row is multiplied with at a time, so that loading it once serves all of them.
const ROWS_PER_BLOCK: usize = 4;

/// Computes the dot products of a row with each of several consecutive rows.
fn dots(row: &[f64], rows: &[f64]) -> [f64; ROWS_PER_BLOCK] {
    let n = row.len();
    let rows = &rows[..ROWS_PER_BLOCK * n];
    // Partial sums of even and odd columns: a vector of two lanes.
    let mut sums = [[0.0; 2]; ROWS_PER_BLOCK];
    let mut at = 0;
    while at + 2 <= n {
        for index in 0..ROWS_PER_BLOCK {
            for lane in 0..2 {
                sums[index][lane] += row[at + lane] * rows[index * n + at + lane];
            }
        }
        at += 2;
    }
    let mut products = [0.0; ROWS_PER_BLOCK];
    for index in 0..ROWS_PER_BLOCK {
        let last = if at < n { row[at] * rows[index * n + at] } else { 0.0 };
        products[index] = sums[index][0] + sums[index][1] + last;
    }
    products
}

/// Replaces a tile on the diagonal by its lower Cholesky factor, with zeros above the diagonal
/// (LAPACK's POTRF).
#[inline(never)]
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

/// Multiplies a tile below the diagonal by the inverse transpose of its column's `factor` (BLAS's
/// TRSM).
#[inline(never)]
pub(crate) fn divide(tile: &mut [f64], factor: &[f64]) {
    let n = order(tile);
    for row in tile.chunks_exact_mut(n) {
        for (column, factor) in factor.chunks_exact(n).enumerate() {
            row[column] = (row[column] - dot(&row[..column], &factor[..column])) / factor[column];
        }
    }
}

/// Subtracts the product of `left` and the transpose of `right` from a tile (BLAS's GEMM).
#[inline(never)]
pub(crate) fn subtract_product(tile: &mut [f64], left: &[f64], right: &[f64]) {
    let n = order(tile);
    for y in 0..n {
        let (row, left) = (&mut tile[y * n..][..n], &left[y * n..][..n]);
        let mut x = 0;
        while x + ROWS_PER_BLOCK <= n {
            let products = dots(left, &right[x * n..]);
            for index in 0..ROWS_PER_BLOCK {
                row[x + index] -= products[index];
            }
            x += ROWS_PER_BLOCK;
        }
        while x < n {
            row[x] -= dot(left, &right[x * n..][..n]);
            x += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_times_its_transpose_is_the_matrix() {
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
        // Division inverts the multiplication.
        let mut product = vec![0.0; n * n];
        subtract_product(&mut product, &matrix, &factor);
        product.iter_mut().for_each(|value| *value = -*value);
        divide(&mut product, &factor);
        assert!(product.iter().zip(&matrix).all(|(found, expected)| (found - expected).abs() < 1e-12));
    }

    #[test]
    fn dot_products_of_any_length_are_exact() {
        for length in 0..20 {
            let row: Vec<f64> = (0..length).map(f64::from).collect();
            let product = row.iter().map(|value| value * value).sum::<f64>();
            assert_eq!(dot(&row, &row), product);
            let rows: Vec<f64> = (0..ROWS_PER_BLOCK)
                .flat_map(|index| row.iter().map(move |value| value * index as f64))
                .collect();
            assert_eq!(dots(&row, &rows), [0.0, product, 2.0 * product, 3.0 * product]);
        }
    }
}
