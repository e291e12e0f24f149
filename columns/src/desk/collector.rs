//! The thread that collects requests. All that it knows is its own, and all that happens comes to it as messages.

use super::Terms;
use super::forecast::Forecast;
use crate::answer::{Answers, Failure};
use crate::request::{Batch, Change, Query};
use crate::table::Table;
use arrow_array::RecordBatch;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};
use xtasking::{Promise, Runtime};

/// What happens.
pub(super) enum Message {
    Request(Request),
    /// The oldest of the batches under way is over, one way or the other.
    Over(Instant),
    /// Nothing more comes.
    Close,
}

/// Something that was handed in.
pub(super) struct Request {
    pub what: What,
    pub came: Instant,
}

pub(super) enum What {
    Query(Query, Promise<Result<RecordBatch, Failure>>),
    Change(Change, Promise<Result<u64, Failure>>),
}

/// Those who wait for a batch.
#[derive(Default)]
struct Callers {
    queries: Vec<Promise<Result<RecordBatch, Failure>>>,
    changes: Vec<Promise<Result<u64, Failure>>>,
}

/// A batch that was sent.
struct UnderWay {
    requests: usize,
    sent: Instant,
}

/// See the module's documentation.
pub(super) struct Collector {
    rt: Arc<Runtime>,
    table: Arc<Table>,
    terms: Terms,
    /// To this thread itself.
    messages: Sender<Message>,
    /// What is collected, and since when.
    batch: Batch,
    callers: Callers,
    first: Option<Instant>,
    under_way: VecDeque<UnderWay>,
    /// When the last one was over.
    over: Instant,
    forecast: Forecast,
    /// When a request was last taken that would have been refused.
    probed: Option<Instant>,
}

/// If all is refused, nothing more is learnt. So when nobody is served, one request in such a time is taken all the same.
const PROBE: Duration = Duration::from_millis(100);

/// So many batches are under way at once: one is served, while the answers of the other are told, or its requests planned.
const DEPTH: usize = 2;

impl Collector {
    pub fn new(rt: Arc<Runtime>, table: Arc<Table>, terms: Terms, messages: Sender<Message>) -> Self {
        Self {
            rt,
            table,
            terms,
            messages,
            batch: Batch::new(),
            callers: Callers::default(),
            first: None,
            under_way: VecDeque::new(),
            over: Instant::now(),
            forecast: Forecast::default(),
            probed: None,
        }
    }

    /// Until nothing more comes, and all that came is answered.
    pub fn run(mut self, messages: &Receiver<Message>) {
        let mut is_open = true;
        while is_open || self.first.is_some() || !self.under_way.is_empty() {
            // All that is there is taken at once, so that those who came together go together.
            let mut next = self.wait(messages, is_open);
            while let Some(message) = next {
                match message {
                    Message::Request(request) => self.take(request),
                    Message::Over(at) => self.learn(at),
                    Message::Close => is_open = false,
                }
                next = messages.try_recv().ok();
            }
            if self.is_due(is_open) {
                self.send();
            }
        }
    }

    /// The next message; nothing, if something is due before there is one.
    fn wait(&self, messages: &Receiver<Message>, is_open: bool) -> Option<Message> {
        match self.first.filter(|_| self.under_way.len() < DEPTH) {
            Some(_) if !is_open => None,
            None => messages.recv().ok(),
            Some(first) => messages.recv_timeout(self.terms.wait.saturating_sub(first.elapsed())).ok(),
        }
    }

    /// Whether the batch is to be closed now.
    fn is_due(&self, is_open: bool) -> bool {
        let waited = |first: Instant| !is_open || first.elapsed() >= self.terms.wait;
        self.first.is_some_and(|first| self.under_way.len() < DEPTH && waited(first))
    }

    fn len(&self) -> usize {
        self.callers.queries.len() + self.callers.changes.len()
    }

    /// Takes a request into the batch, or refuses it.
    fn take(&mut self, request: Request) {
        if let Some(promise) = self.terms.promise {
            let oldest = self.first.unwrap_or(request.came);
            let predicted = oldest.elapsed() + self.takes(self.len() + 1);
            if predicted > promise && !self.may_probe() {
                let refused = Failure::Refused { predicted, promise };
                match request.what {
                    What::Query(_, caller) => caller.fulfil(Err(refused)),
                    What::Change(_, caller) => caller.fulfil(Err(refused)),
                }
                return;
            }
        }
        self.first.get_or_insert(request.came);
        match request.what {
            What::Query(query, caller) => {
                self.batch.query(query);
                self.callers.queries.push(caller);
            }
            What::Change(change, caller) => {
                self.batch.change(change);
                self.callers.changes.push(caller);
            }
        }
        if self.len() >= self.terms.most {
            self.send();
        }
    }

    fn may_probe(&mut self) -> bool {
        let is_idle = self.under_way.is_empty() && self.first.is_none();
        let may = is_idle && self.probed.is_none_or(|probed| probed.elapsed() >= PROBE);
        if may {
            self.probed = Some(Instant::now());
        }
        may
    }

    /// How long it takes from now until a batch of so many requests is answered, with all that is to be done before.
    fn takes(&self, requests: usize) -> Duration {
        let before = self.under_way.iter().map(|batch| self.forecast.most(batch.requests)).sum::<Duration>();
        let since =
            self.under_way.front().map_or(Duration::ZERO, |batch| batch.sent.max(self.over).elapsed());
        let wait =
            self.first.map_or(self.terms.wait, |first| self.terms.wait.saturating_sub(first.elapsed()));
        before.saturating_sub(since).max(wait) + self.forecast.most(requests)
    }

    fn send(&mut self) {
        let (batch, callers) = (std::mem::take(&mut self.batch), std::mem::take(&mut self.callers));
        self.first = None;
        let requests = callers.queries.len() + callers.changes.len();
        self.under_way.push_back(UnderWay { requests, sent: Instant::now() });
        let over = Over(self.messages.clone());
        self.table.send_then(&self.rt, batch, move |answers| {
            // Also if nobody is told any more.
            let over = over;
            callers.tell(&answers);
            drop(over);
        });
    }

    /// A batch is over.
    fn learn(&mut self, at: Instant) {
        if let Some(batch) = self.under_way.pop_front() {
            let time = at.saturating_duration_since(batch.sent.max(self.over));
            self.forecast.learn(batch.requests, time);
            self.over = at;
        }
    }
}

impl Callers {
    fn tell(self, answers: &Answers) {
        for (number, caller) in self.changes.into_iter().enumerate() {
            caller.fulfil(answers.changed(number));
        }
        for (number, caller) in self.queries.into_iter().enumerate() {
            caller.fulfil(answers.rows(number));
        }
    }
}

/// Says that a batch is over when it goes, be it that its answers were told or that the table was lost.
struct Over(Sender<Message>);

impl Drop for Over {
    fn drop(&mut self) {
        // Without a collector nobody cares.
        let _ = self.0.send(Message::Over(Instant::now()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Filter;
    use arrow_schema::Schema;
    use std::sync::mpsc;

    /// After a time in which nothing could be promised it is tried again.
    #[test]
    fn what_is_refused_is_tried_now_and_then() {
        let rt = Arc::new(Runtime::builder().workers(1).build().unwrap());
        let table = Arc::new(Table::new(&rt, Arc::new(Schema::empty()), 1).unwrap());
        let (messages, received) = mpsc::channel();
        let terms = Terms::default().promise(Duration::from_millis(10));
        let mut collector = Collector::new(rt.clone(), table, terms, messages);
        let is_taken = |collector: &mut Collector| {
            let (promise, handle) = rt.promise();
            let what = What::Change(Change::Delete(Filter::all()), promise);
            collector.take(Request { what, came: Instant::now() });
            let taken = collector.first.is_some();
            if taken {
                collector.send();
                assert_eq!(handle.join().unwrap(), Ok(0));
                let Ok(Message::Over(at)) = received.recv() else { panic!("the batch is over") };
                collector.learn(at);
            } else {
                assert!(matches!(handle.join().unwrap(), Err(Failure::Refused { .. })));
            }
            taken
        };
        assert!(is_taken(&mut collector));
        (0..100).for_each(|_| collector.forecast.learn(1, Duration::from_secs(1)));
        assert!(is_taken(&mut collector) && !is_taken(&mut collector));
        // It takes some tries until the slow ones are forgotten.
        let tries = (0..1000).take_while(|_| {
            let is_refused = !is_taken(&mut collector);
            collector.probed = None;
            is_refused || collector.forecast.most(1) > Duration::from_millis(10)
        });
        assert!(tries.count() < 1000);
    }
}
