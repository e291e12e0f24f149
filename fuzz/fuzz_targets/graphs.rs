//! Fuzzes graphs of tasks, in a simulation, against a sequential run.
//!
//! Sequenced objects promise order: each must end as if the tasks of its spawner had run in the
//! order of their spawns. All others promise that nothing is lost: tasks add to them, and the sums
//! must be right. Every handle completes, and a task cancelled in time has no effect.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use xtasking::platform::Simulation;
use xtasking::{
    Context, Handle, JoinError, Object, Plain, Priority, Runtime, Shared, Shutdown, Snapshot, TaskBuilder,
    primitive::{OptimisticSequenced, ReaderWriterLatch, Sequencing, SpinLatch},
    task::Spawner,
};

/// Number of sequenced objects, whose order is checked.
const SEQUENCED: usize = 5;

/// What a task accesses besides sequenced objects.
#[derive(Arbitrary, Clone, Copy, Debug, PartialEq)]
enum OtherAccess {
    Nothing,
    Latched,
    SharedRead,
    SharedWrite,
    Snapshot,
}

#[derive(Arbitrary, Clone, Debug)]
struct Task {
    /// A bit for each sequenced object; at most three of them are used.
    sequenced: u8,
    other: OtherAccess,
    /// A priority other than normal. Such a task has no sequenced objects, as their order would not
    /// be promised.
    priority: Option<bool>,
    /// The worker to run on, unless its objects determine it.
    core: Option<u8>,
    /// Number of follow-ups, each spawned by the one before.
    follow_ups: u8,
    /// Whether its handle cancels it.
    cancelled: bool,
}

impl Task {
    fn sequenced(&self) -> Vec<usize> {
        match self.priority {
            Some(_) => Vec::new(),
            None => (0..SEQUENCED).filter(|index| self.sequenced >> index & 1 == 1).take(3).collect(),
        }
    }

    fn follow_ups(&self) -> u8 {
        self.follow_ups % 4
    }
}

/// How the runtime ends.
#[derive(Arbitrary, Clone, Copy, Debug, PartialEq)]
enum End {
    /// All handles are joined first.
    Joined,
    /// It runs the remaining tasks.
    Drained,
    /// It drops the remaining tasks.
    Cancelled,
}

#[derive(Arbitrary, Debug)]
struct Input {
    cores: u8,
    two_nodes: bool,
    seed: u16,
    distance: u8,
    /// Whether the spawner is a task, not a thread outside.
    inside: bool,
    end: End,
    tasks: Vec<Task>,
}

/// Changes objects so that the result depends on the order of all tasks.
fn mix(objects: &mut [&mut u64], task: usize) {
    let sum = objects.iter().fold(task as u64 + 1, |sum, object| sum.wrapping_mul(31).wrapping_add(**object));
    objects.iter_mut().enumerate().for_each(|(index, object)| **object = sum ^ (index as u64) << 40);
}

/// State that tasks share.
#[derive(Clone)]
struct Objects {
    sequenced: Vec<Object<Plain<u64>>>,
    latched: Object<Plain<u64>>,
    shared: Object<Shared<u64>>,
    snapshot: Object<Snapshot<[u64; 2]>>,
    followed: Object<Plain<u64>>,
    /// Numbers of completed bodies and follow-ups.
    ran: Arc<[AtomicU64; 2]>,
}

impl Objects {
    fn new(rt: &Runtime) -> Self {
        Self {
            sequenced: (0..SEQUENCED).map(|_| rt.plain(0).pin(Sequencing).build()).collect(),
            latched: rt.plain(0).pin(SpinLatch).build(),
            shared: rt.shared_reads(0).pin(ReaderWriterLatch).build(),
            snapshot: rt.snapshot([0; 2]).pin(OptimisticSequenced).build(),
            followed: rt.plain(0).build(),
            ran: Arc::default(),
        }
    }

    fn sequenced<const N: usize>(&self, task: &Task) -> [&Object<Plain<u64>>; N] {
        let chosen = task.sequenced();
        std::array::from_fn(|index| &self.sequenced[chosen[index]])
    }

    /// Spawns the first of the remaining follow-ups.
    fn follow(self, left: u8, cx: &mut Context) {
        if left > 0 {
            let followed = self.followed.clone();
            cx.task(followed.write()).spawn(move |count, cx| {
                *count += 1;
                self.ran[1].fetch_add(1, SeqCst);
                self.follow(left - 1, cx);
            });
        }
    }
}

fn annotated<P: Spawner, A>(builder: TaskBuilder<P, A>, task: &Task) -> TaskBuilder<P, A> {
    let builder = match task.core {
        Some(core) => builder.core(core.into()),
        None => builder,
    };
    match task.priority {
        Some(high) => builder.priority(if high { Priority::High } else { Priority::Low }),
        None => builder,
    }
}

/// Spawns a task on the named sequenced objects and one other access.
macro_rules! submit {
    (
        $at:ident, $task:ident, $number:ident, $objects:ident,
        [$($name:ident)*] $($last:ident: $access:expr => $change:expr)?
    ) => {{
        let [$($name),*] = $objects.sequenced($task);
        let (shared, left) = ($objects.clone(), $task.follow_ups());
        let builder = annotated($at.task(($($name.write(),)* $($access,)?)), $task);
        builder.submit(move |($($name,)* $($last,)?), cx| {
            mix(&mut [$($name),*], $number);
            $($change;)?
            shared.ran[0].fetch_add(1, SeqCst);
            shared.follow(left, cx);
        })
    }};
}

macro_rules! submit_with {
    ($at:ident, $task:ident, $number:ident, $objects:ident, $names:tt) => {
        match $task.other {
            OtherAccess::Nothing => submit!($at, $task, $number, $objects, $names),
            OtherAccess::Latched => {
                submit!($at, $task, $number, $objects, $names sum: $objects.latched.write() => *sum += 1)
            }
            OtherAccess::SharedRead => {
                submit!($at, $task, $number, $objects, $names
                    sum: $objects.shared.read() => assert!(*sum < 1 << 20))
            }
            OtherAccess::SharedWrite => {
                submit!($at, $task, $number, $objects, $names sum: $objects.shared.write() => *sum += 1)
            }
            OtherAccess::Snapshot => {
                submit!($at, $task, $number, $objects, $names sum: $objects.snapshot.write() => {
                    assert_eq!(sum[0], sum[1]);
                    sum.iter_mut().for_each(|half| *half += 1);
                })
            }
        }
    };
}

/// Spawns all tasks, from a runtime or a context.
macro_rules! submit_all {
    ($at:ident, $tasks:ident, $objects:ident) => {{
        let submit = |(number, task): (usize, &Task)| -> Handle<()> {
            match task.sequenced().len() {
                0 => submit_with!($at, task, number, $objects, []),
                1 => submit_with!($at, task, number, $objects, [a]),
                2 => submit_with!($at, task, number, $objects, [a b]),
                _ => submit_with!($at, task, number, $objects, [a b c]),
            }
        };
        $tasks.iter().enumerate().map(submit).collect::<Vec<_>>()
    }};
}

/// Returns the state after the tasks that are not cancelled run one after another.
fn run_sequentially(tasks: &[Task], cancelled: &[bool]) -> Vec<u64> {
    let mut all = vec![0; SEQUENCED];
    for (number, task) in tasks.iter().enumerate().filter(|(number, _)| !cancelled[*number]) {
        let mut copies: Vec<_> = task.sequenced().iter().map(|&index| all[index]).collect();
        mix(&mut copies.iter_mut().collect::<Vec<_>>(), number);
        task.sequenced().iter().zip(copies).for_each(|(&index, value)| all[index] = value);
    }
    all
}

fuzz_target!(|input: Input| {
    let (cores, nodes) = (1 + usize::from(input.cores % 16), 1 + usize::from(input.two_nodes));
    let rt = Runtime::builder()
        .platform(Simulation::with_nodes(cores, nodes, input.seed.into()))
        .prefetch_distance(input.distance.into())
        .build()
        .expect("a runtime of a few workers");
    let objects = Objects::new(&rt);
    let tasks = &input.tasks;
    let handles = if input.inside {
        let (tasks, objects) = (tasks.clone(), objects.clone());
        rt.task(()).submit(move |(), cx| submit_all!(cx, tasks, objects)).join().unwrap()
    } else {
        let rt = &rt;
        submit_all!(rt, tasks, objects)
    };
    let cancelled: Vec<bool> =
        handles.iter().zip(tasks).map(|(handle, task)| task.cancelled && handle.cancel()).collect();
    let ran = objects.ran.clone();
    let expected = run_sequentially(tasks, &cancelled);
    // These wait behind all others.
    let last: Vec<_> =
        objects.sequenced.iter().map(|object| rt.task(object.read()).submit(|value, _| *value)).collect();

    let check = |outcomes: Vec<Result<(), JoinError>>, shut_down: bool| {
        for (outcome, &cancelled) in outcomes.iter().zip(&cancelled) {
            match outcome {
                Ok(()) => assert!(!cancelled, "a cancelled task has run"),
                Err(JoinError::Cancelled) => {
                    assert!(cancelled || shut_down, "a task was cancelled without a request")
                }
                Err(error) => panic!("{error}"),
            }
        }
        outcomes.iter().filter(|outcome| outcome.is_ok()).count() as u64
    };
    let join = |handles: Vec<Handle<()>>| handles.into_iter().map(Handle::join).collect::<Vec<_>>();
    let kept = |other| {
        let kept =
            tasks.iter().zip(&cancelled).filter(|(task, cancelled)| task.other == other && !**cancelled);
        kept.count() as u64
    };
    match input.end {
        End::Joined => {
            check(join(handles), false);
            assert_eq!(
                rt.task(objects.latched.read()).submit(|sum, _| *sum).join().unwrap(),
                kept(OtherAccess::Latched)
            );
            assert_eq!(
                rt.task(objects.shared.read()).submit(|sum, _| *sum).join().unwrap(),
                kept(OtherAccess::SharedWrite)
            );
            let snapshot = rt.task(objects.snapshot.read()).submit(|sum, _| *sum).join().unwrap();
            assert_eq!(snapshot, [kept(OtherAccess::Snapshot); 2]);
            assert!(last.into_iter().map(|value| value.join().unwrap()).eq(expected));
            rt.shutdown(Shutdown::Drain);
        }
        End::Drained => {
            rt.shutdown(Shutdown::Drain);
            check(join(handles), false);
            assert!(last.into_iter().map(|value| value.join().unwrap()).eq(expected));
        }
        End::Cancelled => {
            rt.shutdown(Shutdown::Cancel);
            let done = check(join(handles), true);
            assert_eq!(ran[0].load(SeqCst), done);
            return;
        }
    }
    let kept = || tasks.iter().zip(&cancelled).filter(|(_, cancelled)| !**cancelled).map(|(task, _)| task);
    assert_eq!(ran[0].load(SeqCst), kept().count() as u64);
    assert_eq!(ran[1].load(SeqCst), kept().map(|task| u64::from(task.follow_ups())).sum());
});
