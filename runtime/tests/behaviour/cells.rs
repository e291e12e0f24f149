//! Linked structures of derived types with typed cells, without unsafe code.

#![forbid(unsafe_code)]

use crate::common::{Random, on_all, watchdog};
use std::collections::BTreeMap;
use xtasking::{
    Context, Part, Runtime, Version,
    arena::{Arena, AsWord, Field, Link, Modify, OptionalLink, Step, Visit, Written},
    primitive::{OptimisticLatched, OptimisticSequenced, ReaderWriterLatch, Sequencing, SpinLatch},
    task::LegalFor,
};

#[derive(AsWord, Clone, Copy, PartialEq, Debug)]
enum Side {
    Left,
    Right,
}

/// A node of a binary tree. Its fields change together.
#[derive(Version)]
struct Node {
    key: i64,
    value: Field<i32>,
    /// The same number, in other types.
    half: Field<f64>,
    is_odd: Field<bool>,
    /// The side of the child that came last.
    last: Field<Side>,
    children: [OptionalLink<Node>; 2],
}

impl Node {
    fn new(key: i64, value: i32) -> Self {
        let node = Self {
            key,
            value: Field::new(value),
            half: Field::new(f64::from(value) / 2.0),
            is_odd: Field::new(value % 2 != 0),
            last: Field::new(Side::Left),
            children: Default::default(),
        };
        assert!(node.is_consistent());
        node
    }

    fn child(&self, key: i64) -> &OptionalLink<Node> {
        &self.children[usize::from(key > self.key)]
    }

    fn is_consistent(&self) -> bool {
        let value = self.value.get();
        self.half.get() * 2.0 == f64::from(value) && self.is_odd.get() == (value % 2 != 0)
    }
}

/// Looks a key up.
struct Find(i64);

impl Visit for Find {
    type Target = Node;
    type Output = Option<i32>;
    fn read(&self, _: Link<Node>, node: &Node) -> Step<Node, Option<i32>> {
        if node.key == self.0 {
            return if node.is_consistent() { Step::End(Some(node.value.get())) } else { Step::Again };
        }
        node.child(self.0).get().map_or(Step::End(None), |child| Step::Go(child, Part::HEAD))
    }
    fn then(self, _: Option<i32>, _: &mut Context) {}
}

/// Adds to the value of a key, which it inserts if it is not there.
struct Add {
    key: i64,
    amount: i32,
    nodes: Arena<Node>,
}

impl Modify for Add {
    type Target = Node;
    type Output = Option<Link<Node>>;

    fn write(&mut self, _: Link<Node>, node: Written<'_, Node>, cx: &mut Context) -> Self::Output {
        if node.key == self.key {
            let value = node.value.get() + self.amount;
            node.value.set(value, node.token());
            node.half.set(f64::from(value) / 2.0, node.token());
            node.is_odd.set(value % 2 != 0, node.token());
            return None;
        }
        let child = node.child(self.key);
        if child.get().is_none() {
            child.set(Some(self.nodes.alloc(Node::new(self.key, self.amount), cx)), node.token());
            node.last.set(if self.key > node.key { Side::Right } else { Side::Left }, node.token());
            return None;
        }
        child.get()
    }

    fn then(self, next: Option<Link<Node>>, cx: &mut Context) {
        if let Some(next) = next {
            cx.task(next.write()).modify(self);
        }
    }
}

/// Tasks insert, change and look up at the same time; the tree is compared with a map.
fn grow<P: LegalFor<xtasking::Versioned<Node>>>(rt: &Runtime, primitive: P) {
    let (nodes, mut random, mut expected) =
        (Arena::with_primitive(rt, primitive), Random::new(3), BTreeMap::new());
    let root = nodes.alloc_outside(Node::new(50, 0));
    expected.insert(50, 0);
    let group = rt.group();
    for round in 0..400 {
        let (key, amount) = (random.below(100) as i64, random.below(9) as i32 - 4);
        *expected.entry(key).or_insert(0) += amount;
        rt.task(root.write()).of(&group).core(round).modify(Add { key, amount, nodes: nodes.clone() });
        rt.task(root.read()).of(&group).visit(Find(random.below(100) as i64));
    }
    group.wait().unwrap();
    // The follow-ups of the writes.
    while !expected.iter().all(|(&key, &value)| {
        let found = rt.reader().walk(root, move |at, node: &Node| Find(key).read(at, node));
        found.unwrap() == Some(value)
    }) {
        rt.task(()).submit(|(), _| ()).join().unwrap();
    }
    assert_eq!(nodes.stats().live, expected.len());
    let last = rt.task(root.read()).submit(|root, _| root.children.each_ref().map(OptionalLink::get));
    assert!(last.join().unwrap().iter().all(Option::is_some));
}

#[test]
fn a_tree_of_derived_nodes_holds_what_was_added() {
    on_all(|setting| {
        let _watched = watchdog();
        let rt = setting.build();
        grow(&rt, Sequencing);
        grow(&rt, SpinLatch);
        grow(&rt, ReaderWriterLatch);
        grow(&rt, OptimisticSequenced);
        grow(&rt, OptimisticLatched);
    });
}
