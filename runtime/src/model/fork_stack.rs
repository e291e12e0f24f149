//! A fork stack beside thieves: each job has one thread that runs it, which sees what was written
//! before, and whose result its owner sees.

use super::{Watched, model};
use crate::Fork;
use crate::annotation::Priority;
use crate::fork::{ForkStack, Handover, Job, Path, Thief, Top};
use crate::sync::{SeqCst, fence, yield_now};
use crate::task::Meta;
use core::ptr::{NonNull, null_mut};
use loom::thread;
use std::sync::Arc;

/// A stack, and what its jobs would do.
struct Setting {
    stack: ForkStack,
    /// What each job finds, and how often it has run.
    bodies: [Watched; 2],
    runs: [Watched; 2],
}

/// The jobs of these models are run by hand.
unsafe fn run_nothing(_: NonNull<Job>, _: Option<Fork<'_>>) {}

fn barrier() -> bool {
    fence(SeqCst);
    true
}

fn no_barrier() -> bool {
    false
}

impl Setting {
    fn new(is_eager: bool) -> Arc<Self> {
        let (bodies, runs) = Default::default();
        Arc::new(Self { stack: ForkStack::new(is_eager), bodies, runs })
    }

    /// For the owner: begins a task.
    fn begin(&self) -> Top {
        self.stack.own().begin(null_mut(), Meta::new(0, Priority::Normal, 0), None)
    }

    /// For the owner: pushes job `number`, and returns the new top.
    fn push(&self, at: Top, number: usize) -> Top {
        self.bodies[number].set(7);
        // SAFETY: `at` is the top of this thread's stack, and not its last slot.
        let top = unsafe {
            Job::push(at.slot(), run_nothing);
            at.next()
        };
        if at.leaves_fast_path() {
            self.stack.own().make_room(top);
            if self.stack.own().take_request() {
                // SAFETY: the caller is at `top`.
                unsafe { self.stack.own().publish(top) };
            }
        }
        top
    }

    fn run(&self, number: usize) {
        assert_eq!(self.bodies[number].get(), 7);
        self.runs[number].add(1);
    }

    /// For the owner: pops job `number` at `at`, and runs it or waits for its thief.
    fn pop(&self, at: Top, number: usize) {
        // SAFETY: the topmost job is at `at`. A job that was taken stays until it is settled.
        unsafe {
            if Job::pop(at.slot()) || Job::pop_public(at.slot()) {
                self.run(number);
            } else {
                let handover = Job::handover(at.slot());
                assert!(handover.thief() > 0);
                while !handover.state().is_done() {
                    yield_now();
                }
                self.stack.own().settle(at);
            }
        }
        assert_eq!(self.runs[number].get(), 1);
    }

    /// For a worker without jobs: steals one.
    fn take(&self, worker: usize, barrier: Option<&dyn Fn() -> bool>) -> Option<NonNull<Job>> {
        self.stack.steal(Thief { worker, at: self.stack.own().bottom() }, || true, barrier)
    }

    /// For a thief: steals a job, and runs it as this number. Returns true if there was one.
    fn steal_as(
        &self,
        number: impl FnOnce(NonNull<Job>) -> usize,
        thief: usize,
        barrier: Option<&dyn Fn() -> bool>,
    ) -> bool {
        let Some(job) = self.take(thief, barrier) else { return false };
        self.run(number(job));
        self.finish(job);
        true
    }

    /// For a thief: steals a job that it runs as number 0. Returns true if there was one.
    fn steal(&self, barrier: Option<&dyn Fn() -> bool>) -> bool {
        self.steal_as(|_| 0, 1, barrier)
    }

    /// For the owner: runs a task with one job.
    fn run_task(&self) {
        let bottom = self.begin();
        self.push(bottom, 0);
        self.pop(bottom, 0);
    }

    fn finish(&self, job: NonNull<Job>) {
        // SAFETY: this thread took the job and has run it.
        let sleeper = unsafe { Handover::finish(NonNull::from(Job::handover(job))) };
        assert_eq!(sleeper, None);
    }
}

/// Runs a task with one job beside a thief.
fn one_job_beside(thief: fn(&Setting), is_eager: bool) {
    model(4, move || {
        let here = Setting::new(is_eager);
        let there = here.clone();
        let thief = thread::spawn(move || thief(&there));
        here.run_task();
        thief.join().unwrap();
    });
}

#[test]
fn a_private_job_is_run_once_by_its_owner_or_a_thief() {
    one_job_beside(|there| _ = there.steal(Some(&barrier)), false);
}

#[test]
fn a_job_in_a_slot_that_a_thief_has_published_is_run_once() {
    model(3, || {
        let here = Setting::new(false);
        let there = here.clone();
        let bottom = here.begin();
        here.push(bottom, 0);
        // If the thief comes too late for the first job, it finds the second in the same slot.
        let thief = thread::spawn(move || {
            there.steal_as(|_| there.runs[0].get() as usize, 1, Some(&barrier));
        });
        here.pop(bottom, 0);
        here.push(bottom, 1);
        here.pop(bottom, 1);
        thief.join().unwrap();
    });
}

#[test]
fn an_eager_job_is_run_once_by_its_owner_or_a_thief() {
    one_job_beside(|there| _ = there.steal(None), true);
}

#[test]
fn a_job_is_published_by_its_owner_once_it_is_asked() {
    model(3, || {
        let here = Setting::new(false);
        let there = here.clone();
        let thief = thread::spawn(move || {
            there.stack.ask();
            there.steal(None)
        });
        let bottom = here.begin();
        let top = here.push(bottom, 0);
        here.push(top, 1);
        here.pop(top, 1);
        here.pop(bottom, 0);
        thief.join().unwrap();
    });
}

#[test]
fn two_thieves_take_the_oldest_jobs_one_each() {
    model(2, || {
        let here = Setting::new(false);
        let bottom = here.begin();
        let top = here.push(bottom, 0);
        here.push(top, 1);
        let thieves = [1, 2].map(|number| {
            let there = here.clone();
            thread::spawn(move || {
                let bottom = there.stack.own().bottom();
                there.steal_as(|job| usize::from(job != bottom.slot()), number, Some(&barrier));
            })
        });
        here.pop(top, 1);
        here.pop(bottom, 0);
        thieves.map(|thief| thief.join().unwrap());
    });
}

#[test]
fn a_thief_without_a_barrier_takes_nothing_that_it_has_published() {
    one_job_beside(|there| assert!(!there.steal(Some(&no_barrier))), false);
}

/// The owner of a job steals from its thief; that has ended the job meanwhile and pushes one of its
/// next task.
#[test]
fn an_owner_that_waits_takes_only_parts_of_its_job() {
    model(3, || {
        let (owners, thiefs) = (Setting::new(true), Setting::new(true));
        let bottom = owners.begin();
        owners.push(bottom, 0);
        let whole = owners.take(1, None).unwrap();
        let there = (owners.clone(), thiefs.clone());
        // SAFETY: a raw address, which a thread may take along.
        let address = whole.as_ptr().expose_provenance();
        let thief = thread::spawn(move || {
            let (owners, thiefs) = there;
            owners.run(0);
            owners.finish(NonNull::with_exposed_provenance(address.try_into().unwrap()));
            thiefs.run_task();
        });
        // SAFETY: the job was taken, and its owner has not settled it.
        let handover = unsafe { Job::handover(whole) };
        let path = Path::new(handover);
        let waiting = Thief { worker: 2, at: bottom };
        let part = thiefs.stack.steal(waiting, || path.is_right(), None);
        assert!(part.is_none(), "a job of another task is no part");
        thief.join().unwrap();
        owners.pop(bottom, 0);
    });
}

/// A job that worker 1 has taken from worker 0; worker 2 has taken a part of it.
struct Nested {
    /// The settings of the three workers.
    owners: Arc<Setting>,
    seconds: Arc<Setting>,
    thirds: Arc<Setting>,
    whole: NonNull<Job>,
    /// The address of the part, which threads may take along.
    part: usize,
}

impl Nested {
    fn new() -> Self {
        let [owners, seconds, thirds] = [(); 3].map(|()| Setting::new(true));
        owners.push(owners.begin(), 0);
        let whole = take_for(&owners, 1, &seconds).unwrap();
        seconds.push(seconds.begin(), 0);
        let part = take_for(&seconds, 2, &thirds).unwrap().as_ptr().expose_provenance();
        Self { owners, seconds, thirds, whole, part }
    }

    /// For worker 0, which waits: looks for a part of the whole, and checks that there is none from
    /// worker 2.
    fn finds_no_part_of_the_part(&self) {
        // SAFETY: the job was taken, and its owner has not settled it.
        let handover = unsafe { Job::handover(self.whole) };
        let mut path = Path::new(handover);
        let taken = self.seconds.stack.taken_from(handover.base(), 1).next();
        if let Some(taken) = taken.filter(|taken| taken.thief() == 2) {
            path.push(taken);
            let waiting = Thief { worker: 0, at: self.owners.stack.own().bottom() };
            let stolen = self.thirds.stack.steal(waiting, || path.is_right(), None);
            assert!(stolen.is_none(), "a job of another task is no part");
        }
    }
}

/// Takes a job for a worker that has none.
fn take_for(from: &Setting, worker: usize, to: &Setting) -> Option<NonNull<Job>> {
    from.stack.steal(Thief { worker, at: to.stack.own().bottom() }, || true, None)
}

/// Returns a job by its address.
fn job(address: usize) -> NonNull<Job> {
    NonNull::with_exposed_provenance(address.try_into().unwrap())
}

/// For worker 1: waits until its part is done, and settles it. Returns its place.
fn settle(seconds: &Setting, part: usize) -> Top {
    // SAFETY: the job was taken, and is settled here.
    while !unsafe { Job::handover(job(part)) }.state().is_done() {
        yield_now();
    }
    let bottom = seconds.stack.own().bottom();
    seconds.stack.own().settle(bottom);
    bottom
}

/// Lets worker 0 look for parts beside the others: worker 2 ends its part, and goes on as `third`;
/// worker 1 pushes another job in the place of the part, and goes on as `second` there.
fn parts_beside(preemptions: usize, third: fn(&Setting, &Setting), second: fn(&Setting, Top, usize)) {
    model(preemptions, move || {
        let nested = Nested::new();
        let (part, seconds, thirds) = (nested.part, nested.seconds.clone(), nested.thirds.clone());
        let there = seconds.clone();
        let third = thread::spawn(move || {
            thirds.finish(job(part));
            third(&there, &thirds);
        });
        let second = thread::spawn(move || {
            let bottom = settle(&seconds, part);
            seconds.push(bottom, 1);
            second(&seconds, bottom, part);
        });
        nested.finds_no_part_of_the_part();
        third.join().unwrap();
        second.join().unwrap();
    });
}

/// The third worker ends the part, and pushes a job of its next task. The second pushes another job
/// in the place of the part, which a fourth worker takes.
#[test]
fn an_owner_that_waits_takes_only_parts_of_parts() {
    let second = |seconds: &Setting, _: Top, _: usize| {
        if let Some(next) = seconds.take(3, None) {
            seconds.finish(next);
        }
    };
    parts_beside(2, |_, thirds| thirds.run_task(), second);
}

/// The second worker pops the job in the place of the part, just as the third tries to take it.
#[test]
fn a_job_that_was_almost_taken_has_no_parts() {
    let third = |there: &Setting, thirds: &Setting| match take_for(there, 2, thirds) {
        Some(next) => there.finish(next),
        None => thirds.run_task(),
    };
    let second = |seconds: &Setting, bottom: Top, part| {
        // SAFETY: the topmost job is at `bottom`.
        unsafe {
            if !(Job::pop(bottom.slot()) || Job::pop_public(bottom.slot())) {
                settle(seconds, part);
            }
        }
    };
    parts_beside(3, third, second);
}
