//! Tasks with two objects.

use super::{CHUNK, Stage, drive, failed};
use crate::tasks::tally::expect;
use crate::ycsb::plan::Wrong;
use std::sync::Arc;
use std::time::{Duration, Instant};
use xtasking::{LegalFor, Object, Plain, Primitive, Runtime, Sequencing, SpinLatch};

/// An object of a home; homes are given in turn, so that a few tries are enough.
fn at_home(rt: &Runtime, home: usize) -> Result<Object<Plain<u64>>, Wrong> {
    let tries = 0..100 * rt.workers();
    let mut objects = tries.map(|_| rt.plain(0).pin(Sequencing).build());
    objects
        .find(|object| object.home() == home)
        .ok_or_else(|| Wrong::new("no object got the home that was wanted"))
}

fn anywhere<P: LegalFor<Plain<u64>>>(rt: &Runtime, primitive: P) -> Object<Plain<u64>> {
    rt.plain(0).pin(primitive).build()
}

/// All workers spawn tasks that write both objects.
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
    // Tasks on the same objects keep their order: this one is the last.
    let last = rt.task((objects.0.read(), objects.1.read())).submit(|(a, b), _| (*a, *b, Instant::now()));
    let (a, b, ended) = last.join().map_err(failed)?;
    expect("first object", a, tasks)?;
    expect("second object", b, tasks)?;
    // What latches grant has run when everybody has passed the gate; what homes grant may come later, but in order.
    let ordered = objects.0.primitive() == Primitive::Sequencing;
    Ok(if ordered { ended.duration_since(outcome.began) } else { outcome.time })
}

/// Both sequenced at worker 0.
pub(in crate::tasks) fn one_home(stage: &Stage, tasks: u64) -> Result<Duration, Wrong> {
    both(stage, tasks, at_home(&stage.own, 0)?, at_home(&stage.own, 0)?)
}

/// Sequenced at workers 0 and 1.
pub(in crate::tasks) fn two_homes(stage: &Stage, tasks: u64) -> Result<Duration, Wrong> {
    both(stage, tasks, at_home(&stage.own, 0)?, at_home(&stage.own, 1)?)
}

/// Both under spin latches.
pub(in crate::tasks) fn latched(stage: &Stage, tasks: u64) -> Result<Duration, Wrong> {
    both(stage, tasks, anywhere(&stage.own, SpinLatch), anywhere(&stage.own, SpinLatch))
}
