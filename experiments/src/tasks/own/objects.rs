//! Tasks with one object, for every primitive.

use super::{CHUNK, Stage, drive};
use crate::tasks::tally::{self, expect};
use crate::ycsb::plan::Wrong;
use std::sync::Arc;
use std::time::Duration;
use xtasking::{
    Class, Context, Object, OptimisticLatched, OptimisticSequenced, Plain, ReaderWriterLatch, Runtime,
    Sequencing, Shared, Snapshot, SpinLatch, Version, Versioned, Word,
};

/// Objects of the cases with many: more than fit into the caches next to a core.
const MANY: usize = 1 << 15;

/// A disturbed reader is put back three times and then sent to the object's home, each time behind one gate more: fewer
/// gates than this.
const LATEST: usize = 8;

/// A class of objects that hold a number, under one primitive.
pub(in crate::tasks) trait Kind: 'static {
    /// The class.
    type Class: Class;
    /// An object that holds this number.
    fn build(rt: &Runtime, number: u64) -> Object<Self::Class>;
    /// Spawns a task that adds one to the number.
    fn write(cx: &mut Context, object: &Object<Self::Class>);
    /// Spawns a task that adds the number to the tally.
    fn read(cx: &mut Context, object: &Object<Self::Class>);
}

/// A number that is read while it may be written.
#[derive(Default)]
pub(in crate::tasks) struct Node(Word);

// SAFETY: all that changes is a word.
#[allow(unsafe_code, reason = "this is how a node says so")]
unsafe impl Version for Node {}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident: $class:ty, $new:ident($number:ident: $value:expr), $primitive:ident,
        write |$view:ident| $write:expr, read $read:ident $then:expr;)+) => {$(
        $(#[$doc])*
        pub(in crate::tasks) struct $name;

        impl Kind for $name {
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
    (seen $cx:ident, $object:ident, $then:expr) => { $cx.task($object.read()).spawn(|view, cx| ($then)(view, cx)) };
    (validated $cx:ident, $object:ident, $then:expr) => {
        $cx.task($object.read()).read_then(|node| node.0.get(), |number, cx| ($then)(&number, cx))
    };
}

kinds! {
    /// Sequenced.
    Sequenced: Plain<u64>, plain(number: number), Sequencing,
        write |view| *view += 1, read seen |number: &u64, cx: &Context| tally::add(cx.worker(), *number);
    /// Under a spin latch.
    Spin: Plain<u64>, plain(number: number), SpinLatch,
        write |view| *view += 1, read seen |number: &u64, cx: &Context| tally::add(cx.worker(), *number);
    /// Under a reader/writer latch.
    ReaderWriter: Shared<u64>, shared_reads(number: number), ReaderWriterLatch,
        write |view| *view += 1, read seen |number: &u64, cx: &Context| tally::add(cx.worker(), *number);
    /// Read in place by version, writers sequenced.
    VersionSequenced: Versioned<Node>, versioned(number: Node(Word::new(number))), OptimisticSequenced,
        write |view| view.0.set(view.0.get() + 1, view.token()),
        read validated |number: &u64, cx: &Context| tally::add(cx.worker(), *number);
    /// Read in place by version, writers latched.
    VersionLatched: Versioned<Node>, versioned(number: Node(Word::new(number))), OptimisticLatched,
        write |view| view.0.set(view.0.get() + 1, view.token()),
        read validated |number: &u64, cx: &Context| tally::add(cx.worker(), *number);
    /// Read by copies, writers sequenced.
    CopySequenced: Snapshot<u64>, snapshot(number: number), OptimisticSequenced,
        write |view| *view += 1, read seen |number: &u64, cx: &Context| tally::add(cx.worker(), *number);
    /// Read by copies, writers latched.
    CopyLatched: Snapshot<u64>, snapshot(number: number), OptimisticLatched,
        write |view| *view += 1, read seen |number: &u64, cx: &Context| tally::add(cx.worker(), *number);
}

/// Where the tasks of a run meet.
struct Objects<K: Kind> {
    list: Vec<Object<K::Class>>,
    seed: u64,
}

impl<K: Kind> Objects<K> {
    fn new(stage: &Stage, count: usize, number: u64) -> Arc<Self> {
        let list = (0..count).map(|_| K::build(&stage.own, number)).collect();
        Arc::new(Self { list, seed: stage.seed })
    }

    /// The object of a task: as good as any, so that no hardware guesses it.
    #[inline(always)]
    fn of(&self, task: u64) -> &Object<K::Class> {
        // Multiplying by an odd constant spreads; the highest bits are the best of the product.
        let spread = (task ^ self.seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.list[((u128::from(spread) * self.list.len() as u128) >> 64) as usize]
    }
}

fn writes<K: Kind>(stage: &Stage, tasks: u64, count: usize) -> Result<Duration, Wrong> {
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

fn reads<K: Kind>(stage: &Stage, tasks: u64, count: usize) -> Result<Duration, Wrong> {
    let objects = Objects::<K>::new(stage, count, 1);
    let outcome =
        drive(&stage.own, stage.workers, tasks, CHUNK, move |cx, task| K::read(cx, objects.of(task)))?;
    expect("sum of all that was read", outcome.tally, tasks)?;
    Ok(outcome.time)
}

/// All workers read and write the same object: every other task writes, and readers are disturbed.
pub(in crate::tasks) fn mix_one<K: Kind>(stage: &Stage, tasks: u64) -> Result<Duration, Wrong> {
    let objects = Objects::<K>::new(stage, 1, 0);
    let targets = objects.clone();
    let outcome = drive(&stage.own, stage.workers, tasks, CHUNK, move |cx, task| match task % 2 {
        0 => K::write(cx, targets.of(task)),
        _ => K::read(cx, targets.of(task)),
    })?;
    // Readers that were disturbed were put back, at most so often, and came to the gate late.
    let mut read = outcome.tally;
    for _ in 0..LATEST {
        read += drive(&stage.own, stage.workers, stage.workers as u64, 1, |_, _| {})?.tally;
    }
    let writes = tasks.div_ceil(2);
    if read > (tasks - writes) * writes {
        return Err(Wrong::new(format!("{read} was read after {writes} additions of 1")));
    }
    let found = drive(&stage.own, 1, 1, CHUNK, move |cx, index| K::read(cx, objects.of(index)))?;
    expect("the object's number", found.tally, writes)?;
    Ok(outcome.time)
}

/// All workers write the same object.
pub(in crate::tasks) fn write_one<K: Kind>(stage: &Stage, tasks: u64) -> Result<Duration, Wrong> {
    writes::<K>(stage, tasks, 1)
}

/// All workers write some of many objects.
pub(in crate::tasks) fn write_many<K: Kind>(stage: &Stage, tasks: u64) -> Result<Duration, Wrong> {
    writes::<K>(stage, tasks, MANY)
}

/// All workers read the same object.
pub(in crate::tasks) fn read_one<K: Kind>(stage: &Stage, tasks: u64) -> Result<Duration, Wrong> {
    reads::<K>(stage, tasks, 1)
}

/// All workers read some of many objects.
pub(in crate::tasks) fn read_many<K: Kind>(stage: &Stage, tasks: u64) -> Result<Duration, Wrong> {
    reads::<K>(stage, tasks, MANY)
}
