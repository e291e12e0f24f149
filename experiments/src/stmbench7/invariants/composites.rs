//! Composite parts, their documents and atomic parts.

use super::super::dates;
use super::super::graph::{Graph, Walk};
use super::super::layout::{Ids, Layout, Shelves};
use super::super::pages::{Dated, Place};
use super::super::parts::{Base, Composite, Document, Kind, Network, Part};
use super::super::text;
use super::super::world::View;
use super::Check;
use std::collections::BTreeSet;
use xtasking_hierarchy::Node;

impl<W: View> Check<'_, W> {
    pub(super) fn composites(&mut self) {
        let world = self.world;
        let bases: BTreeSet<Node> = self.all(Ids::Base).values().copied().collect();
        Shelves::ALL.into_iter().for_each(|of| self.library(of));
        for (id, shelf) in (1..).zip(self.layout.shelves(Shelves::Composites)) {
            let [composite, document, network] =
                self.layout.shelves_of(id).map(|shelf| world.children(shelf));
            let alike = [document, network].iter().all(|nodes| nodes.len() == composite.len());
            self.expect(alike, || format!("what there is of composite part {id} is not all there is of one"));
            for &node in composite {
                match world.get(node) {
                    Part::Composite(composite) => self.composite(node, shelf, composite, &bases),
                    other => self.wrong.push(format!("{} is in the library", other.name())),
                }
            }
        }
        // Each one that is used is in the library.
        let known: BTreeSet<Node> = self.all(Ids::Composite).values().copied().collect();
        for &base in &bases {
            let base: &Base = world.the(base);
            let missing = base.components.iter().find(|component| !known.contains(&component.part));
            self.expect(missing.is_none(), || {
                format!("base assembly {} has a component that is not in the library", base.id)
            });
        }
    }

    /// All shelves of a kind are there, with one thing on each, or none.
    fn library(&mut self, of: Shelves) {
        let (world, library) = (self.world, Layout::library(of));
        let shelves: Vec<Node> = self.layout.shelves(of).collect();
        self.expect(world.children(library) == shelves, || {
            format!("{} has other shelves", world.get(library).name())
        });
        for shelf in shelves {
            let holds = world.parents(shelf) == [library] && world.children(shelf).len() < 2;
            self.expect(holds, || {
                format!("shelf {shelf} of {} is elsewhere, or too full", world.get(library).name())
            });
        }
    }

    fn composite(&mut self, node: Node, shelf: Node, composite: &Composite, bases: &BTreeSet<Node>) {
        let (world, layout, id) = (self.world, self.layout, composite.id);
        self.expect(
            (1..=layout.last_id(Ids::Composite)).contains(&id)
                && layout.shelf(Shelves::Composites, id) == shelf,
            || format!("composite part {id} is on another shelf than that for its id"),
        );
        self.note(Ids::Composite, id, node);
        self.expect_date(composite.date, &[dates::OLD, dates::YOUNG], node);
        let parents = world.parents(node);
        let users = || parents.iter().filter(|&&parent| parent != shelf);
        let distinct: BTreeSet<&Node> = parents.iter().collect();
        self.expect(distinct.len() == parents.len() && users().count() + 1 == parents.len(), || {
            format!("composite part {id} has the parents {parents:?}")
        });
        for user in users() {
            let uses = |base: &Base| base.components.iter().any(|component| component.part == node);
            let known = bases.contains(user) && uses(world.the(*user));
            self.expect(known, || format!("composite part {id} is below node {user}, which does not use it"));
        }
        // The other way round: all that use it are above it.
        for &child in bases.iter().filter(|base| world.children(**base).contains(&node)) {
            let above = parents.contains(&child);
            self.expect(above, || format!("composite part {id} is not below node {child}, which uses it"));
        }
        let own = [(Shelves::Documents, composite.document), (Shelves::Networks, composite.network)];
        let elsewhere = own.iter().find(|(of, node)| world.children(layout.shelf(*of, id)) != [*node]);
        if let Some((of, _)) = elsewhere {
            return self.wrong.push(format!("composite part {id} has its {of:?} elsewhere").to_lowercase());
        }
        let (Some(document), Some(network)) =
            (Document::of(world.get(composite.document)), Network::of(world.get(composite.network)))
        else {
            return self.wrong.push(format!("composite part {id} has no document or no atomic parts"));
        };
        self.document(node, id, document);
        let count = network.parts.len();
        self.expect(count == layout.sizes.parts as usize && count == network.graph.parts(), || {
            format!("composite part {id} has {count} atomic parts")
        });
        self.graph(id, &network.graph);
        for (part, position) in network.parts.iter().zip(0..) {
            let name = || format!("atomic part {} of composite part {id}", part.id);
            let place = Place { composite: node, network: composite.network, position };
            let dated = Dated { id: part.id, place };
            let other = self.parts.insert(part.id, (dated, part.date));
            self.expect(other.is_none(), || format!("{} is there twice", name()));
            self.expect((part.x - part.y).abs() == 1, || format!("{} is at {}, {}", name(), part.x, part.y));
            let reached = dates::reached(&dates::MIDDLE).contains(&part.date);
            self.expect(reached, || format!("{} has the date {}", name(), part.date));
        }
    }

    fn document(&mut self, node: Node, composite: u32, document: &Document) {
        self.note(Ids::Document, document.id, node);
        let mut title = String::new();
        text::write_title(&mut title, composite);
        self.expect(document.title == title, || {
            format!("the document of composite part {composite} has the title {:?}", document.title)
        });
        let first = text::documentation(composite, self.layout.sizes.document);
        let (mut other, mut spare) = (first.clone(), String::new());
        text::toggle(&mut other, &mut spare);
        self.expect([&first, &other].contains(&&document.text), || {
            format!("the document of composite part {composite} has another text")
        });
    }

    fn graph(&mut self, composite: u32, graph: &Graph) {
        let parts = graph.parts();
        let closed = graph.leaving.as_flattened().iter().all(|&to| (to as usize) < parts);
        self.expect(closed, || format!("an edge leaves composite part {composite}"));
        if !closed {
            return;
        }
        let mut back = vec![Vec::new(); parts];
        for (from, edges) in graph.leaving.iter().enumerate() {
            edges.iter().for_each(|&to| back[to as usize].push(from as u16));
        }
        let matching = (0..parts).all(|part| graph.entering(part) == back[part]);
        self.expect(matching, || {
            format!("edges of composite part {composite} are not the same in both directions")
        });
        let mut reached = 0;
        Walk::default().through(graph, |_| reached += 1);
        self.expect(reached == parts, || {
            format!("{reached} of the {parts} atomic parts of composite part {composite} can be reached")
        });
    }
}
