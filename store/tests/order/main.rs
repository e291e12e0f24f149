//! Databases whose keys are in order: RANGE, RANGECOUNT and RANGEDEL.
//!
//! | file | contents |
//! |---|---|
//! | `random` | random commands, compared with KEYS |
//! | `moments` | ranges beside writers are of one moment |
//! | `commands` | arguments, errors, events |
//! | `due` | orders are there when the reply comes |
//! | `kept` | what is there after a start, and how much memory is counted |

mod commands;
mod due;
mod kept;
mod moments;
mod random;

use xtasking_store::Engine;
use xtasking_store::engine::{Builder, Client};

fn builder() -> Builder {
    Engine::builder().shards(8).databases(3).setting("ordered-databases", "0 2")
}

fn run(client: &mut Client, line: &str) -> String {
    String::from_utf8(client.run(line.split(' ')).expect("a reply")).expect("text")
}

/// The bulk strings of an array without nulls.
fn bulks(reply: &str) -> Vec<String> {
    assert!(reply.starts_with('*'), "{reply}");
    let lines: Vec<&str> = reply.split("\r\n").collect();
    lines[1..].chunks(2).filter(|pair| pair.len() == 2).map(|pair| pair[1].to_owned()).collect()
}

/// All keys of the database, by KEYS, which does not know the order.
fn all_keys(client: &mut Client) -> Vec<String> {
    let mut keys = bulks(&run(client, "KEYS *"));
    keys.sort();
    keys
}

/// Checks that the database is in order and has all keys.
fn check(client: &mut Client) {
    let keys = all_keys(client);
    assert_eq!(bulks(&run(client, "RANGE - +")), keys);
    let reverse: Vec<_> = keys.into_iter().rev().collect();
    assert_eq!(bulks(&run(client, "RANGE - + REV")), reverse);
}
