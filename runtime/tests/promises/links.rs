//! A link accesses only nodes of its type. Each operation that relies on a node being alive is
//! unsafe.
//!
//! refused no_version: error[E0599]: the method `read` exists for struct `Link<u64>`, but its trait
//!     bounds were not satisfied
//! refused visit_writes: error[E0599]: no method named `visit` found for struct
//!     `TaskBuilder<&Runtime, WriteLink<Node>>`
//! refused modify_reads: error[E0599]: no method named `modify` found for struct
//!     `TaskBuilder<&Runtime, ReadLink<Node>>`
//! refused visit_object: error[E0599]: no method named `visit` found for struct
//!     `TaskBuilder<&Runtime, xtasking::task::Read<'_, Versioned<Node>>>`
//! refused visit_other: error[E0271]: type mismatch resolving `<Walk as Visit>::Target == Other`
//! refused word: error[E0133]: call to unsafe function `Link::<T>::from_word` is unsafe
//! refused follow: error[E0133]: call to unsafe function `Link::<T>::follow` is unsafe
//! refused retire: error[E0133]: call to unsafe function `Arena::<T>::retire` is unsafe
//! refused reserved: error[E0133]: call to unsafe function `Reserved::<'_, T>::link` is unsafe
//! refused other_arena: error[E0308]: mismatched types

use xtasking::{Context, Runtime, Version, Word, arena::{Arena, Link, Modify, Step, Visit, Written}};

struct Node(Word);
impl Version for Node {}

struct Other(Word);
impl Version for Other {}

struct Walk;

impl Visit for Walk {
    type Target = Node;
    type Output = u64;
    fn read(&self, _: Link<Node>, node: &Node) -> Step<Node, u64> {
        Step::End(node.0.get())
    }
    fn then(self, _: u64, _: &mut Context) {}
}

struct Change;

impl Modify for Change {
    type Target = Node;
    type Output = ();
    fn write(&mut self, _: Link<Node>, node: Written<'_, Node>, _: &mut Context) {
        node.0.set(2, node.token());
    }
    fn then(self, (): (), _: &mut Context) {}
}

fn main() {
    let rt = Runtime::new().unwrap();
    let object = rt.versioned(Node(Word::new(1))).build();
    let arena = Arena::new(&rt);
    let others = Arena::new(&rt);
    let node: Link<Node> = arena.alloc_outside(Node(Word::new(1)));
    let other: Link<Other> = others.alloc_outside(Other(Word::new(1)));

    #[cfg(refused = "no_version")]
    // SAFETY: 0 is no link.
    let number: Option<Link<u64>> = unsafe { Link::from_word(0) };
    #[cfg(not(refused = "no_version"))]
    // SAFETY: 0 is no link.
    let number: Option<Link<Node>> = unsafe { Link::from_word(0) };
    drop(number.map(|number| number.read()));

    #[cfg(refused = "visit_writes")]
    rt.task(node.write()).visit(Walk);
    #[cfg(refused = "visit_object")]
    rt.task(object.read()).visit(Walk);
    #[cfg(refused = "visit_other")]
    rt.task(other.read()).visit(Walk);
    rt.task(node.read()).visit(Walk);

    #[cfg(refused = "modify_reads")]
    rt.task(node.read()).modify(Change);
    rt.task(node.write()).modify(Change);

    #[cfg(refused = "word")]
    drop(Link::<Node>::from_word(node.to_word()));
    // SAFETY: the word is that of a link to a node.
    drop(unsafe { Link::<Node>::from_word(node.to_word()) });

    #[cfg(refused = "follow")]
    node.follow().0.get();
    // SAFETY: the node is not freed yet.
    unsafe { node.follow() }.0.get();

    let nodes = arena.clone();
    rt.task((object.read(), other.read())).spawn(move |_, cx| {
        #[cfg(refused = "reserved")]
        drop(nodes.reserve(cx).link());
        // SAFETY: the link is not followed.
        drop(unsafe { nodes.reserve(cx).link() });
        #[cfg(refused = "retire")]
        nodes.retire(node, cx);
        #[cfg(refused = "other_arena")]
        // SAFETY: no link to the node is left.
        unsafe {
            nodes.retire(other, cx);
        }
        // SAFETY: no link to the node is left.
        unsafe { nodes.retire(node, cx) };
    });
}
