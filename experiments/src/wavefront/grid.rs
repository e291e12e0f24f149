//! The two texts, and the cells of a block.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::mem;

/// Two texts of the same length, whose edit distance is wanted. The cell of row `y` and column `x`
/// is the distance of the first `y + 1` letters of one from the first `x + 1` of the other.
pub(super) struct Grid {
    /// Rows and columns of blocks.
    pub blocks: usize,
    /// Rows and columns of cells in a block.
    side: usize,
    down: Vec<u8>,
    across: Vec<u8>,
}

/// Cells along one side of a block.
pub(super) type Edge = Box<[u32]>;

impl Grid {
    /// Creates a grid of random texts.
    pub(super) fn random(blocks: usize, side: usize, seed: u64) -> Self {
        let mut random = SplitMix64::seed_from_u64(seed);
        let mut text = || (0..blocks * side).map(|_| (random.next_u64() % 4) as u8).collect();
        Self { blocks, side, down: text(), across: text() }
    }

    /// Returns what is above the first block of a column: the corner and the cells above.
    pub(super) fn top(&self, column: usize) -> Edge {
        let first = (column * self.side) as u32;
        (first..=first + self.side as u32).collect()
    }

    /// Returns what is to the left of the first block of a row.
    pub(super) fn left(&self, row: usize) -> Edge {
        let first = (row * self.side) as u32;
        (first + 1..=first + self.side as u32).collect()
    }

    /// Computes the cells of a block. `top` becomes the top of the block below, and `left` that of
    /// the block to the right.
    pub(super) fn compute(&self, row: usize, column: usize, top: &mut [u32], left: &mut [u32]) {
        let down = &self.down[row * self.side..][..self.side];
        let across = &self.across[column * self.side..][..self.side];
        let (corner, above) = top.split_first_mut().expect("a top has a corner");
        for (left, &letter) in left.iter_mut().zip(down) {
            let diagonal = mem::replace(corner, *left);
            *left = compute_row(letter, across, diagonal, *left, above);
        }
    }

    /// Returns the last row of cells, from the tops of the blocks that would be below.
    pub(super) fn last_row(tops: impl IntoIterator<Item = Edge>) -> Vec<u32> {
        tops.into_iter().flat_map(|top| top.into_vec().into_iter().skip(1)).collect()
    }

    /// Computes the last row as a plain sequential program does, row by row, without blocks.
    pub(super) fn plain(&self) -> Vec<u32> {
        let mut cells: Vec<u32> = (1..=self.across.len() as u32).collect();
        for (row, &letter) in (0..).zip(&self.down) {
            compute_row(letter, &self.across, row, row + 1, &mut cells);
        }
        cells
    }

    /// Computes the last row block by block, in one thread.
    pub(super) fn by_blocks(&self) -> Vec<u32> {
        let mut tops: Vec<_> = (0..self.blocks).map(|column| self.top(column)).collect();
        for row in 0..self.blocks {
            let mut left = self.left(row);
            for (column, top) in tops.iter_mut().enumerate() {
                self.compute(row, column, top, &mut left);
            }
        }
        Self::last_row(tops)
    }
}

/// Computes the cells of a row, below `cells`, which they replace: from the cell to the left of the
/// first one, and the one above that. Returns the last cell.
#[inline]
fn compute_row(letter: u8, across: &[u8], diagonal: u32, left: u32, cells: &mut [u32]) -> u32 {
    let (mut diagonal, mut left) = (diagonal, left);
    let cells = &mut cells[..across.len()];
    for (x, &other) in across.iter().enumerate() {
        let above = cells[x];
        left = (diagonal + u32::from(letter != other)).min(above + 1).min(left + 1);
        cells[x] = left;
        diagonal = above;
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(down: &str, across: &str, blocks: usize, side: usize) -> Grid {
        Grid { blocks, side, down: down.into(), across: across.into() }
    }

    #[test]
    fn edit_distances_are_known() {
        let last = |grid: &Grid| *grid.plain().last().unwrap();
        assert_eq!(last(&of("kitten", "sittin", 1, 6)), 2);
        assert_eq!(last(&of("abcd", "abcd", 1, 4)), 0);
        assert_eq!(last(&of("abcd", "bcda", 1, 4)), 2);
        assert_eq!(last(&of("aaaa", "bbbb", 1, 4)), 4);
    }

    #[test]
    fn blocks_of_any_side_have_the_same_cells() {
        for (blocks, side) in [(1, 24), (24, 1), (3, 8), (8, 3)] {
            let grid = Grid { blocks, side, ..Grid::random(4, 6, 5) };
            assert_eq!(grid.by_blocks(), grid.plain(), "{blocks} {side}");
        }
    }
}
