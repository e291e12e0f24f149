//! Circles and boxes, and the cells that cover them.

use super::cell::{Bounds, Cell, FINEST};
use super::point::{Point, angle, radians};

/// Half the equator on the map of cells, in meters.
const HALF_MAP: f64 = 20_037_726.37;

/// A cell and those around it, in the order in which Redis visits them: to the east, to the north.
const AROUND: [(i32, i32); 9] =
    [(0, 0), (0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1)];

/// The size of a shape in meters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Size {
    /// Of a circle.
    Radius(f64),
    /// Of a box.
    Sides {
        /// From west to east.
        width: f64,
        /// From south to north.
        height: f64,
    },
}

/// Where a search looks for points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) center: Point,
    pub(super) size: Size,
}

impl Shape {
    /// Returns the distance of a point from the center, in meters, if the point is in the shape.
    pub(super) fn distance_inside(&self, point: Point) -> Option<f64> {
        match self.size {
            Size::Radius(radius) => Some(self.center.distance(point)).filter(|&distance| distance <= radius),
            Size::Sides { width, height } => {
                let abreast = Point { longitude: self.center.longitude, ..point };
                let is_inside = self.center.latitude_distance(point) <= height / 2.0
                    && point.distance(abreast) <= width / 2.0;
                is_inside.then(|| self.center.distance(point))
            }
        }
    }

    /// Returns half its width and half its height.
    fn reach(&self) -> (f64, f64) {
        match self.size {
            Size::Radius(radius) => (radius, radius),
            Size::Sides { width, height } => (width / 2.0, height / 2.0),
        }
    }

    /// Returns the box around it. Its width is that at the side that is nearer to a pole.
    fn bounds(&self) -> Bounds {
        let Point { longitude, latitude } = self.center;
        let (width, height) = self.reach();
        let tall = angle(height);
        let far = if latitude < 0.0 { latitude - tall } else { latitude + tall };
        let wide = angle(width / radians(far).cos());
        Bounds {
            west: longitude - wide,
            east: longitude + wide,
            south: latitude - tall,
            north: latitude + tall,
        }
    }

    /// Returns the steps of cells of which three by three mostly cover the shape.
    fn step(&self) -> u32 {
        let mut reach = match self.size {
            Size::Radius(radius) => radius,
            Size::Sides { width, height } => (width / 2.0).hypot(height / 2.0),
        };
        if reach == 0.0 {
            return FINEST;
        }
        let mut step = 1i32;
        while reach < HALF_MAP {
            reach *= 2.0;
            step += 1;
        }
        // Cells are narrower towards the poles.
        let wider = match self.center.latitude.abs() {
            latitude if latitude > 80.0 => 2,
            latitude if latitude > 66.0 => 1,
            _ => 0,
        };
        (step - 2 - wider).clamp(1, FINEST as i32) as u32
    }

    /// Returns the cells that cover it, in the order of visits.
    pub(super) fn cells(&self) -> Vec<Cell> {
        let bounds = self.bounds();
        let mut step = self.step();
        let mut center = Cell::of(self.center, step);
        if step > 1 && !covers(center, &bounds) && !planted!("cells-too-small") {
            step -= 1;
            center = Cell::of(self.center, step);
        }
        let own = center.bounds();
        // What the center covers on one side needs no cells there.
        let is_needed = |(east, north): (i32, i32)| {
            let is_useless = east < 0 && own.west < bounds.west
                || east > 0 && own.east > bounds.east
                || north < 0 && own.south < bounds.south
                || north > 0 && own.north > bounds.north;
            step < 2 || !is_useless
        };
        let needed = AROUND.into_iter().filter(|&at| is_needed(at));
        let mut cells: Vec<_> = needed.map(|(east, north)| center.neighbor(east, north)).collect();
        // Large cells have the same neighbor on both sides.
        cells.dedup();
        cells
    }
}

/// Returns true if a cell and those around it cover a box.
fn covers(center: Cell, bounds: &Bounds) -> bool {
    let [north, south] = [1, -1].map(|north| center.neighbor(0, north).bounds());
    let [east, west] = [1, -1].map(|east| center.neighbor(east, 0).bounds());
    let is_short = north.north < bounds.north
        || south.south > bounds.south
        || east.east < bounds.east
        || west.west > bounds.west;
    !is_short
}
