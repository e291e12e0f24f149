//! The thread that collects requests into batches. It owns its state and learns of events by
//! messages.

use super::BatchPolicy;
use super::forecast::Forecast;
use crate::answers::Answers;
use crate::failure::Failure;
use crate::request::{Batch, Change, Query};
use crate::table::Table;
use arrow_array::RecordBatch;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};
use xtasking::{Promise, Runtime};

/// An event.
pub(super) enum Message {
    Request(PendingRequest),
    /// The oldest batch in flight has completed, or was dropped with the table.
    Completed(Instant),
    /// The batcher is being dropped: no further request follows.
    Close,
}

/// A request that awaits its batch.
pub(super) struct PendingRequest {
    pub kind: RequestKind,
    pub arrived: Instant,
}

pub(super) enum RequestKind {
    Query(Query, Promise<Result<RecordBatch, Failure>>),
    Change(Change, Promise<Result<u64, Failure>>),
}

/// The promises of a batch's requests, in the order of the requests.
#[derive(Default)]
struct Waiters {
    queries: Vec<Promise<Result<RecordBatch, Failure>>>,
    changes: Vec<Promise<Result<u64, Failure>>>,
}

/// A batch that was sent to the table.
struct InFlight {
    requests: usize,
    sent_at: Instant,
}

/// The state of the collecting thread.
pub(super) struct Collector {
    rt: Arc<Runtime>,
    table: Arc<Table>,
    policy: BatchPolicy,
    /// Sends messages to this thread.
    messages: Sender<Message>,
    /// The batch being collected, its promises, and the arrival of its oldest request.
    batch: Batch,
    waiters: Waiters,
    oldest: Option<Instant>,
    in_flight: VecDeque<InFlight>,
    /// When the last batch completed.
    last_completion: Instant,
    forecast: Forecast,
    /// When a request was last admitted against the prediction.
    last_probe: Option<Instant>,
}

/// If every request is refused, the forecast learns nothing. So an idle batcher admits one request
/// per interval against the prediction.
const PROBE_INTERVAL: Duration = Duration::from_millis(100);

/// A batch that is not full waits while this many are in flight: the table serves one, while the
/// answers of another are delivered or its requests are planned.
const MAX_IN_FLIGHT: usize = 2;

/// Messages that are drained before a batch is sent that has become due. Under sustained overload
/// the channel is never empty, and refused requests do not fill the batch.
const DRAIN_LIMIT: usize = 4096;

impl Collector {
    pub fn new(rt: Arc<Runtime>, table: Arc<Table>, policy: BatchPolicy, messages: Sender<Message>) -> Self {
        Self {
            rt,
            table,
            policy,
            messages,
            batch: Batch::new(),
            waiters: Waiters::default(),
            oldest: None,
            in_flight: VecDeque::new(),
            last_completion: Instant::now(),
            forecast: Forecast::default(),
            last_probe: None,
        }
    }

    /// Runs until the batcher is dropped and every admitted request is answered.
    pub fn run(mut self, messages: &Receiver<Message>) {
        let mut is_open = true;
        while is_open || self.oldest.is_some() || !self.in_flight.is_empty() {
            if let Some(first) = self.wait(messages, is_open) {
                is_open &= self.drain(first, messages);
            }
            if self.is_due(is_open) {
                self.send();
            }
        }
    }

    /// Drains the channel, so that requests that arrived together share a batch. Returns false if
    /// no further request follows.
    fn drain(&mut self, first: Message, messages: &Receiver<Message>) -> bool {
        let mut is_open = true;
        let next = std::iter::once(first).chain(messages.try_iter());
        for message in next.take(DRAIN_LIMIT) {
            match message {
                Message::Request(request) => self.admit(request),
                Message::Completed(at) => self.complete(at),
                Message::Close => is_open = false,
            }
        }
        is_open
    }

    /// Waits for a message. Returns `None` if the batch becomes due first.
    fn wait(&self, messages: &Receiver<Message>, is_open: bool) -> Option<Message> {
        match self.oldest.filter(|_| self.in_flight.len() < MAX_IN_FLIGHT) {
            Some(_) if !is_open => None,
            None => messages.recv().ok(),
            Some(oldest) => {
                messages.recv_timeout(self.policy.max_delay.saturating_sub(oldest.elapsed())).ok()
            }
        }
    }

    /// Returns true if the batch is to be sent now.
    fn is_due(&self, is_open: bool) -> bool {
        let waited = |oldest: Instant| !is_open || oldest.elapsed() >= self.policy.max_delay;
        self.oldest.is_some_and(|oldest| self.in_flight.len() < MAX_IN_FLIGHT && waited(oldest))
    }

    fn len(&self) -> usize {
        self.waiters.queries.len() + self.waiters.changes.len()
    }

    /// Admits a request to the batch, or refuses it if it would miss its deadline.
    fn admit(&mut self, request: PendingRequest) {
        if let Some(deadline) = self.policy.deadline {
            let first = self.oldest.unwrap_or(request.arrived);
            let predicted = first.elapsed().saturating_add(self.predicted_latency(self.len() + 1));
            if predicted > deadline && !self.try_probe() {
                let refused = Failure::Refused { predicted, deadline };
                match request.kind {
                    RequestKind::Query(_, caller) => caller.fulfil(Err(refused)),
                    RequestKind::Change(_, caller) => caller.fulfil(Err(refused)),
                }
                return;
            }
        }
        self.oldest.get_or_insert(request.arrived);
        match request.kind {
            RequestKind::Query(query, caller) => {
                self.batch.query(query);
                self.waiters.queries.push(caller);
            }
            RequestKind::Change(change, caller) => {
                self.batch.change(change);
                self.waiters.changes.push(caller);
            }
        }
        if self.len() >= self.policy.max_requests {
            self.send();
        }
    }

    /// Returns true, and starts a new interval, if a probe is due.
    fn try_probe(&mut self) -> bool {
        let is_idle = self.in_flight.is_empty() && self.oldest.is_none();
        let is_due =
            is_idle && self.last_probe.is_none_or(|last_probe| last_probe.elapsed() >= PROBE_INTERVAL);
        if is_due {
            self.last_probe = Some(Instant::now());
        }
        is_due
    }

    /// Predicts the time until a batch of `requests` requests is answered, including the batches in
    /// flight.
    fn predicted_latency(&self, requests: usize) -> Duration {
        let before =
            self.in_flight.iter().map(|batch| self.forecast.upper_bound(batch.requests)).sum::<Duration>();
        let since = self
            .in_flight
            .front()
            .map_or(Duration::ZERO, |batch| batch.sent_at.max(self.last_completion).elapsed());
        let wait = self
            .oldest
            .map_or(self.policy.max_delay, |oldest| self.policy.max_delay.saturating_sub(oldest.elapsed()));
        before.saturating_sub(since).max(wait).saturating_add(self.forecast.upper_bound(requests))
    }

    fn send(&mut self) {
        let (batch, waiters) = (std::mem::take(&mut self.batch), std::mem::take(&mut self.waiters));
        self.oldest = None;
        let requests = waiters.queries.len() + waiters.changes.len();
        self.in_flight.push_back(InFlight { requests, sent_at: Instant::now() });
        let signal = CompletionSignal(self.messages.clone());
        self.table.send_with(&self.rt, batch, move |answers| {
            // Move the signal into the closure: it fires also if the closure is dropped without a
            // call.
            let signal = signal;
            waiters.answer(&answers);
            drop(signal);
        });
    }

    /// Records the completion of the oldest batch in flight.
    fn complete(&mut self, at: Instant) {
        if let Some(batch) = self.in_flight.pop_front() {
            let time = at.saturating_duration_since(batch.sent_at.max(self.last_completion));
            self.forecast.record(batch.requests, time);
            self.last_completion = at;
        }
    }
}

impl Waiters {
    fn answer(self, answers: &Answers) {
        for (number, caller) in self.changes.into_iter().enumerate() {
            caller.fulfil(answers.rows_affected(number));
        }
        for (number, caller) in self.queries.into_iter().enumerate() {
            caller.fulfil(answers.rows(number));
        }
    }
}

/// Reports the completion of a batch when dropped: after its answers were delivered, or when the
/// table was lost and the continuation with it.
struct CompletionSignal(Sender<Message>);

impl Drop for CompletionSignal {
    fn drop(&mut self) {
        // The collector is gone: its state needs no update.
        let _ = self.0.send(Message::Completed(Instant::now()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Filter;
    use arrow_schema::Schema;
    use std::sync::mpsc;

    /// Requests that are refused without end do not keep back a batch that is due.
    #[test]
    fn a_drain_ends_though_requests_keep_arriving() {
        let rt = Arc::new(Runtime::builder().workers(1).build().unwrap());
        let table = Arc::new(Table::new(&rt, Arc::new(Schema::empty()), 1).unwrap());
        let (messages, received) = mpsc::channel();
        let policy = BatchPolicy::default().deadline(Duration::ZERO);
        let mut collector = Collector::new(rt.clone(), table, policy, messages.clone());
        let request = || {
            let (promise, handle) = rt.promise();
            let kind = RequestKind::Change(Change::Delete(Filter::all()), promise);
            (Message::Request(PendingRequest { kind, arrived: Instant::now() }), handle)
        };
        let (first, admitted) = request();
        let refused: Vec<_> = (0..2 * DRAIN_LIMIT)
            .map(|_| {
                let (message, handle) = request();
                messages.send(message).unwrap();
                handle
            })
            .collect();
        assert!(collector.drain(first, &received));
        assert!(collector.is_due(true) && received.try_recv().is_ok(), "the batch is sent before the rest");
        collector.send();
        assert_eq!(admitted.join().unwrap(), Ok(0));
        drop(refused);
    }

    /// Admission resumes after a phase of slow batches.
    #[test]
    fn admission_resumes_after_slow_batches() {
        let rt = Arc::new(Runtime::builder().workers(1).build().unwrap());
        let table = Arc::new(Table::new(&rt, Arc::new(Schema::empty()), 1).unwrap());
        let (messages, received) = mpsc::channel();
        let policy = BatchPolicy::default().deadline(Duration::from_millis(10));
        let mut collector = Collector::new(rt.clone(), table, policy, messages);
        let admit = |collector: &mut Collector| {
            let (promise, handle) = rt.promise();
            let kind = RequestKind::Change(Change::Delete(Filter::all()), promise);
            collector.admit(PendingRequest { kind, arrived: Instant::now() });
            let is_admitted = collector.oldest.is_some();
            if is_admitted {
                collector.send();
                assert_eq!(handle.join().unwrap(), Ok(0));
                let Ok(Message::Completed(_)) = received.recv() else { panic!("the batch completes") };
                // However long the batch took on this machine, the forecast learns of 1 ms.
                let sent_at = collector.in_flight.front().expect("the batch was sent").sent_at;
                collector.complete(sent_at + Duration::from_millis(1));
            } else {
                assert!(matches!(handle.join().unwrap(), Err(Failure::Refused { .. })));
            }
            is_admitted
        };
        assert!(admit(&mut collector));
        (0..100).for_each(|_| collector.forecast.record(1, Duration::from_secs(1)));
        collector.last_probe = None;
        assert!(admit(&mut collector), "a probe is due");
        assert!(collector.last_probe.is_some(), "the probe has started an interval");
        // An interval that does not end while the test runs.
        collector.last_probe = Some(Instant::now() + Duration::from_secs(3600));
        assert!(!admit(&mut collector));
        collector.last_probe = None;
        // The slow batches fade from the forecast after some probes.
        let tries = (0..1000).take_while(|_| {
            let is_refused = !admit(&mut collector);
            collector.last_probe = None;
            is_refused || collector.forecast.upper_bound(1) > Duration::from_millis(10)
        });
        assert!(tries.count() < 1000);
    }
}
