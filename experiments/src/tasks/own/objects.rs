//! Tasks with one object, for every primitive.

use super::{CHUNK, Stage, drive};
use crate::tasks::tally::{self, expect};
use std::sync::Arc;
use std::time::Duration;
use xtasking::{
    Context, Object, Plain, Runtime, Shared, Snapshot, Version, Versioned, Word,
    primitive::{Class, OptimisticLatched, OptimisticSequenced, ReaderWriterLatch, Sequencing, SpinLatch},
};
use xtasking_harness::failure::Wrong;

/// Number of objects in the cases with many objects: more than a core's own caches hold.
const OBJECT_COUNT: usize = 1 << 15;

/// Further gates after which every reader has run. The runtime requeues a failed optimistic reader
/// three times and then sends it to the object's home; each time it may run one gate later.
const LATE_GATES: usize = 8;

/// A kind of object that holds a number: a class and a primitive.
pub(in crate::tasks) trait ObjectKind: 'static {
    /// The class.
    type Class: Class;
    /// Creates an object that holds a number.
    fn build(rt: &Runtime, number: u64) -> Object<Self::Class>;
    /// Spawns a task that adds one to the number.
    fn write(cx: &mut Context, object: &Object<Self::Class>);
    /// Spawns a task that adds the number to the tally.
    fn read(cx: &mut Context, object: &Object<Self::Class>);
}

/// A number that may be read while it is written.
#[derive(Default)]
pub(in crate::tasks) struct Node(Word);

impl Version for Node {}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident: $class:ty, $new:ident($number:ident: $value:expr), $primitive:ident,
        write |$view:ident| $write:expr, read $read:ident $then:expr;)+) => {$(
        $(#[$doc])*
        pub(in crate::tasks) struct $name;

        impl ObjectKind for $name {
            type Class = $class;
            fn build(rt: &Runtime, $number: u64) -> Object<$class> {
                rt.$new($value).pin($primitive).build()
            }
            #[inline(always)]
            fn write(cx: &mut Context, object: &Object<$class>) {
                cx.task(object.write()).spawn(|$view, _| $write);
            }
            #[inline(always)]
            fn read(cx: &mut Context, object: &Object<$class>) {
                kinds!($read cx, object, $then);
            }
        }
    )+};
    (by_view $cx:ident, $object:ident, $then:expr) => {
    $cx.task($object.read()).spawn(|view, cx| ($then)(view, cx))
    };
    (validated $cx:ident, $object:ident, $then:expr) => {
        $cx.task($object.read()).read_then(|node| node.0.get(), |number, cx| ($then)(&number, cx))
    };
}

kinds! {
    /// Plain data, sequenced.
    Sequenced: Plain<u64>, plain(number: number), Sequencing,
        write |view| *view += 1, read by_view |number: &u64, cx: &Context| tally::add(cx.worker(), *number);
    /// Plain data under a spin latch.
    Spin: Plain<u64>, plain(number: number), SpinLatch,
        write |view| *view += 1, read by_view |number: &u64, cx: &Context| tally::add(cx.worker(), *number);
    /// Data under a reader/writer latch.
    ReaderWriter: Shared<u64>, shared_reads(number: number), ReaderWriterLatch,
        write |view| *view += 1, read by_view |number: &u64, cx: &Context| tally::add(cx.worker(), *number);
    /// Versioned data, read in place; writers sequenced.
    VersionSequenced: Versioned<Node>, versioned(number: Node(Word::new(number))), OptimisticSequenced,
        write |view| view.0.set(view.0.get() + 1, view.token()),
        read validated |number: &u64, cx: &Context| tally::add(cx.worker(), *number);
    /// Versioned data, read in place; writers latched.
    VersionLatched: Versioned<Node>, versioned(number: Node(Word::new(number))), OptimisticLatched,
        write |view| view.0.set(view.0.get() + 1, view.token()),
        read validated |number: &u64, cx: &Context| tally::add(cx.worker(), *number);
    /// Snapshots, read as copies; writers sequenced.
    CopySequenced: Snapshot<u64>, snapshot(number: number), OptimisticSequenced,
        write |view| *view += 1, read by_view |number: &u64, cx: &Context| tally::add(cx.worker(), *number);
    /// Snapshots, read as copies; writers latched.
    CopyLatched: Snapshot<u64>, snapshot(number: number), OptimisticLatched,
        write |view| *view += 1, read by_view |number: &u64, cx: &Context| tally::add(cx.worker(), *number);
}

/// The objects of a run.
struct Objects<K: ObjectKind> {
    list: Vec<Object<K::Class>>,
    seed: u64,
}

impl<K: ObjectKind> Objects<K> {
    fn new(stage: &Stage, count: usize, number: u64) -> Arc<Self> {
        let list = (0..count).map(|_| K::build(&stage.own, number)).collect();
        Arc::new(Self { list, seed: stage.seed })
    }

    /// Returns the object of a task, chosen by a hash so that hardware cannot predict it.
    #[inline(always)]
    fn of(&self, task: u64) -> &Object<K::Class> {
        // Fibonacci hashing: the high bits of the product are well mixed.
        let spread = (task ^ self.seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.list[((u128::from(spread) * self.list.len() as u128) >> 64) as usize]
    }
}

fn writes<K: ObjectKind>(stage: &Stage, tasks: u64, count: usize) -> Result<Duration, Wrong> {
    let objects = Objects::<K>::new(stage, count, 0);
    let targets = objects.clone();
    let outcome =
        drive(&stage.own, stage.workers, tasks, CHUNK, move |cx, task| K::write(cx, targets.of(task)))?;
    let found = drive(&stage.own, 1, count as u64, CHUNK, move |cx, index| {
        K::read(cx, &objects.list[index as usize]);
    })?;
    expect("sum of all objects", found.tally, tasks)?;
    Ok(outcome.time)
}

fn reads<K: ObjectKind>(stage: &Stage, tasks: u64, count: usize) -> Result<Duration, Wrong> {
    let objects = Objects::<K>::new(stage, count, 1);
    let outcome =
        drive(&stage.own, stage.workers, tasks, CHUNK, move |cx, task| K::read(cx, objects.of(task)))?;
    expect("sum of all that was read", outcome.tally, tasks)?;
    Ok(outcome.time)
}

/// All workers access one object: every second task writes, so that optimistic readers fail.
pub(in crate::tasks) fn mix_one<K: ObjectKind>(stage: &Stage, tasks: u64) -> Result<Duration, Wrong> {
    let objects = Objects::<K>::new(stage, 1, 0);
    let targets = objects.clone();
    let outcome = drive(&stage.own, stage.workers, tasks, CHUNK, move |cx, task| match task % 2 {
        0 => K::write(cx, targets.of(task)),
        _ => K::read(cx, targets.of(task)),
    })?;
    // Readers that failed may have run after the first gate.
    let mut read = outcome.tally;
    for _ in 0..LATE_GATES {
        read += drive(&stage.own, stage.workers, stage.workers as u64, 1, |_, _| {})?.tally;
    }
    let writes = tasks.div_ceil(2);
    if read > (tasks - writes) * writes {
        return Err(Wrong::new(format!("the sum of all reads is {read} after {writes} increments")));
    }
    let found = drive(&stage.own, 1, 1, CHUNK, move |cx, index| K::read(cx, objects.of(index)))?;
    expect("the object's number", found.tally, writes)?;
    Ok(outcome.time)
}

/// All workers write one object.
pub(in crate::tasks) fn write_one<K: ObjectKind>(stage: &Stage, tasks: u64) -> Result<Duration, Wrong> {
    writes::<K>(stage, tasks, 1)
}

/// All workers write random objects of many.
pub(in crate::tasks) fn write_many<K: ObjectKind>(stage: &Stage, tasks: u64) -> Result<Duration, Wrong> {
    writes::<K>(stage, tasks, OBJECT_COUNT)
}

/// All workers read one object.
pub(in crate::tasks) fn read_one<K: ObjectKind>(stage: &Stage, tasks: u64) -> Result<Duration, Wrong> {
    reads::<K>(stage, tasks, 1)
}

/// All workers read random objects of many.
pub(in crate::tasks) fn read_many<K: ObjectKind>(stage: &Stage, tasks: u64) -> Result<Duration, Wrong> {
    reads::<K>(stage, tasks, OBJECT_COUNT)
}
