//! Defines the size of a world.

/// The size of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Levels of assemblies; the base assemblies are level 1.
    pub levels: u32,
    /// Children of a complex assembly.
    pub fan: u32,
    /// Components of a base assembly, perhaps with duplicates.
    pub components: u32,
    /// Composite parts.
    pub composites: u32,
    /// Atomic parts of a composite part.
    pub parts: u32,
    /// Maximal number of characters of a document.
    pub document: usize,
    /// Characters of the manual.
    pub manual: usize,
    /// Additional ids, in percent of the initial objects.
    pub spare: u32,
}

impl Sizes {
    /// The benchmark's sizes: 100,000 atomic parts below 1093 assemblies.
    pub const STANDARD: Self = Self {
        levels: 7,
        fan: 3,
        components: 3,
        composites: 500,
        parts: 200,
        document: 20_000,
        manual: 1_000_000,
        spare: 5,
    };

    /// A world for quick runs. It has more spare ids, as one new assembly may need many.
    pub const SMALL: Self = Self {
        levels: 4,
        fan: 3,
        components: 3,
        composites: 20,
        parts: 10,
        document: 250,
        manual: 1_000,
        spare: 60,
    };

    /// Returns the initial number of base assemblies.
    pub fn bases(&self) -> u32 {
        self.fan.pow(self.levels - 1)
    }

    /// Returns the initial number of complex assemblies.
    pub fn complexes(&self) -> u32 {
        (0..self.levels - 1).map(|above| self.fan.pow(above)).sum()
    }

    /// Returns the initial number of atomic parts.
    pub fn atomics(&self) -> u32 {
        self.composites * self.parts
    }

    /// Returns the number of ids for `objects` initial objects.
    pub fn ids(&self, objects: u32) -> u32 {
        (u64::from(objects) * u64::from(100 + self.spare) / 100) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_has_the_described_sizes() {
        let sizes = Sizes::STANDARD;
        assert_eq!((sizes.complexes(), sizes.bases(), sizes.atomics()), (364, 729, 100_000));
        assert_eq!([364, 729, 500, 100_000].map(|objects| sizes.ids(objects)), [382, 765, 525, 105_000]);
    }
}
