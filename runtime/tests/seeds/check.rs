//! The record of a program's run, and the checks at its end.

use crate::common::{Setting, lock};
use crate::plan::{Ending, Task, Touch};
use crate::world::{World, number};
use std::mem;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use xtasking::{Handle, JoinError, Primitive, Runtime};

/// A task's spawner, and its number.
type InLine = (Option<usize>, usize);

/// The outcome of a task with a handle.
struct Outcome {
    task: usize,
    /// True if the handle reported that the cancellation came in time.
    cancelled_in_time: bool,
    result: Result<(), JoinError>,
}

/// The record of a program's run.
pub struct Ledger {
    /// The number of starts of each task's body.
    runs: Box<[AtomicUsize]>,
    /// The tasks that were spawned.
    spawned: Mutex<Vec<Task>>,
    /// Tasks that are not joined yet: the number, whether a cancellation was in time, and the
    /// handle.
    handles: Mutex<Vec<(usize, bool, Handle<()>)>>,
    outcomes: Mutex<Vec<Outcome>>,
    /// Whether a body has panicked that wrote the object in place.
    spoilt: Box<[AtomicBool]>,
    /// The number of writes to each object.
    written: Box<[AtomicU64]>,
    /// For each object the tasks of normal priority that wrote it.
    line: Box<[Mutex<Vec<InLine>>]>,
}

/// The reports to the runtime's hook about tasks without a handle.
#[derive(Default)]
pub struct Told {
    panicked: AtomicUsize,
    poisoned: AtomicUsize,
    abandoned: AtomicUsize,
}

impl Told {
    /// Records a failure.
    pub fn note(&self, error: &JoinError) {
        let count = match error {
            JoinError::Panicked(payload) => {
                if payload.message() != "provoked" {
                    // An unexpected failure: the sums will not agree.
                    eprintln!("{error}");
                }
                &self.panicked
            }
            JoinError::Poisoned => &self.poisoned,
            JoinError::Abandoned => &self.abandoned,
            other => panic!("the hook reports: {other}"),
        };
        count.fetch_add(1, Relaxed);
    }
}

impl Ledger {
    pub fn new(tasks: usize, objects: usize) -> Self {
        Self {
            runs: (0..tasks).map(|_| AtomicUsize::new(0)).collect(),
            spawned: Mutex::default(),
            handles: Mutex::default(),
            outcomes: Mutex::default(),
            spoilt: (0..objects).map(|_| AtomicBool::new(false)).collect(),
            written: (0..objects).map(|_| AtomicU64::new(0)).collect(),
            line: (0..objects).map(|_| Mutex::default()).collect(),
        }
    }

    pub fn spawned(&self, task: &Task) {
        lock(&self.spawned).push(task.clone());
    }

    pub fn begins(&self, task: usize) {
        self.runs[task].fetch_add(1, Relaxed);
    }

    /// Records a body that writes an object in place, and may be about to panic.
    pub fn enters(&self, object: usize, will_panic: bool) {
        let spoilt = self.spoilt[object].swap(will_panic, Relaxed);
        assert!(!spoilt, "object {object} is written after a panic");
    }

    pub fn has_written(&self, object: usize) {
        self.written[object].fetch_add(1, Relaxed);
    }

    pub fn stands_in_line(&self, object: usize, by: Option<usize>, task: usize) {
        lock(&self.line[object]).push((by, task));
    }

    /// Keeps a task's handle, and cancels it if the program requires it.
    pub fn keeps(&self, task: usize, handle: Handle<()>, cancelled: bool) {
        let in_time = cancelled && handle.cancel();
        lock(&self.handles).push((task, in_time, handle));
    }
}

impl Ledger {
    /// Waits for the task of the most recent handle. Returns false if there is none.
    pub fn wait_for_one(&self) -> bool {
        let Some((task, cancelled_in_time, handle)) = lock(&self.handles).pop() else { return false };
        let outcome = Outcome { task, cancelled_in_time, result: handle.join() };
        lock(&self.outcomes).push(outcome);
        true
    }
}

/// Attempts that a walk may find invalid at its first node without ending: the optimistic attempts,
/// and one with the node held. With concurrent tasks, some attempts may end before the walk reads
/// anything.
fn senseless(setting: Setting) -> u8 {
    match setting {
        Setting::Threads { workers } if workers > 1 => 0,
        _ => 4,
    }
}

fn is_poisoning(end: Ending) -> bool {
    end != Ending::Returns
}

/// Checks the outcome of each task after the runtime has ended. `cancelled`: tasks that had not
/// started were dropped.
pub fn check(ledger: &Ledger, told: &Told, roots: usize, cancelled: bool, setting: Setting) {
    while ledger.wait_for_one() {}
    let runs = |task: &Task| ledger.runs[task.number].load(Relaxed);
    let mut spawned = mem::take(&mut *lock(&ledger.spawned));
    spawned.sort_by_key(|task| task.number);
    assert!(ledger.runs.iter().all(|runs| runs.load(Relaxed) <= 1), "a task ran twice");
    let ran_on = |task: &&Task| runs(task) == 1 && task.end != Ending::PanicsAtOnce;
    let follow_ups: usize = spawned.iter().filter(ran_on).map(|task| task.follow_ups.len()).sum();
    assert_eq!(spawned.len(), roots + follow_ups, "each task that runs spawns its follow-ups, once");
    let ran: usize = spawned.iter().map(runs).sum();
    assert_eq!(
        ran,
        ledger.runs.iter().map(|runs| runs.load(Relaxed)).sum(),
        "a task ran that was not spawned"
    );

    let has_panics = spawned.iter().any(|task| runs(task) == 1 && is_poisoning(task.end));
    let outcomes = mem::take(&mut *lock(&ledger.outcomes));
    for Outcome { task, cancelled_in_time, result } in &outcomes {
        let at = spawned.binary_search_by_key(task, |task| task.number).expect("it was spawned");
        let (task, ran) = (&spawned[at], runs(&spawned[at]) == 1);
        let is_right = match result {
            Ok(()) => ran && task.end == Ending::Returns && !cancelled_in_time,
            Err(JoinError::Panicked(why)) => {
                ran && is_poisoning(task.end) && why.message() == "provoked" && !cancelled_in_time
            }
            Err(JoinError::Cancelled) => !ran && (*cancelled_in_time || cancelled),
            Err(JoinError::Poisoned) => !ran && has_panics && !cancelled_in_time,
            Err(_) => false,
        };
        assert!(is_right, "{result:?}, ran: {ran}, cancelled in time: {cancelled_in_time}: {task:?}");
    }

    let has_handle = |task: &Task| outcomes.iter().any(|outcome| outcome.task == task.number);
    let (mut panicked, mut poisoned, mut abandoned) = (0, 0, 0);
    for task in spawned.iter().filter(|task| !has_handle(task)) {
        let ran = runs(task) == 1;
        match task.touch {
            _ if ran && is_poisoning(task.end) => panicked += 1,
            _ if ran => {}
            Touch::Visit { again, .. } if again > senseless(setting) => abandoned += 1,
            Touch::Nothing | Touch::Visit { .. } | Touch::Modify { .. } => {
                assert!(cancelled, "nothing keeps it from running: {task:?}");
            }
            _ => poisoned += 1,
        }
    }
    let [told_panicked, told_poisoned, told_abandoned] =
        [&told.panicked, &told.poisoned, &told.abandoned].map(|count| count.load(Relaxed));
    assert_eq!(told_panicked, panicked);
    if cancelled {
        assert!(told_poisoned <= poisoned && told_abandoned <= abandoned);
    } else {
        assert!(poisoned == 0 || has_panics, "tasks did not run, and no object is poisoned");
        assert_eq!((told_poisoned, told_abandoned), (poisoned, abandoned));
    }
}

/// Checks the final contents of the objects, and the order of the writes.
pub fn check_objects(rt: &Runtime, world: &World) {
    macro_rules! check_each {
        ($($class:ident: |$value:ident| $halves:expr;)+) => {$(
            for (at, object) in world.$class.iter().enumerate() {
                let halves = loop {
                    match rt.task(object.read()).submit(|$value, _| $halves).join() {
                        // The body has ended, but on threads perhaps not its continuation yet.
                        Err(JoinError::Poisoned) => object.clear_poison(),
                        result => break result.unwrap(),
                    }
                };
                check_object(&world.ledger, number::$class(at), halves, object.primitive());
            }
        )+};
    }
    check_each! {
        plain: |halves| *halves;
        shared: |halves| *halves;
        copied: |halves| *halves;
        versioned: |pair| [pair.0.get(), pair.1.get()];
    }
    for (at, node) in world.nodes.iter().enumerate() {
        let halves = rt.task((node.write(),)).submit(|(pair,), _| [pair.0.get(), pair.1.get()]).join();
        check_object(&world.ledger, number::node(at), halves.unwrap(), Primitive::OptimisticSequenced);
    }
}

fn check_object(ledger: &Ledger, object: usize, halves: [u64; 2], primitive: Primitive) {
    assert_eq!(halves, [ledger.written[object].load(Relaxed); 2], "object {object}: a write is lost or torn");
    if matches!(primitive, Primitive::Sequencing | Primitive::OptimisticSequenced) {
        let line = lock(&ledger.line[object]);
        for (at, (by, task)) in line.iter().enumerate() {
            let overtaken = line[..at].iter().find(|(other, before)| other == by && before > task);
            assert_eq!(overtaken, None, "object {object}: task {task} of {by:?} came too late");
        }
    }
}
