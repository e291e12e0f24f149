//! Worlds with damage of each kind.

use super::super::build::Blueprint;
use super::super::dates;
use super::super::ids::Pool;
use super::super::layout::{Ids, Layout, Shelves};
use super::super::pages::{ByDate, ById, ByTitle, Dated, Place};
use super::super::parts::{Base, Complex, Composite, Document, Kind, Network, Part};
use super::super::plain::Plain;
use super::super::sizes::Sizes;
use super::super::world::{Values, View, World};
use super::violations;
use crate::ycsb::distribution::Random;
use xtasking_hierarchy::Node;

/// A world to be damaged, and where things are.
struct World7 {
    world: Plain,
    layout: Layout,
}

impl World7 {
    fn node(&self, of: Ids, id: u32) -> Node {
        self.world.the::<ById<Node>>(self.layout.page(of, id)).get(id).expect("it is there")
    }

    fn the<K: Kind>(&mut self, of: Ids, id: u32) -> &mut K {
        let node = self.node(of, id);
        self.world.the_mut(node)
    }

    fn composite(&mut self) -> &mut Composite {
        self.the(Ids::Composite, 3)
    }

    fn document(&mut self) -> &mut Document {
        let node = self.composite().document;
        self.world.the_mut(node)
    }

    fn network(&mut self) -> &mut Network {
        let node = self.composite().network;
        self.world.the_mut(node)
    }

    /// Where the sixth atomic part of a composite part is.
    fn place(&self, id: u32) -> Place {
        let composite = self.node(Ids::Composite, id);
        Place { composite, network: self.world.the::<Composite>(composite).network, position: 5 }
    }

    /// A shelf of the third composite part.
    fn shelf(&self, of: Shelves) -> Node {
        self.layout.shelf(of, 3)
    }

    /// The parent of the first base assembly.
    fn lowest(&self) -> Node {
        self.world.parents(self.node(Ids::Base, 1))[0]
    }

    /// A composite part that the first base assembly does not use.
    fn unused(&self) -> Node {
        let base: &Base = self.world.the(self.node(Ids::Base, 1));
        let all = (1..).map(|id| self.node(Ids::Composite, id));
        all.into_iter().find(|&node| base.bag().all(|part| part != node)).expect("it uses three")
    }

    fn page<K: Kind>(&mut self, page: Node) -> &mut K {
        self.world.the_mut(page)
    }

    fn pool(&mut self, of: Ids) -> &mut Pool {
        let pool = self.layout.pool(of);
        self.world.the_mut(pool)
    }
}

type Damage = fn(&mut World7);

/// Each is noticed, and what is told of it has these words.
const DAMAGES: &[(&str, Damage)] = &[
    ("the module has the date 998", |at| *at.world.get_mut(Layout::MODULE) = Part::Module(998)),
    ("below the module", |at| {
        at.world.insert(Layout::MODULE, Part::Manual(Vec::new()));
    }),
    ("the manual has another text", |at| at.page::<Vec<u8>>(Layout::MANUAL)[0] = b'i'),
    ("complex assembly 2 says level 2 and is on level 3", |at| at.the::<Complex>(Ids::Complex, 2).level = 2),
    ("complex assembly 2 has the date 2001", |at| at.the::<Complex>(Ids::Complex, 2).date = 2001),
    ("base assembly 5 has the date -1", |at| at.the::<Base>(Ids::Base, 5).date = -1),
    ("complex assembly 900 has no children", |at| {
        let complex = Complex { id: 900, date: 1500, level: at.layout.sizes.levels - 1 };
        at.world.insert(at.layout.root(), Part::Complex(complex));
    }),
    ("base assembly 900 is on level 3", |at| {
        let base = Base::new(900, &mut Random::new(1, &[]));
        at.world.insert(at.layout.root(), Part::Base(base));
    }),
    ("complex assembly 900 says level 1 and is on level 1", |at| {
        let complex = Complex { id: 900, date: 1500, level: 1 };
        at.world.insert(at.lowest(), Part::Complex(complex));
    }),
    ("base assembly 1 is below the nodes", |at| at.world.link(at.layout.root(), at.node(Ids::Base, 1))),
    ("is among the assemblies", |at| {
        at.world.insert(at.lowest(), Part::Shelf);
    }),
    ("id 1 is that of two objects of the kind Base", |at| at.the::<Base>(Ids::Base, 2).id = 1),
    ("base assembly 1 has components", |at| {
        let unused = at.unused();
        at.the::<Base>(Ids::Base, 1).add(unused);
    }),
    ("which does not use it", |at| at.world.link(at.node(Ids::Base, 1), at.unused())),
    ("base assembly 1 has a component no times", |at| {
        at.the::<Base>(Ids::Base, 1).components[0].times = 0;
    }),
    ("base assembly 1 has components", |at| {
        let components = &mut at.the::<Base>(Ids::Base, 1).components;
        components.push(components[0]);
    }),
    ("base assembly 1 has the manual as a component", |at| {
        at.world.link(at.node(Ids::Base, 1), Layout::MANUAL)
    }),
    ("the manual is in the library", |at| at.world.link(at.shelf(Shelves::Composites), Layout::MANUAL)),
    ("of the library of networks is elsewhere, or too full", |at| {
        at.world.link(at.shelf(Shelves::Networks), Layout::MANUAL)
    }),
    ("the library of documents has other shelves", |at| {
        at.world.insert(Layout::library(Shelves::Documents), Part::Shelf);
    }),
    ("of composite part 3 is not all there is of one", |at| {
        let document = at.composite().document;
        at.world.remove(document);
    }),
    ("composite part 3 is on another shelf than that for its id", |at| {
        let (node, other) = (at.node(Ids::Composite, 3), at.layout.shelf(Shelves::Composites, 32));
        at.world.link(other, node);
        at.world.unlink(at.shelf(Shelves::Composites), node);
    }),
    ("composite part 3 has its networks elsewhere", |at| {
        let other = at.node(Ids::Composite, 2);
        at.composite().network = at.world.the::<Composite>(other).network;
    }),
    ("composite part 3 has no document or no atomic parts", |at| {
        let document = at.composite().document;
        *at.world.get_mut(document) = Part::Shelf;
    }),
    ("has a component that is not in the library", |at| {
        let part = at.the::<Base>(Ids::Base, 1).components[0].part;
        let id = at.world.the::<Composite>(part).id;
        at.world.unlink(at.layout.shelf(Shelves::Composites, id), part);
    }),
    ("composite part 3 has the date 1500", |at| at.composite().date = 1500),
    ("the document of composite part 3 has the title", |at| at.document().title.push('!')),
    ("the document of composite part 3 has another text", |at| {
        // One sentence has another form than the others.
        let text = &mut at.document().text;
        *text = text.replacen("I am", "This is", 1);
    }),
    ("id 1 is that of two objects of the kind Document", |at| at.document().id = 1),
    ("composite part 3 has 9 atomic parts", |at| {
        let parts = &mut at.network().parts;
        *parts = parts[1..].into();
    }),
    ("of composite part 3 is at", |at| at.network().parts[4].x += 3),
    ("of composite part 3 has the date 2001", |at| at.network().parts[4].date = 2001),
    ("of composite part 3 is there twice", |at| at.network().parts[4].id = at.network().parts[5].id),
    ("an edge leaves composite part 3", |at| at.network().graph.leaving[2][3] = 10),
    ("edges of composite part 3 are not the same in both directions", |at| {
        let to = &mut at.network().graph.leaving[2][3];
        *to = (*to + 1) % 10;
    }),
    ("edges of composite part 3 are not the same in both directions", |at| {
        let from = &mut at.network().graph.entering[7];
        *from = (*from + 1) % 10;
    }),
    ("1 of the 10 atomic parts of composite part 3 can be reached", |at| {
        at.network().graph.leaving[0].fill(0);
    }),
    ("index of Complex by id: 2 is missing", |at| {
        at.page::<ById<Node>>(at.layout.page(Ids::Complex, 2)).remove(2)
    }),
    ("index of Base by id: 2 leads to", |at| {
        let other = at.node(Ids::Base, 1);
        at.page::<ById<Node>>(at.layout.page(Ids::Base, 2)).put(2, other);
    }),
    ("index of Composite by id: 32 is not there", |at| {
        let other = at.node(Ids::Composite, 1);
        at.page::<ById<Node>>(at.layout.page(Ids::Composite, 32)).put(32, other);
    }),
    ("index of Atomic by id: 7 is missing", |at| {
        at.page::<ById<Place>>(at.layout.page(Ids::Atomic, 7)).remove(7)
    }),
    ("index of Atomic by id: 7 leads to", |at| {
        let place = at.place(1);
        at.page::<ById<Place>>(at.layout.page(Ids::Atomic, 7)).put(7, place);
    }),
    // The date has changed, and the index knows nothing.
    ("index of Atomic by date:", |at| {
        let part = &mut at.network().parts[4];
        part.date = dates::updated(part.date);
    }),
    ("is not there, or twice in the index", |at| {
        let place = at.place(1);
        at.page::<ByDate>(at.layout.date_page(1500)).insert(1500, Dated { id: 900, place });
    }),
    ("index of documents by title: \"Composite part #3\" is missing", |at| {
        let page = at.layout.title_page("Composite part #3");
        at.page::<ByTitle>(page).remove("Composite part #3");
    }),
    ("index of documents by title: \"Composite part #3\" is on a wrong page", |at| {
        let page = at.layout.title_page("Composite part #3");
        let entry = at.page::<ByTitle>(page).remove_entry("Composite part #3").expect("it is there");
        let other = at.layout.title_pages().find(|&other| other != page).expect("there are several");
        at.page::<ByTitle>(other).insert(entry.0, entry.1);
    }),
    ("ids of the kind Complex: about 15", |at| {
        at.pool(Ids::Complex).take();
    }),
    ("ids of the kind Base: about 5", |at| at.pool(Ids::Base).give(5)),
    ("ids of the kind Atomic: about 250", |at| at.pool(Ids::Atomic).give(250)),
    ("ids of the kind Document: about 900", |at| at.pool(Ids::Document).give(900)),
];

#[test]
fn damage_is_noticed() {
    for seed in 0..3 {
        for (number, (words, damage)) in DAMAGES.iter().enumerate() {
            let world = Plain::new(Blueprint::new(Sizes::SMALL, seed));
            let layout = (**world.layout()).clone();
            let mut at = World7 { world, layout };
            damage(&mut at);
            let wrong = violations(&at.layout, &at.world);
            assert!(wrong.iter().any(|wrong| wrong.contains(words)), "damage {number}, {words:?}: {wrong:?}");
        }
    }
}

/// A world in which a node does not know its parents, as links can be made that have only one end.
struct Forgetful<'w>(&'w Plain, Node, [Node; 1]);

impl View for Forgetful<'_> {
    fn get(&self, node: Node) -> &Part {
        self.0.get(node)
    }

    fn children(&self, node: Node) -> &[Node] {
        self.0.children(node)
    }

    fn parents(&self, node: Node) -> &[Node] {
        if node == self.1 { &self.2 } else { self.0.parents(node) }
    }
}

#[test]
fn links_with_one_end_are_noticed() {
    let world = Plain::new(Blueprint::new(Sizes::SMALL, 1));
    let page: &ById<Node> = world.the(world.layout().page(Ids::Base, 1));
    let base: &Base = world.the(page.get(1).expect("it is there"));
    let (part, id) = (base.components[0].part, world.the::<Composite>(base.components[0].part).id);
    let shelf = world.layout().shelf(Shelves::Composites, id);
    let wrong = violations(world.layout(), &Forgetful(&world, part, [shelf]));
    let words = format!("composite part {id} is not below node");
    assert!(!wrong.is_empty() && wrong.iter().all(|wrong| wrong.starts_with(&words)), "{wrong:?}");
}
