//! Large values, which are freed in pieces after the commands that remove them.

use std::time::Duration;
use xtasking::{Context, Promise, Runtime};
use xtasking_store::Engine;

/// The elements of each value.
const ELEMENTS: usize = 50_000;
/// The elements that a command adds.
const PIECE: usize = 1000;
/// The values, by the commands that add to them. Elements of hashes and sorted sets are pairs.
const VALUES: [&str; 4] = ["RPUSH", "SADD", "HSET", "ZADD"];
/// The time between two looks.
const PAUSE: Duration = Duration::from_millis(1);

/// Makes and removes them. Returns what has happened.
///
/// # Errors
///
/// If a reply is wrong.
pub fn run(rt: &Runtime, engine: &Engine) -> Result<String, String> {
    let mut client = engine.client();
    let mut run = |args: &[String], expected: &str| {
        let reply = client.run(args).map_err(|error| format!("large: {error}"))?;
        match reply == expected.as_bytes() {
            true => Ok(()),
            false => Err(format!("large: {} => {}", args[0], reply.escape_ascii())),
        }
    };
    let words = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<Vec<_>>();
    for (command, start) in VALUES.iter().flat_map(|command| starts().map(move |start| (command, start))) {
        let has_pairs = matches!(*command, "HSET" | "ZADD");
        let mut args = words(&[command, &format!("large:{command}")]);
        for element in start..start + PIECE {
            args.extend(has_pairs.then(|| element.to_string()));
            args.push(format!("element:{element}"));
        }
        let count = if *command == "RPUSH" { start + PIECE } else { PIECE };
        run(&args, &format!(":{count}\r\n"))?;
    }
    let keys: Vec<String> = VALUES.iter().map(|command| format!("large:{command}")).collect();
    let keys: Vec<&str> = keys.iter().map(|key| &**key).collect();
    run(&words(&[&["UNLINK"], &*keys].concat()), &format!(":{}\r\n", VALUES.len()))?;
    let left = engine.server().memory.unfreed();
    run(&words(&[&["EXISTS"], &*keys].concat()), ":0\r\n")?;
    let (done, handle) = rt.promise();
    let engine = engine.clone();
    rt.task(()).spawn(move |(), cx| wait_until_freed(engine, done, cx));
    handle.join().map_err(|error| format!("large: {error}"))?;
    let count = VALUES.len();
    Ok(format!("large: {count} values of {ELEMENTS} elements removed, {left} of them freed later"))
}

fn starts() -> impl Iterator<Item = usize> {
    (0..ELEMENTS).step_by(PIECE)
}

/// Fulfils the promise when nothing is left to be freed.
fn wait_until_freed(engine: Engine, done: Promise<()>, cx: &mut Context) {
    match engine.server().memory.unfreed() {
        0 => done.fulfil(()),
        _ => {
            cx.timer(PAUSE, |cx| wait_until_freed(engine, done, cx));
        }
    }
}
