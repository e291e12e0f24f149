//! Spawns the tasks of a round.

use super::account::{self, Readable, Writable};
use super::books::{Body, Books};
use super::population::{Population, Thing, with};
use std::sync::Arc;
use xtasking::{Context, Handle, Priority, Runtime, TaskBuilder, task::Spawner};
use xtasking_harness::random::Random;

/// Prefix of the message of an injected panic.
pub(super) const INJECTED: &str = "injected";

/// One body in this many panics.
const PANIC_INTERVAL: u64 = 1000;

/// The job of a body.
pub(super) struct Job {
    body: Body,
    amount: u64,
    panics: bool,
    pauses: bool,
}

impl Job {
    fn new(books: &Arc<Books>, random: &mut Random) -> Self {
        Self {
            body: Body::new(books),
            amount: random.below(100),
            panics: random.below(PANIC_INTERVAL) == 0,
            pauses: random.below(16) == 0,
        }
    }

    fn begin(&self) -> &Books {
        let books = &*self.body.0;
        if self.panics {
            books.panicked.add(1);
            panic!("{INJECTED}");
        }
        books.ran.add(1);
        books
    }

    fn look(&self, view: impl Readable) {
        account::check(view.read(), self.begin());
    }

    fn deposit(&self, mut view: impl Writable) {
        let books = self.begin();
        view.change(self.amount, self.pauses, books);
        books.paid_in.add(self.amount);
    }

    fn transfer(&self, mut from: impl Writable, mut to: impl Writable) {
        let books = self.begin();
        from.change(self.amount.wrapping_neg(), self.pauses, books);
        to.change(self.amount, self.pauses, books);
    }
}

/// Adds random annotations.
fn annotated<P: Spawner, A>(task: TaskBuilder<P, A>, random: &mut Random) -> TaskBuilder<P, A> {
    let priority = [Priority::High, Priority::Normal, Priority::Low][random.below(3) as usize];
    let task = task.priority(priority).cost(random.below(5) as u16);
    match random.below(4) {
        0 => task.core(random.below(64) as u16),
        1 => task.node(random.below(2) as u16),
        _ => task,
    }
}

/// Spawns a task of a random kind. Returns its handle if it has one.
pub(super) fn spawn(
    rt: &Runtime,
    population: &Population,
    random: &mut Random,
    books: &Arc<Books>,
) -> Option<Handle<()>> {
    let job = Job::new(books, random);
    match random.below(10) {
        0 => Some(annotated(rt.task(()), random).submit(move |(), _| {
            job.begin();
        })),
        1 | 2 => with!(population.any(random), object => {
            Some(annotated(rt.task(object.read()), random).submit(move |view, _| job.look(view)))
        }),
        3 | 4 => with!(population.any_to_write(random)?, object => {
            Some(annotated(rt.task(object.write()), random).submit(move |view, _| job.deposit(view)))
        }),
        5 => {
            let Thing::Versioned(object) = population.any(random) else { return None };
            let task = annotated(rt.task(object.read()), random);
            let pauses = job.pauses;
            Some(task.submit_read(move |words| words.get(pauses), move |entry, _| job.look(&entry)))
        }
        6 => {
            let (from, to) = population.two_to_write(random)?;
            with!(from, from => with!(to, to => {
                let task = annotated(rt.task((from.write(), to.write())), random);
                Some(task.submit(move |(from, to), _| job.transfer(from, to)))
            }))
        }
        7 => {
            let (looked_at, to) = population.two_to_write(random)?;
            with!(looked_at, looked_at => with!(to, to => {
                let task = annotated(rt.task((looked_at.read(), to.write())), random);
                Some(task.submit(move |(from, to), _| {
                    account::check(from.read(), &job.body.0);
                    job.deposit(to);
                }))
            }))
        }
        8 => {
            let thing = population.any_to_write(random)?;
            with!(thing, object => {
                annotated(rt.task(object.write()), random).spawn(move |view, _| job.deposit(view))
            });
            None
        }
        _ => {
            // The task owns the objects' handles, and may be the last owner.
            let things = [population.any_to_write(random)?.clone(), population.any_to_write(random)?.clone()];
            let mut random = Random::new(random.below(u64::MAX), &[]);
            let task = annotated(rt.task(()), &mut random);
            Some(task.submit(move |(), cx| {
                let books = job.body.0.clone();
                job.begin();
                follow_ups(cx, &things, &mut random, &books);
            }))
        }
    }
}

fn follow_ups(cx: &mut Context, things: &[Thing], random: &mut Random, books: &Arc<Books>) {
    for thing in things {
        let job = Job::new(books, random);
        // Now and then a body that is too large for any descriptor.
        if random.below(8) == 0 {
            let ballast = [random.below(256) as u8; 600];
            with!(thing, object => cx.task(object.write()).spawn(move |view, _| {
                let _ = &ballast;
                job.deposit(view);
            }));
        } else {
            with!(thing, object => {
                annotated(cx.task(object.write()), random).spawn(move |view, _| job.deposit(view))
            });
        }
    }
}

/// Counts a chain of follow-ups until it is dropped.
struct Chain(Arc<Books>);

impl Drop for Chain {
    fn drop(&mut self) {
        self.0.chains.end();
    }
}

/// Spawns a task whose follow-ups hop between workers until the runtime ends.
pub(super) fn chain(rt: &Runtime, random: &mut Random, books: &Arc<Books>) {
    fn hop(cx: &mut Context, mut random: Random, chain: Chain) {
        if cx.is_shutting_down() {
            return drop(chain);
        }
        let task = cx.task(()).begin_operation();
        let task = annotated(task, &mut random);
        task.spawn(move |(), cx| hop(cx, random, chain));
    }
    books.chains.begin();
    let (chain, random) = (Chain(books.clone()), Random::new(random.below(u64::MAX), &[]));
    rt.task(()).spawn(move |(), cx| hop(cx, random, chain));
}
