//! Buckets of granules: a thread is alone in a bucket, or shares it as inner buckets that are
//! claimed one by one.

use super::claim::run;
use super::platform::standing;
use super::{Watched, model};
use crate::claims::{BucketLock, Phase};
use crate::sync::global::AtomicU64;
use crate::sync::{Relaxed, yield_now};
use crate::{
    Granules, Handle, Runtime,
    claims::{Control, Directory},
};
use loom::thread;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

#[test]
fn a_bucket_is_locked_by_one_at_a_time() {
    model(5, || {
        let bucket = Arc::new((BucketLock::default(), Watched::new(0)));
        let there = bucket.clone();
        let other = thread::spawn(move || {
            let (lock, value) = &*there;
            lock.lock(|| ());
            value.add(1);
            lock.unlock();
        });
        let (lock, value) = &*bucket;
        let looked = lock.try_lock();
        if looked {
            value.add(1);
            lock.unlock();
        }
        lock.lock(|| ());
        value.add(1);
        lock.unlock();
        other.join().unwrap();
        lock.lock(|| ());
        assert_eq!(value.get(), 2 + u64::from(looked));
    });
}

/// A host's inner buckets, with their contents, and how many of them thieves have claimed.
struct Inner<const BUCKETS: usize> {
    phase: Phase,
    buckets: [Watched; BUCKETS],
    /// Counts over all executions, outside the model: it orders nothing.
    stolen: Arc<AtomicU64>,
}

impl<const BUCKETS: usize> Inner<BUCKETS> {
    fn new(stolen: &Arc<AtomicU64>) -> Arc<Self> {
        let buckets = [(); BUCKETS].map(|()| Watched::new(0));
        Arc::new(Self { phase: Phase::new(BUCKETS), buckets, stolen: stolen.clone() })
    }

    /// Claims buckets until none is left. The contents of each are taken out once.
    fn claim_all(&self) -> u64 {
        let mut count = 0;
        while let Some(claimed) = self.phase.claim() {
            let bucket = &self.buckets[claimed.bucket];
            assert_eq!(bucket.get(), 1, "a bucket was claimed twice, or before it was filled");
            bucket.set(0);
            count += 1;
        }
        count
    }

    fn steal(&self) {
        let count = self.claim_all();
        self.stolen.fetch_add(count, Relaxed);
    }

    /// Fills the buckets `phases` times, and each time claims what thieves do not.
    fn host(&self, phases: usize) {
        for _ in 0..phases {
            self.buckets.iter().for_each(|bucket| bucket.add(1));
            self.phase.open();
            self.claim_all();
            while !self.phase.is_over() {
                yield_now();
            }
        }
        assert!(self.buckets.iter().all(|bucket| bucket.get() == 0));
    }
}

/// Runs a model, and asserts that thieves have stolen something in at least one execution.
fn with_thieves(preemptions: usize, run: impl Fn(&Arc<AtomicU64>) + Send + Sync + 'static) {
    let stolen = Arc::new(AtomicU64::new(0));
    let noted = stolen.clone();
    model(preemptions, move || run(&noted));
    assert!(stolen.load(Relaxed) > 0, "thieves came too late in all executions");
}

#[test]
fn a_thief_beside_two_phases_is_in_neither_or_counted() {
    with_thieves(4, |stolen| {
        let inner = Inner::<2>::new(stolen);
        let there = inner.clone();
        let thief = thread::spawn(move || there.steal());
        inner.host(2);
        thief.join().unwrap();
    });
}

#[test]
fn two_thieves_claim_different_buckets() {
    with_thieves(2, |stolen| {
        let inner = Inner::<3>::new(stolen);
        let thieves = [inner.clone(), inner.clone()].map(|there| thread::spawn(move || there.steal()));
        inner.host(2);
        thieves.into_iter().for_each(|thief| thief.join().unwrap());
    });
}

#[test]
fn a_thief_that_unwinds_is_counted() {
    with_thieves(2, |stolen| {
        let inner = Inner::<2>::new(stolen);
        let there = inner.clone();
        let thief = thread::spawn(move || {
            let unwinds = catch_unwind(AssertUnwindSafe(|| {
                if let Some(claimed) = there.phase.claim() {
                    there.buckets[claimed.bucket].set(0);
                    there.stolen.fetch_add(1, Relaxed);
                    std::panic::resume_unwind(Box::new(()));
                }
            }));
            drop(unwinds);
        });
        inner.host(1);
        thief.join().unwrap();
    });
}

/// Makes four granules in two outer buckets, with data that loom watches.
fn granules(runtime: &Runtime) -> Granules<Watched> {
    runtime.granules_with_control(Control::Toggle, Directory::default(), [0; 4].map(Watched::new))
}

/// Spawns a task that adds one at each granule of a range, bound to a worker if `core` names one.
fn add(
    runtime: &Runtime,
    core: Option<u16>,
    granules: &Granules<Watched>,
    range: std::ops::Range<u32>,
) -> Handle<()> {
    let task = runtime.task(());
    let task =
        if let Some(core) = core { task.core(core) } else { task }.claim(granules.write(range.clone()));
    task.submit_with(move |(), mut held, _cx| range.for_each(|granule| held.get_mut(granule).add(1)))
}

/// One host runs a task that reaches into the other host's bucket, which is in inner mode.
#[test]
fn a_task_that_spans_buckets_keeps_off_their_hosts() {
    model(5, || {
        let (runtime, drivers) = standing(2);
        let granules = granules(&runtime);
        let handles = [add(&runtime, None, &granules, 1..3), add(&runtime, None, &granules, 2..3)];
        run(drivers, handles);
    });
}

/// A host runs a task of its own bucket while a task bound to another worker comes for a granule
/// there.
#[test]
fn a_host_keeps_others_off_its_own_bucket() {
    model(5, || {
        let (runtime, drivers) = standing(2);
        let granules = granules(&runtime);
        let handles = [add(&runtime, None, &granules, 1..3), add(&runtime, Some(1), &granules, 1..2)];
        run(drivers, handles);
    });
}

/// Two inner buckets with a task each, and a worker without other work.
#[test]
fn an_idle_worker_is_called_to_help() {
    with_thieves(4, |stolen| {
        let (runtime, mut drivers) = standing(2);
        // It has found nothing.
        drivers[1].step(8);
        let granules = granules(&runtime);
        let handles = [0, 1].map(|granule| {
            let stolen = stolen.clone();
            let task = runtime.task(()).claim(granules.write(granule..granule + 1));
            task.submit_with(move |(), mut held, cx| {
                held.get_mut(granule).add(1);
                stolen.fetch_add(cx.worker() as u64, Relaxed);
            })
        });
        run(drivers, handles);
    });
}

/// Both tasks span the two buckets.
#[test]
fn tasks_that_meet_in_two_buckets_do_not_block_each_other() {
    model(4, || {
        let (runtime, drivers) = standing(2);
        let granules = granules(&runtime);
        let handles = [add(&runtime, None, &granules, 1..3), add(&runtime, Some(1), &granules, 0..4)];
        run(drivers, handles);
    });
}

#[test]
fn a_task_that_comes_while_a_host_leaves_is_run() {
    model(5, || {
        let (runtime, mut drivers) = standing(1);
        let granules = granules(&runtime);
        let first = add(&runtime, None, &granules, 0..1);
        let mut driver = drivers.pop().unwrap();
        let worker = thread::spawn(move || {
            driver.step(8);
            driver
        });
        let second = add(&runtime, None, &granules, 0..1);
        run(vec![worker.join().unwrap()], [first, second]);
    });
}

/// The first granule names another granule that a task is to change. Meanwhile it is changed from
/// one in the same inner bucket to one in the other worker's bucket.
#[test]
fn a_plan_with_a_new_result_is_requeued_elsewhere() {
    model(3, || {
        let (runtime, drivers) = standing(2);
        let granules = granules(&runtime);
        let set = runtime.task(()).core(1).claim(granules.write(0..1));
        let first = set.submit_with(|(), mut held, _cx| held.get_mut(0).set(3));
        let claim = granules.planned(|view| {
            if let Some(next) = view.peek(0, Watched::get) {
                view.write(next as u32..next as u32 + 1);
            }
        });
        let second = runtime.task(()).claim(claim).submit_with(|(), mut held, _cx| {
            let next = held.get(0).get() as u32;
            held.get_mut(next).add(1);
        });
        let other = add(&runtime, None, &granules, 3..4);
        run(drivers, [first, second, other]);
    });
}
