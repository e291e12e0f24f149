//! Claims of nodes of a tree: those that are only counted beside those that are not, and changes of
//! the tree beside claims that come by an old way.
//!
//! The models run the protocol without tasks: the thread that is granted a claim runs its body.

use super::{Watched, model};
use crate::sync::global::AtomicU64;
use crate::sync::{AtomicU32, Relaxed, SeqCst};
use crate::trees::protocol::{
    Added, ClaimPtr, Holder, Node, OnPoison, OwnedClaim, PlanProbe, Ready, Registration, Rights, Site,
    Target, TreeTable,
};
use loom::thread;
use std::boxed::Box;
use std::ptr::NonNull;
use std::sync::Arc;
use std::vec::Vec;

/// A tree with a number at each node.
struct World {
    table: TreeTable,
    cells: [Watched; 8],
    /// Touched before each access of a number, in no order: so loom tries each order of accesses.
    touched: AtomicU32,
    /// Claims that are over.
    done: AtomicU64,
}

type Body = Box<dyn FnOnce(&World, &mut Holder<'_>) + Send>;

/// A claim with what is to be done when it is granted.
#[repr(C)]
struct Claimant {
    /// Comes first: queues know the claim by the address of this.
    registration: Registration,
    body: Option<Body>,
    /// Nodes of a claim that follows links, which it does anew when it has waited.
    plan: Vec<Target>,
}

fn target(node: Node, alone: bool, write: bool) -> Target {
    Target { node, alone, write }
}

fn write(node: Node) -> Target {
    target(node, false, true)
}

fn read(node: Node) -> Target {
    target(node, false, false)
}

fn write_alone(node: Node) -> Target {
    target(node, true, true)
}

fn read_alone(node: Node) -> Target {
    target(node, true, false)
}

/// A body that adds one at these nodes.
fn add(nodes: &'static [usize]) -> Body {
    Box::new(move |world, _| nodes.iter().for_each(|&node| world.cell(node).add(1)))
}

/// A body that reads a node.
fn look(node: usize) -> Body {
    Box::new(move |world, _| _ = world.cell(node).get())
}

impl World {
    /// Makes a tree in which each node but the root is below one of those before it: `parents` has
    /// the place of its parent.
    fn new(parents: &[usize]) -> (Arc<Self>, Vec<Node>) {
        let world = Self {
            table: TreeTable::new(2),
            cells: Default::default(),
            touched: AtomicU32::new(0),
            done: AtomicU64::new(0),
        };
        let mut nodes = Vec::from([TreeTable::ROOT]);
        let parents = parents.to_vec();
        let mut rights = Rights::new(false);
        rights.targets.push(write(nodes[0]));
        let registration = Registration::new(false);
        let mut holder = world.holder(&registration, &mut rights);
        for parent in parents {
            nodes.push(holder.insert(nodes[parent], None, |_| ()).unwrap());
        }
        let changes = rights.changes.take().unwrap_or_default();
        for cluster in changes.splits {
            world.holder(&registration, &mut rights).split(cluster);
        }
        let claim = ClaimPtr(NonNull::from(&registration));
        world.table.leave(world.site(0), claim, &mut rights, &mut Ready::default());
        (Arc::new(world), nodes)
    }

    /// Returns a number that a body accesses.
    fn cell(&self, node: usize) -> &Watched {
        self.touched.fetch_add(1, Relaxed);
        &self.cells[node]
    }

    fn site(&self, worker: usize) -> Site {
        self.table.counts.site_of(worker)
    }

    fn holder<'h>(&'h self, registration: &Registration, rights: &'h mut Rights) -> Holder<'h> {
        let claim = ClaimPtr(NonNull::from(registration));
        Holder::new(&self.table, claim, rights, 1)
    }

    /// Tries to add a target, as plans do.
    fn try_add(&self, site: Site, owned: OwnedClaim<'_>, target: &Target, ready: &mut Ready) -> Added {
        if owned.rights.targets.is_empty() {
            self.table.try_add::<true>(site, owned, target, ready)
        } else {
            self.table.try_add::<false>(site, owned, target, ready)
        }
    }

    /// Tries to claim at once, and then the slow way. Runs the body when all is granted, perhaps on
    /// another thread.
    fn claim(&self, worker: usize, targets: &[Target], body: Body) {
        let claim = new_claim(Some(body));
        let (site, mut ready) = (self.site(worker), Ready::default());
        // SAFETY: this thread owns the new claim.
        let rights = unsafe { rights_of(claim) };
        let mut owned = OwnedClaim { claim, rights };
        let all = targets
            .iter()
            .all(|target| self.try_add(site, owned.reborrow(), target, &mut ready) == Added::Granted);
        if all {
            self.finish(site, claim, &mut ready);
        } else {
            self.table.leave(site, claim, owned.rights, &mut ready);
            self.wait(site, claim, targets, &mut ready);
        }
        self.resume(site, &mut ready);
    }

    /// Claims the slow way only.
    fn claim_slowly(&self, worker: usize, targets: &[Target], body: Body) {
        let (site, mut ready) = (self.site(worker), Ready::default());
        self.wait(site, new_claim(Some(body)), targets, &mut ready);
        self.resume(site, &mut ready);
    }

    /// Claims targets with what is below them by links, as tasks do.
    fn claim_linked(&self, worker: usize, targets: &[Target], body: Body) {
        let claim = new_claim(Some(body));
        // SAFETY: this thread owns the new claim.
        unsafe { (*claim.0.cast::<Claimant>().as_ptr()).plan = targets.into() };
        let (site, mut ready) = (self.site(worker), Ready::default());
        self.run_plan(site, claim, &mut ready);
        self.resume(site, &mut ready);
    }

    /// Claims one target with what is below it by links, as a task without a plan does.
    fn claim_only(&self, worker: usize, target: Target, body: Body) {
        let claim = new_claim(Some(body));
        // SAFETY: this thread owns the new claim.
        unsafe { (*claim.0.cast::<Claimant>().as_ptr()).plan = [target].into() };
        let (site, mut ready, mut refused) = (self.site(worker), Ready::default(), Default::default());
        // SAFETY: as above.
        let owned = unsafe { OwnedClaim { claim, rights: rights_of(claim) } };
        if self.table.add_only(site, owned, &target, &mut ready, &mut refused) {
            self.settle(site, claim, &refused, &mut ready);
        } else {
            self.run_plan(site, claim, &mut ready);
        }
        self.resume(site, &mut ready);
    }

    /// Names the targets of a claim with what is below by links.
    fn run_plan(&self, site: Site, claim: ClaimPtr, ready: &mut Ready) {
        let mut refused = Default::default();
        // SAFETY: the caller owns the claim, and gives it up.
        unsafe {
            let owned = OwnedClaim { claim, rights: rights_of(claim) };
            let mut probe =
                PlanProbe::new(&self.table, site, owned, &mut *ready, &mut refused, OnPoison::Fail);
            let targets = &(*claim.0.cast::<Claimant>().as_ptr()).plan;
            targets.iter().for_each(|&target| _ = probe.add(target));
        }
        self.settle(site, claim, &refused, ready);
    }

    /// Goes on after the targets of a claim were named. Waits for all if some were refused.
    fn settle(&self, site: Site, claim: ClaimPtr, refused: &[Target], ready: &mut Ready) {
        if refused.is_empty() {
            return self.finish(site, claim, ready);
        }
        // SAFETY: the caller owns the claim, and gives it up.
        let is_granted = unsafe {
            self.table.leave(site, claim, rights_of(claim), ready);
            rights_of(claim).targets.extend_from_slice(refused);
            self.table.enqueue(site, claim, ready)
        };
        if is_granted {
            self.run_plan(site, claim, ready);
        }
    }

    /// Makes a claim to one target on worker 0, which is had at once.
    fn hold(&self, target: Target, body: Body) -> ClaimPtr {
        let (claim, mut ready) = (new_claim(Some(body)), Ready::default());
        // SAFETY: this thread owns the new claim.
        let rights = unsafe { rights_of(claim) };
        let added = self.try_add(self.site(0), OwnedClaim { claim, rights }, &target, &mut ready);
        assert_eq!(added, Added::Granted);
        claim
    }

    /// Tries to claim a target at once, and gives it back.
    fn attempt(&self, worker: usize, target: Target) {
        let (site, claim, mut ready) = (self.site(worker), new_claim(None), Ready::default());
        // SAFETY: this thread owns the new claim.
        let mut owned = OwnedClaim { claim, rights: unsafe { rights_of(claim) } };
        if self.try_add(site, owned.reborrow(), &target, &mut ready) == Added::Granted {
            self.table.leave(site, claim, owned.rights, &mut ready);
        }
        self.resume(site, &mut ready);
        // SAFETY: it holds nothing, and `new_claim` made it of a box.
        drop(unsafe { Box::from_raw(claim.0.cast::<Claimant>().as_ptr()) });
    }

    fn wait(&self, site: Site, claim: ClaimPtr, targets: &[Target], ready: &mut Ready) {
        // SAFETY: the caller owns the claim, which holds nothing, and gives it up here.
        unsafe {
            let rights = rights_of(claim);
            rights.targets.clear();
            rights.targets.extend_from_slice(targets);
            if self.table.enqueue(site, claim, ready) {
                self.finish(site, claim, ready);
            }
        }
    }

    /// Goes on with claims that are ready.
    fn resume(&self, site: Site, ready: &mut Ready) {
        while let Some(claim) = ready.pop() {
            // SAFETY: this thread owns what is ready.
            unsafe {
                let rights = rights_of(claim);
                if !self.table.is_current(rights) || claim.0.as_ref().is_displaced.load(SeqCst) {
                    self.table.leave(site, claim, rights, ready);
                    if !self.table.enqueue(site, claim, ready) {
                        continue;
                    }
                }
                if (*claim.0.cast::<Claimant>().as_ptr()).plan.is_empty() {
                    self.finish(site, claim, ready);
                } else {
                    self.run_plan(site, claim, ready);
                }
            }
        }
    }

    /// Runs the body of a claim that is granted, and gives it back.
    fn finish(&self, site: Site, claim: ClaimPtr, ready: &mut Ready) {
        // SAFETY: this thread owns the claim, which `new_claim` made of a box.
        let mut claimant = unsafe { Box::from_raw(claim.0.cast::<Claimant>().as_ptr()) };
        // SAFETY: as above.
        let rights = unsafe { claimant.registration.rights() };
        let body = claimant.body.take().expect("a body runs once");
        body(self, &mut self.holder(&claimant.registration, rights));
        self.table.leave(site, claim, rights, ready);
        self.done.fetch_add(1, Relaxed);
    }
}

fn new_claim(body: Option<Body>) -> ClaimPtr {
    let registration = Registration::new(false);
    let claimant = Box::leak(Box::new(Claimant { registration, body, plan: Vec::new() }));
    ClaimPtr(NonNull::from(claimant).cast())
}

/// # Safety
///
/// The caller owns the claim.
unsafe fn rights_of<'c>(claim: ClaimPtr) -> &'c mut Rights {
    // SAFETY: by the contract.
    unsafe { (*claim.0.as_ptr()).rights() }
}

/// Runs a function on another thread.
fn spawn(world: &Arc<World>, run: impl FnOnce(&World) + Send + 'static) -> thread::JoinHandle<()> {
    let world = world.clone();
    thread::spawn(move || run(&world))
}

/// A task counts at the root on its way to a leaf while another one claims the whole tree.
#[test]
fn a_count_beside_a_claim_is_seen_by_one_of_them() {
    model(3, || {
        let (world, nodes) = World::new(&[0]);
        let leaf = nodes[1];
        let other = spawn(&world, move |world| world.claim(1, &[write_alone(leaf)], add(&[1])));
        world.claim(0, &[write(nodes[0])], add(&[0, 1]));
        other.join().unwrap();
        assert_eq!((world.done.load(Relaxed), world.cells[1].get()), (2, 2));
    });
}

/// A claim to read the whole tree sums up what is counted while a task writes a leaf, and another
/// one comes, is refused elsewhere, and goes.
#[test]
fn a_task_that_comes_and_goes_hides_none_that_stays() {
    model(2, || {
        let (world, nodes) = World::new(&[0, 1, 1, 0]);
        let (gate, below, leaf) = (nodes[1], nodes[2], nodes[4]);
        let (stays, reads) = (world.hold(write_alone(leaf), add(&[4])), world.hold(read(gate), look(1)));
        let comes = spawn(&world, move |world| {
            world.attempt(1, write_alone(below));
        });
        let whole = spawn(&world, move |world| {
            let (site, mut ready) = (world.table.counts.shared_site(), Ready::default());
            world.wait(site, new_claim(Some(look(4))), &[read(TreeTable::ROOT)], &mut ready);
            world.resume(site, &mut ready);
        });
        let (site, mut ready) = (world.site(0), Ready::default());
        world.finish(site, stays, &mut ready);
        world.finish(site, reads, &mut ready);
        world.resume(site, &mut ready);
        comes.join().unwrap();
        whole.join().unwrap();
        assert_eq!(world.done.load(Relaxed), 3);
    });
}

/// Each of two tasks writes something below one gate, and all below the other.
#[test]
fn two_slow_tasks_on_counted_gates_do_not_deadlock() {
    model(2, || {
        let (world, nodes) = World::new(&[0, 1, 1, 0, 4, 4]);
        let (left, below_left, right, below_right) = (nodes[1], nodes[2], nodes[4], nodes[5]);
        let other = spawn(&world, move |world| {
            world.claim_slowly(1, &[write_alone(below_left), write(right)], add(&[2, 5]));
        });
        world.claim_slowly(0, &[write_alone(below_right), write(left)], add(&[2, 5]));
        other.join().unwrap();
        assert_eq!(world.done.load(Relaxed), 2);
        assert_eq!([2, 5].map(|cell| world.cells[cell].get()), [2, 2]);
    });
}

/// A task counts at the root, and gives that back because the leaf is taken, while another task
/// waits at the root.
#[test]
fn an_attempt_that_is_undone_lets_a_waiter_go_on() {
    model(3, || {
        let (world, nodes) = World::new(&[0]);
        let leaf = nodes[1];
        let held = world.hold(write(leaf), add(&[1]));
        let tries = spawn(&world, move |world| world.attempt(1, write_alone(leaf)));
        let (site, mut ready) = (world.site(0), Ready::default());
        world.finish(site, held, &mut ready);
        world.claim_slowly(0, &[write(TreeTable::ROOT)], add(&[0, 1]));
        world.resume(site, &mut ready);
        tries.join().unwrap();
        assert_eq!(world.done.load(Relaxed), 2);
    });
}

/// A node moves from one cluster to another while a task comes by the old way or the new.
#[test]
fn a_moved_node_is_found_by_both_ways() {
    model(2, || {
        let (world, nodes) = World::new(&[0, 1, 0]);
        let (from, node, to) = (nodes[1], nodes[2], nodes[3]);
        let other = spawn(&world, move |world| world.claim(1, &[read_alone(node)], look(2)));
        let body: Body = Box::new(move |world, holder| {
            world.cell(2).add(1);
            holder.relocate(node, to, None).unwrap();
            world.cell(2).add(1);
        });
        world.claim(0, &[write_alone(from), write_alone(to), write(node)], body);
        // The new way only.
        world.claim(0, &[write_alone(node)], add(&[2]));
        other.join().unwrap();
        assert_eq!((world.done.load(Relaxed), world.cells[2].get()), (3, 3));
    });
}

/// A node moves away and comes back while a claim waits that was granted it at its old place. (One
/// thread, as the order matters.)
#[test]
fn a_node_that_comes_back_displaces_a_claim_that_waits() {
    model(1, || {
        let (world, nodes) = World::new(&[0, 1, 0, 0]);
        let (from, node, to, other) = (nodes[1], nodes[2], nodes[3], nodes[4]);
        let site = world.site(0);
        let moves = [write_alone(from), write_alone(to), write(node)];
        let held = world.hold(write(other), add(&[4]));
        let away: Body = Box::new(move |world, holder| {
            // Waits for this task at the node, and for another one elsewhere.
            let body: Body = Box::new(|world, _| assert_eq!(world.done.load(Relaxed), 3));
            world.claim_slowly(0, &[write_alone(node), write_alone(other)], body);
            holder.relocate(node, to, None).unwrap();
        });
        world.claim(0, &moves, away);
        let back: Body = Box::new(move |world, holder| {
            holder.relocate(node, from, None).unwrap();
            let mut ready = Ready::default();
            world.finish(site, held, &mut ready);
            // Would run the claim that waits now beside this one.
            world.resume(site, &mut ready);
        });
        world.claim(0, &moves, back);
        assert_eq!(world.done.load(Relaxed), 4);
    });
}

/// A cluster is split while a task comes to one of its nodes.
#[test]
fn a_split_cluster_is_found_by_both_ways() {
    model(2, || {
        let (world, nodes) = World::new(&[0, 1]);
        let (top, leaf) = (nodes[1], nodes[2]);
        let other = spawn(&world, move |world| world.claim(1, &[write_alone(leaf)], add(&[2])));
        let body: Body = Box::new(move |world, holder| {
            holder.insert(top, None, |_| ()).unwrap();
            holder.split(top);
            world.cell(2).add(1);
        });
        world.claim(0, &[write(top)], body);
        other.join().unwrap();
        assert_eq!((world.done.load(Relaxed), world.cells[2].get()), (2, 2));
    });
}

/// A node that is a gate is removed while a task comes to it.
#[test]
fn a_removed_gate_is_never_taken_for_a_cluster() {
    model(2, || {
        let (world, nodes) = World::new(&[0, 1, 1]);
        let (root, gate) = (nodes[0], nodes[1]);
        let other = spawn(&world, move |world| {
            let body: Body = Box::new(move |world, holder| {
                if holder.covered(gate, false).is_ok() {
                    _ = world.cell(1).get();
                }
            });
            world.claim(1, &[read_alone(gate)], body);
        });
        let body: Body = Box::new(move |world, holder| {
            holder.remove(gate).unwrap();
            world.cell(1).add(1);
        });
        world.claim(0, &[write_alone(root), write(gate)], body);
        other.join().unwrap();
        assert_eq!((world.done.load(Relaxed), world.cells[1].get()), (2, 1));
    });
}

/// A node is linked while a task claims its new parent with all below. Then another task claims the
/// old parent: both have the node below them.
#[test]
fn sub_trees_that_share_a_node_exclude_each_other() {
    beside_a_new_link(|world, parent, body| world.claim_linked(1, &[parent], body));
}

/// The same with a task that has no plan. It looks for links only if the tree has some: the one
/// that is made meanwhile is the first.
#[test]
fn the_first_link_of_a_tree_is_seen_by_a_claim_beside_it() {
    beside_a_new_link(|world, parent, body| world.claim_only(1, parent, body));
}

/// Makes a link beside a claim of the new parent with all below.
fn beside_a_new_link(claim: fn(&World, Target, Body)) {
    model(2, move || {
        let (world, nodes) = World::new(&[0, 1, 0]);
        let (root, node, parent) = (nodes[0], nodes[2], nodes[3]);
        let other = spawn(&world, move |world| {
            let body: Body = Box::new(move |world, holder| {
                let mut is_linked = false;
                let checked = holder.check_linked(parent, true, |end| is_linked |= end == node);
                assert_eq!(checked, Ok(()));
                if is_linked {
                    world.cell(2).add(1);
                }
            });
            claim(world, write(parent), body);
        });
        let body: Body = Box::new(move |world, holder| {
            world.cell(2).add(1);
            holder.link(parent, node, None).unwrap();
        });
        world.claim(0, &[read_alone(root), write_alone(parent), write_alone(node)], body);
        world.claim_linked(0, &[write(nodes[1])], add(&[2]));
        other.join().unwrap();
        assert_eq!(world.done.load(Relaxed), 3);
        let added = world.cells[2].get();
        assert!((2..=3).contains(&added), "{added}");
    });
}
