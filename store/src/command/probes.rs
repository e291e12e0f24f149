//! Commands for tests of the engine: they wait for strings.

use super::{Block, Call, Command, CommandResult, EventClass, Flags, NullReply, Outcome, WakeCondition};
use crate::value::{StringValue, Value, ValueRef};

pub(super) const COMMANDS: &[Command] = &[
    Command::new("take", -3, take).flags(&[Flags::WRITE, Flags::BLOCKING]).keys(1, -2, 1),
    Command::new("taketo", 4, take_to).flags(&[Flags::WRITE, Flags::BLOCKING]).keys(1, 2, 1),
    Command::new("panic", -2, panic_halfway).flags(&[Flags::WRITE]).keys(1, -1, 1),
    Command::new("panicin", 3, panic_elsewhere).flags(&[Flags::WRITE]).keys(1, 1, 1),
    Command::reading("panicread", 2, |_, _, _| panic!("a command that panics")),
];

fn block(call: &Call<'_, '_>, keys: &[&[u8]], others: &[&[u8]]) -> CommandResult {
    let boxed = |keys: &[&[u8]]| keys.iter().map(|key| Box::<[u8]>::from(*key)).collect();
    let wait = call.integer_arg(call.args.len() - 1)? as u64;
    let deadline = (wait > 0).then(|| call.now() + wait);
    Ok(Outcome::Block(Block {
        keys: boxed(keys),
        others: boxed(others),
        deadline,
        null: NullReply::Array,
        heeds_removal: false,
        condition: WakeCondition::Value,
    }))
}

/// `TAKE key… ms`: removes the first string that is there, and returns its key and value.
fn take(call: &mut Call<'_, '_>) -> CommandResult {
    let args = call.args;
    let keys: Vec<&[u8]> = args.iter().skip(1).take(args.len() - 2).collect();
    let looked_at = call.ready.map_or_else(|| keys.clone(), |ready| vec![ready]);
    for key in looked_at {
        if let Some(value) = call.keys.remove(key) {
            call.changed(EventClass::Generic, "del", key);
            call.replay([&b"DEL"[..], key]);
            call.reply.array(2);
            call.reply.bulk(key);
            ValueRef::from(&value).as_string()?.write_to(call.reply);
            return call.done();
        }
    }
    block(call, &keys, &[])
}

/// `PANIC key…`: sets the first key, and panics before it says so.
fn panic_halfway(call: &mut Call<'_, '_>) -> CommandResult {
    call.keys.put(call.args.at(1), Value::String(StringValue::new(b"half")));
    call.reply.simple("half");
    panic!("a command that panics");
}

/// `PANICIN key database`: moves a key to another database, and panics before it says so.
fn panic_elsewhere(call: &mut Call<'_, '_>) -> CommandResult {
    let (key, other) = (call.args.at(1), call.database_arg(2)?);
    if let Some(value) = call.keys.remove(key) {
        call.keys.select(other);
        call.keys.put(key, value);
    }
    panic!("a command that panics");
}

/// `TAKETO source destination ms`: moves a string to another key.
fn take_to(call: &mut Call<'_, '_>) -> CommandResult {
    let (from, to) = (call.args.at(1), call.args.at(2));
    let Some(value) = call.keys.remove(from) else { return block(call, &[from], &[to]) };
    call.changed(EventClass::Generic, "rename_from", from);
    call.keys.put(to, value);
    call.changed(EventClass::Generic, "rename_to", to);
    call.ok()
}
