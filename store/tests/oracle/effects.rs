//! What a store reports as its effects, replayed, gives another store the same keys.

use super::reply::Value;
use super::scripts::{Args, Scripts};
use super::{is_there, show_command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use xtasking::Runtime;
use xtasking_store::Engine;
use xtasking_store::command::Effects;
use xtasking_store::engine::{Builder, Client};
use xtasking_store::resp::Requests;

/// The time at which a script begins, in seconds since 1970.
const BEGIN: u64 = 1_000_000;
const DATABASES: usize = 16;

/// Makes an engine of a clock that the test sets.
fn engine(rt: &Runtime, time: &Arc<AtomicU64>, change: impl FnOnce(Builder) -> Builder) -> Engine {
    let clock = time.clone();
    let builder = Engine::builder().shards(4).databases(DATABASES);
    change(builder.clock(move || clock.load(Ordering::SeqCst))).build(rt)
}

fn call(client: &mut Client, args: &[&[u8]]) -> Value {
    Value::parse(&client.run(args).expect("a reply"))
}

/// All keys with their values and expiries, in order.
fn contents(engine: &Engine) -> Vec<String> {
    let mut client = engine.client();
    let mut all = Vec::new();
    for database in 0..DATABASES {
        call(&mut client, &[b"SELECT", database.to_string().as_bytes()]);
        let Value::Array(keys) = call(&mut client, &[b"KEYS", b"*"]) else { panic!("KEYS gives an array") };
        for key in keys {
            let Value::Bulk(key) = key else { panic!("a key is a bulk string") };
            let expires_at = call(&mut client, &[b"PEXPIRETIME", &key]);
            let value = match call(&mut client, &[b"TYPE", &key]) {
                Value::Line(name) if name == "+list" => call(&mut client, &[b"LRANGE", &key, b"0", b"-1"]),
                Value::Line(name) if name == "+hash" => sorted(call(&mut client, &[b"HGETALL", &key]), 2),
                Value::Line(name) if name == "+set" => sorted(call(&mut client, &[b"SMEMBERS", &key]), 1),
                Value::Line(name) if name == "+zset" => {
                    call(&mut client, &[b"ZRANGE", &key, b"0", b"-1", b"WITHSCORES"])
                }
                _ => call(&mut client, &[b"GET", &key]),
            };
            all.push(format!("{database} {} {expires_at:?} {value:?}", key.escape_ascii()));
        }
    }
    all.sort();
    all
}

/// An array with its elements, or groups of them, in order.
fn sorted(value: Value, group: usize) -> Value {
    let Value::Array(elements) = value else { return value };
    let mut groups: Vec<_> = elements.chunks(group).collect();
    groups.sort_by_key(|group| format!("{group:?}"));
    Value::Array(groups.concat())
}

/// Returns true for a command that would wait.
fn waits(args: &Args, client: &mut Client) -> bool {
    args[0].starts_with(b"B") && client.session().is_none_or(|session| !session.is_in_transaction())
}

fn check(seed: u64) {
    let rt = Runtime::builder().workers(1).build().expect("a runtime");
    let time = Arc::new(AtomicU64::new(BEGIN * 1000));
    let log = Arc::new(Mutex::new(Vec::<(usize, Requests)>::new()));
    let sink = log.clone();
    let follow = move |effects: &Effects| {
        let commands = effects.commands.iter();
        sink.lock().unwrap().extend(commands.map(|(database, args)| (database, Requests::one(args))));
    };
    let original = engine(&rt, &time, |builder| builder.on_effects(follow));
    let mut scripts = Scripts::new(seed, BEGIN as i64 + 10_000);
    let mut client = original.client();
    let mut history = Vec::new();
    for _ in 0..60 {
        // Blocking commands run in transactions only, where they do not wait.
        let args: Args = match scripts.below(3) {
            0 => scripts.command(),
            _ => scripts.command_on_collections(),
        };
        if is_there(&args) && !waits(&args, &mut client) {
            client.run(&args).expect("a reply");
            history.push(show_command(&args));
        }
        time.fetch_add(scripts.below(30_000) as u64, Ordering::SeqCst);
    }
    let log = std::mem::take(&mut *log.lock().unwrap());
    // While effects are replayed nothing expires: what has expired was reported as a removal.
    let standing = Arc::new(AtomicU64::new(0));
    let copy = engine(&rt, &standing, |builder| builder);
    let mut replayer = copy.client();
    for (database, command) in &log {
        replayer.run(["SELECT", &database.to_string()]).expect("a reply");
        let reply = replayer.run(command.args(0).iter()).expect("a reply");
        let args: Args = command.args(0).iter().map(<[u8]>::to_vec).collect();
        let (shown, error) = (show_command(&args), reply.escape_ascii());
        assert_ne!(reply[0], b'-', "seed {seed}: {database}: {shown}: {error} after\n{}", history.join("\n"));
    }
    standing.store(time.load(Ordering::SeqCst), Ordering::SeqCst);
    let (expected, replayed) = (contents(&original), contents(&copy));
    assert!(expected == replayed, "seed {seed}\n{}\n{expected:#?}\n{replayed:#?}", history.join("\n"));
}

#[test]
fn effects_replayed_give_the_same_keys() {
    (0..10 * super::scripts()).for_each(check);
}
