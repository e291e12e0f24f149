//! Checks composite parts, their documents and atomic parts.

use super::super::dates;
use super::super::graph::{Graph, Walk};
use super::super::layout::{Ids, Shelves};
use super::super::node::Node;
use super::super::pages::{DatedPart, PartLocation};
use super::super::parts::{Base, Composite, Document, Kind, Network, Part};
use super::super::text;
use super::super::world::View;
use super::Check;
use std::collections::BTreeSet;

impl<W: View> Check<'_, W> {
    pub(super) fn composites(&mut self) {
        let world = self.world;
        let bases: BTreeSet<Node> = self.all(Ids::Base).values().copied().collect();
        Shelves::ALL.into_iter().for_each(|of| self.library(of));
        for (id, shelf) in (1..).zip(self.layout.shelves(Shelves::Composites)) {
            let [composite, document, network] =
                self.layout.shelves_of(id).map(|shelf| world.children(shelf));
            let alike = [document, network].iter().all(|nodes| nodes.len() == composite.len());
            self.expect(alike, || format!("composite part {id} is incomplete"));
            for node in composite.iter() {
                match world.get(node) {
                    Part::Composite(composite) => self.composite(node, shelf, composite, &bases),
                    other => self
                        .wrong
                        .push(format!("{} is not a composite part, but in the library", other.name())),
                }
            }
        }
        // Checks that each used composite part is in the library.
        let known: BTreeSet<Node> = self.all(Ids::Composite).values().copied().collect();
        for &base in &bases {
            let base: &Base = world.get_as(base);
            let missing = base.components.iter().find(|component| !known.contains(&component.part));
            self.expect(missing.is_none(), || {
                format!("base assembly {} has a component that is not in the library", base.id)
            });
        }
    }

    /// Checks that all shelves of a kind exist, with at most one node on each.
    fn library(&mut self, of: Shelves) {
        let (world, library) = (self.world, self.layout.library(of));
        let shelves: Vec<Node> = self.layout.shelves(of).collect();
        self.expect(world.children(library).iter().eq(shelves.iter().copied()), || {
            format!("{} has wrong shelves", world.get(library).name())
        });
        for shelf in shelves {
            let holds = world.parents(shelf) == [library] && world.children(shelf).len() < 2;
            self.expect(holds, || {
                format!(
                    "shelf {shelf} of {} has wrong parents or several children",
                    world.get(library).name()
                )
            });
        }
    }

    fn composite(&mut self, node: Node, shelf: Node, composite: &Composite, bases: &BTreeSet<Node>) {
        let (world, layout, id) = (self.world, self.layout, composite.id);
        self.expect(
            (1..=layout.last_id(Ids::Composite)).contains(&id)
                && layout.shelf(Shelves::Composites, id) == shelf,
            || format!("composite part {id} is on a wrong shelf"),
        );
        self.note(Ids::Composite, id, node);
        self.expect_date(composite.date, &[dates::OLD, dates::YOUNG], node);
        let parents = world.parents(node);
        let users = || parents.iter().filter(|&parent| parent != shelf);
        let distinct: BTreeSet<Node> = parents.iter().collect();
        self.expect(distinct.len() == parents.len() && users().count() + 1 == parents.len(), || {
            format!("composite part {id} has the parents {parents:?}")
        });
        for user in users() {
            let uses = |base: &Base| base.components.iter().any(|component| component.part == node);
            let known = bases.contains(&user) && uses(world.get_as(user));
            self.expect(known, || {
                format!("composite part {id} is a child of node {user}, which does not use it")
            });
        }
        // Conversely, all base assemblies that use it are its parents.
        for &child in bases.iter().filter(|base| world.children(**base).contains(node)) {
            let above = parents.contains(child);
            self.expect(above, || {
                format!("composite part {id} is not a child of node {child}, which uses it")
            });
        }
        let own = [(Shelves::Documents, composite.document), (Shelves::Networks, composite.network)];
        let elsewhere = own.iter().find(|(of, node)| world.children(layout.shelf(*of, id)) != [*node]);
        if let Some((of, _)) = elsewhere {
            return self
                .wrong
                .push(format!("composite part {id} has its {of:?} on a wrong shelf").to_lowercase());
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
            let location = PartLocation { composite: node, network: composite.network, position };
            let dated = DatedPart { id: part.id, location };
            let other = self.parts.insert(part.id, (dated, part.date));
            self.expect(other.is_none(), || format!("{} exists twice", name()));
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
            format!("the document of composite part {composite} has the wrong title {:?}", document.title)
        });
        let first = text::documentation(composite, self.layout.sizes.document);
        let (mut other, mut spare) = (first.clone(), String::new());
        text::toggle(&mut other, &mut spare);
        self.expect([&first, &other].contains(&&document.text), || {
            format!("the document of composite part {composite} has a wrong text")
        });
    }

    fn graph(&mut self, composite: u32, graph: &Graph) {
        let parts = graph.parts();
        let closed = graph.leaving.as_flattened().iter().all(|&to| (to as usize) < parts);
        self.expect(closed, || format!("an edge leads out of composite part {composite}"));
        if !closed {
            return;
        }
        let mut back = vec![Vec::new(); parts];
        for (from, edges) in graph.leaving.iter().enumerate() {
            edges.iter().for_each(|&to| back[to as usize].push(from as u16));
        }
        let matching = (0..parts).all(|part| graph.entering(part) == back[part]);
        self.expect(matching, || {
            format!("edges of composite part {composite} differ between the two directions")
        });
        let mut reached = 0;
        Walk::default().through(graph, |_| reached += 1);
        self.expect(reached == parts, || {
            format!("{reached} of the {parts} atomic parts of composite part {composite} are reachable")
        });
    }
}
