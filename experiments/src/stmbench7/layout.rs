//! Where things are that never move: the roots, the pools and the pages of the indexes.

use super::dates::{self, Date};
use super::pages::DAYS;
use super::sizes::Sizes;
use super::text;
use std::ops::Range;
use xtasking_hierarchy::Node;

/// What ids are for; each kind counts from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ids {
    /// Complex assemblies.
    Complex,
    /// Base assemblies.
    Base,
    /// Composite parts.
    Composite,
    /// Documents. No index leads to them by id.
    Document,
    /// Atomic parts.
    Atomic,
}

impl Ids {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Complex, Self::Base, Self::Composite, Self::Document, Self::Atomic];
    /// So many pages has the index by id, if there is one.
    const PAGES: [u32; 5] = [16, 16, 16, 0, 105];
}

/// What there are shelves for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shelves {
    /// Composite parts.
    Composites,
    /// Documents.
    Documents,
    /// Atomic parts, all of a composite part on one shelf.
    Networks,
}

impl Shelves {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Composites, Self::Documents, Self::Networks];
}

/// So many pages has the index by title.
const TITLES: u32 = 16;

/// Where things are that never move: a world is laid out in this order, from node 0 on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// How large the world is.
    pub sizes: Sizes,
    /// Of each kind, so many objects were there in the beginning.
    objects: [u32; 5],
    /// The first page of each index by id.
    by_id: [u32; 5],
    by_date: u32,
    by_title: u32,
    /// The first shelf of each kind.
    shelves: [u32; 3],
    /// The first complex assembly of the rest: see [`root`](Self::root).
    root: u32,
}

impl Layout {
    /// That of a world of this size.
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
        // Those of composite parts last: beside the assemblies, as these are above them as well.
        let of_each = sizes.ids(sizes.composites);
        let [networks, documents, composites] = [(); 3].map(|()| several(of_each));
        let shelves = [composites, documents, networks];
        Self { sizes, objects, by_id, by_date, by_title, shelves, root: several(0) }
    }

    /// The module, which is a root.
    pub const MODULE: Node = Node(0);
    /// The manual, below the module.
    pub const MANUAL: Node = Node(1);
    /// The library of a kind, which is a root, above all shelves of it.
    pub const fn library(of: Shelves) -> Node {
        Node(2 + of as u32)
    }

    /// The first pool.
    const POOLS: u32 = 2 + Shelves::ALL.len() as u32;

    /// So many pages has the index by date.
    const DATES: u32 = {
        // What dates reach, written out as it has to be known early.
        let reached = *dates::MIDDLE.end() + 1 - (*dates::MIDDLE.start() - 1) + 1;
        (reached as u32).div_ceil(DAYS as u32)
    };
    /// The first date on the pages.
    const FIRST_DATE: Date = *dates::MIDDLE.start() - 1;

    /// The pool of a kind of ids.
    pub fn pool(&self, of: Ids) -> Node {
        Node(Self::POOLS + of as u32)
    }

    /// The shelf for what belongs to the composite part of an id.
    #[inline]
    pub fn shelf(&self, of: Shelves, composite: u32) -> Node {
        Node(self.shelves[of as usize] + composite - 1)
    }

    /// All three of one composite part.
    pub fn shelves_of(&self, composite: u32) -> [Node; 3] {
        Shelves::ALL.map(|of| self.shelf(of, composite))
    }

    /// All shelves of a kind.
    pub fn shelves(&self, of: Shelves) -> impl Iterator<Item = Node> + use<> {
        nodes(self.shelves[of as usize], self.last_id(Ids::Composite))
    }

    /// Whether a node is a shelf.
    #[inline]
    pub fn is_shelf(&self, node: Node) -> bool {
        let first = self.shelves[Shelves::Networks as usize];
        (first..self.root).contains(&node.0)
    }

    /// The complex assembly above all others. From here on, all nodes in the beginning are assemblies, and then what there is
    /// on shelves.
    pub fn root(&self) -> Node {
        Node(self.root)
    }

    /// So many objects of a kind were there in the beginning, with the ids from 1 on.
    pub fn objects(&self, of: Ids) -> u32 {
        self.objects[of as usize]
    }

    /// The last id of a kind.
    pub fn last_id(&self, of: Ids) -> u32 {
        self.sizes.ids(self.objects(of))
    }

    /// So many ids of a kind are on a page.
    pub fn ids_on_page(&self, of: Ids) -> u32 {
        self.last_id(of).div_ceil(Ids::PAGES[of as usize])
    }

    /// The page that is for an id.
    #[inline]
    pub fn page(&self, of: Ids, id: u32) -> Node {
        Node(self.by_id[of as usize] + (id - 1) / self.ids_on_page(of))
    }

    /// All pages for ids of a kind.
    pub fn pages(&self, of: Ids) -> impl Iterator<Item = Node> + use<> {
        nodes(self.by_id[of as usize], Ids::PAGES[of as usize])
    }

    /// The page that is for a date.
    #[inline]
    pub fn date_page(&self, date: Date) -> Node {
        Node(self.by_date + (date - Self::FIRST_DATE) as u32 / DAYS as u32)
    }

    /// All pages for dates.
    pub fn date_pages(&self) -> impl Iterator<Item = Node> + use<> {
        nodes(self.by_date, Self::DATES)
    }

    /// The pages for a date and all later ones.
    pub fn date_pages_since(&self, date: Date) -> impl Iterator<Item = Node> + use<> {
        let first = self.date_page(date).0;
        nodes(first, self.by_date + Self::DATES - first)
    }

    /// The first date on each page for dates.
    pub fn first_dates(&self) -> impl Iterator<Item = Date> + use<> {
        (Self::FIRST_DATE..).step_by(DAYS).take(Self::DATES as usize)
    }

    /// The page that is for a title.
    pub fn title_page(&self, title: &str) -> Node {
        // FNV-1a.
        let hash = |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        Node(self.by_title + title.bytes().fold(0x811c_9dc5, hash) % TITLES)
    }

    /// The page that is for the title of a composite part's document; the title is left in `title`.
    pub fn title_page_of(&self, composite: u32, title: &mut String) -> Node {
        text::write_title(title, composite);
        self.title_page(title)
    }

    /// All pages for titles.
    pub fn title_pages(&self) -> impl Iterator<Item = Node> + use<> {
        nodes(self.by_title, TITLES)
    }
}

fn nodes(first: u32, count: u32) -> impl Iterator<Item = Node> {
    let range: Range<u32> = first..first + count;
    range.map(Node)
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
            let most = layout.title_pages().map(spread).max().unwrap() as u32;
            assert!(most <= 4 * sizes.composites / TITLES, "{most} on a page");
        }
    }
}
