//! MEMORY.

use super::super::operands::count;
use super::super::{Call, CommandError, CommandResult};

/// Elements whose sizes stand for those of all, if the command does not say how many.
const SAMPLES: usize = 5;

/// The memory below which MEMORY DOCTOR finds nothing to say, in bytes.
const LITTLE: u64 = 5 << 20;

pub(super) fn usage(call: &mut Call<'_, '_>) -> CommandResult {
    let args = call.args;
    let mut samples = SAMPLES;
    let mut options = args.skip(3);
    while !options.is_empty() {
        if !options.is(0, "samples") {
            return Err(CommandError::SYNTAX);
        }
        let arg = options.get(1).ok_or(CommandError::SYNTAX)?;
        samples = count(arg).map_err(|_| match crate::resp::parse_integer(arg) {
            Some(_) => CommandError::SYNTAX,
            None => CommandError::NOT_AN_INTEGER,
        })?;
        options = options.skip(2);
    }
    match call.keys.peek(args.at(2)).map(|entry| entry.memory(samples)) {
        Some(bytes) => call.reply.count(bytes),
        None => call.reply.null(),
    }
    call.done()
}

/// The share of a number in percent.
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

pub(super) fn stats(call: &mut Call<'_, '_>) -> CommandResult {
    let memory = &call.server.memory;
    let (used, peak, excess) = (memory.used(), memory.peak(), memory.excess());
    let dataset = used.saturating_sub(excess);
    let own = call.keys.database();
    let keys = (0..call.server.databases).map(|database| {
        call.keys.select(database);
        call.keys.counts().0 as u64
    });
    let keys: u64 = keys.sum();
    call.keys.select(own);
    let backlog = call.server.log.get().map_or(0, |log| log.backlog());
    let numbers = [
        ("peak.allocated", peak),
        ("total.allocated", used),
        ("startup.allocated", memory.at_start()),
        ("replication.backlog", 0),
        ("clients.slaves", 0),
        ("clients.normal", memory.buffers()),
        ("cluster.links", 0),
        ("aof.buffer", backlog as u64),
        ("lua.caches", 0),
        ("functions.caches", 0),
        ("overhead.total", excess),
        ("keys.count", keys),
        ("keys.bytes-per-key", dataset.checked_div(keys).unwrap_or(0)),
        ("dataset.bytes", dataset),
    ];
    let shares = [("dataset.percentage", percent(dataset, used)), ("peak.percentage", percent(used, peak))];
    let resident = memory.resident();
    call.reply.map(numbers.len() + shares.len() + 2 * usize::from(resident.is_some()));
    for (name, number) in numbers {
        call.reply.bulk(name.as_bytes());
        call.reply.count(number as usize);
    }
    for (name, share) in shares {
        call.reply.bulk(name.as_bytes());
        call.reply.double(share);
    }
    if let Some(resident) = resident {
        call.reply.bulk(b"fragmentation");
        call.reply.double(percent(resident, used) / 100.0);
        call.reply.bulk(b"fragmentation.bytes");
        call.reply.integer(resident as i64 - used as i64);
    }
    call.done()
}

/// Does nothing: the allocator gives free memory back by itself.
pub(super) fn purge(call: &mut Call<'_, '_>) -> CommandResult {
    call.ok()
}

pub(super) fn malloc_stats(call: &mut Call<'_, '_>) -> CommandResult {
    call.reply.bulk(b"Stats not supported for the current allocator");
    call.done()
}

/// Says in words what is unusual.
pub(super) fn doctor(call: &mut Call<'_, '_>) -> CommandResult {
    let memory = &call.server.memory;
    let (used, peak, limit) = (memory.used(), memory.peak(), memory.limit());
    let mut findings = Vec::new();
    if used < LITTLE {
        findings.push("There is too little data to say anything.");
    } else {
        if peak > used / 2 * 3 {
            findings.push("Much more was in use before: the process may be larger than its data.");
        }
        if memory.excess() > used / 10 {
            findings.push(
                "The process has much more memory than its keys and all that is known of: it is fragmented.",
            );
        }
        if memory.buffers() > used / 4 {
            findings.push("Clients have large buffers: they send or are sent much that is not complete.");
        }
        if limit > 0 && used >= limit {
            findings.push("The limit is reached: keys are evicted, or commands refused.");
        }
        if findings.is_empty() {
            findings.push("Nothing is unusual.");
        }
    }
    call.reply.verbatim("txt", findings.join("\n").as_bytes());
    call.done()
}
