//! Tiled matrices, and the check of a factorisation.

use super::kernels::subtract_product;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use xtasking_harness::failure::Wrong;

/// Returns the bound on the rounding error of an element of the product, for a matrix of an order.
pub(crate) fn bound(order: usize) -> f64 {
    // Each element is a sum of `order` products, each at most about the diagonal, which is `order`.
    (order * order) as f64 * f64::EPSILON
}

/// A square tile, row-major.
pub(crate) type Tile = Box<[f64]>;

/// The lower triangle of a symmetric matrix with its diagonal: rows of tiles, from left to right.
#[derive(Clone)]
pub(crate) struct Lower {
    pub(crate) rows: Vec<Vec<Tile>>,
}

impl Lower {
    /// Creates a random positive definite matrix, by diagonal dominance.
    pub(crate) fn random(order: usize, tile: usize, seed: u64) -> Self {
        let mut random = SplitMix64::seed_from_u64(seed);
        // From -1 to 1.
        let mut number = move || (random.next_u64() >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
        let count = order / tile;
        let mut rows: Vec<Vec<Tile>> = Vec::new();
        for row in 0..count {
            let mut tiles: Vec<Tile> =
                (0..=row).map(|_| (0..tile * tile).map(|_| number()).collect()).collect();
            let diagonal = &mut tiles[row];
            for y in 0..tile {
                for x in 0..y {
                    diagonal[x * tile + y] = diagonal[y * tile + x];
                }
                diagonal[y * tile + y] = order as f64;
            }
            rows.push(tiles);
        }
        Self { rows }
    }

    /// Returns the number of rows of tiles.
    pub(crate) fn count(&self) -> usize {
        self.rows.len()
    }

    /// Checks that the product of this factor and its transpose is `matrix`, up to rounding.
    ///
    /// # Errors
    ///
    /// If an element differs by more than rounding explains.
    pub(crate) fn check(&self, matrix: &Self) -> Result<(), Wrong> {
        let count = matrix.count();
        let tile = matrix.rows[0][0].len().isqrt();
        let bound = bound(count * tile);
        for y in 0..count {
            for x in 0..=y {
                let mut rest = matrix.rows[y][x].clone();
                for k in 0..=x {
                    subtract_product(&mut rest, &self.rows[y][k], &self.rows[x][k]);
                }
                // NaN must fail too.
                if let Some(error) = rest.iter().find(|value| value.abs() > bound || value.is_nan()) {
                    let text =
                        format!("the product differs by {error} in tile {y}, {x}; rounding explains {bound}");
                    return Err(Wrong::new(text));
                }
            }
        }
        Ok(())
    }
}
