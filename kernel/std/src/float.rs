//! The functions of floating-point numbers that are not in `core`, of the crate `libm`.

/// What `f64` has in the standard library beyond `core`.
#[expect(missing_docs, reason = "as in the standard library")]
pub trait Float: Sized {
    fn ceil(self) -> Self;
    fn round(self) -> Self;
    fn round_ties_even(self) -> Self;
    fn sqrt(self) -> Self;
    fn powi(self, exponent: i32) -> Self;
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn asin(self) -> Self;
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
