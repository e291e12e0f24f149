//! How large a world is.

/// How large a world is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Levels of assemblies; the base assemblies are level 1.
    pub levels: u32,
    /// Assemblies below a complex assembly.
    pub fan: u32,
    /// Composite parts that a base assembly has, the same one perhaps more than once.
    pub components: u32,
    /// Composite parts.
    pub composites: u32,
    /// Atomic parts of a composite part.
    pub parts: u32,
    /// The characters of a document, of which there are no more.
    pub document: usize,
    /// The characters of the manual.
    pub manual: usize,
    /// How many more ids there are than objects in the beginning, in percent.
    pub spare: u32,
}

impl Sizes {
    /// Those of the benchmark: 100,000 atomic parts below 1093 assemblies.
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

    /// A world that is gone through at once. It has more ids to spare, so that not every new assembly wants one too many.
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

    /// Base assemblies in the beginning.
    pub fn bases(&self) -> u32 {
        self.fan.pow(self.levels - 1)
    }

    /// Complex assemblies in the beginning.
    pub fn complexes(&self) -> u32 {
        (0..self.levels - 1).map(|above| self.fan.pow(above)).sum()
    }

    /// Atomic parts in the beginning.
    pub fn atomics(&self) -> u32 {
        self.composites * self.parts
    }

    /// How many ids there are for so many objects.
    pub fn ids(&self, objects: u32) -> u32 {
        (u64::from(objects) * u64::from(100 + self.spare) / 100) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_is_as_large_as_described() {
        let sizes = Sizes::STANDARD;
        assert_eq!((sizes.complexes(), sizes.bases(), sizes.atomics()), (364, 729, 100_000));
        assert_eq!([364, 729, 500, 100_000].map(|objects| sizes.ids(objects)), [382, 765, 525, 105_000]);
    }
}
