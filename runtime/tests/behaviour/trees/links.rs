//! Nodes with several parents.

use super::{complete, numbers};
use crate::common::{Flag, Setting, on_all, on_each, silence_tasks, watchdog};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use xtasking::trees::{Node, Nodes, Tree, TreeError};
use xtasking::{Handle, JoinError, QueuePolicy, Runtime};

/// Links a node, in a task of its own.
fn link(rt: &Runtime, tree: &Tree<u64>, parent: Node, node: Node) -> Result<(), TreeError> {
    let claim = tree.planned(move |plan| plan.link(parent, node));
    rt.task(())
        .claim(claim)
        .submit_with(move |(), ((), mut nodes), _| nodes.link(parent, node))
        .join()
        .unwrap()
}

fn unlink(rt: &Runtime, tree: &Tree<u64>, parent: Node, node: Node) -> Result<(), TreeError> {
    let claim = tree.planned(move |plan| plan.unlink(parent, node));
    let task = rt.task(()).claim(claim);
    task.submit_with(move |(), ((), mut nodes), _| nodes.unlink(parent, node)).join().unwrap()
}

fn relocate(rt: &Runtime, tree: &Tree<u64>, node: Node, to: Node) -> Result<(), TreeError> {
    let claim = tree.planned(move |plan| plan.relocate(node, to));
    let task = rt.task(()).claim(claim);
    task.submit_with(move |(), ((), mut nodes), _| nodes.relocate(node, to)).join().unwrap()
}

fn remove(rt: &Runtime, tree: &Tree<u64>, node: Node) -> Result<Vec<u64>, TreeError> {
    let claim = tree.planned(move |plan| plan.remove(node));
    rt.task(()).claim(claim).submit_with(move |(), ((), mut nodes), _| nodes.remove(node)).join().unwrap()
}

fn children(rt: &Runtime, tree: &Tree<u64>, node: Node) -> Vec<Node> {
    let claim = tree.planned(move |plan| plan.children(node).map(<[Node]>::to_vec));
    let task = rt.task(()).claim(claim).submit_with(|(), (children, _), _| children);
    task.join().unwrap().unwrap()
}

fn parents(rt: &Runtime, tree: &Tree<u64>, node: Node) -> Vec<Node> {
    let claim = tree.planned(move |plan| plan.parents(node));
    let task = rt.task(()).claim(claim).submit_with(|(), (parents, _), _| parents);
    task.join().unwrap().unwrap()
}

/// Returns true if a task that claims a node with all below may read another one.
fn covers(rt: &Runtime, tree: &Tree<u64>, node: Node, other: Node) -> bool {
    rt.task(()).claim(tree.read(node)).submit_with(move |(), nodes, _| nodes.has(other)).join().unwrap()
}

#[test]
fn a_linked_node_is_below_each_of_its_parents() {
    on_all(|setting| {
        let rt = setting.build();
        let (tree, all) = complete(&rt, 3, 3);
        let (one, two, shared, below) = (all[1], all[2], all[4], all[13]);
        assert_eq!(link(&rt, &tree, two, shared), Ok(()));
        assert_eq!(parents(&rt, &tree, shared), [one, two]);
        assert_eq!(children(&rt, &tree, two), [all[7], all[8], all[9], shared]);
        assert!(covers(&rt, &tree, two, below) && covers(&rt, &tree, one, below));
        assert!(!covers(&rt, &tree, all[3], below) && !covers(&rt, &tree, two, one));
        assert_eq!(numbers(&rt, &tree, two)[13..], [4, 13, 14, 15]);
        // Each node comes once, although there are two ways to it.
        assert_eq!(numbers(&rt, &tree, all[0]).len(), all.len());

        assert_eq!(unlink(&rt, &tree, two, shared), Ok(()));
        assert!(!covers(&rt, &tree, two, below));
        assert_eq!(parents(&rt, &tree, shared), [one]);
        assert_eq!(unlink(&rt, &tree, two, shared), Err(TreeError::NotLinked(two, shared)));
        assert_eq!(unlink(&rt, &tree, one, shared), Err(TreeError::OnlyParent(shared)));
    });
}

#[test]
fn links_of_links_are_followed() {
    on_all(|setting| {
        let rt = setting.build();
        let (tree, all) = complete(&rt, 3, 3);
        link(&rt, &tree, all[1], all[8]).unwrap();
        link(&rt, &tree, all[25], all[37]).unwrap();
        link(&rt, &tree, all[8], all[12]).unwrap();
        // The node 37 is a child of 12 as well, and comes once.
        assert_eq!(numbers(&rt, &tree, all[1])[13..], [8, 25, 37, 26, 27, 12, 38, 39]);
        let top = all[1];
        let all_below = rt.task(()).claim(tree.write(top)).submit_with(move |(), mut nodes, _| {
            nodes.subtree_mut(top).unwrap().for_each(|(_, number)| *number += 100);
            nodes.subtree(top).unwrap().count()
        });
        assert_eq!(all_below.join().unwrap(), 21);
        assert_eq!(numbers(&rt, &tree, all[0]).iter().filter(|number| **number >= 100).count(), 21);
    });
}

#[test]
fn a_parent_may_have_a_child_twice() {
    on_all(|setting| {
        let rt = setting.build();
        let (tree, all) = complete(&rt, 2, 2);
        let (one, two, bolt, other) = (all[1], all[2], all[3], all[4]);
        link(&rt, &tree, one, bolt).unwrap();
        let claim = tree.planned(move |plan| plan.link(two, bolt));
        let twice = rt.task(()).claim(claim).submit_with(move |(), ((), mut nodes), _| {
            nodes.link_at(two, 0, bolt)?;
            nodes.link_at(two, 0, bolt)?;
            assert_eq!(nodes.link_at(two, 5, bolt), Err(TreeError::NoSuchPlace(two, 5)));
            nodes.parents(bolt)
        });
        assert_eq!(twice.join().unwrap().unwrap(), [one, one, two, two]);
        assert_eq!(children(&rt, &tree, one), [bolt, other, bolt]);
        assert_eq!(children(&rt, &tree, two), [bolt, bolt, all[5], all[6]]);
        assert_eq!(numbers(&rt, &tree, two), [2, 3, 5, 6]);
        unlink(&rt, &tree, one, bolt).unwrap();
        assert_eq!(children(&rt, &tree, one), [bolt, other]);
        // Now it moves, to the place of a link.
        unlink(&rt, &tree, one, bolt).unwrap();
        assert_eq!(parents(&rt, &tree, bolt), [two, two]);
        assert_eq!(relocate(&rt, &tree, bolt, one), Ok(()));
        assert_eq!(parents(&rt, &tree, bolt), [one, two]);
        assert_eq!(children(&rt, &tree, two), [bolt, all[5], all[6]]);
        assert_eq!(unlink(&rt, &tree, one, bolt), Ok(()));
        assert_eq!(remove(&rt, &tree, two), Ok(vec![2, 3, 5, 6]));
        assert_eq!(numbers(&rt, &tree, all[0]), [0, 1, 4]);
    });
}

/// Returns the data of the links to all children of a node.
fn data(nodes: &Nodes<'_, u64>, parent: Node) -> Vec<Option<u32>> {
    let count = nodes.children(parent).unwrap().len();
    (0..count).map(|at| nodes.link_data(parent, at).unwrap().copied()).collect()
}

/// The same bolt at several places of a part, each with data of its own.
#[test]
fn data_of_links_stay_with_their_places() {
    on_all(|setting| {
        let rt = setting.build();
        let (tree, all) = complete(&rt, 2, 2);
        let (root, one, two, bolt) = (all[0], all[1], all[2], all[3]);
        let task = rt.task(()).claim(tree.write(root)).submit_with(move |(), mut nodes, _| {
            nodes.link_with(two, bolt, 7u32)?;
            nodes.link_with(two, bolt, 8u32)?;
            assert_eq!(data(&nodes, two), [None, None, Some(7), Some(8)]);
            nodes.insert_at(two, 2, 0)?;
            nodes.link_at(two, 0, bolt)?;
            assert_eq!(data(&nodes, two), [None, None, None, None, Some(7), Some(8)]);
            *nodes.link_data_mut::<u32>(two, 4)?.unwrap() += 10;
            nodes.unlink(two, bolt)?;
            assert_eq!(data(&nodes, two), [None, None, None, None, Some(17)]);
            // A child without a link has data as well, and takes them along.
            nodes.set_link_data(one, 0, 3u32)?;
            assert_eq!(data(&nodes, one), [Some(3), None]);
            nodes.relocate_at(bolt, one, 1)?;
            assert_eq!(data(&nodes, one), [None, Some(3)]);
            nodes.relocate_at(bolt, root, 0)?;
            assert_eq!((data(&nodes, one), data(&nodes, root)), (vec![None], vec![Some(3), None, None]));
            assert_eq!(nodes.link_data::<u64>(root, 0), Ok(None));
            assert_eq!(nodes.link_data::<u32>(root, 3), Err(TreeError::NoSuchPlace(root, 3)));
            assert_eq!(nodes.set_link_data(two, 5, 1u32), Err(TreeError::NoSuchPlace(two, 5)));
            Ok::<_, TreeError>(())
        });
        assert_eq!(task.join().unwrap(), Ok(()));

        // They belong to the parent, which is all that a task has to claim.
        let claim = tree.planned(move |plan| plan.link_data::<u32>(two, 4).copied());
        let task = rt.task(()).claim(claim).submit_with(move |(), (found, mut nodes), _| {
            assert_eq!(nodes.set_link_data(two, 4, 1u32), Err(TreeError::NotClaimed(two)));
            assert_eq!(nodes.link_data_mut::<u32>(two, 4), Err(TreeError::NotClaimed(two)));
            assert_eq!(nodes.link_data::<u32>(root, 0), Err(TreeError::NotClaimed(root)));
            (found, nodes.link_data::<u32>(two, 4).unwrap().copied())
        });
        assert_eq!(task.join().unwrap(), (Some(17), Some(17)));
    });
}

#[test]
fn data_of_links_are_dropped_with_them() {
    on_all(|setting| {
        let rt = setting.build();
        let (tree, all) = complete(&rt, 2, 2);
        let (root, one, two, bolt) = (all[0], all[1], all[2], all[3]);
        let value = Arc::new(());
        let there = value.clone();
        let task = rt.task(()).claim(tree.write(root)).submit_with(move |(), mut nodes, _| {
            let count = || Arc::strong_count(&there);
            nodes.link_with(two, bolt, there.clone())?;
            nodes.link_with(two, bolt, there.clone())?;
            nodes.set_link_data(two, 0, there.clone())?;
            assert_eq!(count(), 5);
            nodes.unlink(two, bolt)?;
            assert_eq!(count(), 4);
            nodes.set_link_data(two, 2, "another")?;
            assert_eq!(count(), 3);
            nodes.remove(two)?;
            assert_eq!(count(), 2);
            // Nodes that get the numbers of those that were removed have no data.
            for _ in 0..3 {
                let new = nodes.insert(root, 0)?;
                nodes.link(new, bolt)?;
                assert_eq!(data(&nodes, new), [None]);
            }
            nodes.set_link_data(one, 1, there.clone())
        });
        assert_eq!(task.join().unwrap(), Ok(()));
        drop((tree, rt));
        assert_eq!(Arc::strong_count(&value), 1);
    });
}

/// A sub-tree with gates is unlinked from the parent that it is below.
#[test]
fn a_large_node_moves_to_the_place_of_its_link() {
    on_all(|setting| {
        let rt = setting.build();
        let (tree, all) = complete(&rt, 9, 3);
        let (root, large, deep, end) = (all[0], all[1], all[800], all[30]);
        // A link leads out of it, and one to it from a cluster far away.
        link(&rt, &tree, all[10], end).unwrap();
        link(&rt, &tree, deep, large).unwrap();
        assert!(covers(&rt, &tree, large, end) && covers(&rt, &tree, deep, end));
        unlink(&rt, &tree, root, large).unwrap();
        assert_eq!(parents(&rt, &tree, large), [deep]);
        assert_eq!(children(&rt, &tree, root), all[2..10]);
        assert!(covers(&rt, &tree, deep, end) && covers(&rt, &tree, all[9], end));
        assert_eq!(numbers(&rt, &tree, all[9]).len(), 91 + 91 + 10);
        assert_eq!(numbers(&rt, &tree, root).len(), all.len());
        // What is moved takes its links with it.
        relocate(&rt, &tree, deep, all[2]).unwrap();
        assert!(covers(&rt, &tree, all[2], end) && !covers(&rt, &tree, all[9], end));
        assert_eq!(relocate(&rt, &tree, deep, end), Err(TreeError::Cycle(deep, end)));
        assert_eq!(link(&rt, &tree, end, large), Err(TreeError::Cycle(large, end)));
    });
}

#[test]
fn a_node_with_a_parent_elsewhere_is_not_removed() {
    on_all(|setting| {
        let rt = setting.build();
        let (tree, all) = complete(&rt, 2, 3);
        let (one, two, below) = (all[1], all[2], all[7]);
        link(&rt, &tree, two, below).unwrap();
        assert_eq!(remove(&rt, &tree, one), Err(TreeError::OtherParent(below, two)));
        assert_eq!(remove(&rt, &tree, below), Err(TreeError::OtherParent(below, two)));
        // Links within what is removed go with it, and so do those that lead out.
        link(&rt, &tree, one, below).unwrap();
        link(&rt, &tree, below, two).unwrap_err();
        unlink(&rt, &tree, two, below).unwrap();
        link(&rt, &tree, below, two).unwrap();
        link(&rt, &tree, all[8], two).unwrap();
        assert_eq!(remove(&rt, &tree, one).map(|data| data.len()), Ok(7));
        assert_eq!(parents(&rt, &tree, two), [all[0]]);
        // The slots of removed nodes are used again, and have no links.
        let fill = rt.task(()).claim(tree.write_alone(two)).submit_with(move |(), mut nodes, _| {
            (0..7).map(|number| nodes.insert(two, number)).collect::<Result<Vec<_>, _>>()
        });
        let new = fill.join().unwrap().unwrap();
        assert!(new.iter().all(|&node| parents(&rt, &tree, node) == [two]));
        assert_eq!(remove(&rt, &tree, two).map(|data| data.len()), Ok(14));
        assert_eq!(numbers(&rt, &tree, all[0]), [0]);
    });
}

/// A claim has more links to follow than it has targets for.
#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn a_node_may_have_very_many_links() {
    on_all(|setting| {
        let rt = setting.build();
        let (tree, all) = complete(&rt, 6, 4);
        let (root, hub, far) = (all[0], all[1], all[475]);
        let linked: Vec<Node> = all[777..].iter().copied().step_by(5).collect();
        assert_eq!(linked.len(), 156);
        let (links, beside) = (linked.clone(), all[1553]);
        let fill = rt.task(()).claim(tree.write(root)).submit_with(move |(), mut nodes, _| {
            links.iter().try_for_each(|&node| nodes.link(hub, node))?;
            // A link leads on from the first that the claim takes with the gate above.
            nodes.link(links[32], far)?;
            // Another one from a node that it takes only because of the gate above.
            let other = nodes.insert(root, 0)?;
            nodes.link(beside, other)?;
            Ok::<_, TreeError>(other)
        });
        let other = fill.join().unwrap().unwrap();
        let mut has_other = true;
        // Until the last clusters are split, the gate above is the root.
        while has_other {
            let linked = linked.clone();
            let sum = rt.task(()).claim(tree.read(hub)).submit_with(move |(), nodes, _| {
                assert!(linked.iter().all(|&node| nodes.has(node)) && nodes.has(far));
                nodes.subtree(hub).map(|all| (all.count(), nodes.has(other)))
            });
            let (count, has) = sum.join().unwrap().unwrap();
            assert_eq!(count, 259 + 156 + 1);
            has_other = has;
        }
        assert!(!covers(&rt, &tree, hub, other) && covers(&rt, &tree, beside, other));
    });
}

#[test]
fn a_claim_that_does_not_cover_a_new_link_is_too_narrow() {
    on_all(|setting| {
        let rt = setting.build();
        let (tree, all) = complete(&rt, 3, 3);
        let (root, one, two, three, far) = (all[0], all[1], all[2], all[3], all[12]);
        let (above, beside) = (all[4], all[5]);
        let claim = tree.write(one).and_write_alone(two).and_read_alone(root);
        let task = rt.task(()).claim(claim).submit_with(move |(), mut nodes: Nodes<'_, u64>, _| {
            assert_eq!(nodes.link(one, three), Err(TreeError::NotClaimed(three)));
            assert_eq!(nodes.link(above, two), Ok(()));
            assert_eq!(nodes.subtree(one).err(), Some(TreeError::NotClaimed(two)));
            assert_eq!(nodes.subtree_mut(one).err(), Some(TreeError::NotClaimed(two)));
            assert_eq!(nodes.subtree(beside).map(Iterator::count), Ok(4));
        });
        task.join().unwrap();
        let claim = tree.write_alone(two).and_write_alone(far);
        let task = rt.task(()).claim(claim);
        let task = task.submit_with(move |(), mut nodes, _| nodes.link(far, two));
        assert_eq!(task.join().unwrap(), Err(TreeError::NotClaimed(three)));
    });
}

#[test]
fn a_panic_poisons_what_was_written_by_a_link() {
    silence_tasks();
    on_all(|setting| {
        let rt = setting.build();
        let (tree, all) = complete(&rt, 3, 3);
        let (one, two, shared) = (all[1], all[2], all[4]);
        link(&rt, &tree, two, shared).unwrap();
        let bomb = rt.task(()).claim(tree.write(two)).submit_with(move |(), mut nodes, _| {
            *nodes.get_mut(shared).unwrap() += 1;
            panic!("provoked");
        });
        assert!(matches!(bomb.join(), Err(JoinError::Panicked(_))));
        assert!(tree.is_poisoned(shared) && !tree.is_poisoned(two));
        for node in [one, two] {
            let task = rt.task(()).claim(tree.read(node)).submit_with(|(), _, _| ());
            assert!(matches!(task.join(), Err(JoinError::Poisoned)));
        }
        rt.task(()).claim(tree.write(two).even_poisoned()).submit_with(|(), _, _| ()).join().unwrap();
        assert!(!tree.is_poisoned(shared));
    });
}

/// Two workers, of which one runs a task that waits for a flag.
struct Stage {
    rt: Runtime,
    tree: Tree<u64>,
    all: Vec<Node>,
    go: Flag,
}

impl Stage {
    fn new() -> Self {
        let rt = Runtime::builder().workers(2).pool(QueuePolicy::WorkStealing).build().unwrap();
        let (tree, all) = complete(&rt, 3, 3);
        Self { rt, tree, all, go: Flag::default() }
    }

    /// Sees that a task which was spawned before has not run: it would have come before this one,
    /// on the only worker that is free.
    fn sees_none(&self, ran: &AtomicBool) {
        self.rt.task(()).submit(|(), _| ()).join().unwrap();
        if ran.load(SeqCst) {
            self.go.set();
            panic!("it runs beside a task that holds what it claims");
        }
    }
}

/// Spawns a task that writes a node with all below, and returns how many nodes it has seen there.
fn write_all(stage: &Stage, node: Node, ran: &Arc<AtomicBool>) -> Handle<Result<usize, TreeError>> {
    let ran = ran.clone();
    let task = stage.rt.task(()).claim(stage.tree.write(node));
    task.submit_with(move |(), mut nodes, _| {
        ran.store(true, SeqCst);
        Ok(nodes.subtree_mut(node)?.map(|(_, number)| *number += 1).count())
    })
}

#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn two_sub_trees_that_share_a_node_exclude_each_other() {
    let _watched = watchdog();
    let stage = Stage::new();
    let (one, two, shared) = (stage.all[1], stage.all[2], stage.all[4]);
    link(&stage.rt, &stage.tree, two, shared).unwrap();
    let (inside, go) = (Flag::default(), stage.go.clone());
    let i = inside.clone();
    let holder = stage.rt.task(()).claim(stage.tree.write(one)).submit_with(move |(), _, _| {
        i.set();
        go.wait();
    });
    inside.wait();
    let ran = Arc::default();
    let waits = write_all(&stage, two, &ran);
    stage.sees_none(&ran);
    stage.go.set();
    holder.join().unwrap();
    assert_eq!(waits.join().unwrap(), Ok(17));
}

/// Runs a task that makes a link or takes it away, while another one waits for the sub-tree.
fn beside_a_waiting_claim(unlinks: bool) -> (Result<usize, TreeError>, bool) {
    let stage = Stage::new();
    let (one, parent, shared) = (stage.all[1], stage.all[14], stage.all[8]);
    if unlinks {
        link(&stage.rt, &stage.tree, parent, shared).unwrap();
    }
    let (inside, go) = (Flag::default(), stage.go.clone());
    let i = inside.clone();
    let claim = stage.tree.planned(move |plan| match unlinks {
        true => plan.unlink(parent, shared),
        false => plan.link(parent, shared),
    });
    let holder = stage.rt.task(()).claim(claim).submit_with(move |(), ((), mut nodes), _| {
        i.set();
        go.wait();
        if unlinks { nodes.unlink(parent, shared) } else { nodes.link(parent, shared) }
    });
    inside.wait();
    let ran = Arc::default();
    let waits = write_all(&stage, one, &ran);
    stage.sees_none(&ran);
    stage.go.set();
    assert_eq!(holder.join().unwrap(), Ok(()));
    (waits.join().unwrap(), covers(&stage.rt, &stage.tree, one, shared))
}

#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn a_claim_that_waits_covers_what_is_linked_meanwhile() {
    let _watched = watchdog();
    assert_eq!(beside_a_waiting_claim(false), (Ok(17), true));
    assert_eq!(beside_a_waiting_claim(true), (Ok(13), false));
}

/// A task that has claimed nodes with all below links them without their ancestors.
#[test]
fn a_link_within_what_is_claimed_needs_no_ancestors() {
    on_all(|setting| {
        let rt = setting.build();
        let (tree, all) = complete(&rt, 3, 3);
        let (one, above, below) = (all[1], all[4], all[5]);
        let task = rt.task(()).claim(tree.write(one)).submit_with(move |(), mut nodes, _| {
            nodes.link(above, below)?;
            assert_eq!(nodes.link(below, above), Err(TreeError::Cycle(above, below)));
            assert_eq!(nodes.link(below, one), Err(TreeError::Cycle(one, below)));
            nodes.subtree(above).map(Iterator::count)
        });
        assert_eq!(task.join().unwrap(), Ok(4 + 4));
    });
}

/// What a node shares may be written while the node passes on to another parent, and read while it
/// moves.
#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn a_node_moves_while_others_use_what_it_shares() {
    let _watched = watchdog();
    for writes in [true, false] {
        let stage = Stage::new();
        let (one, three, moved, shared) = (stage.all[1], stage.all[3], stage.all[4], stage.all[8]);
        link(&stage.rt, &stage.tree, moved, shared).unwrap();
        link(&stage.rt, &stage.tree, three, moved).unwrap();
        let (inside, go) = (Flag::default(), stage.go.clone());
        let i = inside.clone();
        let claim = if writes { stage.tree.write(shared) } else { stage.tree.read(shared) };
        let holder = stage.rt.task(()).claim(claim).submit_with(move |(), _, _| {
            i.set();
            go.wait();
        });
        inside.wait();
        if writes {
            assert_eq!(unlink(&stage.rt, &stage.tree, one, moved), Ok(()));
        } else {
            assert_eq!(relocate(&stage.rt, &stage.tree, moved, three), Ok(()));
        }
        stage.go.set();
        holder.join().unwrap();
    }
}

/// Of two links at once that would close a cycle one is refused.
#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn two_links_close_no_cycle() {
    let _watched = watchdog();
    let stage = Stage::new();
    let (one, two, below_one, below_two) = (stage.all[1], stage.all[2], stage.all[14], stage.all[22]);
    let (inside, go) = (Flag::default(), stage.go.clone());
    let i = inside.clone();
    let claim = stage.tree.planned(move |plan| plan.link(below_one, two));
    let first = stage.rt.task(()).claim(claim).submit_with(move |(), ((), mut nodes), _| {
        i.set();
        go.wait();
        nodes.link(below_one, two)
    });
    inside.wait();
    let ran = Arc::new(AtomicBool::new(false));
    let claim = stage.tree.planned(move |plan| plan.link(below_two, one));
    let r = ran.clone();
    let second = stage.rt.task(()).claim(claim).submit_with(move |(), ((), mut nodes), _| {
        r.store(true, SeqCst);
        nodes.link(below_two, one)
    });
    stage.sees_none(&ran);
    stage.go.set();
    assert_eq!(first.join().unwrap(), Ok(()));
    assert_eq!(second.join().unwrap(), Err(TreeError::Cycle(one, below_two)));
}

/// Tasks on many parents of the same nodes lose no write.
#[test]
fn tasks_that_share_nodes_lose_no_write() {
    on_each(Setting::threads(), |setting| {
        let rt = setting.build();
        let (tree, all) = complete(&rt, 4, 4);
        let (tops, parts) = (all[1..21].to_vec(), &all[300..304]);
        for (nth, &top) in tops.iter().enumerate() {
            link(&rt, &tree, top, parts[nth % parts.len()]).unwrap();
        }
        let before = numbers(&rt, &tree, all[0]).iter().sum::<u64>();
        let group = rt.group();
        let written = Arc::new(std::sync::atomic::AtomicU64::new(0));
        for _ in 0..if cfg!(miri) { 1 } else { 10 } {
            for &top in &tops {
                let written = written.clone();
                rt.task(()).of(&group).claim(tree.write(top)).spawn_with(move |(), mut nodes, _| {
                    let count = nodes.subtree_mut(top).unwrap().map(|(_, number)| *number += 1).count();
                    written.fetch_add(count as u64, SeqCst);
                });
            }
        }
        group.wait().unwrap();
        let after = numbers(&rt, &tree, all[0]).iter().sum::<u64>();
        assert_eq!(after - before, written.load(SeqCst));
    });
}
