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

    /// For a thief: steals a job that it runs as number `number`. Returns true if there was one.
    fn steal(&self, thief: usize, number: usize, barrier: Option<&dyn Fn() -> bool>) -> bool {
        let Some(job) = self.take(thief, barrier) else { return false };
        self.run(number);
        self.finish(job);
        true
    }

    fn finish(&self, job: NonNull<Job>) {
        // SAFETY: this thread took the job and has run it.
        let sleeper = unsafe { Handover::finish(NonNull::from(Job::handover(job))) };
        assert_eq!(sleeper, None);
    }
}

#[test]
fn a_private_job_is_run_once_by_its_owner_or_a_thief() {
    model(4, || {
        let here = Setting::new(false);
        let there = here.clone();
        let thief = thread::spawn(move || there.steal(1, 0, Some(&barrier)));
        let bottom = here.begin();
        here.push(bottom, 0);
        here.pop(bottom, 0);
        thief.join().unwrap();
    });
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
            let job = there.take(1, Some(&barrier))?;
            let number = there.runs[0].get() as usize;
            there.run(number);
            there.finish(job);
            Some(())
        });
        here.pop(bottom, 0);
        here.push(bottom, 1);
        here.pop(bottom, 1);
        thief.join().unwrap();
    });
}

#[test]
fn an_eager_job_is_run_once_by_its_owner_or_a_thief() {
    model(4, || {
        let here = Setting::new(true);
        let there = here.clone();
        let thief = thread::spawn(move || there.steal(1, 0, None));
        let bottom = here.begin();
        here.push(bottom, 0);
        here.pop(bottom, 0);
        thief.join().unwrap();
    });
}

#[test]
fn a_job_is_published_by_its_owner_once_it_is_asked() {
    model(3, || {
        let here = Setting::new(false);
        let there = here.clone();
        let thief = thread::spawn(move || {
            there.stack.ask();
            there.steal(1, 0, None)
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
                let job = there.take(number, Some(&barrier))?;
                there.run(usize::from(job != there.stack.own().bottom().slot()));
                there.finish(job);
                Some(())
            })
        });
        here.pop(top, 1);
        here.pop(bottom, 0);
        thieves.map(|thief| thief.join().unwrap());
    });
}

#[test]
fn a_thief_without_a_barrier_takes_nothing_that_it_has_published() {
    model(4, || {
        let here = Setting::new(false);
        let there = here.clone();
        let thief = thread::spawn(move || assert!(!there.steal(1, 0, Some(&no_barrier))));
        let bottom = here.begin();
        here.push(bottom, 0);
        here.pop(bottom, 0);
        thief.join().unwrap();
    });
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
            let bottom = thiefs.begin();
            thiefs.push(bottom, 0);
            thiefs.pop(bottom, 0);
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

/// Jobs by their addresses, which threads may take along.
fn job(address: usize) -> NonNull<Job> {
    NonNull::with_exposed_provenance(address.try_into().unwrap())
}

/// The owner of a job steals a part of a part: its thief waits for a job that a third worker has
/// taken. That has ended it meanwhile, and pushes a job of its next task. The thief pushes another
/// job in the same place, which a fourth worker takes.
#[test]
fn an_owner_that_waits_takes_only_parts_of_parts() {
    model(2, || {
        let [owners, seconds, thirds] = [(); 3].map(|()| Setting::new(true));
        let bottoms = [owners.begin(), seconds.begin()];
        owners.push(bottoms[0], 0);
        let take = |from: &Setting, worker, to: &Setting| {
            let thief = Thief { worker, at: to.stack.own().bottom() };
            from.stack.steal(thief, || true, None).unwrap()
        };
        let whole = take(&owners, 1, &seconds);
        seconds.push(bottoms[1], 0);
        let part = take(&seconds, 2, &thirds).as_ptr().expose_provenance();
        let (there, both) = (thirds.clone(), seconds.clone());
        let third = thread::spawn(move || {
            both.finish(job(part));
            let bottom = there.begin();
            there.push(bottom, 0);
            there.pop(bottom, 0);
        });
        let there = seconds.clone();
        let second = thread::spawn(move || {
            // SAFETY: the job was taken, and is settled here.
            while !unsafe { Job::handover(job(part)) }.state().is_done() {
                yield_now();
            }
            let bottom = there.stack.own().bottom();
            there.stack.own().settle(bottom);
            there.push(bottom, 1);
            if let Some(next) = there.take(3, None) {
                there.finish(next);
            }
        });
        // SAFETY: the job was taken, and its owner has not settled it.
        let handover = unsafe { Job::handover(whole) };
        let mut path = Path::new(handover);
        let taken = seconds.stack.taken_from(handover.base(), 1).next();
        if let Some(taken) = taken.filter(|taken| taken.thief() == 2) {
            path.push(taken);
            let waiting = Thief { worker: 0, at: bottoms[0] };
            let stolen = thirds.stack.steal(waiting, || path.is_right(), None);
            assert!(stolen.is_none(), "a job of another task is no part");
        }
        third.join().unwrap();
        second.join().unwrap();
    });
}
