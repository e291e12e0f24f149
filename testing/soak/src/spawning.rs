//! The ways to spawn a task, and the outcomes that each of them allows.

use super::books::Books;
use super::fates::{DETACHED, TaskNumber};
use super::pending::{Held, Pending, Terms};
use std::future::Future;
use std::pin::pin;
use std::task::{Poll, Waker};
use std::time::Duration;
use xtasking::limit::LimitError;
use xtasking::task::AccessSet;
use xtasking::{Context, Runtime, TaskBuilder};
use xtasking_harness::random::Random;

/// How a task is spawned.
#[derive(Clone, Copy)]
enum Way {
    Submit,
    Spawn,
    Within,
    SpawnWithin,
    TrySubmit,
    TrySpawn,
    Reserve,
    ReserveWithin,
    /// Waits for room as a future, and gives up if there is none.
    PollOnce,
    Call,
}

/// Spawns one task.
#[derive(Clone, Copy)]
pub(super) struct Spawning<'a> {
    books: &'a Books,
    task: TaskNumber,
    terms: Terms,
    way: Way,
    limit: Duration,
}

/// The body of a task, which has no context if it is called in place.
pub(super) trait Body<A: AccessSet>:
    for<'v> FnOnce(A::View<'v>, Option<&mut Context>) + Send + 'static
{
}

impl<A, F> Body<A> for F
where
    A: AccessSet,
    F: for<'v> FnOnce(A::View<'v>, Option<&mut Context>) + Send + 'static,
{
}

type Task<'r, A> = TaskBuilder<&'r Runtime, A>;

impl<'a> Spawning<'a> {
    /// Chooses one of all ways.
    pub(super) fn any(books: &'a Books, task: TaskNumber, terms: Terms, random: &mut Random) -> Self {
        use Way::*;
        let ways = [
            Submit,
            Submit,
            Submit,
            Spawn,
            Within,
            SpawnWithin,
            TrySubmit,
            TrySpawn,
            Reserve,
            ReserveWithin,
            PollOnce,
            Call,
        ];
        Self::one_of(&ways, books, task, terms, random)
    }

    /// Chooses one of the ways that return a handle and depend on objects.
    pub(super) fn common(books: &'a Books, task: TaskNumber, terms: Terms, random: &mut Random) -> Self {
        use Way::*;
        Self::one_of(&[Submit, Submit, Within, Reserve, Call], books, task, terms, random)
    }

    fn one_of(ways: &[Way], books: &'a Books, task: TaskNumber, terms: Terms, random: &mut Random) -> Self {
        let way = ways[random.below(ways.len() as u64) as usize];
        let limit = match random.below(4) {
            0 => Duration::ZERO,
            1 => Duration::from_secs(3600),
            _ => Duration::from_micros(random.below(300)),
        };
        let has_deadline = matches!(way, Way::Within | Way::SpawnWithin | Way::ReserveWithin);
        let is_late = has_deadline && limit.is_zero();
        Self { books, task, terms: Terms { has_deadline, is_late, ..terms }, way, limit }
    }

    /// Spawns the task in any of the ways.
    pub(super) fn send<A: AccessSet, F: Body<A>>(self, task: Task<'_, A>, body: F) -> Option<Pending> {
        let whole = move |view: A::View<'_>, cx: &mut Context| body(view, Some(cx));
        match self.way {
            Way::Spawn => {
                self.detach();
                task.spawn(whole);
                None
            }
            Way::SpawnWithin => {
                self.detach();
                task.within(self.limit).spawn(whole);
                None
            }
            Way::TrySubmit => match task.try_submit(whole) {
                Ok(handle) => self.held(Held::Handle(handle)),
                Err(refused) => self.refused(refused.error),
            },
            Way::TrySpawn => {
                self.detach();
                task.try_spawn(whole).map_or_else(|refused| self.refused(refused.error), |()| None)
            }
            Way::ReserveWithin => match task.reserve_blocking() {
                Ok(task) => self.held(Held::Handle(task.within(self.limit).submit(whole))),
                Err(error) => self.no_room(error),
            },
            Way::PollOnce => {
                let mut wait = pin!(task.reserve());
                match wait.as_mut().poll(&mut std::task::Context::from_waker(Waker::noop())) {
                    Poll::Ready(Ok(task)) => self.held(Held::Handle(task.submit(whole))),
                    Poll::Ready(Err(error)) => self.no_room(error),
                    Poll::Pending => self.refused(LimitError::Full),
                }
            }
            _ => self.send_commonly(task, whole),
        }
    }

    /// Spawns the task in one of the [common](Self::common) ways.
    pub(super) fn send_common<A: AccessSet, F: Body<A>>(self, task: Task<'_, A>, body: F) -> Option<Pending> {
        if let Way::Call = self.way {
            return self.held(Held::Call(task.call(move |view| body(view, None))));
        }
        self.send_commonly(task, move |view: A::View<'_>, cx: &mut Context| body(view, Some(cx)))
    }

    fn send_commonly<A: AccessSet, F>(self, task: Task<'_, A>, body: F) -> Option<Pending>
    where
        F: for<'v> FnOnce(A::View<'v>, &mut Context) + Send + 'static,
    {
        match self.way {
            Way::Within => self.held(Held::Handle(task.within(self.limit).submit(body))),
            Way::Reserve => match task.reserve_blocking() {
                Ok(task) => self.held(Held::Handle(task.submit(body))),
                Err(error) => self.no_room(error),
            },
            _ => self.held(Held::Handle(task.submit(body))),
        }
    }

    fn held(self, held: Held) -> Option<Pending> {
        Some(Pending::new(held, self.task, self.terms))
    }

    /// Records that no handle receives the outcome.
    fn detach(&self) {
        self.books.fates.note(self.task, DETACHED);
    }

    fn refused(&self, error: LimitError) -> Option<Pending> {
        self.books.refused.add(1);
        if error != LimitError::Full || !self.terms.is_bounded {
            self.books.report(format!("{:?} was refused without a bound: {error}", self.task));
        }
        None
    }

    fn no_room(&self, error: LimitError) -> Option<Pending> {
        self.books.report(format!("{:?} has waited for room and failed: {error}", self.task));
        None
    }
}
