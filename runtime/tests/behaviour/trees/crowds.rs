//! Many entries in one cluster: more than a cluster admits at once.

use super::complete;
use crate::common::{Flag, Setting, on_each, watchdog};
use xtasking::trees::{Named, Node, TreeClaim, TreeRef};

/// Creates a claim to write each of these nodes alone.
fn write_each<'t>(tree: TreeRef<'t, u64>, nodes: &[Node]) -> TreeClaim<'t, Named<u64>> {
    let first = tree.write_alone(nodes[0]);
    nodes[1..].iter().fold(first, |claim, &node| claim.and_write_alone(node))
}

/// A task inserts many leaves, and a follow-up waits for all of them in one cluster.
#[test]
fn a_follow_up_claims_many_new_leaves() {
    let _watched = watchdog();
    on_each(Setting::threads().filter(|_| !cfg!(miri)), |setting| {
        let rt = setting.build();
        let tree = rt.tree(0);
        let root = tree.root();
        let group = rt.group();
        rt.task(()).of(&group).claim(tree.write_alone(root)).spawn_with(move |(), mut nodes, cx| {
            let cluster = nodes.insert(root, 1).unwrap();
            let leaves: Vec<Node> = (0..300).map(|number| nodes.insert(cluster, number).unwrap()).collect();
            let claim = write_each(nodes.tree(), &leaves);
            cx.task(()).as_sibling().claim(claim).spawn_with(move |(), mut nodes, _| {
                leaves.iter().for_each(|&leaf| *nodes.get_mut(leaf).unwrap() += 1);
            });
        });
        group.wait().unwrap();
        let sum = rt.task(()).claim(tree.read(root)).submit_with(move |(), nodes, _| {
            nodes.subtree(root).unwrap().map(|(_, &number)| number).sum::<u64>()
        });
        assert_eq!(sum.join().unwrap(), 299 * 300 / 2 + 300 + 1);
    });
}

/// A task waits for two nodes in one cluster, and has one in another. Many later tasks hold two
/// nodes in the first cluster, and wait for the first task in the other.
#[test]
fn a_waiter_goes_on_although_many_hold() {
    let _watched = watchdog();
    on_each(Setting::threads().filter(|_| !cfg!(miri)), |setting| {
        let rt = setting.build();
        // The children of the root are clusters.
        let (tree, all) = complete(&rt, 2, 3);
        let (crowded, other) = (all[1], all[2]);
        let (top, beside, below) = (all[3], all[4], [all[7], all[8]]);
        let group = rt.group();
        let (inside, go) = (Flag::default(), Flag::default());
        let (i, g) = (inside.clone(), go.clone());
        rt.task(()).of(&group).claim(tree.write(top)).spawn_with(move |(), _, _| {
            i.set();
            g.wait();
        });
        inside.wait();
        let claim = write_each(tree.by_ref(), &[below[0], below[1], other]);
        rt.task(()).of(&group).claim(claim).spawn_with(|(), _, _| ());
        for _ in 0..300 {
            let claim = tree.read_alone(crowded).and_read_alone(beside).and_read_alone(other);
            rt.task(()).of(&group).claim(claim).spawn_with(|(), _, _| ());
        }
        go.set();
        group.wait().unwrap();
    });
}
