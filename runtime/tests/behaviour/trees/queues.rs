//! Deep and wide trees, and long queues.
//!
//! `XTASKING_TREE_SEEDS` makes them ten times as large: 100,000.

use crate::common::{Flag, watchdog};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use xtasking::{QueuePolicy, Runtime, trees::TreeError};

fn many() -> u64 {
    match std::env::var_os("XTASKING_TREE_SEEDS") {
        Some(_) => 100_000,
        None if cfg!(miri) => 300,
        None => 10_000,
    }
}

fn runtime() -> Runtime {
    Runtime::builder().workers(2).pool(QueuePolicy::WorkStealing).build().unwrap()
}

/// Builds a chain and waits until it is split. A task at its end holds the whole way up.
#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn a_chain_is_built_and_walked() {
    let _watched = watchdog();
    let (rt, many) = (runtime(), many());
    let tree = rt.tree(0u64);
    let root = tree.root();
    let task = rt.task(()).claim(tree.write(root)).submit_with(move |(), mut nodes, _| {
        (1..=many).try_fold(root, |last, number| nodes.insert(last, number))
    });
    let end = task.join().unwrap().unwrap();
    let task = rt.task(()).claim(tree.read(root)).submit_with(move |(), nodes, _| {
        Ok::<_, TreeError>(nodes.subtree(root)?.map(|(_, number)| number).sum::<u64>())
    });
    assert_eq!(task.join().unwrap(), Ok(many * (many + 1) / 2));
    let task = rt.task(()).claim(tree.write_alone(end)).submit_with(move |(), mut nodes, _| {
        *nodes.get_mut(end)? += 1;
        nodes.insert(end, 0)
    });
    assert!(task.join().unwrap().is_ok());
}

/// A node gets many children, by one task each, and loses them again.
#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn a_node_has_many_children() {
    let _watched = watchdog();
    let (rt, many) = (runtime(), many());
    let tree = rt.tree(0u64);
    let root = tree.root();
    let group = rt.group();
    for number in 0..many {
        let task = rt.task(()).of(&group).claim(tree.write_alone(root));
        task.spawn_with(move |(), mut nodes, _| _ = nodes.insert(root, number).unwrap());
    }
    group.wait().unwrap();
    let task = rt.task(()).claim(tree.write(root)).submit_with(move |(), mut nodes, _| {
        let children = nodes.children(root)?.to_vec();
        for &child in children.iter().rev() {
            nodes.remove(child)?;
        }
        Ok::<_, TreeError>(children.len())
    });
    assert_eq!(task.join().unwrap(), Ok(many as usize));
}

/// Tasks of one spawner on one node run in the order of their spawns, writers alone and readers
/// together.
#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn a_long_queue_keeps_its_order() {
    let _watched = watchdog();
    let (rt, many) = (runtime(), many());
    let tree = rt.tree(0u64);
    let root = tree.root();
    let task = rt.task(()).claim(tree.write_alone(root));
    let leaf = task.submit_with(move |(), mut nodes, _| nodes.insert(root, 0)).join().unwrap().unwrap();
    for node in [leaf, root] {
        let group = rt.group();
        let written = Arc::new(AtomicU64::new(0));
        for number in 0..many {
            let written = written.clone();
            if number % 3 == 0 {
                rt.task(()).of(&group).claim(tree.write(node)).spawn_with(move |(), mut nodes, _| {
                    assert_eq!(written.swap(number + 3, SeqCst), number);
                    *nodes.get_mut(node).unwrap() = number + 3;
                });
            } else {
                rt.task(()).of(&group).claim(tree.read(node)).spawn_with(move |(), nodes, _| {
                    assert_eq!(*nodes.get(node).unwrap(), number - number % 3 + 3);
                });
            }
        }
        group.wait().unwrap();
    }
}

/// While a writer waits, unordered readers pass it by, but only 64 of them. The others come after
/// it.
#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn unordered_tasks_overtake_a_waiter_64_times() {
    let _watched = watchdog();
    let rt = runtime();
    let tree = rt.tree(0u64);
    let root = tree.root();
    // A group waits until its tasks have left their claims, a handle only for the result.
    let built = rt.group();
    let task = rt.task(()).of(&built).claim(tree.write_alone(root));
    let leaf = task.submit_with(move |(), mut nodes, _| nodes.insert(root, 0)).join().unwrap().unwrap();
    built.wait().unwrap();
    for node in [leaf, root] {
        let (group, is_released) = (rt.group(), Flag::default());
        let readers = Arc::new(AtomicU64::new(0));
        // Claims are made when tasks are spawned.
        let (holds, counted) = (is_released.clone(), readers.clone());
        rt.task(()).of(&group).claim(tree.read(node)).spawn(move |(), _| holds.wait());
        let writer = rt.task(()).of(&group).claim(tree.write(node));
        let writer = writer.submit(move |(), _| counted.load(SeqCst));
        for _ in 0..100 {
            let (readers, claim) = (readers.clone(), tree.read(node).unordered());
            rt.task(()).of(&group).claim(claim).spawn(move |(), _| _ = readers.fetch_add(1, SeqCst));
        }
        is_released.set();
        assert_eq!(writer.join().unwrap(), 64);
        group.wait().unwrap();
        assert_eq!(readers.load(SeqCst), 100);
    }
}

/// An unordered task that waits for one of its nodes holds none of the others.
#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn an_unordered_task_waits_without_its_other_nodes() {
    let _watched = watchdog();
    let rt = runtime();
    let tree = rt.tree(0u64);
    let root = tree.root();
    let task = rt.task(()).claim(tree.write_alone(root)).submit_with(move |(), mut nodes, _| {
        Ok::<_, TreeError>((nodes.insert(root, 1)?, nodes.insert(root, 2)?))
    });
    let (one, two) = task.join().unwrap().unwrap();
    let is_released = Flag::default();
    let holds = is_released.clone();
    let holder = rt.task(()).claim(tree.write(two)).submit(move |(), _| holds.wait());
    let both = rt.task(()).claim(tree.write(one).and_write(two).unordered()).submit(|(), _| ());
    let other = rt.task(()).claim(tree.write(one)).submit(|(), _| ());
    other.join().unwrap();
    assert!(!both.is_finished());
    is_released.set();
    holder.join().unwrap();
    both.join().unwrap();
}
