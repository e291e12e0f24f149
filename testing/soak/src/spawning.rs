//! The ways to spawn a task, and the outcomes that each of them allows.

use super::books::Books;
use super::fates::{REFUSED, TaskNumber};
use super::pending::{OutcomeReceiver, Pending, TaskOptions};
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
enum SpawnKind {
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
    options: TaskOptions,
    kind: SpawnKind,
    limit: Duration,
}

/// The body of a task, which has no context if it is called in place.
pub(super) trait JobBody<A: AccessSet>:
    for<'v> FnOnce(A::View<'v>, Option<&mut Context>) + Send + 'static
{
}

impl<A, F> JobBody<A> for F
where
    A: AccessSet,
    F: for<'v> FnOnce(A::View<'v>, Option<&mut Context>) + Send + 'static,
{
}

type Task<'r, A> = TaskBuilder<&'r Runtime, A>;

impl<'a> Spawning<'a> {
    /// Chooses one of all ways.
    pub(super) fn any(books: &'a Books, task: TaskNumber, options: TaskOptions, random: &mut Random) -> Self {
        let kind = match random.below(12) {
            0..3 => SpawnKind::Submit,
            3 => SpawnKind::Spawn,
            4 => SpawnKind::Within,
            5 => SpawnKind::SpawnWithin,
            6 => SpawnKind::TrySubmit,
            7 => SpawnKind::TrySpawn,
            8 => SpawnKind::Reserve,
            9 => SpawnKind::ReserveWithin,
            10 => SpawnKind::PollOnce,
            _ => SpawnKind::Call,
        };
        Self::new(kind, books, task, options, random)
    }

    /// Chooses one of the ways that return a handle and depend on objects.
    pub(super) fn common(
        books: &'a Books,
        task: TaskNumber,
        options: TaskOptions,
        random: &mut Random,
    ) -> Self {
        let kind = match random.below(5) {
            0..2 => SpawnKind::Submit,
            2 => SpawnKind::Within,
            3 => SpawnKind::Reserve,
            _ => SpawnKind::Call,
        };
        Self::new(kind, books, task, options, random)
    }

    fn new(
        kind: SpawnKind,
        books: &'a Books,
        task: TaskNumber,
        options: TaskOptions,
        random: &mut Random,
    ) -> Self {
        let limit = match random.below(4) {
            0 => Duration::ZERO,
            1 => Duration::from_secs(3600),
            _ => Duration::from_micros(random.below(300)),
        };
        let has_deadline =
            matches!(kind, SpawnKind::Within | SpawnKind::SpawnWithin | SpawnKind::ReserveWithin);
        let is_late = has_deadline && limit.is_zero();
        Self { books, task, options: TaskOptions { has_deadline, is_late, ..options }, kind, limit }
    }

    /// Spawns the task in its way.
    pub(super) fn send<A: AccessSet, F: JobBody<A>>(self, task: Task<'_, A>, body: F) -> Option<Pending> {
        let whole = move |view: A::View<'_>, cx: &mut Context| body(view, Some(cx));
        match self.kind {
            SpawnKind::Spawn => {
                self.detach();
                task.spawn(whole);
                None
            }
            SpawnKind::SpawnWithin => {
                self.detach();
                task.within(self.limit).spawn(whole);
                None
            }
            SpawnKind::TrySubmit => match task.try_submit(whole) {
                Ok(handle) => self.with_receiver(OutcomeReceiver::Handle(handle)),
                Err(refused) => self.refused(refused.error),
            },
            SpawnKind::TrySpawn => {
                self.detach();
                task.try_spawn(whole).map_or_else(|refused| self.refused_detached(refused.error), |()| None)
            }
            SpawnKind::ReserveWithin => match task.reserve_blocking() {
                Ok(task) => {
                    self.with_receiver(OutcomeReceiver::Handle(task.within(self.limit).submit(whole)))
                }
                Err(error) => self.no_room(error),
            },
            SpawnKind::PollOnce => {
                let mut wait = pin!(task.reserve());
                match wait.as_mut().poll(&mut std::task::Context::from_waker(Waker::noop())) {
                    Poll::Ready(Ok(task)) => self.with_receiver(OutcomeReceiver::Handle(task.submit(whole))),
                    Poll::Ready(Err(error)) => self.no_room(error),
                    Poll::Pending => self.refused(LimitError::Full),
                }
            }
            _ => self.send_commonly(task, whole),
        }
    }

    /// Spawns the task in one of the [common](Self::common) ways.
    pub(super) fn send_common<A: AccessSet, F: JobBody<A>>(
        self,
        task: Task<'_, A>,
        body: F,
    ) -> Option<Pending> {
        if let SpawnKind::Call = self.kind {
            return self.with_receiver(OutcomeReceiver::Call(task.call(move |view| body(view, None))));
        }
        self.send_commonly(task, move |view: A::View<'_>, cx: &mut Context| body(view, Some(cx)))
    }

    fn send_commonly<A: AccessSet, F>(self, task: Task<'_, A>, body: F) -> Option<Pending>
    where
        F: for<'v> FnOnce(A::View<'v>, &mut Context) + Send + 'static,
    {
        match self.kind {
            SpawnKind::Within => {
                self.with_receiver(OutcomeReceiver::Handle(task.within(self.limit).submit(body)))
            }
            SpawnKind::Reserve => match task.reserve_blocking() {
                Ok(task) => self.with_receiver(OutcomeReceiver::Handle(task.submit(body))),
                Err(error) => self.no_room(error),
            },
            _ => self.with_receiver(OutcomeReceiver::Handle(task.submit(body))),
        }
    }

    fn with_receiver(self, receiver: OutcomeReceiver) -> Option<Pending> {
        Some(Pending::new(receiver, self.task, self.options))
    }

    /// Records that no handle receives the outcome.
    fn detach(&self) {
        self.books.fates.note(self.task, self.options.as_fate());
    }

    fn refused(&self, error: LimitError) -> Option<Pending> {
        self.books.refused.add(1);
        if error != LimitError::Full || !self.options.is_bounded {
            self.books.report(format!("{:?} was refused without a bound: {error}", self.task));
        }
        None
    }

    fn refused_detached(&self, error: LimitError) -> Option<Pending> {
        self.books.fates.note(self.task, REFUSED);
        self.refused(error)
    }

    fn no_room(&self, error: LimitError) -> Option<Pending> {
        self.books.report(format!("{:?} has waited for room and failed: {error}", self.task));
        None
    }
}
