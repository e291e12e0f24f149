//! Many sessions that change the same keys, from tasks of all workers.

use xtasking::{Context, Handle, Promise, Runtime};
use xtasking_store::Engine;
use xtasking_store::engine::Finished;
use xtasking_store::resp::Requests;
use xtasking_store::session::Session;

/// Sessions of each worker.
const SESSIONS: usize = 8;
/// How often each changes the keys.
const ROUNDS: usize = 50;
/// The keys that each change has; they lie in several shards.
const KEYS: usize = 8;

/// A session that changes all keys at once, reads them at once, and counts in a transaction.
struct Writer {
    engine: Engine,
    number: usize,
    left: usize,
    done: Promise<Result<(), String>>,
}

/// Runs them. Returns what has happened.
///
/// # Errors
///
/// If a reader has seen some of the changes that are made at once, or one was lost.
pub fn run(rt: &Runtime, engine: &Engine) -> Result<String, String> {
    let all = rt.workers() * SESSIONS;
    let running: Vec<_> = (0..all).map(|number| Writer::start(rt, engine, number)).collect();
    for handle in running {
        handle.join().map_err(|error| format!("together: {error}"))??;
    }
    let count = all * ROUNDS;
    let counted =
        engine.client().run(["MGET", "together:a", "together:b"]).map_err(|error| error.to_string())?;
    let digits = count.to_string();
    let expected = format!("*2\r\n${0}\r\n{digits}\r\n${0}\r\n{digits}\r\n", digits.len());
    if counted != expected.as_bytes() {
        return Err(format!("together: {} instead of {count} twice", counted.escape_ascii()));
    }
    Ok(format!("together: {all} sessions changed {KEYS} keys at once, {ROUNDS} times each"))
}

impl Writer {
    fn start(rt: &Runtime, engine: &Engine, number: usize) -> Handle<Result<(), String>> {
        let (done, handle) = rt.promise();
        let writer = Box::new(Self { engine: engine.clone(), number, left: ROUNDS, done });
        rt.task(()).core((number % rt.workers()) as u16).spawn(move |(), cx| {
            let session = writer.engine.session("together");
            writer.go_on(session, cx);
        });
        handle
    }

    fn requests(&self) -> Requests {
        let value = format!("{}.{}", self.number, self.left);
        let keys: Vec<String> = (0..KEYS).map(|key| format!("together:{key}")).collect();
        let set = ["MSET"].into_iter().chain(keys.iter().flat_map(|key| [&**key, &*value]));
        let mut requests = Requests::one(set);
        requests.push(["MGET"].into_iter().chain(keys.iter().map(|key| &**key)));
        for line in [&["MULTI"][..], &["INCR", "together:a"], &["INCR", "together:b"], &["EXEC"]] {
            requests.push(line);
        }
        requests
    }

    fn go_on(self: Box<Self>, session: Box<Session>, cx: &mut Context) {
        let (engine, requests) = (self.engine.clone(), self.requests());
        engine.submit(cx, session, requests, |finished, cx| {
            cx.task(()).spawn(|(), cx| self.check(finished, cx));
        });
    }

    fn check(mut self: Box<Self>, finished: Finished, cx: &mut Context) {
        let replies = String::from_utf8_lossy(&finished.replies).into_owned();
        self.left -= 1;
        if !is_whole(&replies) {
            return self.done.fulfil(Err(format!("together: {replies:?}")));
        }
        if self.left > 0 {
            return self.go_on(finished.session, cx);
        }
        self.engine.close(cx, finished.session);
        self.done.fulfil(Ok(()));
    }
}

/// Returns true if all keys had the same value, and both counters.
fn is_whole(replies: &str) -> bool {
    let lines: Vec<&str> = replies.lines().collect();
    let [set, count, values @ .., multi, first, second, exec, a, b] = &*lines else { return false };
    let expected = ["+OK", &format!("*{KEYS}"), "+OK", "+QUEUED", "+QUEUED", "*2"];
    let all_equal = values.chunks(2).all(|value| value == &values[..2]);
    [*set, *count, *multi, *first, *second, *exec] == expected
        && values.len() == 2 * KEYS
        && all_equal
        && a == b
}
