//! An optimistic reader may run several times and concurrently with a writer: it is a `Fn`, has no
//! context, and changes nothing.
//!
//! refused counts: error[E0594]: cannot assign to `runs`, as it is a captured variable in a `Fn`
//!     closure
//! refused consumes: error[E0507]: cannot move out of `text`, a captured variable in an `Fn`
//!     closure
//! refused has_context: error[E0593]: closure is expected to take 1 argument, but it takes 2
//!     arguments
//! refused sets: error[E0061]: this method takes 2 arguments but 1 argument was supplied
//! refused has_token: error[E0599]: no method named `token` found for reference `&Node`
//! refused assigns: error[E0594]: cannot assign to `node.fixed`, which is behind a `&` reference
//! refused writes: error[E0271]: type mismatch resolving `<Write<'_, Versioned<Node>> as
//!     Access>::Grant == Reads<Versioned<_>>`
//! refused plain: error[E0271]: type mismatch resolving `<Read<'_, Plain<u64>> as Access>::Grant ==
//!     Reads<Versioned<_>>`
//! refused snapshot: error[E0271]: type mismatch resolving `<Read<'_, Snapshot<u64>> as
//!     Access>::Grant == Reads<Versioned<_>>`
//! refused visit_counts: error[E0053]: method `read` has an incompatible type for trait
//! refused visit_has_context: error[E0050]: method `read` has 4 parameters but the declaration in
//!     trait `xtasking::arena::Visit::read` has 3

use xtasking::{Context, Runtime, Version, Word, arena::{Link, Step, Visit}};

struct Node {
    word: Word,
    fixed: u64,
}
impl Version for Node {}

struct Walk;

impl Visit for Walk {
    type Target = Node;
    type Output = u64;
    #[cfg(refused = "visit_counts")]
    fn read(&mut self, _: Link<Node>, node: &Node) -> Step<Node, u64> {
        Step::End(node.word.get())
    }
    #[cfg(refused = "visit_has_context")]
    fn read(&self, _: Link<Node>, node: &Node, _: &mut Context) -> Step<Node, u64> {
        Step::End(node.word.get())
    }
    #[cfg(not(any(refused = "visit_counts", refused = "visit_has_context")))]
    fn read(&self, _: Link<Node>, node: &Node) -> Step<Node, u64> {
        Step::End(node.word.get())
    }
    fn then(self, _: u64, _: &mut Context) {}
}

fn main() {
    let rt = Runtime::new().unwrap();
    let node = rt.versioned(Node { word: Word::new(1), fixed: 1 }).build();
    let plain = rt.plain(1u64).build();
    let snapshot = rt.snapshot(1u64).build();

    let mut runs = 0;
    rt.task(node.read()).read_then(
        move |_| {
            #[cfg(refused = "counts")]
            (runs += 1);
            runs
        },
        |_, _cx| {},
    );
    runs += 1;

    let text = String::from("text");
    #[cfg(refused = "consumes")]
    rt.task(node.read()).read_then(move |_| text, |_, _cx| {});
    #[cfg(not(refused = "consumes"))]
    rt.task(node.read()).read_then(move |_| text.clone(), |_, _cx| {});

    #[cfg(refused = "has_context")]
    rt.task(node.read()).read_then(|node, _cx| node.word.get(), |_, _cx| {});
    #[cfg(refused = "sets")]
    rt.task(node.read()).read_then(|node| node.word.set(2), |_, _cx| {});
    #[cfg(refused = "has_token")]
    rt.task(node.read()).read_then(|node| node.word.set(2, node.token()), |_, _cx| {});
    #[cfg(refused = "assigns")]
    rt.task(node.read()).read_then(|node| node.fixed = 2, |_, _cx| {});
    rt.task(node.read()).read_then(|node| node.word.get() + node.fixed, |_, _cx| {});

    #[cfg(refused = "writes")]
    rt.task(node.write()).read_then(|_| runs, |_, _cx| {});
    #[cfg(refused = "plain")]
    rt.task(plain.read()).read_then(|_| runs, |_, _cx| {});
    #[cfg(refused = "snapshot")]
    rt.task(snapshot.read()).read_then(|_| runs, |_, _cx| {});
    rt.task(node.read()).read_then(move |_: &Node| runs, |_, _cx| {});
    rt.task((plain.read(), snapshot.read())).spawn(|_, _cx| {});
}
