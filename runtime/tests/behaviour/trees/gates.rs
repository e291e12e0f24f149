//! Large sub-trees, whose roots are gates, that move while claims wait.

use crate::claims::unordered::drain;
use crate::common::{Flag, watchdog};
use xtasking::Runtime;

/// A task that moves a gate away lets a claim go on that waits elsewhere too. A second task moves
/// the gate back, and covers it from where the claim counts nothing.
#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn a_gate_that_comes_back_is_another_way_for_a_claim_that_waits() {
    let _watched = watchdog();
    let rt = Runtime::builder().workers(4).build().unwrap();
    let (tree, group) = (rt.tree(0), rt.group());
    let root = tree.root();
    let build = rt.task(()).of(&group).claim(tree.write(root)).submit_with(move |(), mut nodes, _| {
        let [gate, other, leaf] = [1, 2, 3].map(|number| nodes.insert(root, number).unwrap());
        for parent in [gate, other] {
            (0..100).for_each(|number| _ = nodes.insert(parent, number).unwrap());
        }
        (gate, other, leaf, nodes.children(gate).unwrap()[0])
    });
    let (gate, other, leaf, below) = build.join().unwrap();
    // Also the tasks that make gates of both.
    group.wait().unwrap();
    let [is_held, is_away, is_back] = [(); 3].map(|()| Flag::default());
    let [release, move_away, end] = [(); 3].map(|()| Flag::default());

    let (held, released) = (is_held.clone(), release.clone());
    let hold = rt.task(()).core(0).claim(tree.write_alone(leaf)).submit_with(move |(), _, _| {
        held.set();
        released.wait();
    });
    let (begun, moves) = (is_away.clone(), move_away.clone());
    let claim = tree.planned(move |plan| plan.relocate(gate, other));
    let away = rt.task(()).core(1).claim(claim).submit_with(move |(), ((), mut nodes), _| {
        begun.set();
        moves.wait();
        nodes.relocate(gate, other).unwrap();
    });
    is_held.wait();
    is_away.wait();
    let (ended, claim) = (end.clone(), tree.write_alone(below).and_write_alone(leaf));
    let waiting = rt.task(()).core(2).claim(claim).submit_with(move |(), _, _| ended.is_set());
    move_away.set();
    away.join().unwrap();
    drain(&rt, 1);

    let (back, ends, claim) = (is_back.clone(), end.clone(), tree.write(other).and_write_alone(root));
    let back = rt.task(()).core(3).claim(claim).submit_with(move |(), mut nodes, _| {
        nodes.relocate(gate, root).unwrap();
        *nodes.get_mut(below).unwrap() += 1;
        back.set();
        ends.wait();
    });
    is_back.wait();
    release.set();
    hold.join().unwrap();
    // The claim has what it waited for, and its task would run.
    drain(&rt, 0);
    drain(&rt, 2);
    end.set();
    assert!(waiting.join().unwrap(), "two tasks have claimed one node at once");
    back.join().unwrap();
}
