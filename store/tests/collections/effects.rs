//! The effects of commands: their events are those of Redis, and a replica that runs what they say
//! has the same contents.

use super::oracle::ask;
use super::redis::{Connection, Server};
use super::reply::Value;
use super::{builder, engine};
use std::sync::{Arc, Mutex, PoisonError};
use xtasking::Runtime;
use xtasking_store::Engine;
use xtasking_store::engine::Client;
use xtasking_store::resp::Requests;

/// What an engine has told.
#[derive(Default)]
struct EffectRecord {
    commands: Vec<Requests>,
    /// Event and key.
    events: Vec<String>,
}

/// Follows the effects of an engine's commands, and the events of Redis.
pub struct Follower {
    record: Arc<Mutex<EffectRecord>>,
    replica: Client,
    redis: Connection,
}

impl Follower {
    /// Makes an engine and what follows it.
    pub fn new(rt: &Runtime, server: &Server) -> (Engine, Self) {
        let record = Arc::new(Mutex::new(EffectRecord::default()));
        let own = Arc::clone(&record);
        let followed = builder().on_effects(move |effects| {
            let mut record = own.lock().unwrap_or_else(PoisonError::into_inner);
            record.commands.extend(effects.commands.iter().map(|(_, command)| Requests::one(command)));
            let events = effects.events.iter();
            record.events.extend(events.map(|event| format!("{} {}", event.name, event.key.escape_ascii())));
        });
        let mut redis = server.connect();
        ask(&mut redis, &words(&["config", "set", "notify-keyspace-events", "EA"]));
        ask(&mut redis, &words(&["psubscribe", "__keyevent@*"]));
        (followed.build(rt), Self { record, replica: engine(rt).client(), redis })
    }

    /// Runs on the replica what the engine has told, and returns the events: the engine's, and
    /// those of Redis.
    pub fn follow(&mut self) -> (Vec<String>, Vec<String>) {
        let record = std::mem::take(&mut *self.record.lock().unwrap_or_else(PoisonError::into_inner));
        for command in record.commands {
            let reply = self.replica.run_all(command).expect("a running engine");
            assert!(!reply.starts_with(b"-"), "the replica fails: {}", reply.escape_ascii());
        }
        // What precedes the reply to PING are all events so far.
        let mut events = Vec::new();
        let mut message = ask(&mut self.redis, &words(&["ping"]));
        while let Some(event) = event(&message) {
            events.push(event);
            message = self.redis.receive();
        }
        (record.events, events)
    }

    /// Returns what the replica replies.
    pub fn replica(&mut self, args: &[Vec<u8>]) -> Vec<u8> {
        self.replica.run(args).expect("a running engine")
    }
}

/// Returns event and key of a message; `None` if it is no event.
fn event(message: &[u8]) -> Option<String> {
    let Value::Array(parts) = Value::parse(message) else { return None };
    let [_, _, Value::Bulk(channel), Value::Bulk(key)] = parts.as_slice() else { return None };
    let name = String::from_utf8_lossy(channel).rsplit(':').next()?.to_owned();
    Some(format!("{name} {}", key.escape_ascii()))
}

fn words(words: &[&str]) -> Vec<Vec<u8>> {
    words.iter().map(|word| word.as_bytes().to_vec()).collect()
}
