//! Each kind of task on each path, with what it captures, returns and panics with.

use super::{Bomb, Tally, quietly, settings};
use crate::common::{Blame, Pair, Setting, on_each, silence_tasks};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::task::{Context as Poller, Poll, Wake, Waker};
use std::{future::Future, pin::pin};
use xtasking::bundle::{Bundle, Hop, Start, Walk};
use xtasking::primitive::{OptimisticLatched, OptimisticSequenced, ReaderWriterLatch, Sequencing, SpinLatch};
use xtasking::{
    Context, Granules, Handle, JoinError, Object, Plain, Runtime, Shared, Shutdown, Snapshot, Versioned,
    arena::{Arena, Link, Written},
    claims::PlanView,
};

/// What tasks access.
struct World {
    sequenced: Object<Plain<u64>>,
    latched: Object<Plain<u64>>,
    shared: Object<Shared<u64>>,
    snapshot: Object<Snapshot<u64>>,
    versioned: [Object<Versioned<Pair>>; 3],
    granules: Granules<u64>,
    arena: Arena<Pair>,
}

impl World {
    fn new(rt: &Runtime) -> Self {
        Self {
            sequenced: rt.plain(0).pin(Sequencing).build(),
            latched: rt.plain(0).pin(SpinLatch).build(),
            shared: rt.shared_reads(0).pin(ReaderWriterLatch).build(),
            snapshot: rt.snapshot(0).pin(OptimisticSequenced).build(),
            versioned: [
                rt.versioned(Pair::default()).pin(OptimisticSequenced).build(),
                rt.versioned(Pair::default()).pin(OptimisticLatched).build(),
                rt.versioned(Pair::default()).pin(Sequencing).build(),
            ],
            granules: rt.granules_of([0; 4]),
            arena: Arena::new(rt),
        }
    }

    /// Lets a task panic in each object and granule.
    fn poison(&self, rt: &Runtime) {
        let poisoned = |result: Result<(), JoinError>| assert!(matches!(result, Err(JoinError::Panicked(_))));
        poisoned(rt.task(self.sequenced.write()).submit(|_, _| panic!("provoked")).join());
        poisoned(rt.task(self.latched.write()).submit(|_, _| panic!("provoked")).join());
        poisoned(rt.task(self.shared.write()).submit(|_, _| panic!("provoked")).join());
        for object in &self.versioned {
            poisoned(rt.task(object.write()).submit(|_, _| panic!("provoked")).join());
        }
        let claim = self.granules.write(0..4);
        poisoned(rt.task(()).claim(claim).submit_with(|(), _, _| panic!("provoked")).join());
    }
}

/// What a body does.
struct Body {
    captured: Bomb,
    /// The result, or the payload of a panic.
    output: Result<Bomb, Bomb>,
}

impl Body {
    fn run(self) -> Bomb {
        let Self { captured, output } = self;
        match output {
            Ok(result) => {
                drop(captured);
                result
            }
            Err(payload) => resume_unwind(Box::new(payload)),
        }
    }
}

/// A kind of task.
struct Kind {
    name: &'static str,
    /// It fails if the objects are poisoned.
    is_poisonable: bool,
    submit: fn(&Runtime, &World, Body) -> Handle<Bomb>,
}

const fn kind(
    name: &'static str,
    is_poisonable: bool,
    submit: fn(&Runtime, &World, Body) -> Handle<Bomb>,
) -> Kind {
    Kind { name, is_poisonable, submit }
}

const KINDS: [Kind; 19] = [
    kind("unbound", false, |rt, _, body| rt.task(()).submit(|(), _| body.run())),
    kind("unbound, boxed", false, |rt, _, body| {
        let large = [1u8; 600];
        rt.task(()).submit(move |(), _| {
            assert_eq!(large.len(), 600);
            body.run()
        })
    }),
    kind("sequenced", true, |rt, world, body| rt.task(world.sequenced.write()).submit(|_, _| body.run())),
    kind("latched", true, |rt, world, body| rt.task(world.latched.write()).submit(|_, _| body.run())),
    kind("shared", true, |rt, world, body| rt.task(world.shared.read()).submit(|_, _| body.run())),
    kind("a copy", false, |rt, world, body| rt.task(world.snapshot.read()).submit(|_, _| body.run())),
    kind("a copy, written", false, |rt, world, body| {
        rt.task(world.snapshot.write()).submit(|_, _| body.run())
    }),
    kind("versioned", true, |rt, world, body| rt.task(world.versioned[1].write()).submit(|_, _| body.run())),
    kind("several", true, |rt, world, body| {
        let objects = (world.sequenced.write(), world.latched.read(), world.versioned[0].write());
        rt.task(objects).submit(|_, _| body.run())
    }),
    kind("a read", true, |rt, world, body| read(rt, &world.versioned[0], body)),
    kind("a latched read", true, |rt, world, body| read(rt, &world.versioned[1], body)),
    kind("a read in turn", true, |rt, world, body| read(rt, &world.versioned[2], body)),
    kind("a read's output", true, |rt, world, body| {
        // The output of each reading is made anew, and is dropped unless it counts.
        let Body { captured, output } = body;
        let (tally, is_armed) = (captured.tally.clone(), captured.is_armed);
        captured.defuse();
        let read = move |_: &Pair| tally.value(is_armed);
        rt.task(world.versioned[1].read()).submit_read(read, |captured, _| Body { captured, output }.run())
    }),
    kind("a claim", true, |rt, world, body| {
        rt.task(()).claim(world.granules.write(1..3)).submit_with(|(), _, _| body.run())
    }),
    kind("an unordered claim", true, |rt, world, body| {
        rt.task(()).claim(world.granules.write(0..2).unordered()).submit_with(|(), _, _| body.run())
    }),
    kind("a plan", true, |rt, world, body| {
        // Dropped with the plan.
        let owned = body.captured.tally.bomb();
        let plan = move |view: &mut PlanView<'_, '_, u64>| {
            let _captured = &owned;
            view.write(0..1);
        };
        rt.task(()).claim(world.granules.planned(plan)).submit_with(|(), _, _| body.run())
    }),
    kind("a member", false, |rt, _, body| {
        let group = rt.group();
        rt.task(()).of(&group).submit(|(), _| body.run())
    }),
    kind("after a group", false, |rt, _, body| {
        let (group, payload) = (rt.group(), body.captured.tally.bomb());
        rt.task(()).of(&group).spawn(|(), _| resume_unwind(Box::new(payload)));
        rt.task(()).after(group).submit(|(), _| body.run())
    }),
    kind("a bundle", false, |rt, world, body| {
        let (promise, handle) = rt.promise();
        let start = world.arena.alloc_outside(Pair::default());
        let walk = One { start, owned: body.captured.tally.bomb() };
        rt.task(()).bundle_then(Walks { walk: Some(walk) }, move |_, _| promise.fulfil(body.run()));
        handle
    }),
];

fn read(rt: &Runtime, object: &Object<Versioned<Pair>>, body: Body) -> Handle<Bomb> {
    rt.task(object.read()).submit_read(|pair| pair.0.get(), |_, _| body.run())
}

/// A walk of one step that owns a value.
struct One {
    start: Link<Pair>,
    owned: Bomb,
}

impl Walk for One {
    type Target = Pair;
    type Output = Bomb;

    fn read(&self, _: Link<Pair>, _: &Pair) -> Hop<Pair, Bomb> {
        Hop::End(self.owned.tally.bomb())
    }

    fn write(&mut self, _: Link<Pair>, _: Written<'_, Pair>, _: &mut Context) -> Hop<Pair, Bomb> {
        unreachable!("the walk only reads")
    }
}

/// A bundle of one walk, which it drops as the walk ends.
struct Walks {
    walk: Option<One>,
}

impl Bundle for Walks {
    type Walk = One;

    fn next(&mut self, _: &mut Context) -> Option<(Start<Pair>, One)> {
        self.walk.take().map(|walk| (walk.start.read().into(), walk))
    }

    fn done(&mut self, walk: One, outcome: Result<Bomb, JoinError>, _: &mut Context) {
        walk.owned.defuse();
        if let Ok(output) = outcome {
            output.defuse();
        }
    }
}

/// What happens to a task.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Path {
    Runs,
    Panics,
    Cancelled,
    Detached,
    Awaited,
    Refused,
    ShutDown,
    Poisoned,
}

const PATHS: [Path; 8] = [
    Path::Runs,
    Path::Panics,
    Path::Cancelled,
    Path::Detached,
    Path::Awaited,
    Path::Refused,
    Path::ShutDown,
    Path::Poisoned,
];

/// A waker that panics when it is called, and again when it is dropped.
struct PanickingWaker(#[expect(dead_code, reason = "it is dropped")] Bomb);

impl Wake for PanickingWaker {
    fn wake(self: Arc<Self>) {
        panic!("provoked: by a waker");
    }
}

/// Polls a handle once, with a waker that panics.
fn poll_once(handle: &mut Handle<Bomb>, tally: &Tally) -> Option<Result<Bomb, JoinError>> {
    let waker = Waker::from(Arc::new(PanickingWaker(tally.bomb())));
    let polled = match pin!(handle).poll(&mut Poller::from_waker(&waker)) {
        Poll::Ready(outcome) => Some(outcome),
        Poll::Pending => None,
    };
    // This thread may own it last.
    quietly(|| drop(waker));
    polled
}

/// Checks what a handle says of a task that may have been cancelled, or else of its body.
fn check(case: &str, outcome: Result<Bomb, JoinError>, expected: &[&str]) {
    let found = match outcome {
        Ok(bomb) => {
            bomb.defuse();
            "done"
        }
        Err(JoinError::Panicked(_)) => "panicked",
        Err(JoinError::Cancelled) => "cancelled",
        Err(JoinError::OutOfMemory) => "refused",
        Err(JoinError::Poisoned) => "poisoned",
        Err(JoinError::Abandoned) => "abandoned",
        Err(error) => panic!("{case}: {error}"),
    };
    assert!(expected.contains(&found), "{case}: {found}, not {expected:?}");
}

fn run_case(setting: Setting, kind: &Kind, path: Path, is_captured_armed: bool) {
    let case = format!("{}, {path:?}, armed: {is_captured_armed}", kind.name);
    let _blame = Blame(case.clone());
    let tally = Tally::default();
    let builder = tally.builder(setting);
    let limit = if path == Path::Refused { 65_535 } else { 1 << 30 };
    let rt = builder.memory_limit(limit).build().unwrap();
    let world = World::new(&rt);
    if path == Path::Poisoned {
        world.poison(&rt);
    }
    let output = if path == Path::Panics { Err(tally.bomb()) } else { Ok(tally.bomb()) };
    let body = Body { captured: tally.value(is_captured_armed), output };
    let ran = if is_captured_armed || path == Path::Panics { "panicked" } else { "done" };
    // A promise that a continuation captures is dropped where that panics or never runs.
    let is_promised = kind.name == "a bundle";
    let or_abandoned = |what| if is_promised { "abandoned" } else { what };
    let ran = if ran == "done" { ran } else { or_abandoned(ran) };
    let mut handle = (kind.submit)(&rt, &world, body);
    let mut shutdown = Shutdown::Drain;
    match path {
        Path::Runs | Path::Panics => check(&case, handle.join(), &[ran]),
        Path::Cancelled => {
            let expected = if handle.cancel() { "cancelled" } else { ran };
            check(&case, handle.join(), &[expected]);
        }
        // If the result is there already, it is this thread that drops it.
        Path::Detached => quietly(|| drop(handle)),
        Path::Awaited => match poll_once(&mut handle, &tally) {
            Some(outcome) => {
                check(&case, outcome, &[ran]);
                // It has the waker if the result came while it was polled.
                quietly(|| drop(handle));
            }
            None => {
                while !handle.is_finished() {
                    rt.task(()).submit(|(), _| ()).join().unwrap();
                }
                check(&case, handle.join(), &[ran]);
            }
        },
        Path::Refused => check(&case, handle.join(), &[or_abandoned("refused")]),
        Path::ShutDown => {
            shutdown = Shutdown::Cancel;
            rt.shutdown(shutdown);
            check(&case, handle.join(), &[or_abandoned("cancelled"), ran]);
            drop(world);
            return tally.check(&case);
        }
        Path::Poisoned => {
            check(&case, handle.join(), &[if kind.is_poisonable { "poisoned" } else { ran }]);
        }
    }
    drop(world);
    rt.shutdown(shutdown);
    tally.check(&case);
}

#[test]
fn each_kind_of_task_ends_whatever_panics() {
    silence_tasks();
    on_each(settings(), |setting| {
        for kind in &KINDS {
            for path in PATHS {
                for is_captured_armed in [false, true] {
                    run_case(setting, kind, path, is_captured_armed);
                }
            }
        }
    });
}
