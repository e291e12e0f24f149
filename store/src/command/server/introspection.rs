//! COMMAND: what the table of commands says.

use super::super::table::{commands, find};
use super::super::{Call, Command, CommandError, CommandResult, KeyPositions};
use crate::glob;
use crate::resp::Reply;

pub(super) fn all(call: &mut Call<'_, '_>) -> CommandResult {
    call.reply.array(commands().count());
    commands().for_each(|command| write_info(call.reply, command));
    call.done()
}

pub(super) fn count(call: &mut Call<'_, '_>) -> CommandResult {
    call.count(commands().count())
}

/// Finds a command, or a subcommand by a name such as `config|get`.
fn find_by_path(name: &[u8]) -> Option<&'static Command> {
    let Some(bar) = name.iter().position(|byte| *byte == b'|') else { return find(name) };
    find(&name[..bar])?.subcommand(&name[bar + 1..])
}

pub(super) fn info(call: &mut Call<'_, '_>) -> CommandResult {
    let names = call.args.skip(2);
    if names.is_empty() {
        return all(call);
    }
    call.reply.array(names.len());
    for name in names.iter() {
        match find_by_path(name) {
            Some(command) => write_info(call.reply, command),
            None => call.reply.null(),
        }
    }
    call.done()
}

/// Writes the ten elements of COMMAND INFO.
fn write_info(reply: &mut Reply, command: &Command) {
    reply.array(10);
    reply.bulk(command.name.as_bytes());
    reply.integer(command.arity.into());
    let flags = command.flags.names();
    reply.set(flags.clone().count());
    flags.for_each(|flag| reply.simple(flag));
    let (first, last, step) = command.keys.fixed();
    [first as i64, last as i64, step as i64].into_iter().for_each(|number| reply.integer(number));
    let categories = command.all_categories();
    reply.set(categories.len());
    categories.into_iter().for_each(|category| reply.simple(&format!("@{category}")));
    // Hints for proxies: none.
    reply.array(0);
    write_key_specifications(reply, command);
    reply.array(command.subcommands.len());
    command.subcommands.iter().for_each(|subcommand| write_info(reply, subcommand));
}

/// Writes where the keys are, if that takes no function.
fn write_key_specifications(reply: &mut Reply, command: &Command) {
    let KeyPositions::Range { first, last, step } = command.keys else { return reply.array(0) };
    reply.array(1);
    reply.map(3);
    reply.bulk(b"flags");
    reply.set(1);
    reply.simple(if command.holds_alone() { "RW" } else { "RO" });
    reply.bulk(b"begin_search");
    write_specification(reply, "index", &[("index", first as i64)]);
    reply.bulk(b"find_keys");
    let last = if last < 0 { last as i64 } else { last as i64 - first as i64 };
    write_specification(reply, "range", &[("lastkey", last), ("keystep", step as i64), ("limit", 0)]);
}

fn write_specification(reply: &mut Reply, kind: &str, numbers: &[(&str, i64)]) {
    reply.map(2);
    reply.bulk(b"type");
    reply.bulk(kind.as_bytes());
    reply.bulk(b"spec");
    reply.map(numbers.len());
    for (name, number) in numbers {
        reply.bulk(name.as_bytes());
        reply.integer(*number);
    }
}

pub(super) fn docs(call: &mut Call<'_, '_>) -> CommandResult {
    let names = call.args.skip(2);
    let found: Vec<_> = match names.is_empty() {
        true => commands().collect(),
        false => names.iter().filter_map(find_by_path).collect(),
    };
    call.reply.map(found.len());
    found.into_iter().for_each(|command| write_docs(call.reply, command));
    call.done()
}

/// Writes the name of a command and what the documentation says.
fn write_docs(reply: &mut Reply, command: &Command) {
    let has_subcommands = !command.subcommands.is_empty();
    reply.bulk(command.name.as_bytes());
    reply.map(4 + usize::from(has_subcommands));
    let texts = [
        ("summary", command.summary),
        ("since", command.since),
        ("group", command.group),
        ("complexity", command.complexity),
    ];
    for (name, text) in texts {
        reply.bulk(name.as_bytes());
        reply.bulk(text.as_bytes());
    }
    if has_subcommands {
        reply.bulk(b"subcommands");
        reply.map(command.subcommands.len());
        command.subcommands.iter().for_each(|subcommand| write_docs(reply, subcommand));
    }
}

pub(super) fn list(call: &mut Call<'_, '_>) -> CommandResult {
    let args = call.args;
    let with_subcommands =
        || commands().flat_map(|command| std::iter::once(command).chain(command.subcommands));
    let is_taken: Box<dyn Fn(&Command) -> bool> = match args.len() {
        2 => Box::new(|_: &Command| true),
        5 if args.is(2, "filterby") && args.is(3, "module") => Box::new(|_: &Command| false),
        5 if args.is(2, "filterby") && args.is(3, "aclcat") => {
            let category = args.at(4).to_ascii_lowercase();
            Box::new(move |command: &Command| {
                command.all_categories().iter().any(|known| known.as_bytes() == category)
            })
        }
        5 if args.is(2, "filterby") && args.is(3, "pattern") => {
            let pattern = args.at(4).to_ascii_lowercase();
            Box::new(move |command: &Command| glob::matches(&pattern, command.name.as_bytes()))
        }
        _ => return Err(CommandError::SYNTAX),
    };
    let found: Vec<_> = with_subcommands().filter(|command| is_taken(command)).collect();
    call.reply.array(found.len());
    found.into_iter().for_each(|command| call.reply.bulk(command.name.as_bytes()));
    call.done()
}

pub(super) fn getkeys(call: &mut Call<'_, '_>) -> CommandResult {
    let args = call.args.skip(2);
    let mut command = find(args.at(0)).ok_or(CommandError::fixed("ERR Invalid command specified"))?;
    if let Some(subcommand) = args.get(1).and_then(|name| command.subcommand(name)) {
        command = subcommand;
    }
    if matches!(command.keys, KeyPositions::None | KeyPositions::All | KeyPositions::Cursor) {
        return Err(CommandError::fixed("ERR The command has no key arguments"));
    }
    if !command.accepts(args.len()) {
        return Err(CommandError::fixed("ERR Invalid number of arguments specified for command"));
    }
    let positions = command.keys.positions(args);
    if positions.is_empty() {
        return Err(CommandError::fixed("ERR Invalid arguments specified for command"));
    }
    call.reply.array(positions.len());
    positions.into_iter().for_each(|at| call.reply.bulk(args.at(at)));
    call.done()
}
