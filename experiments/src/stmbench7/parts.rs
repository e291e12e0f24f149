//! What the nodes of a world are.
//!
//! A composite part has two nodes besides its own: its document, and all its atomic parts. These are no nodes: they come and go
//! together, and a walk through their graph finds them side by side. Still, an atomic part has an id by which the index leads
//! to it: its [place](super::pages::Place). Documents and atomic parts are not below the composite part, but below roots of
//! their own, so that who names all assemblies with what is below them has named neither the ones nor the others.
//!
//! A composite part comes and goes with a granule for each of its three nodes: these are those of *shelves*, which stay, three
//! for each id that a composite part can have. So nobody has to write what all composite parts have in common.

use super::dates::{self, Date};
use super::graph::Graph;
use super::ids::Pool;
use super::layout::Shelves;
use super::pages::{ByDate, ById, ByTitle, Place};
use super::sizes::Sizes;
use super::text;
use crate::ycsb::distribution::Random;
use xtasking_hierarchy::Node;

/// What a node is.
#[derive(Clone, Debug)]
pub enum Part {
    /// Above the manual and the assemblies. It has this date.
    Module(Date),
    /// The text of the manual.
    Manual(Vec<u8>),
    /// An assembly above others.
    Complex(Complex),
    /// An assembly of composite parts.
    Base(Base),
    /// Above all shelves of a kind.
    Library(Shelves),
    /// Above what there is of one composite part, if it is there.
    Shelf,
    /// A composite part.
    Composite(Composite),
    /// The document of one.
    Document(Document),
    /// The atomic parts of one.
    Network(Network),
    /// Free ids.
    Pool(Pool),
    /// A page of an index by id, that leads to nodes.
    Nodes(ById<Node>),
    /// A page of the index of atomic parts by id.
    Places(ById<Place>),
    /// A page of the index of atomic parts by date.
    Dates(ByDate),
    /// A page of the index of documents by title.
    Titles(ByTitle),
}

/// A complex assembly. Its children are complex assemblies of the level below, or base assemblies if it is on level 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Complex {
    /// Its id.
    pub id: u32,
    /// Its date.
    pub date: Date,
    /// Base assemblies are on level 1, the root is on the highest.
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
    /// Which one.
    pub part: Node,
    /// How often, at least once.
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
    /// All of them; the first one is the root part.
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
    /// What it says.
    pub text: String,
}

/// An atomic part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Atomic {
    /// Its id.
    pub id: u32,
    /// Its date, by which an index leads to it.
    pub date: Date,
    /// Its abscissa.
    pub x: i32,
    /// Its ordinate: one more than the abscissa, or one less.
    pub y: i32,
}

impl Part {
    /// What it is, for people.
    pub fn name(&self) -> String {
        match self {
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
            Self::Places(_) => "a page of atomic parts by id".to_string(),
            Self::Dates(_) => "a page of atomic parts by date".to_string(),
            Self::Titles(_) => "a page of documents by title".to_string(),
        }
    }

    /// How many bytes a copy takes, of those that are large.
    pub fn bytes(&self) -> u64 {
        let bytes = match self {
            Self::Manual(text) => text.len(),
            Self::Document(document) => document.text.len(),
            Self::Network(Network { parts, graph }) => {
                size_of_val(&**parts) + size_of_val(&*graph.leaving) + size_of_val(&*graph.entering)
            }
            Self::Dates(page) => page.all().count() * size_of::<super::pages::Dated>(),
            _ => size_of::<Self>(),
        };
        bytes as u64
    }

    /// The date, if it has one.
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

/// One of the things that a node can be.
pub trait Kind: Sized {
    /// It, if the node is that.
    fn of(part: &Part) -> Option<&Self>;
    /// It, if the node is that, to be changed.
    fn of_mut(part: &mut Part) -> Option<&mut Self>;
}

macro_rules! kinds {
    ($($variant:ident($kind:ty),)*) => {$(
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
    )*};
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

kinds! {
    Manual(Vec<u8>),
    Complex(Complex),
    Base(Base),
    Composite(Composite),
    Document(Document),
    Network(Network),
    Pool(Pool),
    Nodes(ById<Node>),
    Places(ById<Place>),
    Dates(ByDate),
    Titles(ByTitle),
}

impl Base {
    /// One with no components.
    pub fn new(id: u32, random: &mut Random) -> Self {
        Self { id, date: dates::any(&dates::MIDDLE, random), components: Vec::new() }
    }

    /// The composite parts that it uses, each as often as it does.
    pub fn bag(&self) -> impl Iterator<Item = Node> + Clone {
        self.components.iter().flat_map(|component| (0..component.times).map(|_| component.part))
    }

    /// Uses a composite part once more, and says whether this is the first time.
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

    /// Uses a composite part that it uses once less, and says whether this was the last time.
    pub fn take_away(&mut self, part: Node) -> bool {
        let known = self.components.iter().position(|component| component.part == part);
        let known = known.expect("a component that is taken away has been added");
        self.components[known].times -= 1;
        let last = self.components[known].times == 0;
        if last {
            self.components.remove(known);
        }
        last
    }
}

/// All that belongs to a composite part that is to come, but the nodes.
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
    /// One of these ids and with all else from a seed. It takes as many ids for its atomic parts as these are to be.
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

    /// The dates of the atomic parts that a composite part has from this seed.
    pub fn part_dates(sizes: &Sizes, seed: u64) -> impl Iterator<Item = Date> + use<> {
        let mut random = Random::new(seed, &[1]);
        (0..sizes.parts).map(move |_| dates::any(&dates::MIDDLE, &mut random))
    }
}

impl Atomic {
    /// Exchanges its coordinates.
    #[inline]
    pub fn swap(&mut self) {
        std::mem::swap(&mut self.x, &mut self.y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bag_counts() {
        let mut base = Base::new(1, &mut Random::new(1, &[]));
        let [a, b] = [Node(5), Node(3)];
        assert_eq!([a, b, a].map(|part| base.add(part)), [true, true, false]);
        assert!(base.bag().eq([a, a, b]));
        assert_eq!([a, a, b].map(|part| base.take_away(part)), [false, true, true]);
        assert!(base.components.is_empty());
    }

    #[test]
    fn the_dates_of_the_parts_are_known_before() {
        let sizes = Sizes::SMALL;
        let composite = Draft::new(&sizes, 9, 4, 5, 61..);
        let parts = &composite.network.parts;
        assert!(parts.iter().map(|part| part.date).eq(Draft::part_dates(&sizes, 9)));
        assert!(parts.iter().map(|part| part.id).eq(61..61 + sizes.parts));
        assert_eq!(composite.document.title, "Composite part #4");
    }
}
