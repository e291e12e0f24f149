//! Spawns the tasks of a round.

use super::account::{self, Readable, Writable};
use super::books::{Books, TrackedBody};
use super::fates::{BEGAN, PANICKED, RETURNED};
use super::pending::{OutcomeReceiver, Pending, TaskOptions};
use super::population::{AfterPanic, AnnotatedObject, AnyObject, EvenPoisoned, Population, with};
use super::spawning::Spawning;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use xtasking::{Context, JoinError, Priority, Runtime, TaskBuilder, task::Spawner};
use xtasking_harness::random::Random;

/// Prefix of the message of an injected panic.
pub(super) const INJECTED: &str = "injected";

/// One body in this many panics.
const PANIC_INTERVAL: u64 = 500;
/// One body in this many blocks in place.
const BLOCK_INTERVAL: u64 = 400;

/// When a body panics.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Panics {
    Never,
    BeforeItWrites,
    HalfWay,
}

/// The job of a body.
pub(super) struct Job {
    body: TrackedBody,
    amount: u64,
    panics: Panics,
    pauses: bool,
    blocks: Option<Duration>,
}

impl Job {
    fn new(books: &Arc<Books>, random: &mut Random) -> Self {
        let panics = match random.below(PANIC_INTERVAL) {
            0 => Panics::BeforeItWrites,
            1 => Panics::HalfWay,
            _ => Panics::Never,
        };
        let blocks = (random.below(BLOCK_INTERVAL) == 0).then(|| Duration::from_micros(random.below(200)));
        Self {
            body: TrackedBody::new(books),
            amount: random.below(100),
            panics,
            pauses: random.below(16) == 0,
            blocks,
        }
    }

    /// A job of a task that no handle waits for.
    fn detached(books: &Arc<Books>, random: &mut Random, options: TaskOptions) -> Self {
        let job = Self::new(books, random);
        books.fates.note(job.body.task(), options.as_fate());
        job
    }

    /// Lets the job panic half-way only if the object can be mended.
    fn at(mut self, written: &AnnotatedObject) -> Self {
        let may_be_half = written.after_panic == AfterPanic::Mend || written.is_snapshot();
        if self.panics == Panics::HalfWay && !may_be_half {
            self.panics = Panics::BeforeItWrites;
        }
        self
    }

    fn panic(&self) -> ! {
        self.body.note(PANICKED, "panicked");
        panic!("{INJECTED}");
    }

    /// Runs what the task does, which `half` begins if the job panics half-way.
    fn run(&self, cx: Option<&mut Context>, half: impl FnOnce(), work: impl FnOnce(&Books)) {
        self.body.note(BEGAN, "ran");
        if let (Some(time), Some(cx)) = (self.blocks, cx) {
            cx.block_in_place(|| thread::sleep(time));
        }
        match self.panics {
            Panics::Never => {}
            Panics::BeforeItWrites => self.panic(),
            Panics::HalfWay => {
                half();
                self.panic();
            }
        }
        work(&self.body.books);
        self.body.note(RETURNED, "returned");
    }

    fn look(&self, view: impl Readable, cx: Option<&mut Context>) {
        self.run(cx, || (), |books| account::check(view.read(), books));
    }

    /// Pays in, after the object was mended if this task is to do that.
    fn deposit(&self, mut view: impl Writable, mends: bool, cx: Option<&mut Context>) {
        if mends {
            view.mend();
        }
        if self.panics == Panics::HalfWay {
            return self.run(cx, || view.write_half(), |_| ());
        }
        let work = |books: &Books| {
            view.change(self.amount, self.pauses, books);
            books.paid_in.add(self.amount);
        };
        self.run(cx, || (), work);
    }

    fn transfer(&self, mut from: impl Writable, mut to: impl Writable, cx: Option<&mut Context>) {
        if self.panics == Panics::HalfWay {
            return self.run(cx, || from.write_half(), |_| ());
        }
        let work = |books: &Books| {
            from.change(self.amount.wrapping_neg(), self.pauses, books);
            to.change(self.amount, self.pauses, books);
        };
        self.run(cx, || (), work);
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

/// Returns what tasks on some objects have to expect.
fn options(rt: &Runtime, things: &[&AnnotatedObject]) -> TaskOptions {
    TaskOptions {
        may_be_poisoned: things.iter().any(|thing| thing.may_be_poisoned()),
        is_bounded: rt.task_limit().is_some() || things.iter().any(|thing| thing.is_bounded),
        ..TaskOptions::default()
    }
}

/// Spawns a task of a random kind. Returns it if it has a handle.
pub(super) fn spawn(
    rt: &Runtime,
    population: &Population,
    random: &mut Random,
    books: &Arc<Books>,
) -> Option<Pending> {
    match random.below(11) {
        0 => {
            let job = Job::new(books, random);
            let how = Spawning::any(books, job.body.task(), options(rt, &[]), random);
            how.send(annotated(rt.task(()), random), move |(), cx| job.run(cx, || (), |_| ()))
        }
        1 | 2 => {
            let (job, thing) = (Job::new(books, random), population.any(random));
            let how = Spawning::any(books, job.body.task(), options(rt, &[thing]), random);
            with!(thing, object => {
                how.send(annotated(rt.task(object.read()), random), move |view, cx| job.look(view, cx))
            })
        }
        3..6 => deposit(rt, population.any_to_write(random)?, random, books),
        6 => read_optimistically(rt, population.any(random), random, books),
        7 => {
            let (from, to) = population.two_to_write(random)?;
            let job = Job::new(books, random).at(from);
            let how = Spawning::common(books, job.body.task(), options(rt, &[from, to]), random);
            with!(from, from => with!(to, to => {
                let task = annotated(rt.task((from.write(), to.write())), random);
                how.send_common(task, move |(from, to), cx| job.transfer(from, to, cx))
            }))
        }
        8 => {
            let (looked_at, to) = population.two_to_write(random)?;
            let job = Job::new(books, random).at(to);
            let how = Spawning::common(books, job.body.task(), options(rt, &[looked_at, to]), random);
            with!(looked_at, looked_at => with!(to, to => {
                let task = annotated(rt.task((looked_at.read(), to.write())), random);
                how.send_common(task, move |(from, to), cx| {
                    account::check(from.read(), &job.body.books);
                    job.deposit(to, false, cx);
                })
            }))
        }
        9 => {
            let job = Job::new(books, random);
            let task = job.body.task();
            let mut random = Random::new(random.below(u64::MAX), &[]);
            let handle = annotated(rt.task(()), &mut random).submit(move |(), cx| {
                job.run(None, || (), |books| wait_in_place(cx, &job.body.books, &mut random, books));
            });
            Some(Pending::new(OutcomeReceiver::Handle(handle), task, options(rt, &[])))
        }
        _ => {
            // The task owns the objects' handles, and may be the last owner.
            let things = [population.any_to_write(random)?.clone(), population.any_to_write(random)?.clone()];
            let job = Job::new(books, random);
            let task = job.body.task();
            let mut random = Random::new(random.below(u64::MAX), &[]);
            let handle = annotated(rt.task(()), &mut random).submit(move |(), cx| {
                job.run(None, || (), |_| follow_ups(cx, &things, &mut random, &job.body.books));
            });
            Some(Pending::new(OutcomeReceiver::Handle(handle), task, options(rt, &[])))
        }
    }
}

fn deposit(
    rt: &Runtime,
    thing: &AnnotatedObject,
    random: &mut Random,
    books: &Arc<Books>,
) -> Option<Pending> {
    let (job, mends) = (Job::new(books, random).at(thing), random.below(4) == 0);
    let mut options = options(rt, &[thing]);
    options.may_be_poisoned &= !mends;
    let how = Spawning::any(books, job.body.task(), options, random);
    with!(thing, object => {
        let access = if mends { object.write().also_poisoned() } else { object.write() };
        how.send(annotated(rt.task(access), random), move |view, cx| job.deposit(view, mends, cx))
    })
}

fn read_optimistically(
    rt: &Runtime,
    thing: &AnnotatedObject,
    random: &mut Random,
    books: &Arc<Books>,
) -> Option<Pending> {
    let AnyObject::Versioned(object) = &thing.object else { return None };
    let job = Job::new(books, random);
    let (number, pauses) = (job.body.task(), job.pauses);
    let task = annotated(rt.task(object.read()), random);
    let then = move |entry: account::Entry, cx: &mut Context| job.look(&entry, Some(cx));
    let handle = task.submit_read(move |words| words.get(pauses), then);
    Some(Pending::new(OutcomeReceiver::Handle(handle), number, options(rt, &[thing])))
}

fn follow_ups(cx: &mut Context, things: &[AnnotatedObject], random: &mut Random, books: &Arc<Books>) {
    for thing in things {
        let options = TaskOptions { may_be_poisoned: thing.may_be_poisoned(), ..TaskOptions::default() };
        let job = Job::detached(books, random, options).at(thing);
        // Now and then a body that is too large for any descriptor.
        if random.below(8) == 0 {
            let ballast = [random.below(256) as u8; 600];
            with!(thing, object => cx.task(object.write()).spawn(move |view, cx| {
                let _ = &ballast;
                job.deposit(view, false, Some(cx));
            }));
        } else {
            with!(thing, object => {
                let task = annotated(cx.task(object.write()), random);
                task.spawn(move |view, cx| job.deposit(view, false, Some(cx)));
            });
        }
    }
}

/// Waits for a follow-up, in place.
fn wait_in_place(cx: &mut Context, owner: &Arc<Books>, random: &mut Random, books: &Books) {
    let job = Job { panics: Panics::Never, blocks: None, ..Job::new(owner, random) };
    let follow_up = cx.task(()).submit(move |(), _| job.run(None, || (), |_| ()));
    match cx.block_in_place(|| follow_up.join()) {
        // Without a spare thread the worker must not wait, and a shutdown may cancel the follow-up.
        Ok(()) | Err(JoinError::WouldBlock | JoinError::Cancelled) => {}
        Err(error) => books.report(format!("a follow-up was waited for in place: {error}")),
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
