//! What the compiler says of a wrong use names the remedy, at the user's line.
//!
//! refused spawner: error[E0277]: `Worker` does not spawn tasks
//! says spawner: neither a runtime nor a context
//! says spawner: pass `&Runtime` outside of tasks
//! refused divided: error[E0277]: `Vec<u64>` cannot be divided among workers
//! says divided: divide `0..n`, `&items[..]` or `&mut items[..]`
//! refused word: error[E0277]: `String` does not fit into a word
//! says word: derive `AsWord` and `Copy`
//! refused visit: error[E0277]: `Worker` is not a walk over linked nodes
//! says visit: implement `Visit`, or pass closures to `read_then` or `submit_read`
//! refused modify: error[E0277]: `Worker` is not a write to a node
//! says modify: implement `Modify`, or pass a closure to `spawn` or `submit`
//! refused bundle: error[E0277]: `Worker` is not a bundle of walks
//! says bundle: `bundle::each` and `bundle::fold` make a bundle
//! refused walk: error[E0277]: `Worker` is not a walk of a bundle
//! says walk: implement `Walk`
//! refused platform: error[E0277]: `Worker` is not a platform
//! says platform: a port implements `Platform`
//! refused kept: error[E0277]: no panic leaves `Snapshot<u64>` half-written
//! says kept: leave out `keep_on_panic`

use xtasking::arena::{Arena, Field, Modify, Step, Visit, Written};
use xtasking::bundle::{Hop, Start, Walk, each};
use xtasking::platform::Simulation;
use xtasking::task::Spawner;
use xtasking::{Context, Runtime, Version, Word, arena::Link};

struct Node(Word);
impl Version for Node {}

struct Worker;

struct First;
impl Visit for First {
    type Target = Node;
    type Output = u64;
    fn read(&self, _: Link<Node>, node: &Node) -> Step<Node, u64> {
        Step::End(node.0.get())
    }
    fn then(self, _: u64, _: &mut Context) {}
}

struct Clear;
impl Modify for Clear {
    type Target = Node;
    type Output = ();
    fn write(&mut self, _: Link<Node>, node: Written<'_, Node>, _: &mut Context) {
        node.0.set(0, node.token());
    }
    fn then(self, _: (), _: &mut Context) {}
}

impl Walk for First {
    type Target = Node;
    type Output = u64;
    fn read(&self, _: Link<Node>, node: &Node) -> Hop<Node, u64> {
        Hop::End(node.0.get())
    }
}

fn spawn_from(_: impl Spawner) {}

fn main() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let node = Arena::new(&rt).alloc_outside(Node(Word::new(1)));

    #[cfg(refused = "spawner")]
    spawn_from(Worker);
    spawn_from(&rt);

    let numbers: Vec<u64> = (0..10).collect();
    #[cfg(refused = "divided")]
    let items = numbers;
    #[cfg(not(refused = "divided"))]
    let items = &numbers[..];
    rt.run(|mut cx| cx.over(items).for_each(|_| ())).unwrap();

    #[cfg(refused = "word")]
    let _field = Field::new(String::new());
    let _field = Field::new('x');

    #[cfg(refused = "visit")]
    rt.task(node.read()).visit(Worker);
    rt.task(node.read()).visit(First);
    #[cfg(refused = "modify")]
    rt.task(node.write()).modify(Worker);
    rt.task(node.write()).modify(Clear);

    #[cfg(refused = "bundle")]
    let bundle = Worker;
    #[cfg(not(refused = "bundle"))]
    let bundle = each([(Start::from(node.read()), First)].into_iter(), |_, _, _: &mut Context| ());
    rt.task(()).bundle_then(bundle, |_, _| ());

    #[cfg(refused = "walk")]
    let walk = Worker;
    #[cfg(not(refused = "walk"))]
    let walk = First;
    fn walks(_: impl Walk) {}
    walks(walk);

    #[cfg(refused = "platform")]
    let platform = Worker;
    #[cfg(not(refused = "platform"))]
    let platform = Simulation::new(2, 1);
    let _builder = Runtime::builder().platform(platform);

    #[cfg(refused = "kept")]
    let _object = rt.snapshot(1u64).keep_on_panic().build();
    let _object = rt.plain(1u64).keep_on_panic().build();
    let _ = Worker;
}
