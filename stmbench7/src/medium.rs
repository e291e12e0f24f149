//! Implements the medium-grained locks of STMBench7: for the structure, for each level of
//! assemblies, for all composite parts, for all atomic parts, for all documents, and for the
//! manual.
//!
//! Each lock is a granule that holds what it guards. A structural change takes the structure lock
//! for writing, which excludes all other operations. All others take it for reading, together with
//! the locks of the operation, in the order of the granules.

use super::layout::{Layout, Shelves};
use super::operations::{Category, Operation};
use super::parts::Part;
use super::world::Mode;
use std::ops::Range;

/// What a lock guards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// The set of objects, their ids and titles, and the indexes of these.
    Structure,
    Manual,
    /// Assemblies of a level.
    Level(u32),
    Composites,
    /// Atomic parts, and the index of their dates.
    Atomics,
    Documents,
}

/// Number of locks besides those of the levels.
const OTHERS: u32 = 5;

impl Class {
    /// Returns the granule; granules descend the model, as walks do.
    fn granule(self, layout: &Layout) -> u32 {
        let levels = layout.sizes.levels;
        match self {
            Self::Structure => 0,
            Self::Manual => 1,
            Self::Level(level) => 2 + levels - level,
            Self::Composites => 2 + levels,
            Self::Atomics => 3 + levels,
            Self::Documents => 4 + levels,
        }
    }

    fn of_shelves(of: Shelves) -> Self {
        match of {
            Shelves::Composites => Self::Composites,
            Shelves::Documents => Self::Documents,
            Shelves::Networks => Self::Atomics,
        }
    }
}

/// Returns the number of granules.
pub(super) fn count(layout: &Layout) -> u32 {
    OTHERS + layout.sizes.levels
}

/// Returns the granule of a node that is not a shelf.
pub(super) fn granule(layout: &Layout, part: &Part) -> u32 {
    let class = match part {
        Part::Manual(_) => Class::Manual,
        Part::Complex(complex) => Class::Level(complex.level),
        Part::Base(_) => Class::Level(1),
        Part::Composite(_) => Class::Composites,
        Part::Network(_) | Part::Dates(_) => Class::Atomics,
        Part::Document(_) => Class::Documents,
        Part::World
        | Part::Module(_)
        | Part::Library(_)
        | Part::Shelf
        | Part::Pool(_)
        | Part::Nodes(_)
        | Part::Locations(_)
        | Part::Titles(_) => Class::Structure,
    };
    class.granule(layout)
}

/// Describes what a granule's lock guards.
pub(super) fn describe(layout: &Layout, granule: u32) -> String {
    let levels = (1..=layout.sizes.levels).map(Class::Level);
    let others = [Class::Structure, Class::Manual, Class::Composites, Class::Atomics, Class::Documents];
    let class = others.into_iter().chain(levels).find(|class| class.granule(layout) == granule);
    class.map_or_else(|| format!("granule {granule}"), |class| format!("the lock {class:?}"))
}

/// Returns the granules of all initial nodes.
pub(super) fn granules(layout: &Layout, values: &[Part]) -> Vec<u32> {
    let mut granules: Vec<u32> = values.iter().map(|part| granule(layout, part)).collect();
    for of in Shelves::ALL {
        let granule = Class::of_shelves(of).granule(layout);
        layout.shelves(of).for_each(|shelf| granules[shelf.index()] = granule);
    }
    granules
}

/// Returns the granules that an operation takes.
pub(super) fn claims(operation: Operation, layout: &Layout) -> Vec<(Range<u32>, Mode)> {
    use Operation::*;
    let levels = layout.sizes.levels;
    let (mode, read) = (operation.mode(), Mode::Read);
    let all = |mode| (levels, 1, mode);
    // The range of levels, and the other locks.
    let (assemblies, others): (_, &[(Class, Mode)]) = match operation {
        _ if operation.category() == Category::Structural => return vec![(0..count(layout), Mode::Write)],
        T1 | T2a | T2b | T2c | T3a | T3b | T3c | T6 | ST1 | ST6 | ST9 | ST10 => {
            (all(read), &[(Class::Composites, read), (Class::Atomics, mode)])
        }
        T4 | T5 | ST2 | ST7 => (all(read), &[(Class::Composites, read), (Class::Documents, mode)]),
        // The plan of ST5 names all assemblies, though it only looks at base assemblies.
        Q6 | ST5 => (all(read), &[(Class::Composites, read)]),
        ST3 | ST8 => (all(mode), &[(Class::Composites, read)]),
        ST4 => ((1, 1, read), &[(Class::Composites, read)]),
        OP6 | OP12 => ((levels, 2, mode), &[]),
        OP7 | OP13 => ((1, 1, mode), &[(Class::Level(2), read)]),
        OP8 | OP14 => ((1, 1, read), &[(Class::Composites, mode)]),
        OP4 | OP5 | OP11 => return vec![(0..1, read), (1..2, mode)],
        _ => {
            return [(Class::Structure, read), (Class::Atomics, mode)].map(|class| one(class, layout)).into();
        }
    };
    let (highest, lowest, at) = assemblies;
    let range = Class::Level(highest).granule(layout)..Class::Level(lowest).granule(layout) + 1;
    let others = others.iter().map(|&class| one(class, layout));
    [one((Class::Structure, read), layout), (range, at)].into_iter().chain(others).collect()
}

fn one((class, mode): (Class, Mode), layout: &Layout) -> (Range<u32>, Mode) {
    let granule = class.granule(layout);
    (granule..granule + 1, mode)
}

#[cfg(test)]
mod tests {
    use super::super::build::Blueprint;
    use super::super::sizes::Sizes;
    use super::*;

    #[test]
    fn each_granule_guards_something() {
        let Blueprint { layout, values, .. } = Blueprint::new(Sizes::SMALL, 1);
        let granules = granules(&layout, &values);
        let mut used = granules.clone();
        used.sort_unstable();
        used.dedup();
        assert!(used.into_iter().eq(0..count(&layout)));
        let root = layout.root();
        assert_eq!(granules[root.index()], Class::Level(layout.sizes.levels).granule(&layout));
    }

    /// Some operations, transcribed from the description.
    #[test]
    fn operations_take_the_described_locks() {
        let layout = Layout::new(Sizes::STANDARD);
        let of = |operation| claims(operation, &layout);
        let (read, write) = (Mode::Read, Mode::Write);
        assert_eq!(of(Operation::ST10), [(0..1, read), (2..9, read), (9..10, read), (10..11, write)]);
        assert_eq!(of(Operation::ST8), [(0..1, read), (2..9, write), (9..10, read)]);
        assert_eq!(of(Operation::OP12), [(0..1, read), (2..8, write)]);
        assert_eq!(of(Operation::OP13), [(0..1, read), (8..9, write), (7..8, read)]);
        assert_eq!(of(Operation::OP15), [(0..1, read), (10..11, write)]);
        assert_eq!(of(Operation::OP11), [(0..1, read), (1..2, write)]);
        assert_eq!(of(Operation::T5), [(0..1, read), (2..9, read), (9..10, read), (11..12, write)]);
        assert_eq!(of(Operation::SM3), [(0..12, write)]);
    }
}
