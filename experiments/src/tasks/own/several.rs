//! Tasks with two objects.

use super::{CHUNK, Stage, drive, failed};
use crate::tasks::tally::expect;
use std::sync::Arc;
use std::time::{Duration, Instant};
use xtasking::{
    Object, Plain, Primitive, Runtime,
    primitive::{Sequencing, SpinLatch},
    task::LegalFor,
};
use xtasking_harness::failure::Wrong;

/// Creates an object with a given home. The runtime assigns homes in turn, so a few attempts
/// suffice.
fn at_home(rt: &Runtime, home: usize) -> Result<Object<Plain<u64>>, Wrong> {
    let attempts = 0..100 * rt.workers();
    let mut objects = attempts.map(|_| rt.plain(0).pin(Sequencing).build());
    objects
        .find(|object| object.home() == home)
        .ok_or_else(|| Wrong::new(format!("no object got worker {home} as its home")))
}

fn anywhere<P: LegalFor<Plain<u64>>>(rt: &Runtime, primitive: P) -> Object<Plain<u64>> {
    rt.plain(0).pin(primitive).build()
}

/// All workers spawn tasks that write two objects.
fn both(stage: &Stage, tasks: u64, a: Object<Plain<u64>>, b: Object<Plain<u64>>) -> Result<Duration, Wrong> {
    let rt = &stage.own;
    let objects = Arc::new((a, b));
    let targets = objects.clone();
    let outcome = drive(rt, stage.workers, tasks, CHUNK, move |cx, _| {
        cx.task((targets.0.write(), targets.1.write())).spawn(|(a, b), _| {
            *a += 1;
            *b += 1;
        });
    })?;
    // Tasks on the same objects run in order, so this one is the last.
    let last = rt.task((objects.0.read(), objects.1.read())).submit(|(a, b), _| (*a, *b, Instant::now()));
    let (a, b, ended) = last.join().map_err(failed)?;
    expect("first object", a, tasks)?;
    expect("second object", b, tasks)?;
    // Tasks under latches have run when the gate closes. Sequenced ones may run later, but before
    // `last`.
    let is_sequenced = objects.0.primitive() == Primitive::Sequencing;
    Ok(if is_sequenced { ended.duration_since(outcome.began) } else { outcome.time })
}

/// Two objects sequenced at worker 0.
pub(in crate::tasks) fn one_home(stage: &Stage, tasks: u64) -> Result<Duration, Wrong> {
    both(stage, tasks, at_home(&stage.own, 0)?, at_home(&stage.own, 0)?)
}

/// Two objects sequenced at workers 0 and 1.
pub(in crate::tasks) fn two_homes(stage: &Stage, tasks: u64) -> Result<Duration, Wrong> {
    both(stage, tasks, at_home(&stage.own, 0)?, at_home(&stage.own, 1)?)
}

/// Two objects under spin latches.
pub(in crate::tasks) fn latched(stage: &Stage, tasks: u64) -> Result<Duration, Wrong> {
    both(stage, tasks, anywhere(&stage.own, SpinLatch), anywhere(&stage.own, SpinLatch))
}
