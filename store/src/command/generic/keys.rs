//! Commands that look at keys, or remove them.

use super::super::collections::parse_cursor;
use super::super::{Call, CommandError, CommandResult, EventClass};
use crate::glob;
use crate::keyspace::{Cursor, Entry};
use crate::resp::Args;

pub(super) fn del(call: &mut Call<'_, '_>) -> CommandResult {
    let mut removed = 0;
    for key in call.args.skip(1).iter() {
        if call.keys.delete(key) {
            call.changed(EventClass::Generic, "del", key);
            removed += 1;
        }
    }
    call.integer(removed)
}

pub(super) fn exists(call: &mut Call<'_, '_>) -> CommandResult {
    let there = call.args.skip(1).iter().filter(|key| call.keys.look(key).is_some()).count();
    call.count(there)
}

pub(super) fn touch(call: &mut Call<'_, '_>) -> CommandResult {
    let there = call.args.skip(1).iter().filter(|key| call.keys.get(key).is_some()).count();
    call.count(there)
}

pub(super) fn type_of(call: &mut Call<'_, '_>) -> CommandResult {
    let name = call.keys.look(call.args.at(1)).map_or("none", |entry| entry.value().type_name());
    call.reply.simple(name);
    call.done()
}

pub(super) fn randomkey(call: &mut Call<'_, '_>) -> CommandResult {
    let session = &mut *call.session;
    let entry = call.keys.random_entry(|| session.random());
    call.reply.bulk_or_null(entry.map(Entry::key));
    call.done()
}

pub(super) fn dbsize(call: &mut Call<'_, '_>) -> CommandResult {
    call.count(call.keys.counts().0)
}

pub(super) fn keys(call: &mut Call<'_, '_>) -> CommandResult {
    let pattern = call.args.at(1);
    let keys = call.keys.entries().map(Entry::key);
    let found: Vec<_> = keys.filter(|key| pattern == b"*" || glob::matches(pattern, key)).collect();
    call.reply.array(found.len());
    found.into_iter().for_each(|key| call.reply.bulk(key));
    call.done()
}

/// The options of SCAN.
struct ScanOptions<'a> {
    pattern: Option<&'a [u8]>,
    count: usize,
    type_name: Option<&'a [u8]>,
}

impl<'a> ScanOptions<'a> {
    fn read(args: Args<'a>, call: &Call<'_, '_>) -> Result<Self, CommandError> {
        let mut options = Self { pattern: None, count: 10, type_name: None };
        for at in (2..args.len()).step_by(2) {
            let value = args.get(at + 1).ok_or(CommandError::SYNTAX)?;
            match args.at(at).to_ascii_lowercase().as_slice() {
                b"match" => options.pattern = Some(value),
                b"type" => options.type_name = Some(value),
                b"count" => {
                    let count = call.integer_arg(at + 1)?;
                    let count = usize::try_from(count).ok().filter(|count| *count > 0);
                    options.count = count.ok_or(CommandError::SYNTAX)?;
                }
                _ => return Err(CommandError::SYNTAX),
            }
        }
        Ok(options)
    }

    fn takes(&self, entry: &Entry) -> bool {
        let has_type = |name: &[u8]| name.eq_ignore_ascii_case(entry.value().type_name().as_bytes());
        self.pattern.is_none_or(|pattern| pattern == b"*" || glob::matches(pattern, entry.key()))
            && self.type_name.is_none_or(has_type)
    }
}

pub(super) fn scan(call: &mut Call<'_, '_>) -> CommandResult {
    let args = call.args;
    let cursor = Cursor::from_number(parse_cursor(args.at(1))?);
    let options = ScanOptions::read(args, call)?;
    let mut found = Vec::new();
    let next = call.keys.scan(cursor, options.count, |entry| {
        if options.takes(entry) {
            found.push(entry.key());
        }
    });
    call.reply.array(2);
    call.reply.bulk(next.map_or(0, Cursor::to_number).to_string().as_bytes());
    call.reply.array(found.len());
    found.into_iter().for_each(|key| call.reply.bulk(key));
    call.done()
}
