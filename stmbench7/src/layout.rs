//! Lays out the nodes that never move: the roots, the pools and the pages of the indexes.

use super::dates::{self, Date};
use super::node::Node;
use super::pages::DAYS;
use super::sizes::Sizes;
use super::text;
use std::collections::BTreeSet;
use std::ops::Range;

/// The kinds of objects with ids; the ids of each kind begin at 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ids {
    /// Complex assemblies.
    Complex,
    /// Base assemblies.
    Base,
    /// Composite parts.
    Composite,
    /// Documents, which have no index by id.
    Document,
    /// Atomic parts.
    Atomic,
}

impl Ids {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Complex, Self::Base, Self::Composite, Self::Document, Self::Atomic];
    /// Number of pages of each index by id.
    const PAGES: [u32; 5] = [16, 16, 16, 0, 105];
}

/// The kinds of shelves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shelves {
    /// Composite parts.
    Composites,
    /// Documents.
    Documents,
    /// The atomic parts of a composite part, all on one shelf.
    Networks,
}

impl Shelves {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Composites, Self::Documents, Self::Networks];
}

/// Number of pages of the index by title.
const TITLES: u32 = 16;

/// The nodes that never move, in the order of a world's nodes from node 0 on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The sizes of the world.
    pub sizes: Sizes,
    /// Initial number of objects of each kind.
    objects: [u32; 5],
    /// The first page of each index by id.
    by_id: [u32; 5],
    by_date: u32,
    by_title: u32,
    /// The first shelf of each kind.
    shelves: [u32; 3],
    /// The first node after the permanent ones: see [`root`](Self::root).
    root: u32,
    handles: Option<Handles>,
}

/// The permanent nodes of a world whose nodes have handles.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Handles {
    by_number: Vec<Node>,
    shelves: BTreeSet<Node>,
}

impl Layout {
    /// Lays out a world of these sizes.
    pub fn new(sizes: Sizes) -> Self {
        let objects = [sizes.complexes(), sizes.bases(), sizes.composites, sizes.composites, sizes.atomics()];
        // The module, the manual, the libraries and the pools come first.
        let mut next = Self::POOLS + Ids::ALL.len() as u32;
        let mut several = |pages| {
            next += pages;
            next - pages
        };
        let by_id = Ids::PAGES.map(&mut several);
        let by_date = several(Self::DATES);
        let by_title = several(TITLES);
        // The shelves of composite parts come last, next to the assemblies, which are above the
        // parts too.
        let of_each = sizes.ids(sizes.composites);
        let [networks, documents, composites] = [(); 3].map(|()| several(of_each));
        let shelves = [composites, documents, networks];
        Self { sizes, objects, by_id, by_date, by_title, shelves, root: several(0), handles: None }
    }

    /// Returns the same layout for a world whose nodes have handles; these are by number.
    pub fn with_handles(&self, by_number: &[Node]) -> Self {
        let permanent = by_number[..=self.root as usize].to_vec();
        let first = self.shelves[Shelves::Networks as usize] as usize;
        let shelves = permanent[first..self.root as usize].iter().copied().collect();
        Self { handles: Some(Handles { by_number: permanent, shelves }), ..self.clone() }
    }

    /// Returns the permanent node of a number.
    #[inline]
    fn node(&self, number: u32) -> Node {
        self.handles.as_ref().map_or(Node::of_number(number), |handles| handles.by_number[number as usize])
    }

    fn nodes(&self, first: u32, count: u32) -> impl Iterator<Item = Node> {
        let range: Range<u32> = first..first + count;
        range.map(|number| self.node(number))
    }

    /// Returns the module, which is a root.
    pub fn module(&self) -> Node {
        self.node(0)
    }

    /// Returns the manual, below the module.
    pub fn manual(&self) -> Node {
        self.node(1)
    }

    /// Returns the library of a kind, which is a root above all shelves of the kind.
    pub fn library(&self, of: Shelves) -> Node {
        self.node(2 + of as u32)
    }

    /// The first pool.
    const POOLS: u32 = 2 + Shelves::ALL.len() as u32;

    /// Number of pages of the index by date.
    const DATES: u32 = {
        // Number of dates that updates can reach; written out, as this is a constant.
        let reachable_dates = *dates::MIDDLE.end() + 1 - (*dates::MIDDLE.start() - 1) + 1;
        (reachable_dates as u32).div_ceil(DAYS as u32)
    };
    /// The first date on the pages.
    const FIRST_DATE: Date = *dates::MIDDLE.start() - 1;

    /// Returns the pool of a kind of ids.
    pub fn pool(&self, of: Ids) -> Node {
        self.node(Self::POOLS + of as u32)
    }

    /// Returns the shelf of a kind for a composite part's id.
    #[inline]
    pub fn shelf(&self, of: Shelves, composite: u32) -> Node {
        self.node(self.shelves[of as usize] + composite - 1)
    }

    /// Returns all three shelves of one composite part.
    pub fn shelves_of(&self, composite: u32) -> [Node; 3] {
        Shelves::ALL.map(|of| self.shelf(of, composite))
    }

    /// Returns all shelves of a kind.
    pub fn shelves(&self, of: Shelves) -> impl Iterator<Item = Node> {
        self.nodes(self.shelves[of as usize], self.last_id(Ids::Composite))
    }

    /// Returns true if a node is a shelf.
    #[inline]
    pub fn is_shelf(&self, node: Node) -> bool {
        match &self.handles {
            None => (self.shelves[Shelves::Networks as usize]..self.root).contains(&node.number()),
            Some(handles) => handles.shelves.contains(&node),
        }
    }

    /// Returns the root of the complex assemblies. From there on, the initial nodes are all
    /// assemblies, followed by what is on shelves.
    pub fn root(&self) -> Node {
        self.node(self.root)
    }

    /// Returns the initial number of objects of a kind, whose ids begin at 1.
    pub fn objects(&self, of: Ids) -> u32 {
        self.objects[of as usize]
    }

    /// Returns the last id of a kind.
    pub fn last_id(&self, of: Ids) -> u32 {
        self.sizes.ids(self.objects(of))
    }

    /// Returns the number of ids of a kind on a page.
    pub fn ids_on_page(&self, of: Ids) -> u32 {
        self.last_id(of).div_ceil(Ids::PAGES[of as usize])
    }

    /// Returns the page of an id.
    #[inline]
    pub fn page(&self, of: Ids, id: u32) -> Node {
        self.node(self.by_id[of as usize] + (id - 1) / self.ids_on_page(of))
    }

    /// Returns all pages for ids of a kind.
    pub fn pages(&self, of: Ids) -> impl Iterator<Item = Node> {
        self.nodes(self.by_id[of as usize], Ids::PAGES[of as usize])
    }

    /// Returns the page of a date.
    #[inline]
    pub fn date_page(&self, date: Date) -> Node {
        self.node(self.date_page_number(date))
    }

    #[inline]
    fn date_page_number(&self, date: Date) -> u32 {
        self.by_date + (date - Self::FIRST_DATE) as u32 / DAYS as u32
    }

    /// Returns all pages for dates.
    pub fn date_pages(&self) -> impl Iterator<Item = Node> {
        self.nodes(self.by_date, Self::DATES)
    }

    /// Returns the pages for `date` and all later dates.
    pub fn date_pages_since(&self, date: Date) -> impl Iterator<Item = Node> {
        let first = self.date_page_number(date);
        self.nodes(first, self.by_date + Self::DATES - first)
    }

    /// Returns the first date of each page for dates.
    pub fn first_dates(&self) -> impl Iterator<Item = Date> + use<> {
        (Self::FIRST_DATE..).step_by(DAYS).take(Self::DATES as usize)
    }

    /// Returns the page of a title.
    pub fn title_page(&self, title: &str) -> Node {
        // FNV-1a.
        let hash = |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        self.node(self.by_title + title.bytes().fold(0x811c_9dc5, hash) % TITLES)
    }

    /// Returns the page for the title of a composite part's document, and writes the title to
    /// `title`.
    pub fn title_page_of(&self, composite: u32, title: &mut String) -> Node {
        text::write_title(title, composite);
        self.title_page(title)
    }

    /// Returns all pages for titles.
    pub fn title_pages(&self) -> impl Iterator<Item = Node> {
        self.nodes(self.by_title, TITLES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_a_page() {
        for sizes in [Sizes::STANDARD, Sizes::SMALL] {
            let layout = Layout::new(sizes);
            for of in Ids::ALL.into_iter().filter(|&of| of != Ids::Document) {
                let pages: Vec<_> = layout.pages(of).collect();
                assert!((1..=layout.last_id(of)).all(|id| pages.contains(&layout.page(of, id))));
            }
            let pages: Vec<_> = layout.date_pages().collect();
            for date in dates::reached(&dates::MIDDLE) {
                let page = layout.date_page(date);
                assert!(pages.contains(&page), "{date}");
                assert_eq!(page, layout.date_page(dates::updated(date)), "a date stays on its page");
                assert!(
                    layout.date_pages_since(date).eq(pages.iter().copied().filter(|&other| other >= page))
                );
            }
            assert_eq!(layout.first_dates().count(), pages.len());
            assert!(layout.first_dates().zip(pages).all(|(date, page)| layout.date_page(date) == page));
            let mut title = String::new();
            let spread = |page| {
                (1..=sizes.composites).filter(|&id| layout.title_page_of(id, &mut title) == page).count()
            };
            let largest = layout.title_pages().map(spread).max().unwrap() as u32;
            assert!(largest <= 4 * sizes.composites / TITLES, "{largest} on a page");
        }
    }
}
