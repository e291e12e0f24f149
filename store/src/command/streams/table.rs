//! The commands on streams in the table of commands, in the words of Redis.

use super::{add, autoclaim, claim, groups, info, pending, range, read, trim};
use crate::command::container::{container, help, list_subcommands};
use crate::command::{Call, Command, CommandResult, Family, Flags};

const FAMILY: Family = Family::new("stream", &["stream"]);

pub(in crate::command) const COMMANDS: &[Command] = &FAMILY.commands([
    Command::new("xadd", -5, add::xadd).writes_key().flags(&[Flags::DENYOOM, Flags::FAST]).doc(
        "5.0.0",
        "O(1) when adding a new entry, O(N) when trimming where N being the number of entries evicted.",
        "Appends a new entry to a stream",
    ),
    Command::reading("xlen", 2, range::xlen).flags(&[Flags::FAST]).doc(
        "5.0.0",
        "O(1)",
        "Return the number of entries in a stream",
    ),
    Command::reading("xrange", -4, range::xrange).doc(
        "5.0.0",
        "O(N) with N being the number of elements being returned. If N is constant (e.g. always \
         asking for the first 10 elements with COUNT), you can consider it O(1).",
        "Return a range of elements in a stream, with IDs matching the specified IDs interval",
    ),
    Command::reading("xrevrange", -4, range::xrevrange).doc(
        "5.0.0",
        "O(N) with N being the number of elements returned. If N is constant (e.g. always asking for \
         the first 10 elements with COUNT), you can consider it O(1).",
        "Return a range of elements in a stream, with IDs matching the specified IDs interval, in \
         reverse order (from greater to smaller IDs) compared to XRANGE",
    ),
    Command::new("xdel", -3, trim::xdel).writes_key().flags(&[Flags::FAST]).doc(
        "5.0.0",
        "O(1) for each single item to delete in the stream, regardless of the stream size.",
        "Removes the specified entries from the stream. Returns the number of items actually deleted, \
         that may be different from the number of IDs passed in case certain IDs do not exist.",
    ),
    Command::new("xtrim", -4, trim::xtrim).writes_key().doc(
        "5.0.0",
        "O(N), with N being the number of evicted entries. Constant times are very small however, \
         since entries are organized in macro nodes containing multiple entries that can be released \
         with a single deallocation.",
        "Trims the stream to (approximately if '~' is passed) a certain size",
    ),
    Command::new("xsetid", -3, add::xsetid).writes_key().flags(&[Flags::DENYOOM, Flags::FAST]).doc(
        "5.0.0",
        "O(1)",
        "An internal command for replicating stream values",
    ),
    Command::new("xread", -4, read::xread)
        .flags(&[Flags::BLOCKING, Flags::READONLY])
        .flags(&[Flags::MOVABLE_KEYS])
        // A session that waits is noted in the shards of its keys.
        .locks_keys_if(read::may_wait)
        .keys_by(read::keys)
        .doc(
            "5.0.0",
            "For each stream mentioned: O(N) with N being the number of elements being returned, it means \
             that XREAD-ing with a fixed COUNT is O(1). Note that when the BLOCK option is used, XADD \
             will pay O(M) time in order to serve the M clients blocked on the stream getting new data.",
            "Return never seen elements in multiple streams, with IDs greater than the ones reported by \
             the caller for each stream. Can block.",
        ),
    Command::new("xreadgroup", -7, read::xreadgroup)
        .flags(&[Flags::BLOCKING, Flags::WRITE])
        .flags(&[Flags::MOVABLE_KEYS])
        .keys_by(read::keys)
        .doc(
            "5.0.0",
            "For each stream mentioned: O(M) with M being the number of elements returned. If M is \
             constant (e.g. always asking for the first 10 elements with COUNT), you can consider it \
             O(1). On the other side when XREADGROUP blocks, XADD will pay the O(N) time in order to \
             serve the N clients blocked on the stream getting new data.",
            "Return new entries from a stream using a consumer group, or access the history of the \
             pending entries for a given consumer. Can block.",
        ),
    Command::new("xack", -4, groups::xack).writes_key().flags(&[Flags::FAST]).doc(
        "5.0.0",
        "O(1) for each message ID processed.",
        "Marks a pending message as correctly processed, effectively removing it from the pending \
         entries list of the consumer group. Return value of the command is the number of messages \
         successfully acknowledged, that is, the IDs we were actually able to resolve in the PEL.",
    ),
    Command::new("xpending", -3, pending::xpending).reads_key().doc(
        "5.0.0",
        "O(N) with N being the number of elements returned, so asking for a small fixed number of \
         entries per call is O(1). O(M), where M is the total number of entries scanned when used \
         with the IDLE filter. When the command returns just the summary and the list of consumers is \
         small, it runs in O(1) time; otherwise, an additional O(N) time for iterating every \
         consumer.",
        "Return information and entries from a stream consumer group pending entries list, that are \
         messages fetched but never acknowledged.",
    ),
    Command::new("xclaim", -6, claim::xclaim).writes_key().flags(&[Flags::FAST]).doc(
        "5.0.0",
        "O(log N) with N being the number of messages in the PEL of the consumer group.",
        "Changes (or acquires) ownership of a message in a consumer group, as if the message was \
         delivered to the specified consumer.",
    ),
    Command::new("xautoclaim", -6, autoclaim::xautoclaim).writes_key().flags(&[Flags::FAST]).doc(
        "6.2.0",
        "O(1) if COUNT is small.",
        "Changes (or acquires) ownership of messages in a consumer group, as if the messages were \
         delivered to the specified consumer.",
    ),
    Command::new("xgroup", -2, container)
        .doc("5.0.0", "Depends on subcommand.", "A container for consumer groups commands")
        .subcommands(
            &FAMILY.commands([
                Command::new("xgroup|create", -5, groups::create)
                    .flags(&[Flags::WRITE, Flags::DENYOOM])
                    .keys(2, 2, 1)
                    .doc("5.0.0", "O(1)", "Create a consumer group."),
                Command::new("xgroup|setid", -5, groups::setid).flags(&[Flags::WRITE]).keys(2, 2, 1).doc(
                    "5.0.0",
                    "O(1)",
                    "Set a consumer group to an arbitrary last delivered ID value.",
                ),
                Command::new("xgroup|destroy", 4, groups::destroy).flags(&[Flags::WRITE]).keys(2, 2, 1).doc(
                    "5.0.0",
                    "O(N) where N is the number of entries in the group's pending entries list (PEL).",
                    "Destroy a consumer group.",
                ),
                Command::new("xgroup|createconsumer", 5, groups::createconsumer)
                    .flags(&[Flags::WRITE, Flags::DENYOOM])
                    .keys(2, 2, 1)
                    .doc("6.2.0", "O(1)", "Create a consumer in a consumer group."),
                Command::new("xgroup|delconsumer", 5, groups::delconsumer)
                    .flags(&[Flags::WRITE])
                    .keys(2, 2, 1)
                    .doc("5.0.0", "O(1)", "Delete a consumer from a consumer group."),
                help("xgroup|help", list_own, "5.0.0"),
            ]),
        ),
    Command::new("xinfo", -2, container)
        .doc("5.0.0", "Depends on subcommand.", "A container for stream introspection commands")
        .subcommands(&FAMILY.commands([
            Command::new("xinfo|stream", -3, info::stream_info).flags(&[Flags::READONLY]).keys(2, 2, 1).doc(
                "5.0.0",
                "O(1)",
                "Get information about a stream",
            ),
            Command::new("xinfo|groups", 3, info::groups).flags(&[Flags::READONLY]).keys(2, 2, 1).doc(
                "5.0.0",
                "O(1)",
                "List the consumer groups of a stream",
            ),
            Command::new("xinfo|consumers", 4, info::consumers).flags(&[Flags::READONLY]).keys(2, 2, 1).doc(
                "5.0.0",
                "O(1)",
                "List the consumers in a consumer group",
            ),
            help("xinfo|help", list_own, "5.0.0"),
        ])),
]);

/// The help on the containers of this family.
fn list_own(call: &mut Call<'_, '_>) -> CommandResult {
    list_subcommands(call, COMMANDS)
}
