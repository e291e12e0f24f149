//! COMMAND: what the table of commands says.

use super::super::table::{commands, find};
use super::super::{Call, Command, CommandError, CommandResult};
use super::key_specs::{KeyPlace, KeySpec, flags_of, shown_specs};
use super::tips::tips_of;
use crate::glob;
use crate::resp::{Args, Reply};

pub(super) fn all(call: &mut Call<'_, '_>) -> CommandResult {
    call.reply.array(commands().count());
    commands().for_each(|command| write_info(call.reply, command));
    call.done()
}

pub(super) fn count(call: &mut Call<'_, '_>) -> CommandResult {
    call.count(commands().count())
}

/// Finds a command, or a subcommand by a name such as `config|get`.
pub(super) fn find_by_path(name: &[u8]) -> Option<&'static Command> {
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
    let tips = tips_of(command.name);
    reply.set(tips.len());
    tips.iter().for_each(|tip| reply.bulk(tip.as_bytes()));
    let specs = shown_specs(command);
    reply.set(specs.len());
    specs.iter().for_each(|spec| write_key_spec(reply, spec));
    match command.subcommands {
        [] => reply.set(0),
        subcommands => reply.array(subcommands.len()),
    }
    command.subcommands.iter().for_each(|subcommand| write_info(reply, subcommand));
}

fn write_flags(reply: &mut Reply, flags: &str) {
    reply.set(flags.split(' ').count());
    flags.split(' ').for_each(|flag| reply.simple(flag));
}

/// Writes where some keys are.
fn write_key_spec(reply: &mut Reply, spec: &KeySpec) {
    reply.map(3 + usize::from(spec.notes.is_some()));
    if let Some(notes) = spec.notes {
        reply.bulk(b"notes");
        reply.bulk(notes.as_bytes());
    }
    reply.bulk(b"flags");
    write_flags(reply, spec.flags);
    let range = |last: isize, step: usize, limit: usize| {
        [("lastkey", last as i64), ("keystep", step as i64), ("limit", limit as i64)]
    };
    reply.bulk(b"begin_search");
    match spec.place {
        KeyPlace::Range { first: index, .. } | KeyPlace::Counted { count: index } => {
            write_specification(reply, "index", &[("index", index as i64)]);
        }
        KeyPlace::After { word, from, .. } => write_keyword(reply, word, from),
        KeyPlace::Unknown => write_specification(reply, "unknown", &[]),
    }
    reply.bulk(b"find_keys");
    match spec.place {
        KeyPlace::Range { last, step, .. } => write_specification(reply, "range", &range(last, step, 0)),
        KeyPlace::After { last, step, limit, .. } => {
            write_specification(reply, "range", &range(last, step, limit));
        }
        KeyPlace::Counted { .. } => {
            write_specification(reply, "keynum", &[("keynumidx", 0), ("firstkey", 1), ("keystep", 1)]);
        }
        KeyPlace::Unknown => write_specification(reply, "unknown", &[]),
    }
}

fn write_keyword(reply: &mut Reply, word: &str, from: usize) {
    reply.map(2);
    reply.bulk(b"type");
    reply.bulk(b"keyword");
    reply.bulk(b"spec");
    reply.map(2);
    reply.bulk(b"keyword");
    reply.bulk(word.as_bytes());
    reply.bulk(b"startfrom");
    reply.integer(from as i64);
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

const UNKNOWN: CommandError = CommandError::fixed("ERR Invalid command specified");

/// Finds the command whose arguments come after the subcommand of COMMAND, and the positions of its
/// keys.
fn find_keys<'a>(call: &Call<'a, '_>) -> Result<(&'static Command, Args<'a>, Vec<usize>), CommandError> {
    let args = call.args.skip(2);
    let mut command = find(args.at(0)).ok_or(UNKNOWN)?;
    if let (false, Some(name)) = (command.subcommands.is_empty(), args.get(1)) {
        command = command.subcommand(name).ok_or(UNKNOWN)?;
    }
    if !command.keys.are_arguments() {
        return Err(CommandError::fixed("ERR The command has no key arguments"));
    }
    if !command.accepts(args.len()) {
        return Err(CommandError::fixed("ERR Invalid number of arguments specified for command"));
    }
    let positions = command.keys.positions(args);
    if positions.is_empty() {
        return Err(CommandError::fixed("ERR Invalid arguments specified for command"));
    }
    Ok((command, args, positions))
}

pub(super) fn getkeys(call: &mut Call<'_, '_>) -> CommandResult {
    let (_, args, positions) = find_keys(call)?;
    call.reply.array(positions.len());
    positions.into_iter().for_each(|at| call.reply.bulk(args.at(at)));
    call.done()
}

pub(super) fn getkeysandflags(call: &mut Call<'_, '_>) -> CommandResult {
    let (command, args, positions) = find_keys(call)?;
    call.reply.array(positions.len());
    for at in positions {
        call.reply.array(2);
        call.reply.bulk(args.at(at));
        write_flags(call.reply, flags_of(command, args, at));
    }
    call.done()
}
