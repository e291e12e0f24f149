//! Keys of all types and encodings, and what they have.

use super::Target;
use super::reply::Value;

/// Makes keys of all types and encodings. Returns their names.
pub fn fill(target: &mut impl Target) -> Vec<String> {
    let mut keys = Vec::new();
    let texts = ["", "0", "-129", "70000", "9223372036854775807", "text", "01", "3.0"];
    for (number, text) in texts.iter().enumerate() {
        keys.push(format!("string:{number}"));
        target.ask(&[b"SET", keys[number].as_bytes(), text.as_bytes()]);
    }
    target.ask(&[b"SET", b"string:long", &[b'a'; 30_000]]);
    target.line("APPEND string:grown abc");
    keys.extend(["string:long", "string:grown"].map(str::to_owned));
    for size in [1, 3, 120, 600] {
        for width in [8, 100] {
            let name = |kind: &str| format!("{kind}:{size}:{width}");
            for number in 0..size {
                let element = format!("{number}:{}", "x".repeat(width));
                let text = number.to_string();
                target.line(&format!("RPUSH {} {element} {number}", name("list")));
                target.line(&format!("HSET {} {element} {text} {text} {element}", name("hash")));
                target.line(&format!("SADD {} {element}", name("set")));
                target.line(&format!("SADD {} {}", name("integers"), number * 1_000_003 - 7));
                target.line(&format!("ZADD {} {} {element}", name("sorted"), number as f64 / 3.0 - 7.0));
                target.line(&format!("XADD {} {number}-1 field {element} {text} {number}", name("stream")));
            }
            target.line(&format!("ZADD {} -inf {} inf b 0 c", name("sorted"), i64::MAX));
            for line in ["CREATE", "CREATECONSUMER"] {
                let last = if line == "CREATE" { "0" } else { "carol" };
                target.line(&format!("XGROUP {line} {} group {last}", name("stream")));
            }
            let stream = name("stream");
            target.line(&format!("XREADGROUP GROUP group alice COUNT 5 STREAMS {stream} >"));
            target.line(&format!("XREADGROUP GROUP group bob COUNT 70 STREAMS {stream} >"));
            target.line(&format!("XACK {stream} group 1-1"));
            target.line(&format!("XDEL {stream} 2-1 7-1"));
            keys.extend(["list", "hash", "set", "integers", "sorted", "stream"].map(name));
        }
    }
    keys
}

/// Returns the commands that tell all of a key.
fn questions(key: &str) -> Vec<String> {
    let read = match key.split(':').next() {
        Some("stream") => {
            let told = ["XRANGE {} - +", "XINFO GROUPS {}", "XPENDING {} group", "TYPE {}", "PEXPIRETIME {}"];
            return told.iter().map(|question| question.replace("{}", key)).collect();
        }
        Some("list") => format!("LRANGE {key} 0 -1"),
        Some("hash") => format!("HGETALL {key}"),
        Some("set" | "integers") => format!("SMEMBERS {key}"),
        Some("sorted") => format!("ZRANGE {key} 0 -1 WITHSCORES"),
        _ => format!("GET {key}"),
    };
    vec![read, format!("TYPE {key}"), format!("PEXPIRETIME {key}")]
}

/// Returns what a key has: its elements in an order that does not depend on its encoding.
pub fn contents(target: &mut impl Target, key: &str) -> Vec<Value> {
    let mut replies: Vec<_> =
        questions(key).iter().map(|question| Value::parse(&target.line(question))).collect();
    let width = match key.split(':').next() {
        Some("hash") => 2,
        Some("set" | "integers") => 1,
        _ => return replies,
    };
    if let Value::Array(elements) = &mut replies[0] {
        let mut entries: Vec<_> = elements.chunks(width).map(<[Value]>::to_vec).collect();
        entries.sort_by_key(|entry| format!("{entry:?}"));
        *elements = entries.concat();
    }
    replies
}
