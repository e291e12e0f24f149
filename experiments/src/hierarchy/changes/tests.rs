//! Tests turns with changes and panics, and the detection of damage.

use super::super::load::{Access, Targets, Task, TaskSettings, Tasks};
use super::super::testbed::TurnSettings;
use super::super::turn::Times;
use super::jobs::{Chances, Job, Operation, draw};
use super::ledger::{ChangeResult, Ledger, LinkResult};
use super::repair::repair;
use super::replay::Model;
use super::value::{Change, Step, Value};
use super::*;
use std::sync::Arc;
use xtasking::{Runtime, claims::Control};
use xtasking_harness::controls::Isolation;
use xtasking_hierarchy::{Hierarchy, Node, Shape, View, generate};

const CONTROLS: [Control; 4] = [Control::Fifo, Control::Coarse, Control::DomLock, Control::NumLock];

fn jobs(shape: &Shape, targets: &Targets, tasks: usize, chances: Chances, seed: u64) -> Arc<[Job]> {
    let settings = TaskSettings { nodes: 3, reads: 40, skew: 2, near: None };
    draw(Tasks::new(targets, settings, seed, 0).take(tasks), shape, targets, chances, seed).into()
}

/// On threads and in virtual time, on a tree and a DAG, with many panics: results and data are
/// those of the replay.
#[test]
fn panicking_tasks_neither_lose_nor_leave_data() {
    let chances = Chances { structural: 40, panics: 10 };
    for (shape, seed) in [(generate::treebank(800, 3), 3), (generate::random_dag(300, 3, 5), 5)] {
        let targets = Targets::new(&shape, 1..=shape.len() / 8);
        let jobs = jobs(&shape, &targets, 1500, chances, seed);
        for control in CONTROLS {
            for times in [None, Some(Times { seed, node: 20, task: 500 })] {
                let workers = if times.is_some() { 6 } else { 3 };
                let settings = TurnSettings {
                    isolation: Isolation::Granules(control),
                    workers,
                    stealing: true,
                    times,
                    in_flight: Some(40),
                    is_recorded: false,
                };
                let work = Work { shape: &shape, granules: 50, jobs: &jobs, targets: &targets };
                let turn = work.turn(&settings).unwrap();
                assert_eq!(turn.wrong, None, "{control:?}, {times:?}");
                let note = turn.note.unwrap();
                assert!(!note.starts_with("0 tasks panicked") && !note.contains(" repaired 0 "), "{note}");
                assert!(!note.contains("finished 0 changes; 0 nodes inserted"), "{note}");
            }
        }
    }
}

#[test]
fn a_seed_generates_the_same_jobs_with_the_configured_shares() {
    let shape = generate::random_dag(2_000, 3, 1);
    let targets = Targets::new(&shape, 1..=50);
    let of = |seed| jobs(&shape, &targets, 10_000, Chances { structural: 10, panics: 1 }, seed);
    let all = of(1);
    assert_eq!(all, of(1));
    assert_ne!(all, of(2));
    let count = |is: fn(&Job) -> bool| all.iter().filter(|job| is(job)).count();
    // Four times the standard deviation.
    assert!((880..1120).contains(&count(|job| !matches!(job.operation, Operation::Visit(_)))));
    assert!((60..140).contains(&count(|job| job.panic_at.is_some())));
    assert!(count(|job| matches!(job.operation, Operation::Link { .. })) > 150);
    assert!(count(|job| matches!(job.operation, Operation::Unlink { .. })) > 150);
    let calm = jobs(&shape, &targets, 500, Chances { structural: 0, panics: 0 }, 1);
    assert!(calm.iter().all(|job| matches!(job.operation, Operation::Visit(_)) && job.panic_at.is_none()));
}

/// A replay refuses impossible results.
#[test]
fn a_replay_detects_impossible_results() {
    let shape = Shape::from_edges(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]).unwrap();
    let job = |operation| Job { operation, panic_at: None };
    let visit = |node, access| job(Operation::Visit(Task { nodes: vec![Node(node)], access }));
    let mut model = Model::of(&shape);
    let replay = |model: &mut Model, job: &Job, result: ChangeResult| model.replay(job, &result);
    replay(&mut model, &visit(0, Access::Write), ChangeResult::Counted(4)).unwrap();
    assert!(replay(&mut model.clone(), &visit(1, Access::Write), ChangeResult::Counted(3)).is_err());
    replay(&mut model, &visit(0, Access::Read), ChangeResult::Read(4)).unwrap();
    assert!(replay(&mut model.clone(), &visit(0, Access::Read), ChangeResult::Read(5)).is_err());
    let insert = job(Operation::Insert { under: Node(2), chance: 0 });
    assert!(replay(&mut model.clone(), &insert, ChangeResult::Inserted(vec![Node(4), Node(5)])).is_err());
    assert!(replay(&mut model.clone(), &insert, ChangeResult::Inserted(vec![Node(3)])).is_err());
    replay(&mut model, &insert, ChangeResult::Inserted(vec![Node(6)])).unwrap();
    let remove = job(Operation::Remove { under: Node(2) });
    assert!(replay(&mut model.clone(), &remove, ChangeResult::Removed(Some((Node(6), 2)))).is_err());
    replay(&mut model, &remove, ChangeResult::Removed(Some((Node(6), 1)))).unwrap();
    replay(&mut model, &remove, ChangeResult::Removed(None)).unwrap();
    let link = |parent, child| job(Operation::Link { parent: Node(parent), child: Node(child) });
    replay(&mut model, &link(3, 1), ChangeResult::Linked(LinkResult::Cycle)).unwrap();
    replay(&mut model, &link(1, 3), ChangeResult::Linked(LinkResult::Duplicate)).unwrap();
    assert!(replay(&mut model.clone(), &link(1, 2), ChangeResult::Linked(LinkResult::Duplicate)).is_err());
    let unlink = |child| job(Operation::Unlink { child: Node(child), chance: 0 });
    assert!(replay(&mut model.clone(), &unlink(3), ChangeResult::Unlinked(Some(Node(0)))).is_err());
    assert!(replay(&mut model.clone(), &unlink(3), ChangeResult::Unlinked(None)).is_err());
    replay(&mut model, &unlink(3), ChangeResult::Unlinked(Some(Node(1)))).unwrap();
    replay(&mut model, &unlink(3), ChangeResult::Unlinked(None)).unwrap();
    assert!(replay(&mut model.clone(), &unlink(3), ChangeResult::Read(0)).is_err());
}

/// The data and the neighbours of each node are compared.
#[test]
fn the_final_hierarchy_is_compared_with_the_replay() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let shape = generate::complete(2, 4).unwrap();
    let difference = |change: fn(&mut View<'_, Value>, &mut xtasking::Context, &Arc<()>)| {
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
    assert_eq!(difference(|_, _, _| ()), "");
    assert!(difference(|view, _, _| view[Node(5)].count = 1).contains("counts 1 and 0"));
    let open = difference(|view, _, _| {
        view[Node(5)].step = Some(Box::new(Step { task: 1, change: Change::Removing(1) }));
    });
    assert!(open.contains("is unfinished"), "{open}");
    let more = difference(|view, cx, alive| _ = view.insert(Node(7), Value::new(1, alive), cx).unwrap());
    assert!(more.contains("wrong children") || more.contains("should not exist"), "{more}");
    let fewer = difference(|view, _, _| _ = view.remove(Node(14)).unwrap());
    assert!(fewer.contains("wrong children") || fewer.contains("14 nodes"), "{fewer}");
}

/// Changes of tasks that are not done are undone or finished; those of other tasks remain.
#[test]
fn a_repair_undoes_or_finishes_changes() {
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
        // Task 1 has counted, task 3 was interrupted there, and task 4 has counted but is not done.
        for (node, count, twin, last) in [(0, 5, 5, 1), (1, 6, 5, 1), (2, 3, 3, 4)] {
            let value = &mut view[Node(node)];
            (value.count, value.twin, value.last) = (count, twin, last);
        }
        let step = |task, change| Some(Box::new(Step { task, change }));
        // Task 5 unlinks node 3 from node 1; task 6 has linked node 4 there.
        view[Node(3)].step = step(5, Change::Unlinking(Node(1)));
        view.link(Node(1), Node(4)).unwrap();
        view[Node(4)].step = step(6, Change::Linking(Node(1)));
        // Task 7 has only announced to remove what task 1 inserted.
        view[old].step = step(7, Change::Removing(1));
        let repaired = repair(&mut view, &ledger);
        let expected =
            [(5, ChangeResult::Unlinked(Some(Node(1)))), (7, ChangeResult::Removed(Some((old, 1))))];
        assert!(expected.iter().all(|result| repaired.finished.contains(result)), "{:?}", repaired.finished);
        assert_eq!(repaired.finished.len(), 2);
        assert!(ledger.is_done(5) && ledger.is_done(7) && !ledger.is_done(6));
        assert_eq!(view.all().count(), 5);
        assert!(view.children(Node(1)).is_empty() && view.children(Node(2)) == [Node(3), Node(4)]);
        let counts = [0, 1, 2].map(|node| (view[Node(node)].count, view[Node(node)].twin));
        assert_eq!(counts, [(5, 5), (5, 5), (2, 2)]);
        assert!(view.all().all(|(_, value)| value.step.is_none()));
        // A second repair finds nothing.
        assert_eq!(repair(&mut view, &ledger).nodes, 0);
    });
    task.join().unwrap();
}
