//! Ends of tasks that are no returns, and of trees and runtimes.

use super::complete;
use crate::common::{Dropped, Flag, Setting, on_all, on_each, silence_tasks, watchdog};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use xtasking::trees::{Node, Tree, TreeError};
use xtasking::{Handle, JoinError, Runtime, Shutdown};

/// Spawns a task that reads a node alone.
fn read(rt: &Runtime, tree: &Tree<u64>, node: Node) -> Handle<Result<u64, TreeError>> {
    rt.task(()).claim(tree.read_alone(node)).submit_with(move |(), nodes, _| nodes.get(node).copied())
}

/// Data that count their drops, some of which panic then.
struct Fragile {
    _counted: Dropped,
    panics: bool,
}

impl Drop for Fragile {
    fn drop(&mut self) {
        assert!(!self.panics, "provoked");
    }
}

#[test]
fn data_whose_destructors_panic_keep_no_others_from_being_dropped() {
    silence_tasks();
    on_all(|setting| {
        let dropped = Arc::new(AtomicUsize::new(0));
        let make = |number: u64| Fragile { _counted: Dropped(dropped.clone()), panics: number % 10 < 2 };
        let rt = setting.build();
        let tree = rt.tree(make(0));
        let (root, data) = (tree.root(), (1..200).map(make).collect::<Vec<_>>());
        let fill = rt.task(()).claim(tree.write(root)).submit_with(move |(), mut nodes, _| {
            data.into_iter().for_each(|data| _ = nodes.insert(root, data).unwrap());
        });
        fill.join().unwrap();
        let granules = rt.granules_of((0..200).map(make));
        drop((tree, granules));
        drop(rt);
        assert_eq!(dropped.load(SeqCst), 400);
    });
}

#[test]
fn a_panic_poisons_the_nodes_that_were_written() {
    silence_tasks();
    on_all(|setting| {
        let rt = setting.build();
        let (tree, all) = complete(&rt, 3, 3);
        let (one, below, other) = (all[1], all[4], all[5]);
        let bomb = rt.task(()).claim(tree.write(all[0])).submit_with(move |(), mut nodes, _| {
            assert_eq!(nodes.get(other), Ok(&5));
            *nodes.get_mut(one).unwrap() += 100;
            *nodes.subtree_mut(below).unwrap().next().unwrap().1 += 100;
            panic!("provoked");
        });
        assert!(matches!(bomb.join(), Err(JoinError::Panicked(_))));
        let poisoned: Vec<Node> = all.iter().copied().filter(|&node| tree.is_poisoned(node)).collect();
        assert_eq!(poisoned, [one, below]);
        assert!(matches!(read(&rt, &tree, one).join(), Err(JoinError::Poisoned)));
        assert_eq!(read(&rt, &tree, other).join().unwrap(), Ok(5));
        let above = rt.task(()).claim(tree.read(all[0])).submit_with(|(), _, _| ());
        assert!(matches!(above.join(), Err(JoinError::Poisoned)));
        let blind = rt.task(()).claim(tree.planned(move |plan| plan.peek(one).copied()));
        assert!(matches!(blind.submit_with(|(), _, _| ()).join(), Err(JoinError::Poisoned)));

        let repair =
            rt.task(()).claim(tree.write(one).even_poisoned()).submit_with(move |(), mut nodes, _| {
                for node in [one, below] {
                    assert_eq!(nodes.is_poisoned(node), Ok(true));
                    *nodes.get_mut(node).unwrap() -= 100;
                }
            });
        repair.join().unwrap();
        assert!(all.iter().all(|&node| !tree.is_poisoned(node)));
        assert_eq!(read(&rt, &tree, below).join().unwrap(), Ok(4));
    });
}

/// The tasks that split a cluster after a panic repair nothing there.
#[test]
fn poison_outlasts_a_split() {
    silence_tasks();
    on_all(|setting| {
        let rt = setting.builder().on_failure(|_| ()).build().unwrap();
        let (tree, all) = complete(&rt, 1, 1);
        let cluster = all[1];
        let bomb = rt.task(()).claim(tree.write(cluster)).submit_with(move |(), mut nodes, _| {
            for number in 0..70 {
                nodes.insert(cluster, number).unwrap();
            }
            *nodes.get_mut(cluster).unwrap() += 1;
            panic!("provoked");
        });
        assert!(matches!(bomb.join(), Err(JoinError::Panicked(_))));
        // Ends the follow-ups as well.
        rt.shutdown(Shutdown::Drain);
        assert!(tree.is_poisoned(cluster));
    });
}

#[test]
fn a_claim_that_is_too_narrow_poisons_nothing() {
    on_all(|setting| {
        let rt = setting.build();
        let (tree, all) = complete(&rt, 3, 2);
        let (one, two) = (all[1], all[2]);
        let task = rt.task(()).claim(tree.write_alone(one)).submit_with(move |(), mut nodes, _| {
            *nodes.get_mut(one)? += 1;
            *nodes.get_mut(two)? += 1;
            Ok::<_, TreeError>(())
        });
        assert_eq!(task.join().unwrap(), Err(TreeError::NotClaimed(two)));
        let task = rt.task(()).claim(tree.write(one)).submit_with(move |(), mut nodes, _| nodes.remove(one));
        assert_eq!(task.join().unwrap(), Err(TreeError::NotClaimed(all[0])));
        assert!(all.iter().all(|&node| !tree.is_poisoned(node)));
        assert_eq!(read(&rt, &tree, one).join().unwrap(), Ok(2));
    });
}

#[test]
fn a_plan_that_panics_fails_its_task_and_keeps_nothing() {
    silence_tasks();
    on_all(|setting| {
        let rt = setting.build();
        let (tree, all) = complete(&rt, 3, 2);
        let node = all[1];
        let claim = tree.planned(move |plan| {
            plan.write(node);
            assert!(!plan.contains(node), "provoked");
        });
        let task = rt.task(()).claim(claim).submit_with(|(), _, _| ());
        assert!(matches!(task.join(), Err(JoinError::Panicked(_))));
        assert_eq!(read(&rt, &tree, node).join().unwrap(), Ok(1));
    });
}

/// Tasks wait for one that holds the root. One of them is cancelled, and the others go on.
#[test]
fn a_cancelled_task_lets_those_behind_it_go_on() {
    on_each(Setting::threads().filter(|_| !cfg!(miri)), |setting| {
        let rt = setting.build();
        let (tree, all) = complete(&rt, 3, 2);
        let (root, node) = (all[0], all[1]);
        let (inside, go) = (Flag::default(), Flag::default());
        let (i, g) = (inside.clone(), go.clone());
        let holder = rt.task(()).claim(tree.write(root)).submit_with(move |(), _, _| {
            i.set();
            g.wait();
        });
        inside.wait();
        let cancelled = rt.task(()).claim(tree.write(node)).submit_with(|(), _, _| ());
        let behind = read(&rt, &tree, node);
        assert!(cancelled.cancel());
        go.set();
        holder.join().unwrap();
        assert!(matches!(cancelled.join(), Err(JoinError::Cancelled)));
        assert_eq!(behind.join().unwrap(), Ok(1));
    });
}

#[test]
fn a_shutdown_ends_claims_that_wait() {
    for mode in [Shutdown::Drain, Shutdown::Cancel] {
        on_each(Setting::threads().filter(|_| !cfg!(miri)), |setting| {
            let rt = setting.builder().on_failure(|_| ()).build().unwrap();
            let (tree, all) = complete(&rt, 3, 3);
            let root = all[0];
            let (inside, go) = (Flag::default(), Flag::default());
            let (i, g) = (inside.clone(), go.clone());
            rt.task(()).claim(tree.write(root)).spawn_with(move |(), _, _| {
                i.set();
                g.wait();
            });
            inside.wait();
            let ran = Arc::new(AtomicUsize::new(0));
            for &node in &all {
                let ran = ran.clone();
                let claim = tree.planned(move |plan| {
                    let parent = plan.parent(node);
                    plan.write(node);
                    parent
                });
                rt.task(()).claim(claim).spawn_with(move |(), _, _| _ = ran.fetch_add(1, SeqCst));
            }
            drop(tree);
            go.set();
            rt.shutdown(mode);
            if mode == Shutdown::Drain {
                assert_eq!(ran.load(SeqCst), all.len());
            }
        });
    }
}

/// A tree outlives all tasks that were spawned before its last handle was dropped, and is freed
/// with all data.
#[test]
fn a_tree_outlives_its_tasks() {
    on_all(|setting| {
        let rt = setting.build();
        let gone = Arc::new(AtomicUsize::new(0));
        let tree = rt.tree(Dropped(gone.clone()));
        let root = tree.root();
        let group = rt.group();
        for _ in 0..100 {
            let data = Dropped(gone.clone());
            rt.task(()).of(&group).claim(tree.write_alone(root)).spawn_with(move |(), mut nodes, _| {
                nodes.insert(root, data).unwrap();
            });
        }
        let remove = tree.planned(move |plan| {
            let child = *plan.children(root)?.first()?;
            plan.remove(child);
            Some(child)
        });
        rt.task(()).of(&group).claim(remove).spawn_with(|(), (child, mut nodes), _| {
            assert_eq!(nodes.remove(child.expect("a child was inserted before")).unwrap().len(), 1);
        });
        drop(tree);
        group.wait().unwrap();
        drop(rt);
        assert_eq!(gone.load(SeqCst), 101);
    });
}

/// The memory of a claim is freed when its task is over, or was never spawned.
#[test]
fn the_memory_of_claims_is_freed() {
    let _watched = watchdog();
    let rt = Setting::Simulation { cores: 2, seed: 7 }.builder().memory_limit(1 << 20).counters(true).build();
    let rt = rt.unwrap();
    let (tree, all) = complete(&rt, 3, 3);
    let (rounds, each) = if cfg!(miri) { (2, 10) } else { (20, 500) };
    for round in 0..rounds {
        let group = rt.group();
        for number in 0..each {
            let node = all[(number * 7 + round) % all.len()];
            drop(rt.task(()).claim(tree.write(node)));
            let claim = tree.planned(move |plan| plan.write(node));
            rt.task(()).of(&group).claim(claim).spawn_with(move |(), ((), mut nodes), _| {
                *nodes.get_mut(node).unwrap() += 1;
            });
            // A state that is too large for a block of the runtime.
            let large = [number; 200];
            let claim = tree.planned(move |plan| {
                plan.read(node);
                large[7]
            });
            rt.task(())
                .of(&group)
                .claim(claim)
                .spawn_with(move |(), (found, _), _| assert_eq!(found, number));
        }
        group.wait().unwrap();
    }
    assert_eq!(rt.counters().unwrap().allocations.refused, 0);
}

/// A node that a task holds makes claims for its follow-ups only: nothing else keeps the tree.
#[test]
fn only_follow_ups_claim_by_what_a_task_holds() {
    silence_tasks();
    on_each(Setting::threads().filter(|_| !cfg!(miri)), |setting| {
        let rt = Arc::new(setting.build());
        let tree = rt.tree(0);
        let root = tree.root();
        let there = Arc::downgrade(&rt);
        let task = rt.task(()).claim(tree.read(root)).submit_with(move |(), nodes, _| {
            let rt = there.upgrade().expect("it is joined");
            rt.task(()).claim(nodes.tree().read(root)).spawn(|(), _| ());
        });
        let Err(JoinError::Panicked(payload)) = task.join() else {
            panic!("a task of another spawner claims by what a task holds")
        };
        assert!(payload.message().contains("is for its follow-ups"));
    });
}
