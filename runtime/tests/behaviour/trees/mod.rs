//! Tasks that claim parts of trees.
//!
//! | module | contents |
//! |---|---|
//! | this one | access to nodes, changes, plans and their errors |
//! | `crowds` | many entries in one cluster |
//! | `gates` | large sub-trees that move while claims wait |
//! | `ends` | panics, cancellations, shutdowns, dropped handles and memory |
//! | `links` | nodes with several parents |
//! | `queues` | chains, fan-outs and queues of many tasks |
//! | `random` | random changes, replayed by a model |

mod crowds;
mod ends;
mod gates;
mod links;
mod queues;
mod random;

use crate::common::{Flag, Setting, on_all, on_each, watchdog};
use xtasking::trees::{Node, Nodes, Tree, TreeError};
use xtasking::{QueuePolicy, Runtime, primitive::Sequencing};

/// Builds a tree of numbers in one task: the root is 0, with `width` children at each node on each
/// of `depth` levels. Returns the nodes, each level behind the one above.
fn complete(rt: &Runtime, width: u64, depth: u32) -> (Tree<u64>, Vec<Node>) {
    let tree = rt.tree(0);
    let root = tree.root();
    let task = rt.task(()).claim(tree.write(root)).submit_with(move |(), mut nodes, _| {
        let (mut all, mut level) = (vec![root], vec![root]);
        for _ in 0..depth {
            let mut below = Vec::new();
            for &parent in &level {
                for _ in 0..width {
                    below.push(nodes.insert(parent, (all.len() + below.len()) as u64).unwrap());
                }
            }
            all.extend(&below);
            level = below;
        }
        all
    });
    let all = task.join().unwrap();
    (tree, all)
}

/// Returns the numbers of a sub-tree.
fn numbers(rt: &Runtime, tree: &Tree<u64>, node: Node) -> Vec<u64> {
    let task = rt.task(()).claim(tree.read(node));
    let task =
        task.submit_with(move |(), nodes, _| Ok(nodes.subtree(node)?.map(|(_, &number)| number).collect()));
    task.join().unwrap().unwrap_or_else(|_: TreeError| Vec::new())
}

#[test]
fn tasks_reach_what_they_have_claimed() {
    on_all(|setting| {
        let rt = setting.build();
        let (tree, all) = complete(&rt, 3, 4);
        assert_eq!(numbers(&rt, &tree, all[0]).len(), 121);
        let (one, two, below) = (all[1], all[2], all[4]);
        let claim = tree.write(one).and_read_alone(two);
        let task = rt.task(()).claim(claim).submit_with(move |(), mut nodes, _| {
            *nodes.get_mut(one)? += 1000;
            *nodes.get_mut(below)? += 1000;
            assert_eq!(nodes.get(two), Ok(&2));
            assert_eq!(nodes.get_mut(two), Err(TreeError::NotClaimed(two)));
            assert_eq!(nodes.subtree(two).err(), Some(TreeError::NotClaimed(two)));
            let children = nodes.children(two)?.to_vec();
            assert_eq!(nodes.get(children[0]), Err(TreeError::NotClaimed(children[0])));
            assert_eq!(nodes.parent(below)?, Some(one));
            Ok::<_, TreeError>(nodes.subtree(one)?.count())
        });
        assert_eq!(task.join().unwrap(), Ok(40));
        assert_eq!(numbers(&rt, &tree, one)[..2], [1001, 1004]);
    });
}

#[test]
fn children_are_in_order() {
    on_all(|setting| {
        let rt = setting.build();
        let tree = rt.tree(0);
        let root = tree.root();
        let task = rt.task(()).claim(tree.write_alone(root)).submit_with(move |(), mut nodes, _| {
            let two = nodes.insert(root, 2)?;
            let four = nodes.insert(root, 4)?;
            let one = nodes.insert_at(root, 0, 1)?;
            let three = nodes.insert_at(root, 2, 3)?;
            assert_eq!(nodes.insert_at(root, 5, 5), Err(TreeError::NoSuchPlace(root, 5)));
            assert_eq!(nodes.children(root)?, [one, two, three, four]);
            nodes.relocate_at(four, root, 0)?;
            nodes.relocate(one, three)?;
            assert_eq!(nodes.relocate(three, one), Err(TreeError::Cycle(three, one)));
            assert_eq!(nodes.relocate(root, one), Err(TreeError::Root));
            Ok::<_, TreeError>(nodes.children(root)?.to_vec() == [four, two, three])
        });
        assert_eq!(task.join().unwrap(), Ok(true));
        assert_eq!(numbers(&rt, &tree, root), [0, 4, 2, 3, 1]);
    });
}

#[test]
fn a_removed_node_is_missing_even_if_its_place_is_used_again() {
    on_all(|setting| {
        let rt = setting.build();
        let (tree, all) = complete(&rt, 2, 3);
        let (one, two) = (all[1], all[2]);
        let claim = tree.planned(move |plan| plan.remove(one));
        let removed = rt.task(()).claim(claim).submit_with(move |(), ((), mut nodes), _| nodes.remove(one));
        assert_eq!(removed.join().unwrap(), Ok(vec![1, 3, 4, 7, 8, 9, 10]));
        let fill = rt.task(()).claim(tree.write_alone(two)).submit_with(move |(), mut nodes, _| {
            (0..7).map(|number| nodes.insert(two, number)).collect::<Result<Vec<_>, _>>()
        });
        let new = fill.join().unwrap().unwrap();
        assert!(all.iter().all(|node| !new.contains(node)));
        assert!(!tree.contains(one) && tree.contains(two));
        let claim = tree.write(one).and_read(two);
        let task = rt.task(()).claim(claim).submit_with(move |(), nodes: Nodes<'_, u64>, _| {
            (nodes.get(one).copied(), nodes.subtree(two).unwrap().count())
        });
        assert_eq!(task.join().unwrap(), (Err(TreeError::Missing(one)), 14));
    });
}

#[test]
fn a_number_that_no_handle_has_made_leads_to_no_node() {
    on_all(|setting| {
        let rt = setting.build();
        let (tree, all) = complete(&rt, 3, 1);
        let (root, leaf) = (all[0], all[3]);
        let removed = rt.task(()).claim(tree.write(root)).submit_with(move |(), mut nodes, _| {
            nodes.remove(leaf).unwrap();
        });
        removed.join().unwrap();
        let numbers = [leaf.to_bits() + 1, leaf.to_bits() - 1, 40 << 32, 0, u64::MAX];
        for ghost in numbers.map(Node::from_bits).into_iter().filter(|&ghost| ghost != root) {
            assert!(!tree.contains(ghost), "{ghost:?}");
            let read = rt.task(()).claim(tree.read_alone(ghost));
            let read = read.submit_with(move |(), nodes, _| nodes.get(ghost).copied());
            assert_eq!(read.join().unwrap(), Err(TreeError::Missing(ghost)));
        }
    });
}

#[test]
fn a_plan_finds_what_the_body_gets() {
    on_all(|setting| {
        let rt = setting.build();
        let (tree, all) = complete(&rt, 4, 5);
        let sum = rt.plain(0).pin(Sequencing).build();
        let group = rt.group();
        for number in 0..200 {
            let claim = tree.planned(move |plan| {
                let mut node = plan.root();
                for level in 0..5 {
                    node = plan.children(node)?[(number >> level) % 4];
                }
                let found = *plan.peek(node)?;
                plan.write_alone(node);
                Some((node, found))
            });
            let task = rt.task(sum.write()).of(&group).claim(claim);
            task.spawn_with(move |sum: &mut u64, (found, mut nodes), _| {
                let (node, before) = found.expect("the last run of a plan sees all");
                let data = nodes.get_mut(node).unwrap();
                assert_eq!(*data, before);
                *data += 1;
                *sum += 1;
            });
        }
        group.wait().unwrap();
        let before: u64 = (0..all.len() as u64).sum();
        assert_eq!(numbers(&rt, &tree, all[0]).iter().sum::<u64>(), before + 200);
        assert_eq!(rt.task(sum.read()).submit(|sum, _| *sum).join().unwrap(), 200);
    });
}

/// Sub-trees move from place to place, large ones with gates too, while others are read and
/// written.
#[test]
fn moved_sub_trees_keep_their_data() {
    on_all(|setting| {
        let rt = setting.build();
        let (tree, all) = complete(&rt, 5, 4);
        let group = rt.group();
        for number in 0..60usize {
            let (node, to) = (all[1 + number * 7 % 30], all[1 + number * 11 % 150]);
            let claim = tree.planned(move |plan| plan.relocate(node, to));
            rt.task(()).of(&group).claim(claim).spawn_with(move |(), ((), mut nodes), _| {
                match nodes.relocate(node, to) {
                    Ok(()) => assert_eq!(nodes.parent(node), Ok(Some(to))),
                    Err(error) => assert_eq!(error, TreeError::Cycle(node, to)),
                }
            });
            let node = all[number];
            rt.task(()).of(&group).claim(tree.write(node)).spawn_with(move |(), mut nodes, _| {
                nodes.subtree_mut(node).unwrap().for_each(|(_, number)| *number += 1000);
                nodes.subtree_mut(node).unwrap().for_each(|(_, number)| *number -= 1000);
            });
        }
        group.wait().unwrap();
        let mut numbers = numbers(&rt, &tree, all[0]);
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..all.len() as u64));
    });
}

#[test]
fn a_task_claims_for_its_follow_ups() {
    on_each(Setting::threads(), |setting| {
        let rt = setting.build();
        let (tree, all) = complete(&rt, 2, 3);
        let one = all[1];
        let group = rt.group();
        let task = rt.task(()).of(&group).claim(tree.write_alone(one));
        task.spawn_with(move |(), mut nodes, cx| {
            let new = nodes.insert(one, 77).unwrap();
            let claim = nodes.tree().write(new);
            // Waits for this task, which holds the new node.
            cx.task(()).as_sibling().claim(claim).spawn_with(move |(), mut nodes, _| {
                *nodes.get_mut(new).unwrap() += 1;
            });
            *nodes.get_mut(new).unwrap() += 10;
        });
        drop(tree);
        group.wait().unwrap();
    });
}

/// A task waits for a node, which moves to another cluster meanwhile. When the task runs, it has
/// the node where it is now.
#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn a_claim_granted_at_an_old_place_registers_anew() {
    let _watched = watchdog();
    let rt = Runtime::builder().workers(2).pool(QueuePolicy::WorkStealing).build().unwrap();
    let (tree, all) = complete(&rt, 2, 2);
    let (node, to) = (all[3], all[2]);
    let [(inside, i), (go, g), (arrived, a), (leave, l)] = [(); 4].map(|()| {
        let flag = Flag::default();
        (flag.clone(), flag)
    });
    let claim = tree.planned(move |plan| plan.relocate(node, to));
    let moved = rt.task(()).claim(claim).submit_with(move |(), ((), mut nodes), _| {
        i.set();
        g.wait();
        nodes.relocate(node, to)
    });
    inside.wait();
    let waits = rt.task(()).claim(tree.write_alone(node)).submit_with(move |(), mut nodes, _| {
        *nodes.get_mut(node).unwrap() += 100;
        a.set();
        l.wait();
        *nodes.get_mut(node).unwrap() -= 100;
    });
    go.set();
    arrived.wait();
    assert_eq!(moved.join().unwrap(), Ok(()));
    let behind = rt.task(()).claim(tree.read(to)).submit_with(move |(), nodes, _| nodes.get(node).copied());
    // It comes behind that one, on the only worker that is free.
    rt.task(()).submit(|(), _| ()).join().unwrap();
    leave.set();
    waits.join().unwrap();
    assert_eq!(behind.join().unwrap(), Ok(3));
}

/// A tree grows until it has gates, and shrinks until it has none but the root.
#[test]
fn growth_and_shrinking_keep_all_nodes() {
    on_all(|setting| {
        let rt = setting.build();
        let tree = rt.tree(0);
        let root = tree.root();
        let mut nodes = vec![root];
        for number in 1..400u64 {
            let parent = nodes[(number as usize * 7) % nodes.len().min(50)];
            let task = rt.task(()).claim(tree.write_alone(parent));
            nodes.push(
                task.submit_with(move |(), mut nodes, _| nodes.insert(parent, number))
                    .join()
                    .unwrap()
                    .unwrap(),
            );
        }
        let mut all = numbers(&rt, &tree, root);
        all.sort_unstable();
        assert!(all.into_iter().eq(0..400));
        for &node in nodes[1..].iter().rev() {
            let claim = tree.planned(move |plan| plan.remove(node));
            let task = rt.task(()).claim(claim).submit_with(move |(), ((), mut nodes), _| nodes.remove(node));
            assert_eq!(task.join().unwrap().map(|data| data.len()), Ok(1));
        }
        assert_eq!(numbers(&rt, &tree, root), [0]);
    });
}
