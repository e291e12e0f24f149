//! Implements the 45 operations.
//!
//! Each has two steps. It *finds* its objects, by random numbers from its seed, and claims all
//! nodes that it looks at and all that it will touch. This step is its plan; once everything is
//! claimed, the operation repeats it. Whatever can make an operation fail is detected here, where
//! nothing can be changed. Then it *executes* on the objects that it has found.
//!
//! | module | what it holds |
//! |---|---|
//! | `long` | T1 to T6, Q6, Q7: traversals of all assemblies or all atomic parts |
//! | `short` | ST1 to ST10: along a path through the assemblies |
//! | `single` | OP1 to OP15: on some objects that an index leads to |
//! | `composites` | SM1, SM2: creates and deletes composite parts |
//! | `links` | SM3, SM4: base assemblies begin or cease to use composite parts |
//! | `assemblies` | SM5 to SM8: creates and deletes assemblies |
//! | `actions` | actions that several operations share |

mod actions;
mod assemblies;
mod composites;
mod links;
mod long;
mod short;
mod single;
#[cfg(test)]
mod tests;

use super::dates::Date;
use super::effort::Effort;
use super::graph::Walk;
use super::layout::Layout;
use super::node::Node;
use super::outcome::{Outcome, SearchResult, SearchStop};
use super::pages::PartLocation;
use super::world::{ClaimedWorld, Mode, Planner, World};
use xtasking_harness::random::Random;

/// The category of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// Long traversals.
    Long,
    /// Short traversals.
    Short,
    /// Operations on some objects.
    Single,
    /// Changes of the structure.
    Structural,
}

impl Category {
    /// All categories.
    pub const ALL: [Self; 4] = [Self::Long, Self::Short, Self::Single, Self::Structural];
}

macro_rules! operations {
    ($($name:ident $category:ident $mode:ident $what:literal,)*) => {
        /// An operation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Operation {$(
            #[doc = $what]
            $name,
        )*}

        impl Operation {
            /// All operations.
            pub const ALL: [Self; 45] = [$(Self::$name),*];

            /// Returns the category.
            pub fn category(self) -> Category {
                match self {$(Self::$name => Category::$category,)*}
            }

            /// Returns the strongest mode in which the operation accesses nodes.
            pub fn mode(self) -> Mode {
                match self {$(Self::$name => Mode::$mode,)*}
            }

            /// Returns the name.
            pub fn name(self) -> &'static str {
                match self {$(Self::$name => stringify!($name),)*}
            }
        }
    };
}

operations! {
    T1 Long Read "Visits all atomic parts of all components of all base assemblies.",
    T2a Long Write "As T1, and swaps the coordinates of root parts.",
    T2b Long Write "As T1, and swaps the coordinates of all parts.",
    T2c Long Write "As T1, and swaps the coordinates of all parts four times.",
    T3a Long Write "As T1, and updates the dates of root parts.",
    T3b Long Write "As T1, and updates the dates of all parts.",
    T3c Long Write "As T1, and updates the dates of all parts four times.",
    T4 Long Read "Counts a letter in the documents of all components of all base assemblies.",
    T5 Long Write "As T4, but toggles the documents.",
    T6 Long Read "As T1, for root parts alone.",
    Q6 Long Read "Counts the assemblies below or in which there is a component newer than its base assembly.",
    Q7 Long Read "Visits all atomic parts that there are.",
    ST1 Short Read "Visits an atomic part at the end of a random path.",
    ST2 Short Read "Counts a letter in the document at the end of a random path.",
    ST3 Short Read "Visits all assemblies above a random atomic part.",
    ST4 Short Read "Visits the base assemblies that use the composite parts of 100 random titles.",
    ST5 Short Read "Counts the base assemblies with a component that is newer.",
    ST6 Short Write "As ST1, and swaps the coordinates.",
    ST7 Short Write "As ST2, but toggles the document.",
    ST8 Short Write "As ST3, and updates the dates of the assemblies.",
    ST9 Short Read "Visits all atomic parts of the composite part at the end of a random path.",
    ST10 Short Write "As ST9, and swaps the coordinates.",
    OP1 Single Read "Visits the atomic parts of ten random ids.",
    OP2 Single Read "Visits the atomic parts with the latest hundredth of all dates.",
    OP3 Single Read "Visits the atomic parts with the latest tenth of all dates.",
    OP4 Single Read "Counts a letter in the manual.",
    OP5 Single Read "Compares the first and the last letter of the manual.",
    OP6 Single Read "Visits the siblings of a random complex assembly.",
    OP7 Single Read "Visits the siblings of a random base assembly.",
    OP8 Single Read "Visits the components of a random base assembly.",
    OP9 Single Write "As OP1, and swaps the coordinates.",
    OP10 Single Write "As OP2, and swaps the coordinates.",
    OP11 Single Write "Changes the case of a letter in the manual.",
    OP12 Single Write "As OP6, and updates their dates.",
    OP13 Single Write "As OP7, and updates their dates.",
    OP14 Single Write "As OP8, and updates their dates.",
    OP15 Single Write "As OP1, and updates the dates.",
    SM1 Structural Write "Creates a composite part, which no base assembly uses.",
    SM2 Structural Write "Deletes a composite part.",
    SM3 Structural Write "Adds a use of a composite part by a base assembly.",
    SM4 Structural Write "Removes a use of a composite part by a base assembly.",
    SM5 Structural Write "Creates a sibling of a base assembly.",
    SM6 Structural Write "Deletes a base assembly.",
    SM7 Structural Write "Creates a sibling of a complex assembly, with all assemblies below it.",
    SM8 Structural Write "Deletes a complex assembly and all assemblies below it.",
}

/// Buffers of operations, reused by any number of operations, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    targets: Targets,
    walk: Walk,
    /// The old text of a document.
    spare: String,
    title: String,
    /// Atomic parts, with old, current or new dates.
    dated: Vec<(u32, Date)>,
    /// The effort of the last operation.
    pub effort: Effort,
}

/// The objects of an operation; which fields are used depends on the operation.
#[derive(Clone, Debug, Default)]
struct Targets {
    nodes: Vec<Node>,
    locations: Vec<PartLocation>,
    /// Base assemblies, and composite parts that they use.
    uses: Vec<(Node, Node)>,
    /// Free ids.
    ids: Vec<u32>,
}

/// The inputs of an operation.
struct Tools<'t> {
    layout: &'t Layout,
    seed: u64,
    random: Random,
    scratch: &'t mut Scratch,
}

impl Operation {
    /// Returns true if the operation reads enough to make a snapshot worthwhile.
    pub fn reads_long(self) -> bool {
        use Operation::*;
        matches!(self, T1 | T4 | T6 | Q6 | Q7 | ST4 | ST5 | ST9 | OP2 | OP3)
    }

    /// Plans the operation with this seed: what it [claims](Planner) suffices to [run](Self::run)
    /// it; or to [execute](Self::execute) it, if the plan has found all its objects.
    ///
    /// An operation that fails needs no more claims than those that led to the failure.
    pub fn plan(
        self,
        layout: &Layout,
        seed: u64,
        scratch: &mut Scratch,
        planner: &mut impl Planner,
    ) -> SearchResult<()> {
        self.find(&mut Tools::new(layout, seed, scratch), planner)
    }

    /// Runs the operation.
    pub fn run(self, layout: &Layout, seed: u64, scratch: &mut Scratch, world: &mut impl World) -> Outcome {
        let mut held = ClaimedWorld { world, named: 0 };
        let found = self.plan(layout, seed, scratch, &mut held);
        let named = held.named;
        self.execute(found, named, layout, seed, scratch, world)
    }

    /// Executes the operation on the objects that its last [plan](Self::plan) has found, with the
    /// same scratch, and named so many nodes for.
    pub fn execute(
        self,
        found: SearchResult<()>,
        named: u64,
        layout: &Layout,
        seed: u64,
        scratch: &mut Scratch,
        world: &mut impl World,
    ) -> Outcome {
        scratch.effort = Effort { nodes: named, ..Effort::default() };
        match found {
            Ok(()) => {}
            Err(SearchStop::Failure(failed)) => return Err(failed),
            Err(SearchStop::Unseen) => unreachable!("all nodes are visible"),
        }
        let mut tools = Tools { layout, seed, random: Random::new(seed, &[0]), scratch };
        let answer = match self.category() {
            Category::Long => long::execute(self, &mut tools, world),
            Category::Short => short::execute(self, &mut tools, world),
            Category::Single => single::execute(self, &mut tools, world),
            Category::Structural => match self {
                Self::SM1 => composites::create(&mut tools, world),
                Self::SM2 => composites::delete(&mut tools, world),
                Self::SM3 => links::link(&mut tools, world),
                Self::SM4 => links::unlink(&mut tools, world),
                Self::SM5 | Self::SM7 => assemblies::create(&mut tools, world),
                _ => assemblies::delete(&mut tools, world),
            },
        };
        tools.scratch.effort += answer.effort;
        Ok(answer)
    }

    fn find(self, tools: &mut Tools<'_>, planner: &mut impl Planner) -> SearchResult<()> {
        match self.category() {
            Category::Long => {
                long::claim(self, tools, planner);
                Ok(())
            }
            Category::Short => short::find(self, tools, planner),
            Category::Single => single::find(self, tools, planner),
            Category::Structural => match self {
                Self::SM1 => composites::find_room(tools, planner),
                Self::SM2 => composites::find_one(tools, planner),
                Self::SM3 => links::find_two(tools, planner),
                Self::SM4 => links::find_use(tools, planner),
                Self::SM5 => assemblies::find_room_for_base(tools, planner),
                Self::SM6 => assemblies::find_base(tools, planner),
                Self::SM7 => assemblies::find_room_for_complex(tools, planner),
                _ => assemblies::find_complex(tools, planner),
            },
        }
    }
}

impl<'t> Tools<'t> {
    fn new(layout: &'t Layout, seed: u64, scratch: &'t mut Scratch) -> Self {
        scratch.targets.nodes.clear();
        scratch.targets.locations.clear();
        scratch.targets.uses.clear();
        scratch.targets.ids.clear();
        Self { layout, seed, random: Random::new(seed, &[0]), scratch }
    }

    /// Returns random numbers independent of those that find objects.
    fn independent_random(&self) -> Random {
        Random::new(self.seed, &[1])
    }
}
