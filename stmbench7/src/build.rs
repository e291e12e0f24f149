//! Builds a world from a seed.

use super::dates;
use super::ids::Pool;
use super::index;
use super::layout::{Ids, Layout, Shelves};
use super::node::Node;
use super::pages::{ByDate, ById, ByTitle, PartLocation};
use super::parts::{Base, Complex, Composite, Draft, Part};
use super::sizes::Sizes;
use super::text;
use super::world::Values;
use std::sync::Arc;
use xtasking_harness::random::Random;

/// The content of a world at the beginning. Equal sizes and seeds give equal worlds.
#[derive(Clone, Debug)]
pub struct Blueprint {
    /// The nodes that never move.
    pub layout: Arc<Layout>,
    /// The value of each node, by number.
    pub values: Vec<Part>,
    /// All links, from parents to children; the children of a node are in the order of their links.
    pub edges: Vec<(u32, u32)>,
}

impl Blueprint {
    /// Creates the world of the given sizes and seed.
    pub fn new(sizes: Sizes, seed: u64) -> Self {
        let layout = Arc::new(Layout::new(sizes));
        let mut random = Random::new(seed, &[]);
        let module = Part::Module(dates::any(&dates::MIDDLE, &mut random));
        let mut values = vec![module, Part::Manual(text::manual(1, sizes.manual))];
        values.extend(Shelves::ALL.map(Part::Library));
        values.extend(Ids::ALL.map(|of| Part::Pool(Pool::new(layout.objects(of), layout.last_id(of)))));
        values.extend(pages(&layout));
        values.resize_with(layout.root().index(), || Part::Shelf);
        let mut edges =
            [layout.manual(), layout.root()].map(|node| (layout.module().number(), node.number())).to_vec();
        for of in Shelves::ALL {
            edges.extend(layout.shelves(of).map(|shelf| (layout.library(of).number(), shelf.number())));
        }
        let mut blueprint = Self { layout, values, edges };
        blueprint.add_complex(sizes.levels, &mut [0; 2], &mut random);
        blueprint.add_composites(&mut random);
        blueprint
    }

    /// Adds a complex assembly and the assemblies below it; composite parts follow later. `counts`
    /// has the numbers of complex and base assemblies so far.
    fn add_complex(&mut self, level: u32, counts: &mut [u32; 2], random: &mut Random) {
        let Sizes { fan, components, composites, .. } = self.layout.sizes;
        counts[0] += 1;
        let date = dates::any(&dates::MIDDLE, random);
        let node = self.push(Part::Complex(Complex { id: counts[0], date, level }));
        index::enter(self, &self.layout.clone(), Ids::Complex, counts[0], node);
        for _ in 0..fan {
            self.edges.push((node.number(), self.values.len() as u32));
            if level > 2 {
                self.add_complex(level - 1, counts, random);
                continue;
            }
            counts[1] += 1;
            let mut base = Base::new(counts[1], random);
            let node = Node::of_number(self.values.len() as u32);
            for _ in 0..components {
                let part = self.composite(random.below(composites.into()) as u32);
                if base.add(part) {
                    self.edges.push((node.number(), part.number()));
                }
            }
            index::enter(self, &self.layout.clone(), Ids::Base, base.id, node);
            self.push(Part::Base(base));
        }
    }

    /// Adds all composite parts, in the order of their ids.
    fn add_composites(&mut self, random: &mut Random) {
        let (layout, parts) = (self.layout.clone(), self.layout.sizes.parts);
        for number in 0..layout.sizes.composites {
            let (id, first) = (number + 1, number * parts + 1);
            let seed = random.below(u64::MAX);
            let Draft { date, document, network } =
                Draft::new(&layout.sizes, seed, id, id, first..first + parts);
            let [node, at, network_at] =
                [0, 1, 2].map(|of| Node::of_number(self.composite(number).number() + of));
            let location = |position| PartLocation { composite: node, network: network_at, position };
            let dated = network.parts.iter().map(|part| (part.id, part.date));
            index::enter_composite(self, &layout, id, location, dated);
            let composite = Composite { id, date, document: at, network: network_at };
            let new = [Part::Composite(composite), Part::Document(document), Part::Network(network)];
            for (shelf, part) in layout.shelves_of(id).into_iter().zip(new) {
                let node = self.push(part);
                self.edges.push((shelf.number(), node.number()));
            }
            debug_assert_eq!(self.values.len(), self.composite(number + 1).index());
        }
    }

    fn push(&mut self, value: Part) -> Node {
        self.values.push(value);
        Node::of_number(self.values.len() as u32 - 1)
    }

    /// Returns the composite part of this index: they follow all assemblies, each with its document
    /// and network.
    fn composite(&self, number: u32) -> Node {
        let Layout { sizes, .. } = *self.layout;
        Node::of_number(self.layout.root().number() + sizes.complexes() + sizes.bases() + 3 * number)
    }
}

/// Returns all index pages, empty, in the order of their nodes.
fn pages(layout: &Layout) -> Vec<Part> {
    let mut pages = Vec::new();
    for of in Ids::ALL {
        pages.extend(layout.pages(of).zip(0..).map(|(_, page)| {
            let ids = layout.ids_on_page(of);
            match of {
                Ids::Atomic => Part::Locations(ById::new(page * ids + 1, ids)),
                _ => Part::Nodes(ById::new(page * ids + 1, ids)),
            }
        }));
    }
    pages.extend(layout.first_dates().map(|date| Part::Dates(ByDate::new(date))));
    pages.extend(layout.title_pages().map(|_| Part::Titles(ByTitle::new())));
    pages
}

impl Values for Blueprint {
    fn get_mut(&mut self, node: Node) -> &mut Part {
        &mut self.values[node.index()]
    }
}
