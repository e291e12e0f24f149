//! Defines the values of nodes.
//!
//! A composite part has three nodes: its own, its document, and its network of atomic parts. Atomic
//! parts are no nodes: they are created and deleted together, and a traversal of their graph finds
//! them side by side in memory. Still, an atomic part has an id, by which the index leads to its
//! [location](super::pages::PartLocation). Documents and networks are not below the composite part,
//! but below roots of their own. So a claim on all assemblies with everything below them includes
//! neither.
//!
//! Each of the three nodes has a granule, that of its *shelf*. Shelves are permanent, three for
//! each id that a composite part can have. So creating or deleting composite parts writes no shared
//! node.

use super::dates::{self, Date};
use super::graph::Graph;
use super::ids::Pool;
use super::layout::Shelves;
use super::node::Node;
use super::pages::{ByDate, ById, ByTitle, PartLocation};
use super::sizes::Sizes;
use super::text;
use xtasking_harness::random::Random;

/// A kind of value.
pub trait Kind: Sized {
    /// Returns the value as this kind.
    fn of(part: &Part) -> Option<&Self>;
    /// Returns the value as this kind, to be changed.
    fn of_mut(part: &mut Part) -> Option<&mut Self>;
}

/// Defines [`Part`], and makes a [`Kind`] of the type of each variant's value.
macro_rules! parts {
    ($($(#[$doc:meta])* $variant:ident $(($kind:ty))?,)*) => {
        /// The value of a node.
        #[derive(Clone, Debug)]
        pub enum Part {
            $($(#[$doc])* $variant $(($kind))?,)*
        }

        $($(
            impl Kind for $kind {
                #[inline]
                fn of(part: &Part) -> Option<&Self> {
                    if let Part::$variant(it) = part { Some(it) } else { None }
                }
                #[inline]
                fn of_mut(part: &mut Part) -> Option<&mut Self> {
                    if let Part::$variant(it) = part { Some(it) } else { None }
                }
            }
        )?)*
    };
}

parts! {
    /// The root of a tree, above all other roots.
    World,
    /// The root above the manual and the assemblies, with its date.
    Module(Date),
    /// The text of the manual.
    Manual(Vec<u8>),
    /// An assembly of assemblies.
    Complex(Complex),
    /// An assembly of composite parts.
    Base(Base),
    /// The root above all shelves of a kind.
    Library(Shelves),
    /// The parent of one of the nodes of a composite part, if it exists.
    Shelf,
    /// A composite part.
    Composite(Composite),
    /// The document of a composite part.
    Document(Document),
    /// The atomic parts of a composite part.
    Network(Network),
    /// Free ids.
    Pool(Pool),
    /// A page of an index by id that leads to nodes.
    Nodes(ById<Node>),
    /// A page of the index of atomic parts by id.
    Locations(ById<PartLocation>),
    /// A page of the index of atomic parts by date.
    Dates(ByDate),
    /// A page of the index of documents by title.
    Titles(ByTitle),
}

impl Kind for Part {
    #[inline]
    fn of(part: &Part) -> Option<&Self> {
        Some(part)
    }
    #[inline]
    fn of_mut(part: &mut Part) -> Option<&mut Self> {
        Some(part)
    }
}

/// A complex assembly. Its children are complex assemblies of the level below, or base assemblies
/// if it is on level 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Complex {
    /// Its id.
    pub id: u32,
    /// Its date.
    pub date: Date,
    /// Its level: base assemblies are on level 1, the root is on the highest.
    pub level: u32,
}

/// A base assembly. Its children are the composite parts that it uses, each once.
#[derive(Clone, Debug)]
pub struct Base {
    /// Its id.
    pub id: u32,
    /// Its date.
    pub date: Date,
    /// The composite parts that it uses.
    pub components: Vec<Component>,
}

/// A composite part that a base assembly uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Component {
    /// The composite part.
    pub part: Node,
    /// How often it is used, at least once.
    pub times: u32,
}

/// A composite part. Its parents are the base assemblies that use it, and its shelf.
#[derive(Clone, Debug)]
pub struct Composite {
    /// Its id.
    pub id: u32,
    /// Its date.
    pub date: Date,
    /// Its document.
    pub document: Node,
    /// Its atomic parts.
    pub network: Node,
}

/// The atomic parts of a composite part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// All parts; the first one is the root part.
    pub parts: Box<[Atomic]>,
    /// The edges between them.
    pub graph: Graph,
}

/// The document of a composite part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Its id.
    pub id: u32,
    /// Its title.
    pub title: String,
    /// Its text.
    pub text: String,
}

/// An atomic part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Atomic {
    /// Its id.
    pub id: u32,
    /// Its date, by which an index leads to it.
    pub date: Date,
    /// Its x coordinate.
    pub x: i32,
    /// Its y coordinate: x + 1 or x - 1.
    pub y: i32,
}

/// Bytes of an entry in an index by date, if nodes are numbers.
const BYTES_PER_DATED_PART: usize = 16;

impl Part {
    /// Returns a description for reports.
    pub fn name(&self) -> String {
        match self {
            Self::World => "the root of the tree".to_string(),
            Self::Module(_) => "the module".to_string(),
            Self::Manual(_) => "the manual".to_string(),
            Self::Complex(complex) => format!("complex assembly {}", complex.id),
            Self::Base(base) => format!("base assembly {}", base.id),
            Self::Library(of) => format!("the library of {of:?}").to_lowercase(),
            Self::Shelf => "a shelf".to_string(),
            Self::Composite(composite) => format!("composite part {}", composite.id),
            Self::Document(document) => format!("document {}", document.id),
            Self::Network(_) => "a network of atomic parts".to_string(),
            Self::Pool(_) => "a pool of ids".to_string(),
            Self::Nodes(_) => "a page of nodes by id".to_string(),
            Self::Locations(_) => "a page of atomic parts by id".to_string(),
            Self::Dates(_) => "a page of atomic parts by date".to_string(),
            Self::Titles(_) => "a page of documents by title".to_string(),
        }
    }

    /// Returns the bytes of a copy, for large parts.
    pub fn bytes(&self) -> u64 {
        let bytes = match self {
            Self::Manual(text) => text.len(),
            Self::Document(document) => document.text.len(),
            Self::Network(Network { parts, graph }) => {
                size_of_val(&**parts) + size_of_val(&*graph.leaving) + size_of_val(&*graph.entering)
            }
            Self::Dates(page) => page.all().count() * BYTES_PER_DATED_PART,
            _ => size_of::<Self>(),
        };
        bytes as u64
    }

    /// Calls a function with each node that the part names.
    pub fn for_each_node(&mut self, mut each: impl FnMut(&mut Node)) {
        match self {
            Self::Base(base) => {
                base.components.iter_mut().for_each(|component| each(&mut component.part));
            }
            Self::Composite(composite) => {
                each(&mut composite.document);
                each(&mut composite.network);
            }
            Self::Nodes(page) => page.entries_mut().for_each(each),
            Self::Locations(page) => {
                page.entries_mut().for_each(|location| location.for_each_node(&mut each));
            }
            Self::Dates(page) => {
                page.locations_mut().for_each(|location| location.for_each_node(&mut each));
            }
            Self::Titles(page) => page.values_mut().for_each(each),
            _ => {}
        }
    }

    /// Returns the date, if the part has one.
    pub fn date_mut(&mut self) -> Option<&mut Date> {
        match self {
            Self::Module(date) => Some(date),
            Self::Complex(complex) => Some(&mut complex.date),
            Self::Base(base) => Some(&mut base.date),
            Self::Composite(composite) => Some(&mut composite.date),
            _ => None,
        }
    }
}

impl Base {
    /// Creates a base assembly without components.
    pub fn new(id: u32, random: &mut Random) -> Self {
        Self { id, date: dates::any(&dates::MIDDLE, random), components: Vec::new() }
    }

    /// Returns the composite parts that it uses, each as often as it does.
    pub fn bag(&self) -> impl Iterator<Item = Node> + Clone {
        self.components.iter().flat_map(|component| (0..component.times).map(|_| component.part))
    }

    /// Adds a use of a composite part. Returns true if it is the first one.
    pub fn add(&mut self, part: Node) -> bool {
        let known = self.components.iter_mut().find(|component| component.part == part);
        match known {
            Some(component) => component.times += 1,
            None => {
                self.components.push(Component { part, times: 1 });
                return true;
            }
        }
        false
    }

    /// Removes a use of a composite part. Returns true if it was the last one.
    pub fn remove(&mut self, part: Node) -> bool {
        let known = self.components.iter().position(|component| component.part == part);
        let known = known.expect("a removed component has been added before");
        self.components[known].times -= 1;
        let last = self.components[known].times == 0;
        if last {
            self.components.remove(known);
        }
        last
    }
}

/// The content of a new composite part, without its nodes.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Its date.
    pub date: Date,
    /// Its document.
    pub document: Document,
    /// Its atomic parts.
    pub network: Network,
}

impl Draft {
    /// Creates the content from a seed, with the given ids. Takes as many ids from `parts` as the
    /// network has atomic parts.
    pub fn new(sizes: &Sizes, seed: u64, id: u32, document: u32, parts: impl Iterator<Item = u32>) -> Self {
        let mut random = Random::new(seed, &[0]);
        let date = dates::of_composite(&mut random);
        let mut title = String::new();
        text::write_title(&mut title, id);
        let text = text::documentation(id, sizes.document);
        let document = Document { id: document, title, text };
        let graph = Graph::random(sizes.parts as usize, &mut random);
        let atomic = |(id, date)| {
            let x = random.below(100_000) as i32;
            Atomic { id, date, x, y: x + 1 }
        };
        let parts: Box<[Atomic]> = parts.zip(Self::part_dates(sizes, seed)).map(atomic).collect();
        debug_assert_eq!(parts.len(), graph.parts());
        Self { date, document, network: Network { parts, graph } }
    }

    /// Returns the dates of the atomic parts that a composite part of this seed has.
    pub fn part_dates(sizes: &Sizes, seed: u64) -> impl Iterator<Item = Date> + use<> {
        let mut random = Random::new(seed, &[1]);
        (0..sizes.parts).map(move |_| dates::any(&dates::MIDDLE, &mut random))
    }
}

impl Atomic {
    /// Swaps the coordinates.
    #[inline]
    pub fn swap(&mut self) {
        std::mem::swap(&mut self.x, &mut self.y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bag_counts_uses() {
        let mut base = Base::new(1, &mut Random::new(1, &[]));
        let [a, b] = [5, 3].map(Node);
        assert_eq!([a, b, a].map(|part| base.add(part)), [true, true, false]);
        assert!(base.bag().eq([a, a, b]));
        assert_eq!([a, a, b].map(|part| base.remove(part)), [false, true, true]);
        assert!(base.components.is_empty());
    }

    #[test]
    fn the_dates_of_the_parts_are_known_in_advance() {
        let sizes = Sizes::SMALL;
        let composite = Draft::new(&sizes, 9, 4, 5, 61..);
        let parts = &composite.network.parts;
        assert!(parts.iter().map(|part| part.date).eq(Draft::part_dates(&sizes, 9)));
        assert!(parts.iter().map(|part| part.id).eq(61..61 + sizes.parts));
        assert_eq!(composite.document.title, "Composite part #4");
    }
}
