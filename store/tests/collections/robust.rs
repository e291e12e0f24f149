//! No arguments make a command on collections fail otherwise than by a reply.

use super::generator::Generator;
use super::{engine, run, runtime};
use xtasking_store::command::commands;

/// Arguments: keys, words of options, and numbers at the ends of their ranges.
const WORDS: &[&str] = &[
    "l0",
    "h0",
    "s0",
    "z0",
    "t0",
    "0",
    "1",
    "2",
    "3",
    "-1",
    "-7",
    "1.5",
    "inf",
    "-inf",
    "nan",
    "",
    "(1",
    "[a",
    "-",
    "+",
    "a",
    "left",
    "right",
    "min",
    "max",
    "before",
    "after",
    "count",
    "limit",
    "withscores",
    "withvalues",
    "weights",
    "aggregate",
    "sum",
    "match",
    "*",
    "by",
    "get",
    "store",
    "w*",
    "alpha",
    "desc",
    "byscore",
    "bylex",
    "rev",
    "rank",
    "maxlen",
    "nx",
    "xx",
    "gt",
    "incr",
    "ch",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
];

#[test]
fn no_arguments_end_a_command_without_a_reply() {
    let rt = runtime();
    let engine = engine(&rt);
    let mut client = engine.client();
    let mut generator = Generator::new(1);
    let groups = ["list", "hash", "set", "sorted-set"];
    let is_meant = |name: &str, group| groups.contains(&group) || name.starts_with("sort");
    for command in commands().filter(|command| is_meant(command.name, command.group)) {
        for _ in 0..200 {
            for fill in ["rpush l0 a 1 b 1 2", "hset h0 a 1 b 2", "sadd s0 1 2 3", "zadd z0 1 a 2 b 3 c"] {
                run(&mut client, fill);
            }
            let least = command.arity.unsigned_abs() as usize;
            let count = if command.arity < 0 { least + generator.below(6) } else { least };
            let args = (1..count).map(|_| WORDS[generator.below(WORDS.len())]);
            let request: Vec<_> = std::iter::once(command.name).chain(args).collect();
            // Inside MULTI nothing waits.
            run(&mut client, "multi");
            let queued = client.run(&request).expect("a reply");
            let replies = client.run(["exec"]).unwrap_or_else(|error| panic!("{request:?}: {error}"));
            assert_eq!(queued, b"+QUEUED\r\n", "{request:?}");
            assert!(replies.starts_with(b"*1\r\n") && replies.len() > 6, "{request:?}");
            run(&mut client, "del l0 h0 s0 z0 t0");
        }
    }
}
