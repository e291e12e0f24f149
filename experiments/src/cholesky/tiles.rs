//! Matrices in tiles, and the check of a result.

use super::kernels::subtract_product;
use crate::ycsb::plan::Wrong;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// By how much rounding may make a number of a product differ from that of a matrix of some order.
pub(super) fn bound(order: usize) -> f64 {
    // Each number is a sum of so many products, of about the size of the greatest number, which is on the diagonal.
    (order * order) as f64 * f64::EPSILON
}

/// A square tile, row by row.
pub(crate) type Tile = Box<[f64]>;

/// The lower half of a symmetric matrix, the diagonal included: row by row, each with its tiles from the left.
#[derive(Clone)]
pub(crate) struct Lower {
    pub(crate) rows: Vec<Vec<Tile>>,
}

impl Lower {
    /// A random matrix that has a factor: its diagonal outweighs the rest of its row.
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

    /// How many rows of tiles there are.
    pub(crate) fn count(&self) -> usize {
        self.rows.len()
    }

    /// Checks that this, times its own transpose, is `matrix`: no number is farther off than rounding explains.
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
                // What is not a number is not within the bound either.
                if let Some(off) = rest.iter().find(|value| value.abs() > bound || value.is_nan()) {
                    let text =
                        format!("the product differs by {off} in tile {y}, {x}; rounding explains {bound}");
                    return Err(Wrong::new(text));
                }
            }
        }
        Ok(())
    }
}
