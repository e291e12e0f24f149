//! Cells of the earth, and the scores of points.

use super::point::{LATITUDES, LONGITUDES, Point};
use std::ops::Range;

/// The steps of the smallest cells: each halves both sides. These are the cells of scores.
pub(super) const FINEST: u32 = 26;

/// The latitudes of geohashes as others write them.
const WHOLE_LATITUDES: (f64, f64) = (-90.0, 90.0);
/// The first number beyond 64 bits.
const TOO_LARGE: f64 = (1u128 << 64) as f64;
/// The letters of geohashes, for five bits each.
const LETTERS: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";
/// The letters of a geohash.
const HASH_LETTERS: usize = 11;

/// A cell: column and row in a grid of two to the power of `step` cells in each direction.
///
/// The easternmost longitude and the northernmost latitude are in a column and a row after the
/// last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    step: u32,
    column: u32,
    row: u32,
}

/// The longitudes and latitudes of a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) west: f64,
    pub(super) east: f64,
    pub(super) south: f64,
    pub(super) north: f64,
}

/// Spreads bits, so that there is a zero before each.
fn spread(bits: u32) -> u64 {
    let mut wide = u64::from(bits);
    wide = (wide | wide << 16) & 0x0000_ffff_0000_ffff;
    wide = (wide | wide << 8) & 0x00ff_00ff_00ff_00ff;
    wide = (wide | wide << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    wide = (wide | wide << 2) & 0x3333_3333_3333_3333;
    (wide | wide << 1) & 0x5555_5555_5555_5555
}

/// Returns every second bit, from the lowest on.
fn gather(wide: u64) -> u32 {
    let mut bits = wide & 0x5555_5555_5555_5555;
    bits = (bits | bits >> 1) & 0x3333_3333_3333_3333;
    bits = (bits | bits >> 2) & 0x0f0f_0f0f_0f0f_0f0f;
    bits = (bits | bits >> 4) & 0x00ff_00ff_00ff_00ff;
    bits = (bits | bits >> 8) & 0x0000_ffff_0000_ffff;
    (bits | bits >> 16) as u32
}

impl Cell {
    /// Returns the cell of a point.
    pub(super) fn of(point: Point, step: u32) -> Self {
        Self::on_map(point, step, LATITUDES)
    }

    fn on_map(point: Point, step: u32, latitudes: (f64, f64)) -> Self {
        let index = |value: f64, (least, most): (f64, f64)| {
            ((value - least) / (most - least) * (1u64 << step) as f64) as u32
        };
        Self { step, column: index(point.longitude, LONGITUDES), row: index(point.latitude, latitudes) }
    }

    /// Returns the cell of a score, which may be any number.
    fn of_score(score: f64) -> Self {
        // A score that is no cell is converted as by x86's `cvttsd2si`: a negative one wraps
        // around, and one that is too large is 0.
        let bits = match score {
            ..0.0 => score as i64 as u64,
            TOO_LARGE.. => 0,
            _ => score as u64,
        };
        Self { step: FINEST, column: gather(bits >> 1), row: gather(bits) }
    }

    fn bits(self) -> u64 {
        spread(self.row) | spread(self.column) << 1
    }

    /// Returns the scores of the points in this cell.
    pub(super) fn scores(self) -> Range<f64> {
        let shift = 2 * (FINEST - self.step);
        let (first, end) = (self.bits() << shift, (self.bits() + 1) << shift);
        first as f64..end as f64
    }

    /// Returns the cell that is `east` columns further and `north` rows, around the earth.
    pub(super) fn neighbor(self, east: i32, north: i32) -> Self {
        let mask = (1 << self.step) - 1;
        let shifted = |index: u32, by: i32| match by {
            0 => index,
            _ => index.wrapping_add_signed(by) & mask,
        };
        Self { step: self.step, column: shifted(self.column, east), row: shifted(self.row, north) }
    }

    /// Returns its longitudes and latitudes.
    pub(super) fn bounds(self) -> Bounds {
        let line = |index: f64, (least, most): (f64, f64)| {
            least + index / (1u64 << self.step) as f64 * (most - least)
        };
        let (column, row) = (f64::from(self.column), f64::from(self.row));
        Bounds {
            west: line(column, LONGITUDES),
            east: line(column + 1.0, LONGITUDES),
            south: line(row, LATITUDES),
            north: line(row + 1.0, LATITUDES),
        }
    }
}

/// Returns the score of a point.
pub(super) fn score(point: Point) -> f64 {
    Cell::of(point, FINEST).scores().start
}

/// Returns the point that a score stands for: the center of its cell.
pub(super) fn point(score: f64) -> Point {
    let bounds = Cell::of_score(score).bounds();
    let center = |least: f64, most: f64, (first, last): (f64, f64)| ((least + most) / 2.0).clamp(first, last);
    Point {
        longitude: center(bounds.west, bounds.east, LONGITUDES),
        latitude: center(bounds.south, bounds.north, LATITUDES),
    }
}

/// Returns the geohash of a point, as other programs write it.
pub(super) fn geohash(point: Point) -> [u8; HASH_LETTERS] {
    let bits = Cell::on_map(point, FINEST, WHOLE_LATITUDES).bits();
    std::array::from_fn(|at| {
        let end = 5 * (at as u32 + 1);
        // There are bits for ten letters and a half; Redis writes a zero for the last one.
        if end <= 2 * FINEST { LETTERS[(bits >> (2 * FINEST - end) & 31) as usize] } else { b'0' }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_spread_and_gathered() {
        for bits in [0, 1, 2, 0x0123_4567, 0x89ab_cdef, u32::MAX] {
            assert_eq!(gather(spread(bits)), bits);
            assert_eq!(gather(spread(bits) << 1), 0);
        }
    }

    #[test]
    fn scores_are_those_of_redis() {
        let score = |longitude, latitude| score(Point { longitude, latitude });
        assert_eq!(score(-73.9733487, 40.7648057), 1_791_875_761_332_224.0);
        assert_eq!(score(13.361389, 38.115556), 3_479_099_956_230_698.0);
        let back = point(3_479_099_956_230_698.0);
        assert!((back.longitude - 13.361389).abs() < 1e-5 && (back.latitude - 38.115556).abs() < 1e-5);
    }

    #[test]
    fn geohashes_are_those_of_others() {
        let text = |longitude, latitude| geohash(Point { longitude, latitude });
        assert_eq!(&text(-5.6, 42.6)[..10], b"ezs42e44yx");
        assert_eq!(text(0.0, 0.0), *b"s0000000000");
    }

    #[test]
    fn neighbors_go_around_the_earth() {
        let cell = Cell::of(Point { longitude: 179.9, latitude: 0.1 }, 4);
        assert_eq!((cell.column, cell.row), (15, 8));
        let next = cell.neighbor(1, -1);
        assert_eq!((next.column, next.row), (0, 7));
        assert_eq!(next.neighbor(-1, 1), cell);
    }
}
