//! What a store reports as its effects, replayed, gives another store the same streams, with all
//! times and counts.

use super::Target;
use super::scripts::{GREATEST, KEYS, Scripts};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use xtasking::Runtime;
use xtasking_storage::SimulatedDisk;
use xtasking_store::Engine;
use xtasking_store::command::Effects;
use xtasking_store::engine::{Builder, Client};
use xtasking_store::log::Options;
use xtasking_store::resp::Requests;

/// The time at which a script begins, in ms since 1970.
const BEGIN: u64 = 1_000_000_000;

/// An engine of a clock that the test sets.
fn builder(time: &Arc<AtomicU64>) -> Builder {
    let clock = time.clone();
    Engine::builder().shards(2).clock(move || clock.load(Ordering::SeqCst))
}

/// All that there is to know of the streams, blocks aside, whose sizes are as the settings were.
fn contents(client: &mut Client) -> Vec<String> {
    let all = |line: String| client.line(&line).escape_ascii().to_string();
    let questions = KEYS.iter().map(|key| format!("XINFO STREAM {key} FULL COUNT 0"));
    let replies: Vec<String> = questions.map(all).collect();
    let is_of_blocks = |line: &&str| !line.contains("radix-tree");
    let shown = |reply: &String| {
        let mut lines = reply.split("\\r\\n");
        let mut kept = Vec::new();
        while let Some(line) = lines.next() {
            if is_of_blocks(&line) {
                kept.push(line);
            } else {
                lines.next();
            }
        }
        kept.join(" ")
    };
    replies.iter().map(shown).collect()
}

fn check(seed: u64) {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let time = Arc::new(AtomicU64::new(BEGIN));
    let log = Arc::new(Mutex::new(Vec::<Requests>::new()));
    let sink = log.clone();
    let follow = move |effects: &Effects| {
        sink.lock().unwrap().extend(effects.commands.iter().map(|(_, args)| Requests::one(args)));
    };
    let original = builder(&time).on_effects(follow).build(&rt);
    let mut client = original.client();
    let mut scripts = Scripts::new(seed).drawing_greatest();
    let mut history = Vec::new();
    for _ in 0..100 {
        let words = if scripts.below(3) == 0 { scripts.command_by_time() } else { scripts.command() };
        client.ask(&words.iter().map(String::as_bytes).collect::<Vec<_>>());
        history.push(words.join(" "));
        time.fetch_add(scripts.below(3) as u64, Ordering::SeqCst);
    }
    // The clock of a store that replays its log stands at 0.
    let copy = builder(&Arc::default()).build(&rt);
    let mut replayer = copy.client();
    for command in &*log.lock().unwrap() {
        let reply = replayer.run(command.args(0).iter()).unwrap();
        let shown: Vec<String> = command.args(0).iter().map(|arg| arg.escape_ascii().to_string()).collect();
        assert_ne!(reply[0], b'-', "seed {seed}: {shown:?}: {}", reply.escape_ascii());
    }
    assert_eq!(contents(&mut replayer), contents(&mut client), "seed {seed}\n{}", history.join("\n"));
}

#[test]
fn effects_replayed_give_the_same_streams() {
    (0..20 * super::scripts()).for_each(check);
}

/// Runs commands in a store with a log, `#` being the greatest count, and opens it again from the
/// log. Returns the contents before that, and the store.
fn reopened(rt: &Runtime, lines: &[&str]) -> (Vec<String>, Engine) {
    let (disk, time) = (SimulatedDisk::new(1), Arc::new(AtomicU64::new(BEGIN)));
    let open = || builder(&time).log(disk.clone(), Options::default()).open(rt).unwrap();
    let engine = open();
    let mut client = engine.client();
    for line in lines {
        let reply = client.line(&line.replace('#', GREATEST));
        assert_ne!(reply[0], b'-', "{line}: {}", reply.escape_ascii());
        time.fetch_add(7, Ordering::SeqCst);
    }
    let contents = contents(&mut client);
    drop(client);
    engine.log().unwrap().close().unwrap();
    drop(engine);
    (contents, open())
}

#[test]
fn a_log_and_a_snapshot_keep_streams() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let (expected, engine) = reopened(
        &rt,
        &[
            "XADD s:0 * field 1 other x",
            "XADD s:0 * field 2 other y",
            "XADD s:0 5000000000-* field 3",
            "XGROUP CREATE s:0 g 0",
            "XGROUP CREATECONSUMER s:0 g carol",
            "XREADGROUP GROUP g alice COUNT 2 STREAMS s:0 >",
            "XREADGROUP GROUP g alice STREAMS s:0 0",
            "XREADGROUP GROUP g bob NOACK STREAMS s:0 >",
            "XDEL s:0 1000000000",
            "XAUTOCLAIM s:0 g bob 0 0",
            "XADD s:1 1-1 a b",
            "XDEL s:1 1-1",
            "XGROUP CREATE s:2 empty $ MKSTREAM",
        ],
    );
    assert!(expected[0].contains("alice") && expected[0].contains("carol"), "{expected:?}");
    let mut client = engine.client();
    assert_eq!(contents(&mut client), expected);
    for key in KEYS {
        let dump = client.line(&format!("DUMP {key}"));
        let start = dump.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let dump = &dump[start..dump.len() - 2];
        assert_eq!(client.ask(&[b"RESTORE", key.as_bytes(), b"0", dump, b"REPLACE"]), b"+OK\r\n");
    }
    assert_eq!(contents(&mut client), expected);
}

#[test]
fn a_log_with_the_greatest_counts_is_opened_again() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let (expected, engine) = reopened(
        &rt,
        &[
            // What a group has read.
            "XADD s:0 1-1 a b",
            "XADD s:0 2-1 a b",
            "XGROUP CREATE s:0 g 0 ENTRIESREAD #",
            "XREADGROUP GROUP g alice COUNT 1 STREAMS s:0 >",
            "XREADGROUP GROUP g alice STREAMS s:0 >",
            // How often an entry was delivered.
            "XGROUP CREATE s:1 g 0 MKSTREAM",
            "XADD s:1 1-1 a b",
            "XCLAIM s:1 g alice 0 1-1 FORCE RETRYCOUNT #",
            "XCLAIM s:1 g alice 0 1-1",
            "XREADGROUP GROUP g alice STREAMS s:1 0",
            "XAUTOCLAIM s:1 g bob 0 0",
            // How many entries were added.
            "XADD s:2 1-1 a b",
            "XGROUP CREATE s:2 g 1-1",
            "XSETID s:2 1-1 ENTRIESADDED #",
            "XADD s:2 2-1 a b",
            "XREADGROUP GROUP g alice STREAMS s:2 >",
        ],
    );
    assert!(expected.iter().all(|stream| stream.contains(&format!(":{GREATEST}"))), "{expected:?}");
    assert_eq!(contents(&mut engine.client()), expected);
}
