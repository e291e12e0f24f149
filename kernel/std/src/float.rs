//! The functions of floating-point numbers that are not in `core`, of the crate `libm`.

/// What `f64` has in the standard library beyond `core`.
pub trait Float: Sized {
    /// Returns the least whole number that is not less.
    fn ceil(self) -> Self;
    /// Returns the nearest whole number, of two the one farther from zero.
    fn round(self) -> Self;
    /// Returns the nearest whole number, of two the even one.
    fn round_ties_even(self) -> Self;
    /// Returns the square root.
    fn sqrt(self) -> Self;
    /// Returns a power.
    fn powi(self, exponent: i32) -> Self;
    /// Returns the sine of an angle in radians.
    fn sin(self) -> Self;
    /// Returns the cosine of an angle in radians.
    fn cos(self) -> Self;
    /// Returns the angle in radians whose sine it is.
    fn asin(self) -> Self;
    /// Returns the length of the hypotenuse over two legs.
    fn hypot(self, other: Self) -> Self;
}

impl Float for f64 {
    fn ceil(self) -> Self {
        libm::ceil(self)
    }

    fn round(self) -> Self {
        libm::round(self)
    }

    fn round_ties_even(self) -> Self {
        libm::roundeven(self)
    }

    fn sqrt(self) -> Self {
        libm::sqrt(self)
    }

    fn powi(self, exponent: i32) -> Self {
        // By squares, as compilers do it: the crate has powers of fractions only, which are
        // rounded in another way.
        let (mut product, mut square, mut left) = (1.0, self, exponent.unsigned_abs());
        while left > 0 {
            if left % 2 == 1 {
                product *= square;
            }
            square *= square;
            left /= 2;
        }
        if exponent < 0 { 1.0 / product } else { product }
    }

    fn sin(self) -> Self {
        libm::sin(self)
    }

    fn cos(self) -> Self {
        libm::cos(self)
    }

    fn asin(self) -> Self {
        libm::asin(self)
    }

    fn hypot(self, other: Self) -> Self {
        libm::hypot(self, other)
    }
}
