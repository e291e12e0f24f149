//! What COMMAND INFO tells proxies of commands.

/// Returns the tips on a command.
pub(super) fn tips_of(command: &str) -> &'static [&'static str] {
    TIPS.iter().find(|(names, _)| names.contains(&command)).map_or(&[], |(_, tips)| tips)
}

#[rustfmt::skip]
static TIPS: &[(&[&str], &[&str])] = &[
    (&[
        "client|info", "client|list", "dump", "hrandfield", "hscan", "lastsave", "object|encoding",
        "object|freq", "object|idletime", "object|refcount", "pttl", "spop", "srandmember", "sscan", "time",
        "ttl", "xadd", "xautoclaim", "xclaim", "xinfo|consumers", "xpending", "xtrim", "zrandmember",
        "zscan"
    ], &[
        "nondeterministic_output"
    ]),
    (&[
        "command", "command|docs", "command|info", "command|list", "hgetall", "hkeys", "hvals", "sdiff",
        "sinter", "smembers", "sunion"
    ], &[
        "nondeterministic_output_order"
    ]),
    (&["config|set", "latency|reset", "slowlog|reset"], &[
        "request_policy:all_nodes", "response_policy:all_succeeded"
    ]),
    (&["dbsize"], &["request_policy:all_shards", "response_policy:agg_sum"]),
    (&["del", "exists", "touch", "unlink"], &["request_policy:multi_shard", "response_policy:agg_sum"]),
    (&["flushall", "flushdb", "function|flush", "memory|purge", "ping"], &[
        "request_policy:all_shards", "response_policy:all_succeeded"
    ]),
    (&["info", "memory|doctor", "memory|malloc-stats", "memory|stats"], &[
        "nondeterministic_output", "request_policy:all_shards", "response_policy:special"
    ]),
    (&["keys"], &["request_policy:all_shards", "nondeterministic_output_order"]),
    (&["latency|doctor", "latency|graph", "latency|histogram", "latency|history", "latency|latest"], &[
        "nondeterministic_output", "request_policy:all_nodes", "response_policy:special"
    ]),
    (&["mget"], &["request_policy:multi_shard"]),
    (&["mset"], &["request_policy:multi_shard", "response_policy:all_succeeded"]),
    (&["msetnx"], &["request_policy:multi_shard", "response_policy:agg_min"]),
    (&["randomkey"], &["request_policy:all_shards", "nondeterministic_output"]),
    (&["scan"], &["nondeterministic_output", "request_policy:special"]),
    (&["slowlog|get"], &["request_policy:all_nodes", "nondeterministic_output"]),
    (&["slowlog|len"], &["request_policy:all_nodes", "response_policy:agg_sum", "nondeterministic_output"]),
    (&["wait"], &["request_policy:all_shards", "response_policy:agg_min"]),
];
