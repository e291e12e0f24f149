//! Bits of strings: what Redis' own suite says of them, for machines without it.

mod replies;

use replies::{run, start};

#[test]
fn replies_are_those_of_redis() {
    let (_rt, engine) = start();
    let mut client = engine.client();
    for (line, reply) in [
        ("SETBIT k 7 1", ":0"),
        ("SETBIT k 7 0", ":1"),
        ("SETBIT k 1 1", ":0"),
        ("GETBIT k 1", ":1"),
        ("GETBIT k 100", ":0"),
        ("GET k", "$1 @"),
        ("SETBIT k -1 1", "-ERR bit offset is not an integer or out of range"),
        ("SETBIT k 1 2", "-ERR bit is not an integer or out of range"),
        ("SET s foobar", "+OK"),
        ("BITCOUNT s", ":26"),
        ("BITCOUNT s 1 1", ":6"),
        ("BITCOUNT s 5 30 BIT", ":17"),
        ("BITPOS s 1", ":1"),
        ("BITPOS s 0 2 3 BIT", ":3"),
        ("BITOP NOT d s k", "-ERR BITOP NOT must be called with a single source key."),
        ("BITOP XOR d s s", ":6"),
        ("BITCOUNT d", ":0"),
        ("BITOP OR d nothing", ":0"),
        ("EXISTS d", ":0"),
        ("BITFIELD f SET u8 #1 255 INCRBY u8 #1 1 GET u4 8", "*3 :0 :0 :0"),
        ("BITFIELD f OVERFLOW SAT INCRBY i8 0 200 OVERFLOW FAIL INCRBY i8 0 1", "*2 :127 $-1"),
        ("BITFIELD_RO f GET i8 0", "*1 :127"),
        ("BITFIELD_RO f SET i8 0 1", "-ERR BITFIELD_RO only supports the GET subcommand"),
    ] {
        assert_eq!(run(&mut client, line), reply, "{line}");
    }
}

#[test]
#[cfg_attr(sanitizer = "address", ignore = "it ends the process where memory is refused")]
#[cfg_attr(sanitizer = "thread", ignore = "it ends the process where memory is refused")]
fn a_bit_too_far_costs_the_command_alone() {
    let (_rt, engine) = start();
    let mut client = engine.client();
    run(&mut client, &format!("CONFIG SET proto-max-bulk-len {}", i64::MAX));
    let refused = run(&mut client, &format!("SETBIT k {} 1", i64::MAX));
    assert!(refused.starts_with("-OOM"), "{refused}");
    assert_eq!(run(&mut client, "EXISTS k"), ":0");
}
