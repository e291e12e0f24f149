//! COMMAND DOCS: what the documentation says of commands.

use super::super::arguments::{Argument, arguments_of};
use super::super::table::commands;
use super::super::{Call, Command, CommandResult};
use super::introspection::find_by_path;
use crate::resp::Reply;

/// Commands that others replace: the version since which, and those others.
#[rustfmt::skip]
const DEPRECATED: &[(&str, &str, &str)] = &[
    ("brpoplpush", "6.2.0", "`BLMOVE` with the `RIGHT` and `LEFT` arguments"),
    ("georadius", "6.2.0", "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` argument"),
    ("georadius_ro", "6.2.0", "`GEOSEARCH` with the `BYRADIUS` argument"),
    ("georadiusbymember", "6.2.0",
     "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` and `FROMMEMBER` arguments"),
    ("georadiusbymember_ro", "6.2.0", "`GEOSEARCH` with the `BYRADIUS` and `FROMMEMBER` arguments"),
    ("getset", "6.2.0", "`SET` with the `!GET` argument"),
    ("hmset", "4.0.0", "`HSET` with multiple field-value pairs"),
    ("rpoplpush", "6.2.0", "`LMOVE` with the `RIGHT` and `LEFT` arguments"),
    ("substr", "2.0.0", "`GETRANGE`"),
    ("zrangebylex", "6.2.0", "`ZRANGE` with the `BYLEX` argument"),
    ("zrangebyscore", "6.2.0", "`ZRANGE` with the `BYSCORE` argument"),
    ("zrevrange", "6.2.0", "`ZRANGE` with the `REV` argument"),
    ("zrevrangebylex", "6.2.0", "`ZRANGE` with the `REV` and `BYLEX` arguments"),
    ("zrevrangebyscore", "6.2.0", "`ZRANGE` with the `REV` and `BYSCORE` arguments"),
];

/// Commands for the developers of Redis.
const OF_SYSTEM: &[&str] = &["debug", "pfdebug", "pfselftest"];

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
    let arguments = arguments_of(command.name);
    let deprecated = DEPRECATED.iter().find(|(name, ..)| *name == command.name);
    let is_of_system = OF_SYSTEM.contains(&command.name);
    let mut texts = vec![("summary", command.summary), ("since", command.since), ("group", command.group)];
    texts.extend((!command.complexity.is_empty()).then_some(("complexity", command.complexity)));
    reply.bulk(command.name.as_bytes());
    let has_flags = deprecated.is_some() || is_of_system;
    let more = [has_flags, !arguments.is_empty(), !command.subcommands.is_empty()];
    let more = more.into_iter().filter(|is_there| *is_there).count();
    reply.map(texts.len() + more + if deprecated.is_some() { 2 } else { 0 });
    texts.into_iter().for_each(|(name, text)| write_text(reply, name, text));
    if has_flags {
        reply.bulk(b"doc_flags");
        reply.set(1);
        reply.simple(if is_of_system { "syscmd" } else { "deprecated" });
    }
    if let Some((_, since, others)) = deprecated {
        write_text(reply, "deprecated_since", since);
        write_text(reply, "replaced_by", others);
    }
    write_arguments(reply, arguments);
    if !command.subcommands.is_empty() {
        reply.bulk(b"subcommands");
        reply.map(command.subcommands.len());
        command.subcommands.iter().for_each(|subcommand| write_docs(reply, subcommand));
    }
}

fn write_text(reply: &mut Reply, name: &str, text: &str) {
    reply.bulk(name.as_bytes());
    reply.bulk(text.as_bytes());
}

/// Writes a list of arguments with its name, unless it is empty.
fn write_arguments(reply: &mut Reply, arguments: &[Argument]) {
    if !arguments.is_empty() {
        reply.bulk(b"arguments");
        reply.array(arguments.len());
        arguments.iter().for_each(|argument| write_argument(reply, argument));
    }
}

fn write_argument(reply: &mut Reply, argument: &Argument) {
    let texts = [
        ("token", argument.token),
        ("since", argument.since),
        ("deprecated_since", argument.deprecated_since),
    ];
    let texts = texts.into_iter().filter_map(|(name, text)| Some((name, text?)));
    let flags = [
        ("optional", argument.is_optional),
        ("multiple", argument.is_multiple),
        ("multiple_token", argument.repeats_token),
    ];
    let flags: Vec<_> = flags.into_iter().filter(|(_, is_set)| *is_set).collect();
    let more = [argument.key_spec.is_some(), !flags.is_empty(), !argument.parts.is_empty()];
    let more = more.into_iter().filter(|is_there| *is_there).count();
    reply.map(2 + texts.clone().count() + more);
    write_text(reply, "name", &argument.name);
    write_text(reply, "type", argument.kind);
    if let Some(number) = argument.key_spec {
        reply.bulk(b"key_spec_index");
        reply.integer(number.into());
    }
    texts.for_each(|(name, text)| write_text(reply, name, text));
    if !flags.is_empty() {
        reply.bulk(b"flags");
        reply.set(flags.len());
        flags.into_iter().for_each(|(flag, _)| reply.simple(flag));
    }
    write_arguments(reply, &argument.parts);
}
