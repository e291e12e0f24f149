//! Coordinates, and distances of points.

/// The radius of the earth in meters, as Redis has it.
const EARTH_RADIUS: f64 = 6_372_797.560856;

/// The longitudes that there are, in degrees.
pub(super) const LONGITUDES: (f64, f64) = (-180.0, 180.0);
/// The latitudes that cells have, in degrees: those of a square map in Mercator's projection.
pub(super) const LATITUDES: (f64, f64) = (-85.05112878, 85.05112878);

const RADIANS_PER_DEGREE: f64 = std::f64::consts::PI / 180.0;

/// Coordinates in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) longitude: f64,
    pub(super) latitude: f64,
}

pub(super) fn radians(degrees: f64) -> f64 {
    degrees * RADIANS_PER_DEGREE
}

/// Returns the angle, in degrees, that a distance in meters has at the center of the earth.
pub(super) fn angle(meters: f64) -> f64 {
    meters / EARTH_RADIUS / RADIANS_PER_DEGREE
}

impl Point {
    /// Returns true if there are such longitudes and latitudes in cells.
    pub(super) fn is_valid(self) -> bool {
        (LONGITUDES.0..=LONGITUDES.1).contains(&self.longitude)
            && (LATITUDES.0..=LATITUDES.1).contains(&self.latitude)
    }

    /// Returns the distance in meters, by the haversine formula.
    pub(super) fn distance(self, other: Self) -> f64 {
        let v = ((radians(other.longitude) - radians(self.longitude)) / 2.0).sin();
        if v == 0.0 {
            return self.latitude_distance(other);
        }
        let (own, others) = (radians(self.latitude), radians(other.latitude));
        let u = ((others - own) / 2.0).sin();
        let a = u * u + own.cos() * others.cos() * v * v;
        2.0 * EARTH_RADIUS * a.sqrt().asin()
    }

    /// Returns the distance in meters of the two circles of latitude.
    pub(super) fn latitude_distance(self, other: Self) -> f64 {
        EARTH_RADIUS * (radians(self.latitude) - radians(other.latitude)).abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_on_a_sphere() {
        let at = |longitude, latitude| Point { longitude, latitude };
        let quarter = EARTH_RADIUS * std::f64::consts::FRAC_PI_2;
        assert!((at(0.0, 0.0).distance(at(90.0, 0.0)) - quarter).abs() < 1e-6);
        assert!((at(-135.0, 80.0).distance(at(45.0, 80.0)) - quarter / 4.5).abs() < 1e-6);
        assert!((at(179.0, 0.0).distance(at(-179.0, 0.0)) - quarter / 45.0).abs() < 1e-6);
        assert!((at(5.0, -20.0).latitude_distance(at(7.0, 10.0)) - quarter / 3.0).abs() < 1e-6);
        assert!((angle(quarter) - 90.0).abs() < 1e-9);
    }

    #[test]
    fn points_beyond_the_map_are_not_valid() {
        let valid = |longitude, latitude| Point { longitude, latitude }.is_valid();
        assert!(valid(180.0, 85.05112878) && valid(-180.0, -85.05112878));
        assert!(!valid(180.1, 0.0) && !valid(0.0, 85.06) && !valid(f64::INFINITY, 0.0));
    }
}
