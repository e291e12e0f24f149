//! Histories of operations on objects, by tasks and plain threads at once. Each must be
//! linearizable: some order explains it in which every task takes effect between its spawn and its
//! result.

use crate::common::*;
use crate::every_primitive;
use std::any::type_name;
use std::sync::Arc;
use xtasking::{
    Context, Handle, JoinError, Object, Plain, Promise, Runtime, Shared, Snapshot, TaskBuilder, Versioned,
    arena::Written,
    primitive::{Class, OptimisticLatched, OptimisticSequenced, ReaderWriterLatch, Sequencing, SpinLatch},
    task::{AccessSet, Read, Spawner},
};
use xtasking_testing::history::{self, Clock, Event, Span};

/// The words of an object: all are equal unless a task is changing them.
type Words = [u64; 4];

/// The view of a reader.
trait Readable {
    fn word(&self, at: usize) -> u64;
}

/// The view of a writer.
trait Writable: Readable {
    fn set(&mut self, at: usize, value: u64);
}

macro_rules! views {
    ($($view:ty: $me:ident, |$at:ident| $word:expr $(, |$value:ident| $set:expr)?;)+) => {$(
        impl Readable for $view {
            fn word(&$me, $at: usize) -> u64 { $word }
        }
        $(impl Writable for $view {
            fn set(&mut $me, $at: usize, $value: u64) { $set }
        })?
    )+};
}

views! {
    &Words: self, |at| self[at];
    &Quad: self, |at| self.0[at].get();
    &mut Words: self, |at| self[at], |value| self[at] = value;
    Written<'_, Quad>: self, |at| self.0[at].get(), |value| self.0[at].set(value, self.token());
}

/// Reads the words one by one, with pauses for other tasks.
fn look(view: &impl Readable) -> Words {
    [0, 1, 2, 3].map(|at| {
        if at == 2 {
            let_others_in();
        }
        view.word(at)
    })
}

/// Writes the words one by one, with pauses for other tasks.
fn set(view: &mut impl Writable, value: u64) {
    for at in 0..4 {
        if at == 2 {
            let_others_in();
        }
        view.set(at, value);
    }
}

/// An operation on one object.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// Reads as the class prescribes.
    Look,
    /// Reads with writers excluded.
    Enter,
    /// Writes without reading first.
    Write(u64),
    Swap(u64),
    Add(u64),
    /// Writes the second value if the object has the first.
    CompareAndSet(u64, u64),
}

impl Op {
    fn choose(random: &mut Random) -> Self {
        // Few values, so that some comparisons succeed.
        let (one, other) = (random.below(4) as u64, random.below(4) as u64);
        match random.below(8) {
            0 | 1 => Self::Look,
            2 => Self::Enter,
            3 => Self::Write(one),
            4 => Self::Swap(one),
            5 | 6 => Self::Add(1 + one),
            _ => Self::CompareAndSet(one, other),
        }
    }

    fn is_read(self) -> bool {
        matches!(self, Self::Look | Self::Enter)
    }

    /// Returns the value of the object after the operation.
    fn after(self, before: u64) -> u64 {
        match self {
            Self::Look | Self::Enter => before,
            Self::Write(value) | Self::Swap(value) => value,
            Self::Add(number) => before + number,
            Self::CompareAndSet(expected, value) => {
                if before == expected {
                    value
                } else {
                    before
                }
            }
        }
    }

    fn look(self, view: &impl Readable) -> Done {
        Done { op: self, saw: Some(look(view)) }
    }

    fn change(self, view: &mut impl Writable) -> Done {
        let saw = (!matches!(self, Self::Write(_))).then(|| look(view));
        // The observed value decides, even if it is torn: the check reports that.
        set(view, self.after(saw.unwrap_or_default()[0]));
        Done { op: self, saw }
    }
}

/// A completed operation, and the value that it found.
#[derive(Clone, Debug)]
struct Done {
    op: Op,
    saw: Option<Words>,
}

impl Event for Done {
    type State = u64;

    fn apply(&self, &before: &u64) -> Option<u64> {
        self.saw.is_none_or(|saw| saw == [before; 4]).then(|| self.op.after(before))
    }

    fn is_read_only(&self) -> bool {
        self.op.is_read()
    }
}

/// An operation on two objects.
#[derive(Clone, Copy, Debug)]
enum Both {
    Look,
    /// Moves this amount, or as much as there is, from the first object to the second.
    Move(u64),
    /// Copies the value of the second object to the first.
    Copy,
}

impl Both {
    fn after(self, [left, right]: [u64; 2]) -> [u64; 2] {
        match self {
            Self::Look => [left, right],
            Self::Move(amount) => [left - amount.min(left), right + amount.min(left)],
            Self::Copy => [right, right],
        }
    }
}

/// A completed operation on a pair of objects.
#[derive(Clone, Debug)]
enum Happened {
    Left(Done),
    Right(Done),
    Both(Both, [Words; 2]),
}

impl Event for Happened {
    type State = [u64; 2];

    fn apply(&self, &[left, right]: &[u64; 2]) -> Option<[u64; 2]> {
        match self {
            Self::Left(done) => Some([done.apply(&left)?, right]),
            Self::Right(done) => Some([left, done.apply(&right)?]),
            Self::Both(both, saw) => (*saw == [[left; 4], [right; 4]]).then(|| both.after([left, right])),
        }
    }

    fn is_read_only(&self) -> bool {
        match self {
            Self::Left(done) | Self::Right(done) => done.is_read_only(),
            Self::Both(both, _) => matches!(both, Both::Look),
        }
    }
}

/// How a task is spawned, and how its event is recorded.
trait Ending<E> {
    type Given;
    fn launch<P: Spawner, A: AccessSet>(
        self,
        task: TaskBuilder<P, A>,
        body: impl for<'v> FnOnce(A::View<'v>) -> E + Send + 'static,
    ) -> Self::Given;
    fn launch_read<P: Spawner>(
        self,
        task: TaskBuilder<P, Read<'_, Versioned<Quad>>>,
        read: impl Fn(&Quad) -> E + Send + 'static,
    ) -> Self::Given;
}

/// Through a handle.
struct Submit;

impl<E: Send + 'static> Ending<E> for Submit {
    type Given = Handle<E>;

    fn launch<P: Spawner, A: AccessSet>(
        self,
        task: TaskBuilder<P, A>,
        body: impl for<'v> FnOnce(A::View<'v>) -> E + Send + 'static,
    ) -> Handle<E> {
        task.submit(move |view, _| body(view))
    }

    fn launch_read<P: Spawner>(
        self,
        task: TaskBuilder<P, Read<'_, Versioned<Quad>>>,
        read: impl Fn(&Quad) -> E + Send + 'static,
    ) -> Handle<E> {
        task.submit_read(read, |event, _| event)
    }
}

/// In a follow-up, which runs on the same worker once the task has released its objects.
struct Then<F>(F);

impl<E, T> Ending<E> for Then<T>
where
    E: Send + 'static,
    T: FnOnce(E, &mut Context) + Send + 'static,
{
    type Given = ();

    fn launch<P: Spawner, A: AccessSet>(
        self,
        task: TaskBuilder<P, A>,
        body: impl for<'v> FnOnce(A::View<'v>) -> E + Send + 'static,
    ) {
        task.spawn(move |view, cx| {
            let event = body(view);
            cx.task(()).spawn(move |(), cx| self.0(event, cx));
        });
    }

    fn launch_read<P: Spawner>(
        self,
        task: TaskBuilder<P, Read<'_, Versioned<Quad>>>,
        read: impl Fn(&Quad) -> E + Send + 'static,
    ) {
        task.read_then(read, self.0);
    }
}

/// A class of objects that operations work on.
trait Operable: Class {
    fn operate<N: Ending<E>, E: 'static>(
        spawner: impl Spawner,
        object: &Object<Self>,
        op: Op,
        wrap: fn(Done) -> E,
        ending: N,
    ) -> N::Given;
}

macro_rules! operable {
    ($($class:ty $(, reads by $read:ident)?;)+) => {$(
        impl Operable for $class {
            fn operate<N: Ending<E>, E: 'static>(
                spawner: impl Spawner,
                object: &Object<Self>,
                op: Op,
                wrap: fn(Done) -> E,
                ending: N,
            ) -> N::Given {
                $(if matches!(op, Op::Look) {
                    return ending.$read(spawner.task(object.read()), move |view| wrap(op.look(&view)));
                })?
                if op.is_read() {
                    ending.launch(spawner.task(object.read()), move |view| wrap(op.look(&view)))
                } else {
                    ending.launch(spawner.task(object.write()), move |mut view| wrap(op.change(&mut view)))
                }
            }
        }
    )+};
}

operable! {
    Plain<Words>;
    Shared<Words>;
    Snapshot<Words>;
    Versioned<Quad>, reads by launch_read;
}

/// The subject of a history: an object, or two.
trait Subject: Clone + Send + Sync + 'static {
    type Op: Copy + Send;
    type Event: Event<State: Default> + Send;
    fn choose(random: &mut Random) -> Self::Op;
    fn act<N: Ending<Self::Event>>(&self, spawner: impl Spawner, op: Self::Op, ending: N) -> N::Given;
}

impl<C: Operable> Subject for Object<C> {
    type Op = Op;
    type Event = Done;
    fn choose(random: &mut Random) -> Op {
        Op::choose(random)
    }
    fn act<N: Ending<Done>>(&self, spawner: impl Spawner, op: Op, ending: N) -> N::Given {
        C::operate(spawner, self, op, |done| done, ending)
    }
}

/// An operation on a pair of objects.
#[derive(Clone, Copy)]
enum OnPair {
    Left(Op),
    Right(Op),
    Both(Both),
}

macro_rules! pairs {
    ($($left:ty, $right:ty;)+) => {$(
        impl Subject for (Object<$left>, Object<$right>) {
            type Op = OnPair;
            type Event = Happened;
            fn choose(random: &mut Random) -> OnPair {
                match random.below(8) {
                    0 | 1 => OnPair::Left(Op::choose(random)),
                    2 | 3 => OnPair::Right(Op::choose(random)),
                    4 => OnPair::Both(Both::Look),
                    5 => OnPair::Both(Both::Copy),
                    _ => OnPair::Both(Both::Move(1 + random.below(3) as u64)),
                }
            }
            fn act<N: Ending<Happened>>(&self, spawner: impl Spawner, op: OnPair, ending: N) -> N::Given {
                let (left, right) = self;
                let both = match op {
                    OnPair::Left(op) => {
                        return <$left>::operate(spawner, left, op, Happened::Left, ending);
                    }
                    OnPair::Right(op) => {
                        return <$right>::operate(spawner, right, op, Happened::Right, ending);
                    }
                    OnPair::Both(both) => both,
                };
                match both {
                    Both::Look => {
                        let task = spawner.task((left.read(), right.read()));
                        ending.launch(task, move |(left, right)| {
                            Happened::Both(both, [look(&left), look(&right)])
                        })
                    }
                    // In the opposite order, so that pairs are not always named in the same order.
                    Both::Move(_) => {
                        let task = spawner.task((right.write(), left.write()));
                        ending.launch(task, move |(mut right, mut left)| {
                            let saw = [look(&left), look(&right)];
                            let [first, second] = both.after([saw[0][0], saw[1][0]]);
                            set(&mut left, first);
                            set(&mut right, second);
                            Happened::Both(both, saw)
                        })
                    }
                    Both::Copy => {
                        ending.launch(spawner.task((left.write(), right.read())), move |(mut left, right)| {
                            let saw = [look(&left), look(&right)];
                            set(&mut left, saw[1][0]);
                            Happened::Both(both, saw)
                        })
                    }
                }
            }
        }
    )+};
}

pairs! {
    Plain<Words>, Plain<Words>;
    Plain<Words>, Snapshot<Words>;
    Shared<Words>, Plain<Words>;
    Shared<Words>, Versioned<Quad>;
    Snapshot<Words>, Snapshot<Words>;
    Versioned<Quad>, Snapshot<Words>;
    Versioned<Quad>, Versioned<Quad>;
}

/// The operations of a history, each with the number of its subject.
type History<S> = Vec<(usize, Span<<S as Subject>::Event>)>;

/// A chain of tasks that hops over the workers and records its operations.
struct Lane<S: Subject> {
    subjects: Arc<[S]>,
    random: Random,
    left: u32,
    clock: Clock,
    history: History<S>,
    promise: Promise<History<S>>,
}

impl<S: Subject> Lane<S> {
    fn go(mut self: Box<Self>, cx: &mut Context) {
        if self.left == 0 {
            let Self { promise, history, .. } = *self;
            return promise.fulfil(history);
        }
        self.left -= 1;
        let part = self.random.below(self.subjects.len());
        let (op, subjects) = (S::choose(&mut self.random), self.subjects.clone());
        let begun = self.clock.tick();
        let end = move |event, cx: &mut Context| {
            let ended = self.clock.tick();
            self.history.push((part, Span { event, begun, ended }));
            let next = self.random.below(16) as u16;
            cx.task(()).core(next).spawn(move |(), cx| self.go(cx));
        };
        subjects[part].act(cx, op, Then(end));
    }
}

/// A plain thread that repeatedly submits a few tasks and waits for them. It cancels some.
fn by_thread<S: Subject>(rt: &Runtime, subjects: &[S], clock: &Clock, seed: u64, count: usize) -> History<S> {
    let mut random = Random::new(seed);
    let mut history = Vec::new();
    for _ in 0..count {
        let mut handles = Vec::new();
        for _ in 0..1 + random.below(4) {
            let part = random.below(subjects.len());
            let op = S::choose(&mut random);
            let begun = clock.tick();
            let handle = subjects[part].act(rt, op, Submit);
            handles.push((part, begun, handle, random.below(8) == 0));
        }
        while !handles.is_empty() {
            let (part, begun, handle, cancels) = handles.swap_remove(random.below(handles.len()));
            let cancelled = cancels && handle.cancel();
            match handle.join() {
                Ok(event) => history.push((part, Span { event, begun, ended: clock.tick() })),
                Err(JoinError::Cancelled) if cancelled => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
    history
}

/// Records one history of some subjects.
fn one_history<S: Subject>(rt: &Runtime, subjects: Arc<[S]>, setting: Setting, seed: u64) {
    const LANES: u64 = 4;
    let clock = Clock::default();
    let lanes: Vec<_> = (0..LANES)
        .map(|number| {
            let (promise, handle) = rt.promise();
            let random = Random::new(seed * 100 + number);
            let (subjects, clock) = (subjects.clone(), clock.clone());
            let lane = Box::new(Lane { subjects, random, left: 12, clock, history: Vec::new(), promise });
            rt.task(()).core(number as u16).spawn(move |(), cx| lane.go(cx));
            handle
        })
        .collect();
    // In a simulation there is one thread, so that the seed alone determines the run.
    let threads = 50..if setting.is_simulation() { 51 } else { 52 };
    let (subjects, clock) = (&subjects, &clock);
    let run = threads.map(|number| move || by_thread(rt, subjects, clock, seed * 100 + number, 6));
    let mut history = side_by_side(run).concat();
    for lane in lanes {
        history.extend(lane.join().expect("a lane of tasks"));
    }
    history::check(history, &Default::default());
}

fn of_an_object<C: Operable>(rt: &Runtime, object: Object<C>, setting: Setting, seed: u64) {
    let _blame = Blame((type_name::<C>(), object.primitive(), seed));
    one_history(rt, [object].into(), setting, seed);
}

fn of_a_pair<A, B>(rt: &Runtime, (left, right): (Object<A>, Object<B>), setting: Setting, seed: u64)
where
    A: Class,
    B: Class,
    (Object<A>, Object<B>): Subject,
{
    let _blame = Blame((type_name::<(A, B)>(), left.primitive(), right.primitive(), seed));
    one_history(rt, [(left, right)].into(), setting, seed);
}

/// Returns the number of seeds: half of them with each queue policy of its own, a quarter under a
/// sanitizer.
fn fewer(seeds: u64) -> u64 {
    match part_of_policy(1) {
        _ if PATIENCE > 1 => seeds.div_ceil(4),
        Some(_) => seeds.div_ceil(2),
        None => seeds,
    }
}

/// Every class with every primitive.
fn of_all_objects(setting: Setting, seeds: u64) {
    let rt = setting.build();
    for seed in 0..fewer(seeds) {
        let _watched = watchdog();
        every_primitive!(&rt, of_an_object, setting, seed + 100 * setting.seed());
    }
}

/// Each primitive together with the others, and with itself.
fn of_pairs(setting: Setting, seeds: u64) {
    let rt = &setting.build();
    for seed in (0..fewer(seeds)).map(|seed| seed + 100 * setting.seed()) {
        let _watched = watchdog();
        macro_rules! each {
            ($($left:ident $one:ident, $right:ident $other:ident;)+) => {$(
                of_a_pair(rt, (new!($left $one), new!($right $other)), setting, seed);
            )+};
        }
        macro_rules! new {
            (versioned $primitive:ident) => {
                rt.versioned(Quad::default()).pin($primitive).build()
            };
            ($class:ident $primitive:ident) => {
                rt.$class([0; 4]).pin($primitive).build()
            };
        }
        each! {
            plain Sequencing, plain Sequencing;
            plain SpinLatch, plain SpinLatch;
            plain Sequencing, plain SpinLatch;
            plain Sequencing, snapshot OptimisticLatched;
            plain SpinLatch, snapshot OptimisticSequenced;
            shared_reads ReaderWriterLatch, plain Sequencing;
            shared_reads Sequencing, plain SpinLatch;
            shared_reads ReaderWriterLatch, versioned ReaderWriterLatch;
            shared_reads SpinLatch, versioned OptimisticLatched;
            snapshot OptimisticSequenced, snapshot OptimisticSequenced;
            snapshot OptimisticLatched, snapshot OptimisticSequenced;
            versioned OptimisticSequenced, snapshot OptimisticSequenced;
            versioned OptimisticLatched, snapshot OptimisticLatched;
            versioned Sequencing, versioned OptimisticSequenced;
            versioned OptimisticLatched, versioned OptimisticLatched;
            versioned OptimisticSequenced, versioned SpinLatch;
        }
    }
}

#[test]
fn operations_on_an_object_have_an_order_on_threads() {
    on_each_unwatched(Setting::threads(), |setting| of_all_objects(setting, 6));
}

#[test]
fn operations_on_an_object_have_an_order_in_a_simulation() {
    on_each_unwatched(Setting::simulations(&[1]), |setting| of_all_objects(setting, 30));
}

#[test]
fn operations_on_a_pair_of_objects_have_an_order_on_threads() {
    on_each_unwatched(Setting::threads(), |setting| of_pairs(setting, 4));
}

#[test]
fn operations_on_a_pair_of_objects_have_an_order_in_a_simulation() {
    on_each_unwatched(Setting::simulations(&[1]), |setting| of_pairs(setting, 30));
}
