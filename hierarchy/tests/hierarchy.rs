//! Tasks on the sub-trees of a hierarchy.

mod controls;

use controls::{CONTROLS, controlled};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use xtasking::{JoinError, Runtime, Shutdown};
use xtasking_hierarchy::{Hierarchy, Node, Shape, ShapeError, View, generate};
use xtasking_testing::{Setting, on_each};

fn settings() -> impl Iterator<Item = Setting> {
    Setting::threads().chain(Setting::simulations(&[1, 2, 3]))
}

fn rt() -> Runtime {
    Runtime::builder().workers(2).build().unwrap()
}

/// A pseudo-random number.
fn pseudo_random(number: u64) -> u64 {
    let bits = (number ^ number >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (bits ^ bits >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 16
}

/// Tasks move money within sub-trees and between two. Audits of all nodes always find the same
/// total.
#[test]
fn transfers_preserve_the_total() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let shapes =
            [generate::random_tree(300, setting.seed()), generate::random_dag(300, 3, setting.seed())];
        for (shape, control) in shapes.iter().flat_map(|shape| CONTROLS.map(|control| (shape, control))) {
            let builder = controlled(Hierarchy::builder(shape.clone()).granules(12), control);
            let tree = builder.build(&rt, |_| 100i64);
            let group = rt.group();
            let audits = Arc::new(AtomicUsize::new(0));
            for number in 0..500u64 {
                let chance = pseudo_random(number + setting.seed() * 1000);
                let [one, other] = [chance % 300, chance / 300 % 300].map(|node| Node(node as u32));
                match chance / 90_000 % 4 {
                    0 => {
                        let shape = shape.clone();
                        let task = rt.task(()).of(&group).claim(tree.node(one).write());
                        task.spawn_with(move |(), held, _| {
                            let mut view = View::new(held);
                            let below: Vec<Node> = view.subtree(one).collect();
                            let mut expected: Vec<Node> = shape.subtree(one).collect();
                            let mut sorted = below.clone();
                            sorted.sort();
                            expected.sort();
                            assert_eq!(sorted, expected);
                            for two in below.windows(2) {
                                view[two[0]] -= 3;
                                view[two[1]] += 3;
                            }
                        });
                    }
                    1 => {
                        let claim = tree.node(one).alone().write().and(tree.node(other).alone().write());
                        rt.task(()).of(&group).claim(claim).spawn_with(move |(), held, _| {
                            let mut view = View::new(held);
                            view[one] -= 7;
                            view[other] += 7;
                        });
                    }
                    2 => {
                        let claim = tree.node(one).read().and(tree.node(other).write());
                        rt.task(()).of(&group).claim(claim).spawn_with(move |(), held, _| {
                            let mut view = View::new(held);
                            let _seen: i64 = view.subtree(one).map(|node| view[node]).sum();
                            let mut turn = 0;
                            let count = view.subtree(other).count() as i64;
                            view.for_each_in_subtree(other, |value| {
                                // The amounts add up to 0.
                                *value += if turn + 1 < count { 1 } else { 1 - count };
                                turn += 1;
                            });
                        });
                    }
                    _ => {
                        let audits = audits.clone();
                        rt.task(()).of(&group).claim(tree.read_all()).spawn_with(move |(), held, _| {
                            let sum: i64 = View::new(held).all().map(|(_, value)| *value).sum();
                            assert_eq!(sum, 30_000);
                            audits.fetch_add(1, Relaxed);
                        });
                    }
                }
            }
            group.wait().expect("all tasks succeed");
            assert!(audits.load(Relaxed) > 50);
        }
    });
}

/// Two writers of disjoint sub-trees wait for each other, so they must run in parallel.
#[test]
fn disjoint_sub_trees_run_in_parallel() {
    let rt = rt();
    let tree = Hierarchy::builder(generate::complete(2, 10).unwrap()).granules(64).build(&rt, |_| ());
    let there = Arc::new(AtomicUsize::new(0));
    let tasks = [1, 2].map(|node| {
        let there = there.clone();
        rt.task(()).core(node as u16).claim(tree.node(Node(node)).write()).submit(move |(), _| {
            there.fetch_add(1, Relaxed);
            while there.load(Relaxed) < 2 {
                std::thread::yield_now();
            }
        })
    });
    tasks.into_iter().for_each(|task| task.join().unwrap());
}

#[test]
fn the_shape_changes_while_tasks_run() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        // A root with ten sub-trees, which grow and shrink.
        let trees = CONTROLS.map(|control| {
            controlled(Hierarchy::builder(generate::star(11)).granules(16), control).build(&rt, |_| 1u64)
        });
        let group = rt.group();
        for (number, tree) in (0..400u64).flat_map(|number| trees.iter().map(move |tree| (number, tree))) {
            let chance = pseudo_random(number + setting.seed() * 777);
            let top = Node(1 + chance as u32 % 10);
            match chance / 10 % 4 {
                0 | 1 => {
                    let task = rt.task(()).of(&group).claim(tree.node(top).write());
                    task.spawn_with(move |(), held, cx| {
                        let mut view = View::new(held);
                        let parent = view.subtree(top).last().unwrap();
                        let child = view.insert(parent, 1, cx).unwrap();
                        assert_eq!((view.parents(child), view[child]), (&[parent][..], 1));
                        assert!(view.subtree(top).any(|node| node == child));
                    });
                }
                2 => {
                    let task = rt.task(()).of(&group).claim(tree.node(top).write());
                    task.spawn_with(move |(), held, _| {
                        let mut view = View::new(held);
                        if let Some(&child) = view.children(top).last() {
                            let below = view.subtree(child).count();
                            assert_eq!(view.remove(child).unwrap().len(), below);
                            assert!(view.find(child).is_none());
                        }
                    });
                }
                _ => {
                    rt.task(()).of(&group).claim(tree.node(Node(0)).read()).spawn_with(|(), held, _| {
                        let view = View::new(held);
                        let (below, all) = (view.subtree(Node(0)).count(), view.all().count());
                        assert_eq!(below, all);
                    });
                }
            }
        }
        group.wait().expect("every task finds a consistent shape");
    });
}

/// A link that is made while a task waits for an ancestor belongs to that task's claim.
#[test]
fn waiting_tasks_see_new_links() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let edges: Vec<_> = (1..40).map(|node| ((node - 1) / 3, node)).collect();
        let shape = Shape::from_edges(40, &edges).unwrap();
        let control = CONTROLS[setting.seed() as usize % CONTROLS.len().min(4)];
        let tree =
            controlled(Hierarchy::builder(shape).granules(20).max_intervals(2), control).build(&rt, |_| 0u64);
        let group = rt.group();
        let linked = Arc::new(AtomicUsize::new(0));
        for number in 0..300u64 {
            let chance = pseudo_random(number + setting.seed() * 99);
            let [one, other] = [chance % 40, chance / 40 % 40].map(|node| Node(node as u32));
            match chance / 1600 % 3 {
                0 => {
                    let linked = linked.clone();
                    let task = rt.task(()).of(&group).claim(tree.linking(one, other));
                    task.spawn_with(move |(), held, _| {
                        let mut view = View::new(held);
                        match view.link(one, other) {
                            Ok(()) => _ = linked.fetch_add(1, Relaxed),
                            Err(ShapeError::Cycle(cycle)) => {
                                assert_eq!((cycle[0], *cycle.last().unwrap()), (other, one));
                                for two in cycle.windows(2) {
                                    assert!(view.children(two[0]).contains(&two[1]));
                                }
                            }
                            Err(refused) => {
                                assert_eq!(refused, ShapeError::AlreadyChild { parent: one, child: other })
                            }
                        }
                    });
                }
                1 => {
                    let claim = tree.node(one).alone().write().and(tree.node(other).alone().write());
                    rt.task(()).of(&group).claim(claim).spawn_with(move |(), held, _| {
                        let mut view = View::new(held);
                        let had = view.parents(other).len();
                        match view.unlink(one, other) {
                            Ok(()) => assert_eq!(view.parents(other).len(), had - 1),
                            Err(ShapeError::OnlyParent { .. }) => assert_eq!(had, 1),
                            Err(_) => assert!(!view.parents(other).contains(&one)),
                        }
                    });
                }
                _ => {
                    let task = rt.task(()).of(&group).claim(tree.node(one).write());
                    task.spawn_with(move |(), held, _| {
                        View::new(held).for_each_in_subtree(one, |value| *value += 1);
                    });
                }
            }
        }
        group.wait().expect("descendants are claimed with a node");
        assert!(linked.load(Relaxed) > 5);
        tree.renumber(&rt).join().unwrap();
        let sub_trees = rt.task(()).claim(tree.read_all()).submit_with(|(), held, _| {
            let view = View::new(held);
            (0..40).map(|node| view.subtree(Node(node)).count()).sum::<usize>()
        });
        assert!(sub_trees.join().unwrap() > 40);
    });
}

/// A hierarchy that grows from one node to thousands, in one place, is laid out anew on the way.
#[test]
fn a_growing_hierarchy_is_renumbered() {
    let rt = rt();
    let shape = Shape::from_edges(1, &[]).unwrap();
    let tree = Hierarchy::builder(shape).granules(32).build(&rt, |_| 0u64);
    let group = rt.group();
    for round in 0..100u64 {
        rt.task(()).of(&group).claim(tree.node(Node(0)).write()).spawn_with(move |(), held, cx| {
            let mut view = View::new(held);
            let mut parent = Node(0);
            for number in 0..100 {
                let child = view.insert(parent, number, cx).unwrap();
                parent = if number % 7 == round % 7 { Node(0) } else { child };
            }
        });
    }
    group.wait().unwrap();
    let check = |tree: &Hierarchy<u64>| {
        let task = rt.task(()).claim(tree.node(Node(0)).read());
        let (nodes, sum, granules) = task
            .submit_with(|(), held, _| {
                let granules = held.granules().count();
                let view = View::new(held);
                (view.subtree(Node(0)).count(), view.all().map(|(_, value)| *value).sum::<u64>(), granules)
            })
            .join()
            .unwrap();
        assert_eq!((nodes, sum), (10_001, 100 * 4950));
        granules
    };
    assert!(check(&tree) > 1, "the hierarchy was laid out anew");
    tree.renumber(&rt).join().unwrap();
    assert_eq!(check(&tree), 32);
}

#[test]
fn a_panic_poisons_the_written_granules() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        for control in CONTROLS {
            let builder =
                controlled(Hierarchy::builder(generate::complete(3, 5).unwrap()).granules(9), control);
            let tree = builder.build(&rt, |_| 0u8);
            let bomb = rt.task(()).claim(tree.node(Node(1)).write()).submit_with(|(), held, _| {
                View::new(held)[Node(1)] = 7;
                panic!("a task");
            });
            assert!(matches!(bomb.join(), Err(JoinError::Panicked(_))));
            assert!(tree.is_poisoned());
            let later = rt.task(()).claim(tree.node(Node(1)).alone().read()).submit(|(), _| ());
            assert!(matches!(later.join(), Err(JoinError::Poisoned)));
            let elsewhere = rt.task(()).claim(tree.node(Node(3)).write()).submit(|(), _| ());
            elsewhere.join().unwrap();
            tree.clear_poison();
            let value = rt
                .task(())
                .claim(tree.node(Node(1)).read())
                .submit_with(|(), held, _| View::new(held)[Node(1)]);
            assert_eq!(value.join().unwrap(), 7);
        }
    });
}

/// Data that a task left half-written are repaired by a task that names the same nodes, or all
/// poisoned ones.
#[test]
fn a_task_repairs_poisoned_nodes() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        for control in CONTROLS {
            let builder =
                controlled(Hierarchy::builder(generate::complete(3, 5).unwrap()).granules(9), control);
            let tree = builder.build(&rt, |_| (0u8, 0u8));
            let half_way = |node: Node| {
                rt.task(()).claim(tree.node(node).write()).submit_with(move |(), held, cx| {
                    let mut view = View::new(held);
                    view.insert(node, (1, 0), cx).unwrap();
                    view[node].0 = 1;
                    panic!("a task");
                })
            };
            let bombs = [1, 3].map(|node| half_way(Node(node)));
            bombs.into_iter().for_each(|bomb| assert!(bomb.join().is_err()));
            let mend = |mut view: View<'_, (u8, u8)>| {
                let torn = view.all().filter(|(node, value)| view.is_poisoned(*node) && value.0 != value.1);
                let torn: Vec<Node> = torn.map(|(node, _)| node).collect();
                for &node in &torn {
                    // Inserted nodes have numbers from 121 on.
                    if node.0 >= 121 { _ = view.remove(node).unwrap() } else { view[node].0 = 0 }
                }
                torn.len()
            };
            let by_name = tree.node(Node(1)).write().even_poisoned();
            let first = rt.task(()).claim(by_name).submit_with(move |(), held, _| mend(View::new(held)));
            let first = first.join().unwrap();
            let rest = rt.task(()).claim(tree.write_poisoned());
            let rest = rest.submit_with(move |(), held, _| mend(View::new(held))).join().unwrap();
            // One node and one inserted node each.
            assert_eq!((first, rest), (2, 2));
            assert!(!tree.is_poisoned());
            let whole = rt.task(()).claim(tree.node(Node(0)).read()).submit_with(|(), held, _| {
                let view = View::new(held);
                view.subtree(Node(0)).filter(|&node| view[node] == (0, 0)).count()
            });
            assert_eq!(whole.join().unwrap(), 121);
        }
    });
}

#[test]
fn a_panic_in_a_plan_fails_the_task() {
    let rt = rt();
    let tree = Hierarchy::builder(generate::path(4)).build(&rt, |_| 0u8);
    let claim = tree.planned(|plan| {
        plan.peek(Node(0), |_| panic!("a plan"));
    });
    let task = rt.task(()).claim(claim).submit(|(), _| ());
    assert!(matches!(task.join(), Err(JoinError::Panicked(_))));
    rt.task(()).claim(tree.write_all()).submit(|(), _| ()).join().unwrap();
}

#[test]
fn unclaimed_nodes_are_not_accessible() {
    let rt = rt();
    let tree = Hierarchy::builder(generate::complete(2, 6).unwrap()).granules(63).build(&rt, |_| 0u8);
    let task = rt.task(()).claim(tree.node(Node(1)).read()).submit_with(|(), held, _| {
        let view = View::new(held);
        assert!(view.find(Node(2)).is_none());
        view[Node(2)]
    });
    let Err(JoinError::Panicked(panic)) = task.join() else { panic!("the node is not claimed") };
    assert!(panic.message().contains("has not claimed"), "{}", panic.message());
    let task = rt.task(()).claim(tree.node(Node(1)).read()).submit_with(|(), held, _| {
        View::new(held)[Node(1)] = 1;
    });
    let Err(JoinError::Panicked(panic)) = task.join() else { panic!("the node is only read") };
    assert!(panic.message().contains("to write"), "{}", panic.message());
    // A node that does not exist.
    let task = rt.task(()).claim(tree.node(Node(63)).write()).submit_with(|(), held, _| {
        assert!(View::new(held).find(Node(63)).is_none());
    });
    task.join().unwrap();
}

#[test]
fn a_shutdown_leaks_nothing() {
    for shutdown in [Shutdown::Drain, Shutdown::Cancel] {
        let rt = rt();
        let alive = Arc::new(());
        let value = alive.clone();
        let tree =
            Hierarchy::builder(generate::complete(2, 8).unwrap()).granules(16).build(&rt, |_| value.clone());
        for number in 0..500 {
            let alive = alive.clone();
            let task = rt.task(()).claim(tree.node(Node(number % 255)).write());
            task.spawn_with(move |(), held, _| _ = (View::new(held).all().count(), alive));
        }
        // The tasks keep the hierarchy alive.
        drop((tree, value));
        rt.shutdown(shutdown);
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}

/// A caller that assigns granules itself also chooses those of new nodes; the ancestors' reach
/// grows accordingly.
#[test]
fn insert_in_uses_the_given_granule() {
    let rt = rt();
    for control in CONTROLS {
        // Each node has a granule of its own, and there is an unused one.
        let shape = Shape::from_edges(3, &[(0, 1), (1, 2)]).unwrap();
        let builder = controlled(Hierarchy::builder(shape).granules(4).granule_by(|node| node.0), control);
        let tree = builder.build(&rt, |node| node.0);
        let new =
            rt.task(()).claim(tree.granules().write(0..2).and_write(3..4)).submit_with(|(), held, cx| {
                let mut view = View::new(held);
                view.insert_in(Node(1), 3, 7, cx).unwrap()
            });
        let new = new.join().unwrap();
        let seen = rt.task(()).claim(tree.node(Node(0)).read()).submit_with(|(), held, _| {
            let has = held.has(3);
            let view = View::new(held);
            (has, view.subtree(Node(0)).map(|node| (node, view[node])).collect::<Vec<_>>())
        });
        let all = [(Node(0), 0), (Node(1), 1), (Node(2), 2), (new, 7)];
        assert_eq!(seen.join().unwrap(), (true, all.to_vec()), "{control:?}");
        // Nothing above the parent is written if its reach has the granule already; otherwise the
        // missing claim is noticed.
        let put = |granules: [u32; 2]| {
            let [one, other] = granules.map(|granule| granule..granule + 1);
            let task = rt.task(()).claim(tree.granules().write(one).and_write(other));
            task.submit_with(move |(), held, cx| {
                View::new(held).insert_in(Node(2), granules[1], 8, cx).is_ok()
            })
        };
        assert_eq!(put([2, 2]).join().ok(), Some(true), "{control:?}");
        assert!(matches!(put([2, 3]).join(), Err(JoinError::Panicked(_))), "{control:?}");
    }
}

/// Two chains, 0 to 2 and 3 to 4, with a granule for each node.
fn two_chains(rt: &Runtime) -> Hierarchy<u32> {
    let shape = Shape::from_edges(5, &[(0, 1), (1, 2), (3, 4)]).unwrap();
    Hierarchy::builder(shape).granules(5).granule_by(|node| node.0).build(rt, |node| node.0)
}

/// A link widens the reach of all ancestors, so its claim includes them, and a later claim of any
/// of them includes what was linked.
#[test]
fn a_link_concerns_all_ancestors() {
    let rt = rt();
    let tree = two_chains(&rt);
    let link = rt.task(()).claim(tree.linking(Node(2), Node(3))).submit_with(|(), held, _| {
        View::new(held).link(Node(2), Node(3)).unwrap();
    });
    link.join().expect("the claim covers what a link changes");
    for above in (0..4).map(Node) {
        let read = rt.task(()).claim(tree.node(above).read()).submit_with(move |(), held, _| {
            (held.has(3) && held.has(4)).then(|| View::new(held).subtree(above).count() as u32)
        });
        assert_eq!(read.join().unwrap(), Some(5 - above.0), "the sub-tree of {above}");
    }
}

/// A cycle that runs through any of a node's parents is found.
#[test]
fn a_link_closes_no_cycle_through_a_second_parent() {
    let rt = rt();
    let shape = Shape::from_edges(3, &[(0, 2), (1, 2)]).unwrap();
    let tree = Hierarchy::builder(shape).build(&rt, |_| ());
    for above in [Node(0), Node(1)] {
        let link = rt.task(()).claim(tree.linking(Node(2), above));
        let link = link.submit_with(move |(), held, _| View::new(held).link(Node(2), above));
        assert_eq!(link.join().unwrap(), Err(ShapeError::Cycle(vec![above, Node(2)])));
    }
}
