//! Tiled Cholesky factorisation as a plain sequential program.

use super::kernels::{divide, factorise, subtract_product};
use super::tiles::Lower;

/// Factorises a matrix column by column, in one thread.
pub(crate) fn factor(mut matrix: Lower) -> Lower {
    for k in 0..matrix.count() {
        factorise(&mut matrix.rows[k][k]);
        let (done, below) = matrix.rows.split_at_mut(k + 1);
        for row in &mut *below {
            divide(&mut row[k], &done[k][k]);
        }
        for y in 0..below.len() {
            let (above, row) = below.split_at_mut(y);
            let (left, right) = row[0].split_at_mut(k + 1);
            let panel = above.iter().map(|row| &row[k]).chain([&left[k]]);
            for (tile, other) in right.iter_mut().zip(panel) {
                subtract_product(tile, &left[k], other);
            }
        }
    }
    matrix
}
