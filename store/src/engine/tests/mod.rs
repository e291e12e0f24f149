//! Tests of engines, by what is inside of them.
//!
//! | file | contents |
//! |---|---|
//! | `waits` | sessions that wait |
//! | `effects` | what is to be replayed of commands |
//! | `tasks` | what one task does for its requests |
//! | `freeing` | what is large is freed after the reply |
//! | `rights` | rights of users, as tasks check them |
//! | `engines` | what engines are made of, and how they end |

mod effects;
mod engines;
mod freeing;
mod rights;
mod tasks;
mod waits;

use super::{Client, Engine, Finished};
use crate::command::Effects;
use crate::resp::Requests;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use xtasking::{Handle, Runtime};
use xtasking_testing::{Setting, eventually};

/// A store whose time the test sets.
struct Store {
    rt: Runtime,
    engine: Engine,
    time: Arc<AtomicU64>,
    effects: Arc<Mutex<Vec<String>>>,
}

fn text(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

impl Store {
    fn new(setting: Setting, shards: usize) -> Self {
        let rt = setting.build();
        let time = Arc::new(AtomicU64::new(1_000_000));
        let effects = Arc::new(Mutex::new(Vec::new()));
        let (clock, log) = (time.clone(), effects.clone());
        let engine = Engine::builder()
            .shards(shards)
            .databases(4)
            .seed(setting.seed())
            .setting("enable-debug-command", "yes")
            .clock(move || clock.load(Ordering::SeqCst))
            .on_effects(move |effects: &Effects| {
                for (database, command) in effects.commands.iter() {
                    let args: Vec<_> = command.into_iter().map(text).collect();
                    log.lock().unwrap().push(format!("{database}: {}", args.join(" ")));
                }
            })
            .build(&rt);
        Self { rt, engine, time, effects }
    }

    /// Sends requests of a new session, and does not wait for the replies.
    fn send(&self, lines: &[&str]) -> (u64, Handle<Finished>) {
        let mut requests = Requests::default();
        lines.iter().for_each(|line| requests.push(line.split(' ')));
        let session = self.engine.session("");
        let id = session.id();
        let (promise, handle) = self.rt.promise();
        self.engine.submit(&self.rt, session, requests, move |finished, _| promise.fulfil(finished));
        (id, handle)
    }

    /// Sends requests of a new session, and waits until it is blocked.
    fn block(&self, lines: &[&str]) -> (u64, Handle<Finished>) {
        let (id, handle) = self.send(lines);
        self.until(|| self.engine.server().clients.get(id).is_some_and(|client| client.is_blocked()));
        (id, handle)
    }

    /// Waits until something holds that tasks bring about. Simulated ones run while a thread waits.
    fn until(&self, holds: impl Fn() -> bool) {
        eventually("the store is so", || {
            self.rt.task(()).submit(|(), _| ()).join().unwrap();
            holds()
        });
    }
}

fn run(client: &mut Client, line: &str) -> String {
    text(&client.run(line.split(' ')).unwrap())
}

fn replies(handle: Handle<Finished>) -> String {
    text(&handle.join().unwrap().replies)
}

fn settings() -> impl Iterator<Item = Setting> {
    Setting::threads().chain(Setting::simulations(&[1, 2]))
}

/// Makes a set or a list of this many elements.
fn fill(client: &mut Client, command: &str, key: &str, elements: usize) {
    for first in (0..elements).step_by(1000) {
        let numbers = (first..elements.min(first + 1000)).map(|number| number.to_string());
        let request: Vec<String> = [command.to_owned(), key.to_owned()].into_iter().chain(numbers).collect();
        client.run(&request).unwrap();
    }
}
