//! The commands on lists in the table of commands, in the words of Redis.

use super::{pop, positions, push, transfer};
use crate::command::{Command, Family, Flags};

const FAMILY: Family = Family::new("list", &["list"]);

const PUSH_COMPLEXITY: &str = "O(1) for each element added, so O(N) to add N elements when the command is \
     called with multiple arguments.";
const POP_COMPLEXITY: &str = "O(N) where N is the number of elements returned";
const MULTIPLE_POP_COMPLEXITY: &str = "O(N+M) where N is the number of provided keys and M is the number of \
     elements returned.";
const WAIT_COMPLEXITY: &str = "O(N) where N is the number of provided keys.";

pub(in crate::command) const COMMANDS: &[Command] = &FAMILY.commands([
    Command::new("lpush", -3, push::lpush).writes_key().flags(&[Flags::DENYOOM, Flags::FAST]).doc(
        "1.0.0",
        PUSH_COMPLEXITY,
        "Prepend one or multiple elements to a list",
    ),
    Command::new("rpush", -3, push::rpush).writes_key().flags(&[Flags::DENYOOM, Flags::FAST]).doc(
        "1.0.0",
        PUSH_COMPLEXITY,
        "Append one or multiple elements to a list",
    ),
    Command::new("lpushx", -3, push::lpushx).writes_key().flags(&[Flags::DENYOOM, Flags::FAST]).doc(
        "2.2.0",
        PUSH_COMPLEXITY,
        "Prepend an element to a list, only if the list exists",
    ),
    Command::new("rpushx", -3, push::rpushx).writes_key().flags(&[Flags::DENYOOM, Flags::FAST]).doc(
        "2.2.0",
        PUSH_COMPLEXITY,
        "Append an element to a list, only if the list exists",
    ),
    Command::new("lpop", -2, pop::lpop).writes_key().flags(&[Flags::FAST]).doc(
        "1.0.0",
        POP_COMPLEXITY,
        "Remove and get the first elements in a list",
    ),
    Command::new("rpop", -2, pop::rpop).writes_key().flags(&[Flags::FAST]).doc(
        "1.0.0",
        POP_COMPLEXITY,
        "Remove and get the last elements in a list",
    ),
    Command::reading("llen", 2, push::llen).flags(&[Flags::FAST]).doc(
        "1.0.0",
        "O(1)",
        "Get the length of a list",
    ),
    Command::new("lindex", 3, positions::lindex).reads_key().doc(
        "1.0.0",
        "O(N) where N is the number of elements to traverse to get to the element at index. This makes \
         asking for the first or the last element of the list O(1).",
        "Get an element from a list by its index",
    ),
    Command::new("lset", 4, positions::lset).writes_key().flags(&[Flags::DENYOOM]).doc(
        "1.0.0",
        "O(N) where N is the length of the list. Setting either the first or the last element of the \
         list is O(1).",
        "Set the value of an element in a list by its index",
    ),
    Command::new("lrange", 4, positions::lrange).reads_key().doc(
        "1.0.0",
        "O(S+N) where S is the distance of start offset from HEAD for small lists, from nearest end \
         (HEAD or TAIL) for large lists; and N is the number of elements in the specified range.",
        "Get a range of elements from a list",
    ),
    Command::new("ltrim", 4, positions::ltrim).writes_key().doc(
        "1.0.0",
        "O(N) where N is the number of elements to be removed by the operation.",
        "Trim a list to the specified range",
    ),
    Command::new("lrem", 4, positions::lrem).writes_key().doc(
        "1.0.0",
        "O(N+M) where N is the length of the list and M is the number of elements removed.",
        "Remove elements from a list",
    ),
    Command::new("linsert", 5, positions::linsert).writes_key().flags(&[Flags::DENYOOM]).doc(
        "2.2.0",
        "O(N) where N is the number of elements to traverse before seeing the value pivot. This means \
         that inserting somewhere on the left end on the list (head) can be considered O(1) and \
         inserting somewhere on the right end (tail) is O(N).",
        "Insert an element before or after another element in a list",
    ),
    Command::new("lpos", -3, positions::lpos).reads_key().doc(
        "6.0.6",
        "O(N) where N is the number of elements in the list, for the average case. When searching for \
         elements near the head or the tail of the list, or when the MAXLEN option is provided, the \
         command may run in constant time.",
        "Return the index of matching elements on a list",
    ),
    Command::new("lmove", 5, transfer::lmove).flags(&[Flags::WRITE, Flags::DENYOOM]).keys(1, 2, 1).doc(
        "6.2.0",
        "O(1)",
        "Pop an element from a list, push it to another list and return it",
    ),
    Command::new("rpoplpush", 3, transfer::rpoplpush)
        .flags(&[Flags::WRITE, Flags::DENYOOM])
        .keys(1, 2, 1)
        .doc("1.2.0", "O(1)", "Remove the last element in a list, prepend it to another list and return it"),
    Command::new("lmpop", -4, pop::lmpop).flags(&[Flags::WRITE, Flags::MOVABLE_KEYS]).counted_keys(1).doc(
        "7.0.0",
        MULTIPLE_POP_COMPLEXITY,
        "Pop elements from a list",
    ),
    Command::new("blpop", -3, pop::blpop)
        .flags(&[Flags::WRITE, Flags::NOSCRIPT, Flags::BLOCKING])
        .keys(1, -2, 1)
        .doc(
            "2.0.0",
            WAIT_COMPLEXITY,
            "Remove and get the first element in a list, or block until one is available",
        ),
    Command::new("brpop", -3, pop::brpop)
        .flags(&[Flags::WRITE, Flags::NOSCRIPT, Flags::BLOCKING])
        .keys(1, -2, 1)
        .doc(
            "2.0.0",
            WAIT_COMPLEXITY,
            "Remove and get the last element in a list, or block until one is available",
        ),
    Command::new("blmove", 6, transfer::blmove)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::NOSCRIPT, Flags::BLOCKING])
        .keys(1, 2, 1)
        .doc(
            "6.2.0",
            "O(1)",
            "Pop an element from a list, push it to another list and return it; or block until one is \
             available",
        ),
    Command::new("brpoplpush", 4, transfer::brpoplpush)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::NOSCRIPT, Flags::BLOCKING])
        .keys(1, 2, 1)
        .doc(
            "2.2.0",
            "O(1)",
            "Pop an element from a list, push it to another list and return it; or block until one is \
             available",
        ),
    Command::new("blmpop", -5, pop::blmpop)
        .flags(&[Flags::WRITE, Flags::BLOCKING, Flags::MOVABLE_KEYS])
        .counted_keys(2)
        .doc("7.0.0", MULTIPLE_POP_COMPLEXITY, "Pop elements from a list, or block until one is available"),
]);
