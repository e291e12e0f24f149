//! A client, whatever carries its bytes: it draws what it sends, and records what came of it.

use super::history::{Op, Outcome, Transaction};
use super::reply::Reply;
use super::script::{Form, Script};
use std::collections::VecDeque;
use std::mem;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use xtasking_testing::{Random, lock};

/// What all clients of a store share: the order of what happens, and what is recorded.
pub struct Recorder {
    ticks: AtomicU64,
    values: AtomicU64,
    sessions: AtomicUsize,
    /// The last tick at which the log could not be written.
    trouble: AtomicU64,
    /// Returns the time in ms by the clock of the store.
    clock: Box<dyn Fn() -> u64 + Send + Sync>,
    transactions: Mutex<Vec<Transaction>>,
}

impl Recorder {
    pub fn new(clock: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self {
            ticks: AtomicU64::new(1),
            values: AtomicU64::new(1),
            sessions: AtomicUsize::new(0),
            trouble: AtomicU64::new(0),
            clock: Box::new(clock),
            transactions: Mutex::default(),
        }
    }

    /// Returns a tick later than all before.
    pub fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, SeqCst)
    }

    pub fn now(&self) -> u64 {
        (self.clock)()
    }

    /// Returns the number of a new connection.
    pub fn session(&self) -> usize {
        self.sessions.fetch_add(1, SeqCst)
    }

    /// Notes that the log cannot be written now.
    pub fn note_trouble(&self) {
        self.trouble.store(self.tick(), SeqCst);
    }

    /// Takes what was recorded. What is not known had its effect before now, or never.
    pub fn take(&self) -> Vec<Transaction> {
        let (tick, now) = (self.tick(), self.now());
        let mut all = mem::take(&mut *lock(&self.transactions));
        for transaction in all.iter_mut().filter(|transaction| transaction.outcome == Outcome::Unknown) {
            (transaction.ended, transaction.ended_at) = (tick, now);
        }
        all
    }
}

/// A script whose replies come.
struct Running {
    script: Script,
    replies: Vec<Reply>,
    /// How many replies it gets of what was sent.
    expected: usize,
    begun: u64,
    begun_at: u64,
}

/// A client.
pub struct Client {
    recorder: Arc<Recorder>,
    pub random: Random,
    session: usize,
    /// The pipelines that it still sends.
    left: u32,
    running: VecDeque<Running>,
    input: Vec<u8>,
}

/// Returns requests as bytes.
fn encode(requests: &[Vec<String>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for request in requests {
        bytes.extend_from_slice(format!("*{}\r\n", request.len()).as_bytes());
        for arg in request {
            bytes.extend_from_slice(format!("${}\r\n{arg}\r\n", arg.len()).as_bytes());
        }
    }
    bytes
}

impl Client {
    pub fn new(recorder: Arc<Recorder>, seed: u64) -> Self {
        let (running, input) = (VecDeque::new(), Vec::new());
        Self { recorder, random: Random(seed), session: 0, left: 0, running, input }
    }

    /// Sets how many pipelines it sends.
    pub fn set_left(&mut self, left: u32) {
        self.left = left;
    }

    /// Begins a connection.
    pub fn connect(&mut self) {
        self.session = self.recorder.session();
        self.input.clear();
    }

    /// Returns true if it has sent all that it was to send.
    pub fn is_done(&self) -> bool {
        self.left == 0
    }

    /// Returns true if no reply is missing.
    pub fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    /// Returns the bytes of a pipeline: a few scripts, of which the last may go on when it has its
    /// first replies.
    pub fn pipeline(&mut self) -> Vec<u8> {
        self.left = self.left.saturating_sub(1);
        let (begun, begun_at) = (self.recorder.tick(), self.recorder.now());
        let mut bytes = Vec::new();
        let most = 1 + self.random.below(4);
        for _ in 0..most {
            let recorder = self.recorder.clone();
            let script = Script::draw(&mut self.random, &mut || recorder.values.fetch_add(1, SeqCst));
            let requests = script.requests();
            bytes.extend(encode(&requests));
            let (is_watched, expected) = (matches!(script.form, Form::Watched(_)), requests.len());
            self.running.push_back(Running { script, replies: Vec::new(), expected, begun, begun_at });
            if is_watched {
                break;
            }
        }
        bytes
    }

    /// Takes bytes that have come. Returns what is to be sent then.
    pub fn receive(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.input.extend_from_slice(bytes);
        let mut more = Vec::new();
        let mut at = 0;
        while let Some((reply, len)) =
            (at < self.input.len()).then(|| Reply::parse(&self.input[at..])).flatten()
        {
            at += len;
            let running = self.running.front_mut();
            let running = running.unwrap_or_else(|| panic!("{reply:?} answers nothing"));
            running.replies.push(reply);
            if running.replies.len() < running.expected {
                continue;
            }
            let further = running.script.further_requests();
            if running.expected == 2 && !further.is_empty() {
                running.expected += further.len();
                more = encode(&further);
            } else if let Some(running) = self.running.pop_front() {
                let outcome = running.script.outcome(&running.replies);
                let (outcome, ops) = outcome.unwrap_or_else(|text| panic!("{text}"));
                self.record(running, outcome, ops);
            }
        }
        self.input.drain(..at);
        more
    }

    fn record(&mut self, running: Running, outcome: Outcome, ops: Vec<Op>) {
        let Running { begun, begun_at, .. } = running;
        let recorder = &self.recorder;
        let (ended, ended_at) = (recorder.tick(), recorder.now());
        let is_sure = recorder.trouble.load(SeqCst) < begun;
        let session = self.session;
        let transaction = Transaction { session, begun, ended, begun_at, ended_at, outcome, is_sure, ops };
        lock(&recorder.transactions).push(transaction);
    }

    /// Records that the connection is lost, or the store was killed.
    pub fn lose(&mut self) {
        for running in mem::take(&mut self.running) {
            let outcome = running.script.outcome_if_lost(running.replies.len());
            let ops = running.script.unknown();
            self.record(running, outcome, ops);
        }
        self.input.clear();
    }
}
