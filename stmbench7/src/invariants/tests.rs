//! Damages worlds in each possible way.

use super::super::build::Blueprint;
use super::super::dates;
use super::super::ids::Pool;
use super::super::layout::{Ids, Layout, Shelves};
use super::super::node::{Node, NodeList};
use super::super::pages::{ByDate, ById, ByTitle, DatedPart, PartLocation};
use super::super::parts::{Base, Complex, Composite, Document, Kind, Network, Part};
use super::super::plain::Plain;
use super::super::sizes::Sizes;
use super::super::world::{Values, View, World};
use super::violations;
use xtasking_harness::random::Random;

/// A world to damage, with its layout.
struct DamagedWorld {
    world: Plain,
    layout: Layout,
}

impl DamagedWorld {
    fn node(&self, of: Ids, id: u32) -> Node {
        self.world.get_as::<ById<Node>>(self.layout.page(of, id)).get(id).expect("the object exists")
    }

    fn get_as<K: Kind>(&mut self, of: Ids, id: u32) -> &mut K {
        let node = self.node(of, id);
        self.world.get_mut_as(node)
    }

    fn composite(&mut self) -> &mut Composite {
        self.get_as(Ids::Composite, 3)
    }

    fn document(&mut self) -> &mut Document {
        let node = self.composite().document;
        self.world.get_mut_as(node)
    }

    fn network(&mut self) -> &mut Network {
        let node = self.composite().network;
        self.world.get_mut_as(node)
    }

    /// Returns the location of the sixth atomic part of a composite part.
    fn location(&self, id: u32) -> PartLocation {
        let composite = self.node(Ids::Composite, id);
        PartLocation { composite, network: self.world.get_as::<Composite>(composite).network, position: 5 }
    }

    /// Returns a shelf of the third composite part.
    fn shelf(&self, of: Shelves) -> Node {
        self.layout.shelf(of, 3)
    }

    /// Returns the parent of the first base assembly.
    fn lowest_complex(&self) -> Node {
        self.world.parents(self.node(Ids::Base, 1)).first().expect("an assembly has a parent")
    }

    /// Returns a composite part that the first base assembly does not use.
    fn unused(&self) -> Node {
        let base: &Base = self.world.get_as(self.node(Ids::Base, 1));
        let all = (1..).map(|id| self.node(Ids::Composite, id));
        all.into_iter()
            .find(|&node| base.bag().all(|part| part != node))
            .expect("a base assembly uses only three")
    }

    fn page<K: Kind>(&mut self, page: Node) -> &mut K {
        self.world.get_mut_as(page)
    }

    fn pool(&mut self, of: Ids) -> &mut Pool {
        let pool = self.layout.pool(of);
        self.world.get_mut_as(pool)
    }
}

type Damage = fn(&mut DamagedWorld);

/// Damages, with words of the violation that each causes.
const DAMAGES: &[(&str, Damage)] = &[
    ("the module has the date 998", |at| *at.world.get_mut(at.layout.module()) = Part::Module(998)),
    ("the module has the children", |at| {
        at.world.insert(at.layout.module(), Part::Manual(Vec::new()));
    }),
    ("the manual has a wrong text", |at| at.page::<Vec<u8>>(at.layout.manual())[0] = b'i'),
    ("complex assembly 2 has level 2 stored and is on level 3", |at| {
        at.get_as::<Complex>(Ids::Complex, 2).level = 2
    }),
    ("complex assembly 2 has the date 2001", |at| at.get_as::<Complex>(Ids::Complex, 2).date = 2001),
    ("base assembly 5 has the date -1", |at| at.get_as::<Base>(Ids::Base, 5).date = -1),
    ("complex assembly 900 has no children", |at| {
        let complex = Complex { id: 900, date: 1500, level: at.layout.sizes.levels - 1 };
        at.world.insert(at.layout.root(), Part::Complex(complex));
    }),
    ("base assembly 900 is on level 3", |at| {
        let base = Base::new(900, &mut Random::new(1, &[]));
        at.world.insert(at.layout.root(), Part::Base(base));
    }),
    ("complex assembly 900 has level 1 stored and is on level 1", |at| {
        let complex = Complex { id: 900, date: 1500, level: 1 };
        at.world.insert(at.lowest_complex(), Part::Complex(complex));
    }),
    ("base assembly 1 has the parents", |at| at.world.link(at.layout.root(), at.node(Ids::Base, 1))),
    ("is not an assembly, but among them", |at| {
        at.world.insert(at.lowest_complex(), Part::Shelf);
    }),
    ("two objects of the kind Base have the id 1", |at| at.get_as::<Base>(Ids::Base, 2).id = 1),
    ("base assembly 1 has components", |at| {
        let unused = at.unused();
        at.get_as::<Base>(Ids::Base, 1).add(unused);
    }),
    ("which does not use it", |at| at.world.link(at.node(Ids::Base, 1), at.unused())),
    ("base assembly 1 has a component with 0 uses", |at| {
        at.get_as::<Base>(Ids::Base, 1).components[0].times = 0;
    }),
    ("base assembly 1 has components", |at| {
        let components = &mut at.get_as::<Base>(Ids::Base, 1).components;
        components.push(components[0]);
    }),
    ("base assembly 1 has the manual as a component", |at| {
        at.world.link(at.node(Ids::Base, 1), at.layout.manual())
    }),
    ("the manual is not a composite part, but in the library", |at| {
        at.world.link(at.shelf(Shelves::Composites), at.layout.manual())
    }),
    ("of the library of networks has wrong parents or several children", |at| {
        at.world.link(at.shelf(Shelves::Networks), at.layout.manual())
    }),
    ("the library of documents has wrong shelves", |at| {
        at.world.insert(at.layout.library(Shelves::Documents), Part::Shelf);
    }),
    ("composite part 3 is incomplete", |at| {
        let document = at.composite().document;
        at.world.remove(document);
    }),
    ("composite part 3 is on a wrong shelf", |at| {
        let (node, other) = (at.node(Ids::Composite, 3), at.layout.shelf(Shelves::Composites, 32));
        at.world.link(other, node);
        at.world.unlink(at.shelf(Shelves::Composites), node);
    }),
    ("composite part 3 has its networks on a wrong shelf", |at| {
        let other = at.node(Ids::Composite, 2);
        at.composite().network = at.world.get_as::<Composite>(other).network;
    }),
    ("composite part 3 has no document or no atomic parts", |at| {
        let document = at.composite().document;
        *at.world.get_mut(document) = Part::Shelf;
    }),
    ("has a component that is not in the library", |at| {
        let part = at.get_as::<Base>(Ids::Base, 1).components[0].part;
        let id = at.world.get_as::<Composite>(part).id;
        at.world.unlink(at.layout.shelf(Shelves::Composites, id), part);
    }),
    ("composite part 3 has the date 1500", |at| at.composite().date = 1500),
    ("the document of composite part 3 has the wrong title", |at| at.document().title.push('!')),
    ("the document of composite part 3 has a wrong text", |at| {
        // One sentence has the other form.
        let text = &mut at.document().text;
        *text = text.replacen("I am", "This is", 1);
    }),
    ("two objects of the kind Document have the id 1", |at| at.document().id = 1),
    ("composite part 3 has 9 atomic parts", |at| {
        let parts = &mut at.network().parts;
        *parts = parts[1..].into();
    }),
    ("of composite part 3 is at", |at| at.network().parts[4].x += 3),
    ("of composite part 3 has the date 2001", |at| at.network().parts[4].date = 2001),
    ("of composite part 3 exists twice", |at| at.network().parts[4].id = at.network().parts[5].id),
    ("an edge leads out of composite part 3", |at| at.network().graph.leaving[2][3] = 10),
    ("edges of composite part 3 differ between the two directions", |at| {
        let to = &mut at.network().graph.leaving[2][3];
        *to = (*to + 1) % 10;
    }),
    ("edges of composite part 3 differ between the two directions", |at| {
        let from = &mut at.network().graph.entering[7];
        *from = (*from + 1) % 10;
    }),
    ("1 of the 10 atomic parts of composite part 3 are reachable", |at| {
        at.network().graph.leaving[0].fill(0);
    }),
    ("index of Complex by id: 2 is missing", |at| {
        at.page::<ById<Node>>(at.layout.page(Ids::Complex, 2)).remove(2)
    }),
    ("index of Base by id: 2 leads to", |at| {
        let other = at.node(Ids::Base, 1);
        at.page::<ById<Node>>(at.layout.page(Ids::Base, 2)).put(2, other);
    }),
    ("index of Composite by id: 32 does not exist", |at| {
        let other = at.node(Ids::Composite, 1);
        at.page::<ById<Node>>(at.layout.page(Ids::Composite, 32)).put(32, other);
    }),
    ("index of Atomic by id: 7 is missing", |at| {
        at.page::<ById<PartLocation>>(at.layout.page(Ids::Atomic, 7)).remove(7)
    }),
    ("index of Atomic by id: 7 leads to", |at| {
        let location = at.location(1);
        at.page::<ById<PartLocation>>(at.layout.page(Ids::Atomic, 7)).put(7, location);
    }),
    // The date changes without the index.
    ("index of Atomic by date:", |at| {
        let part = &mut at.network().parts[4];
        part.date = dates::updated(part.date);
    }),
    ("does not exist, or is in the index twice", |at| {
        let location = at.location(1);
        at.page::<ByDate>(at.layout.date_page(1500)).insert(1500, DatedPart { id: 900, location });
    }),
    ("index of documents by title: \"Composite part #3\" is missing", |at| {
        let page = at.layout.title_page("Composite part #3");
        at.page::<ByTitle>(page).remove("Composite part #3");
    }),
    ("index of documents by title: \"Composite part #3\" is on a wrong page", |at| {
        let page = at.layout.title_page("Composite part #3");
        let entry = at.page::<ByTitle>(page).remove_entry("Composite part #3").expect("the object exists");
        let other = at.layout.title_pages().find(|&other| other != page).expect("there are several pages");
        at.page::<ByTitle>(other).insert(entry.0, entry.1);
    }),
    ("ids of the kind Complex: near 15", |at| {
        at.pool(Ids::Complex).take();
    }),
    ("ids of the kind Base: near 5", |at| at.pool(Ids::Base).put_back(5)),
    ("ids of the kind Atomic: near 250", |at| at.pool(Ids::Atomic).put_back(250)),
    ("ids of the kind Document: near 900", |at| at.pool(Ids::Document).put_back(900)),
];

#[test]
fn each_damage_is_detected() {
    for seed in 0..3 {
        for (number, (words, damage)) in DAMAGES.iter().enumerate() {
            let world = Plain::new(Blueprint::new(Sizes::SMALL, seed));
            let layout = (**world.layout()).clone();
            let mut at = DamagedWorld { world, layout };
            damage(&mut at);
            let wrong = violations(&at.layout, &at.world);
            assert!(wrong.iter().any(|wrong| wrong.contains(words)), "damage {number}, {words:?}: {wrong:?}");
        }
    }
}

/// A world that reports wrong parents for one node, like a link with one end.
struct Forgetful<'w>(&'w Plain, Node, [Node; 1]);

impl View for Forgetful<'_> {
    fn get(&self, node: Node) -> &Part {
        self.0.get(node)
    }

    fn children(&self, node: Node) -> NodeList<'_> {
        self.0.children(node)
    }

    fn parents(&self, node: Node) -> NodeList<'_> {
        if node == self.1 { NodeList::Nodes(&self.2) } else { self.0.parents(node) }
    }
}

#[test]
fn links_with_one_end_are_detected() {
    let world = Plain::new(Blueprint::new(Sizes::SMALL, 1));
    let page: &ById<Node> = world.get_as(world.layout().page(Ids::Base, 1));
    let base: &Base = world.get_as(page.get(1).expect("the object exists"));
    let (part, id) = (base.components[0].part, world.get_as::<Composite>(base.components[0].part).id);
    let shelf = world.layout().shelf(Shelves::Composites, id);
    let wrong = violations(world.layout(), &Forgetful(&world, part, [shelf]));
    let words = format!("composite part {id} is not a child of node");
    assert!(!wrong.is_empty() && wrong.iter().all(|wrong| wrong.starts_with(&words)), "{wrong:?}");
}
