//! Sends the same random commands to Redis and to the store, and compares the replies byte by byte.

mod access;
mod effects;
mod fixed;
mod introspection;
mod lookups;
#[allow(dead_code, reason = "other tests use the rest of it")]
mod redis;
mod reply;
mod scripts;
mod target;
mod tracking;

use redis::{Connection, Server, end_of_reply};
use scripts::{Args, Scripts};
use std::time::{SystemTime, UNIX_EPOCH};
use xtasking::Runtime;
use xtasking_store::engine::Client;
use xtasking_store::resp::{Parser, Reply};
use xtasking_store::{Engine, command};

const SESSIONS: usize = 2;
/// Requests or pipelines of a script.
const COMMANDS: usize = 150;

/// The number of scripts: the variable `XTASKING_STORE_SCRIPTS` may set it.
fn scripts() -> u64 {
    let set = std::env::var("XTASKING_STORE_SCRIPTS").ok();
    set.map_or(20, |text| text.parse().expect("XTASKING_STORE_SCRIPTS is a number"))
}

fn encode(args: &Args) -> Vec<u8> {
    let mut request = Reply::default();
    request.array(args.len());
    args.iter().for_each(|arg| request.bulk(arg));
    request.into_bytes()
}

/// Sends a request to the store as a client would: as bytes.
fn run(client: &mut Client, request: &[u8]) -> Vec<u8> {
    let mut parser = Parser::default();
    parser.input().extend_from_slice(request);
    let (requests, error) = parser.parse();
    assert_eq!(error, None);
    client.run_all(requests).expect("the store replies")
}

fn show(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

fn show_command(args: &Args) -> String {
    args.iter().map(|arg| show(arg)).collect::<Vec<_>>().join(" ")
}

/// The elements of an array, sorted.
fn sorted(reply: &[u8]) -> Vec<&[u8]> {
    let mut at = reply.windows(2).position(|pair| pair == b"\r\n").map_or(reply.len(), |at| at + 2);
    let mut all = vec![&reply[..at]];
    while at < reply.len() {
        let end = end_of_reply(reply, at).expect("the reply is whole");
        all.push(&reply[at..end]);
        at = end;
    }
    all.sort_unstable();
    all
}

/// Returns true if the replies agree, as far as the command promises.
fn agree(args: &Args, own: &[u8], theirs: &[u8]) -> bool {
    if own == theirs {
        return true;
    }
    match args[0].to_ascii_uppercase().as_slice() {
        // Redis promises no order.
        b"KEYS" | b"CONFIG" => sorted(own) == sorted(theirs),
        // The two have other times, a little.
        b"PTTL" | b"TTL" | b"PEXPIRETIME" | b"EXPIRETIME" => close(own, theirs),
        b"HELLO" => is_greeting(own) && is_greeting(theirs),
        b"EXEC" => {
            let (own, theirs) = (elements(own), elements(theirs));
            let mut pairs = own.iter().zip(&theirs);
            own.len() == theirs.len() && pairs.all(|(own, theirs)| agree_inside(own, theirs))
        }
        _ => false,
    }
}

/// Returns true if two replies inside of that of EXEC agree. The command is not known.
fn agree_inside(own: &[u8], theirs: &[u8]) -> bool {
    let agree = own == theirs
        || close(own, theirs)
        || sorted(own) == sorted(theirs)
        || is_greeting(own) && is_greeting(theirs);
    if !agree {
        println!("inside EXEC\n  Redis: {}\n  store: {}", show(theirs), show(own));
    }
    agree
}

/// Returns true for a reply to HELLO, which has the number of the connection.
fn is_greeting(reply: &[u8]) -> bool {
    reply.windows(6).any(|word| word == b"server")
}

fn elements(reply: &[u8]) -> Vec<Vec<u8>> {
    let mut at = reply.windows(2).position(|pair| pair == b"\r\n").map_or(reply.len(), |at| at + 2);
    let mut all = Vec::new();
    while at < reply.len() {
        let end = end_of_reply(reply, at).expect("the reply is whole");
        all.push(reply[at..end].to_vec());
        at = end;
    }
    all
}

/// Returns true for integers that differ by the time between two requests.
fn close(own: &[u8], theirs: &[u8]) -> bool {
    let number = |reply: &[u8]| -> Option<i64> {
        std::str::from_utf8(reply).ok()?.strip_prefix(':')?.trim_end().parse().ok()
    };
    matches!((number(own), number(theirs)), (Some(own), Some(theirs))
        if own > 0 && theirs > 0 && (own - theirs).abs() < 30_000)
}

/// Returns true if the store has the command, or neither has.
fn is_there(args: &Args) -> bool {
    let is_known = command::find(&args[0]).is_some();
    is_known || args[0] == b"NOTHING"
}

/// Commands that tell of the program itself, or go another way in order.
fn is_own(args: &Args) -> bool {
    let name = args[0].to_ascii_uppercase();
    match name.as_slice() {
        b"SCAN" => args[1] == b"0" || args[1].iter().all(u8::is_ascii_digit) || args[1] == b"-1",
        _ => false,
    }
}

fn run_script(seed: u64, server: &Server, later: i64) {
    let rt = Runtime::builder().workers(2).build().expect("a runtime");
    let engine = Engine::builder().shards(4).build(&rt);
    let mut own: Vec<Client> = (0..SESSIONS).map(|_| engine.client()).collect();
    let mut theirs: Vec<Connection> = (0..SESSIONS).map(|_| server.connect()).collect();
    let mut scripts = Scripts::new(seed, later);
    for line in ["FLUSHALL", "CONFIG SET proto-max-bulk-len 512mb"] {
        let args = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        theirs[0].send(&encode(&args));
        assert_eq!(theirs[0].receive(), b"+OK\r\n");
    }
    let mut history = Vec::new();
    for _ in 0..COMMANDS {
        let session = scripts.below(SESSIONS);
        // Mostly single requests, else a pipeline.
        let count = if scripts.below(3) > 0 { 1 } else { 1 + scripts.below(20) };
        let drawn = (0..count).map(|_| scripts.command());
        let pipeline: Vec<Args> = drawn.filter(|args| is_there(args) && !is_own(args)).collect();
        let request: Vec<u8> = pipeline.iter().flat_map(encode).collect();
        theirs[session].send(&request);
        let replies = run(&mut own[session], &request);
        let mut at = 0;
        for args in &pipeline {
            let expected = theirs[session].receive();
            let end = end_of_reply(&replies, at).unwrap_or_else(|| {
                panic!("seed {seed}: {} has no reply, Redis: {}", show_command(args), show(&expected))
            });
            let reply = &replies[at..end];
            at = end;
            history.push(format!("{session}: {} -> {}", show_command(args), show(&expected)));
            if !agree(args, reply, &expected) {
                let first = history.len().saturating_sub(40);
                panic!(
                    "seed {seed}, in session {session}:\n{}\n{}\n  Redis: {}\n  store: {}",
                    history[first..].join("\n"),
                    show_command(args),
                    show(&expected),
                    show(reply)
                );
            }
        }
        assert_eq!(at, replies.len(), "seed {seed}: more replies than requests");
    }
}

#[test]
fn replies_to_random_commands_are_those_of_redis() {
    let Some(server) = Server::start() else { return };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs() as i64;
    let first = std::env::var("XTASKING_STORE_SEED").map_or(0, |text| text.parse().expect("a seed"));
    for seed in first..first + scripts() {
        run_script(seed, &server, now + 100_000);
    }
}
