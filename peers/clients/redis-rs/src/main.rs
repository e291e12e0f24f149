//! Runs commands of redis-rs against the server at a port and checks each answer:
//! `redis-rs-check PORT`.
//!
//! The server is emptied first. The last line says how many checks passed.

#![forbid(unsafe_code)]

mod sessions;
mod values;

use std::fmt::Debug;
use std::process::ExitCode;

use redis::{Client, Commands, Connection, FromRedisValue, RedisResult};

/// The version that Cargo.toml asks for.
const VERSION: &str = "1.8.1";

/// Counts checks, and prints those that fail.
#[derive(Default)]
struct Checks {
    passed: usize,
    failed: usize,
}

impl Checks {
    /// Checks that a command has the expected answer, read as the type of it.
    fn answer<T: PartialEq + Debug>(&mut self, name: &str, got: RedisResult<T>, expected: T) {
        match got {
            Ok(got) if got == expected => self.passed += 1,
            got => self.fail(name, &got, &expected),
        }
    }

    /// Checks that a value is as expected.
    fn equal<T: PartialEq + Debug>(&mut self, name: &str, got: T, expected: T) {
        self.answer(name, Ok(got), expected);
    }

    /// Checks that a command fails with this code, as WRONGTYPE, and these words in its text.
    fn error<T: Debug>(&mut self, name: &str, got: RedisResult<T>, code: &str, words: &str) {
        match got {
            Err(error) if error.code() == Some(code) && error.to_string().contains(words) => self.passed += 1,
            got => self.fail(name, &got, &(code, words)),
        }
    }

    fn fail(&mut self, name: &str, got: &dyn Debug, expected: &dyn Debug) {
        self.failed += 1;
        println!("FAILED {name}: expected {expected:?}, got {got:?}");
    }
}

/// Runs a command written as words between blanks.
fn run<T: FromRedisValue>(connection: &mut Connection, words: &str) -> RedisResult<T> {
    let mut words = words.split(' ');
    let mut command = redis::cmd(words.next().unwrap_or_default());
    for word in words {
        command.arg(word);
    }
    command.query(connection)
}

fn text(words: &str) -> Vec<String> {
    words.split_whitespace().map(str::to_string).collect()
}

fn check(port: u16) -> RedisResult<Checks> {
    let client = Client::open(format!("redis://127.0.0.1:{port}/"))?;
    let mut connection = client.get_connection()?;
    let mut checks = Checks::default();
    redis::cmd("FLUSHALL").exec(&mut connection)?;
    values::check(&mut checks, &mut connection);
    sessions::check(&mut checks, &client, &mut connection)?;
    // The third version of the protocol, with the same commands.
    let third = Client::open(format!("redis://127.0.0.1:{port}/?protocol=resp3"))?;
    let mut connection = third.get_connection()?;
    let hello: std::collections::HashMap<String, redis::Value> = run(&mut connection, "HELLO")?;
    checks.equal("HELLO in RESP3", hello.get("proto"), Some(&redis::Value::Int(3)));
    redis::cmd("FLUSHALL").exec(&mut connection)?;
    values::check(&mut checks, &mut connection);
    sessions::check_third(&mut checks, &third, &mut connection)?;
    checks.answer("FLUSHALL", run(&mut connection, "FLUSHALL"), true);
    checks.answer("DBSIZE", run(&mut connection, "DBSIZE"), 0);
    checks.answer("EXISTS of no key", connection.exists("none"), false);
    Ok(checks)
}

fn main() -> ExitCode {
    let Some(port) = std::env::args().nth(1).and_then(|port| port.parse().ok()) else {
        eprintln!("redis-rs-check: which port? Give its number as the first argument");
        return ExitCode::from(2);
    };
    match check(port) {
        Ok(Checks { passed, failed }) => {
            println!("redis-rs {}: {passed} passed, {failed} failed", VERSION);
            if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("redis-rs-check: {error}");
            ExitCode::FAILURE
        }
    }
}
