//! Turns with changes and panics, and what is noticed of damage.

use super::super::ground::Setting;
use super::super::load::{Access, Settings, Targets, Task, Tasks};
use super::super::turn::Times;
use super::deeds::{Chances, Deed, Job, draw};
use super::ledger::{Done, Ledger, Linked};
use super::mend::mend;
use super::replay::Model;
use super::value::{Change, Step, Value};
use super::*;
use std::sync::Arc;
use xtasking::{Control, Runtime};
use xtasking_hierarchy::{Hierarchy, Node, Shape, View, generate};

const CONTROLS: [Control; 4] = [Control::Lines, Control::Coarse, Control::DomLock, Control::NumLock];

fn jobs(shape: &Shape, targets: &Targets, tasks: usize, chances: Chances, seed: u64) -> Arc<[Job]> {
    let settings = Settings { nodes: 3, reads: 40, skew: 2, near: None };
    draw(Tasks::new(targets, settings, seed, 0).take(tasks), shape, targets, chances, seed).into()
}

/// On threads and in virtual time, on a tree and a graph, with many panics: what is found and left is what a replay finds.
#[test]
fn nothing_is_lost_or_left_whatever_panics() {
    let chances = Chances { structural: 40, panics: 10 };
    for (shape, seed) in [(generate::treebank(800, 3), 3), (generate::random_dag(300, 3, 5), 5)] {
        let targets = Targets::new(&shape, 1..=shape.len() / 8);
        let jobs = jobs(&shape, &targets, 1500, chances, seed);
        for control in CONTROLS {
            for times in [None, Some(Times { seed, node: 20, task: 500 })] {
                let workers = if times.is_some() { 6 } else { 3 };
                let setting = Setting {
                    control,
                    workers,
                    stealing: true,
                    times,
                    in_flight: Some(40),
                    is_watched: false,
                };
                let work = Work { shape: &shape, granules: 50, jobs: &jobs, targets: &targets };
                let turn = work.turn(&setting).unwrap();
                assert_eq!(turn.wrong, None, "{control:?}, {times:?}");
                let note = turn.note.unwrap();
                assert!(!note.starts_with("0 tasks panicked") && !note.contains(" mended 0 "), "{note}");
                assert!(!note.contains("finished 0 changes; 0 nodes came"), "{note}");
            }
        }
    }
}

#[test]
fn a_seed_gives_the_same_jobs_with_as_many_changes_and_panics_as_wanted() {
    let shape = generate::random_dag(2_000, 3, 1);
    let targets = Targets::new(&shape, 1..=50);
    let of = |seed| jobs(&shape, &targets, 10_000, Chances { structural: 10, panics: 1 }, seed);
    let all = of(1);
    assert_eq!(all, of(1));
    assert_ne!(all, of(2));
    let count = |is: fn(&Job) -> bool| all.iter().filter(|job| is(job)).count();
    // Four times the standard deviation.
    assert!((880..1120).contains(&count(|job| !matches!(job.deed, Deed::Visit(_)))));
    assert!((60..140).contains(&count(|job| job.strike.is_some())));
    assert!(count(|job| matches!(job.deed, Deed::Link { .. })) > 150);
    assert!(count(|job| matches!(job.deed, Deed::Unlink { .. })) > 150);
    let calm = jobs(&shape, &targets, 500, Chances { structural: 0, panics: 0 }, 1);
    assert!(calm.iter().all(|job| matches!(job.deed, Deed::Visit(_)) && job.strike.is_none()));
}

/// A replay does not take what was not so.
#[test]
fn a_replay_notices_what_cannot_have_been() {
    let shape = Shape::from_edges(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]).unwrap();
    let job = |deed| Job { deed, strike: None };
    let visit = |node, access| job(Deed::Visit(Task { nodes: vec![Node(node)], access }));
    let mut model = Model::of(&shape);
    let again = |model: &mut Model, job: &Job, done: Done| model.again(job, &done);
    again(&mut model, &visit(0, Access::Write), Done::Counted(4)).unwrap();
    assert!(again(&mut model.clone(), &visit(1, Access::Write), Done::Counted(3)).is_err());
    again(&mut model, &visit(0, Access::Read), Done::Read(4)).unwrap();
    assert!(again(&mut model.clone(), &visit(0, Access::Read), Done::Read(5)).is_err());
    let insert = job(Deed::Insert { under: Node(2), chance: 0 });
    assert!(again(&mut model.clone(), &insert, Done::Inserted(vec![Node(4), Node(5)])).is_err());
    assert!(again(&mut model.clone(), &insert, Done::Inserted(vec![Node(3)])).is_err());
    again(&mut model, &insert, Done::Inserted(vec![Node(6)])).unwrap();
    let remove = job(Deed::Remove { under: Node(2) });
    assert!(again(&mut model.clone(), &remove, Done::Removed(Some((Node(6), 2)))).is_err());
    again(&mut model, &remove, Done::Removed(Some((Node(6), 1)))).unwrap();
    again(&mut model, &remove, Done::Removed(None)).unwrap();
    let link = |parent, child| job(Deed::Link { parent: Node(parent), child: Node(child) });
    again(&mut model, &link(3, 1), Done::Linked(Linked::Cycle)).unwrap();
    again(&mut model, &link(1, 3), Done::Linked(Linked::Twice)).unwrap();
    assert!(again(&mut model.clone(), &link(1, 2), Done::Linked(Linked::Twice)).is_err());
    let unlink = |child| job(Deed::Unlink { child: Node(child), chance: 0 });
    assert!(again(&mut model.clone(), &unlink(3), Done::Unlinked(Some(Node(0)))).is_err());
    assert!(again(&mut model.clone(), &unlink(3), Done::Unlinked(None)).is_err());
    again(&mut model, &unlink(3), Done::Unlinked(Some(Node(1)))).unwrap();
    again(&mut model, &unlink(3), Done::Unlinked(None)).unwrap();
    assert!(again(&mut model.clone(), &unlink(3), Done::Read(0)).is_err());
}

/// What is at each node is compared, and so is who is below whom.
#[test]
fn what_is_left_is_compared_with_the_replay() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let shape = generate::complete(2, 4).unwrap();
    let found = |change: fn(&mut View<'_, Value>, &mut xtasking::Context, &Arc<()>)| {
        let alive = Arc::new(());
        let tree = Hierarchy::builder(shape.clone()).build(&rt, |_| Value::new(0, &alive));
        let model = Model::of(&shape);
        let task = rt.task(()).claim(tree.write_all()).submit_with(move |(), held, cx| {
            let mut view = View::new(held);
            change(&mut view, cx, &alive);
            model.differs(&view)
        });
        task.join().unwrap().unwrap_or_default()
    };
    assert_eq!(found(|_, _, _| ()), "");
    assert!(found(|view, _, _| view[Node(5)].count = 1).contains("counted 1 and 0 times"));
    let open = found(|view, _, _| {
        view[Node(5)].step = Some(Box::new(Step { task: 1, change: Change::Removing(1) }));
    });
    assert!(open.contains("begun and not ended"), "{open}");
    let more = found(|view, cx, alive| _ = view.insert(Node(7), Value::new(1, alive), cx).unwrap());
    assert!(more.contains("other children") || more.contains("should not be there"), "{more}");
    let fewer = found(|view, _, _| _ = view.remove(Node(14)).unwrap());
    assert!(fewer.contains("other children") || fewer.contains("14 nodes"), "{fewer}");
}

/// What tasks left that are not done is undone, or finished; what others have done stays.
#[test]
fn mending_undoes_or_finishes() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let alive = Arc::new(());
    let shape = Shape::from_edges(5, &[(0, 1), (0, 2), (1, 3), (2, 3), (2, 4)]).unwrap();
    let tree = Hierarchy::builder(shape).build(&rt, |_| Value::new(0, &alive));
    let task = rt.task(()).claim(tree.write_all()).submit_with(move |(), held, cx| {
        let mut view = View::new(held);
        let ledger = Ledger::new(9);
        ledger.note(1);
        let old = view.insert(Node(4), Value::new(1, &alive), cx).unwrap();
        let new = view.insert(old, Value::new(2, &alive), cx).unwrap();
        view.insert(new, Value::new(2, &alive), cx).unwrap();
        // Task 1 has counted, task 3 was in its midst, and task 4 has counted once more elsewhere.
        for (node, count, twin, last) in [(0, 5, 5, 1), (1, 6, 5, 1), (2, 3, 3, 4)] {
            let value = &mut view[Node(node)];
            (value.count, value.twin, value.last) = (count, twin, last);
        }
        let step = |task, change| Some(Box::new(Step { task, change }));
        // Task 5 takes node 3 from under node 1, task 6 has linked node 4 there.
        view[Node(3)].step = step(5, Change::Unlinking(Node(1)));
        view.link(Node(1), Node(4)).unwrap();
        view[Node(4)].step = step(6, Change::Linking(Node(1)));
        // Task 7 removes what task 1 has inserted, but has got no further than to say so.
        view[old].step = step(7, Change::Removing(1));
        let mended = mend(&mut view, &ledger);
        let expected = [(5, Done::Unlinked(Some(Node(1)))), (7, Done::Removed(Some((old, 1))))];
        assert!(expected.iter().all(|done| mended.finished.contains(done)), "{:?}", mended.finished);
        assert_eq!(mended.finished.len(), 2);
        assert!(ledger.is_done(5) && ledger.is_done(7) && !ledger.is_done(6));
        assert_eq!(view.all().count(), 5);
        assert!(view.children(Node(1)).is_empty() && view.children(Node(2)) == [Node(3), Node(4)]);
        let counts = [0, 1, 2].map(|node| (view[Node(node)].count, view[Node(node)].twin));
        assert_eq!(counts, [(5, 5), (5, 5), (2, 2)]);
        assert!(view.all().all(|(_, value)| value.step.is_none()));
        // There is nothing left to be mended.
        assert_eq!(mend(&mut view, &ledger).nodes, 0);
    });
    task.join().unwrap();
}
