//! The commands on sorted sets in the table of commands, in the words of Redis.

use super::{add, algebra, members, pop, range};
use crate::command::{Command, Family, Flags};

const FAMILY: Family = Family::new("sorted-set", &["sortedset"]);

const COUNT_COMPLEXITY: &str = "O(log(N)) with N being the number of elements in the sorted set.";
const RANGE_COMPLEXITY: &str = "O(log(N)+M) with N being the number of elements in the sorted set and M the \
     number of elements returned.";
const BOUNDED_RANGE_COMPLEXITY: &str = "O(log(N)+M) with N being the number of elements in the sorted set \
     and M the number of elements being returned. If M is constant (e.g. always asking for the first 10 \
     elements with LIMIT), you can consider it O(log(N)).";
const REMOVAL_COMPLEXITY: &str = "O(log(N)+M) with N being the number of elements in the sorted set and M \
     the number of elements removed by the operation.";
const POP_COMPLEXITY: &str = "O(log(N)*M) with N being the number of elements in the sorted set, and M being \
     the number of elements popped.";
const MULTIPLE_POP_COMPLEXITY: &str = "O(K) + O(M*log(N)) where K is the number of provided keys, N being \
     the number of elements in the sorted set, and M being the number of elements popped.";
const INTERSECTION_COMPLEXITY: &str = "O(N*K)+O(M*log(M)) worst case with N being the smallest input sorted \
     set, K being the number of input sorted sets and M being the number of elements in the resulting sorted \
     set.";
const DIFFERENCE_COMPLEXITY: &str = "O(L + (N-K)log(N)) worst case where L is the total number of elements \
     in all the sets, N is the size of the first set, and K is the size of the result set.";

pub(in crate::command) const COMMANDS: &[Command] = &FAMILY.commands([
    Command::new("zadd", -4, add::zadd).writes_key().flags(&[Flags::DENYOOM, Flags::FAST]).doc(
        "1.2.0",
        "O(log(N)) for each item added, where N is the number of elements in the sorted set.",
        "Add one or more members to a sorted set, or update its score if it already exists",
    ),
    Command::new("zincrby", 4, add::zincrby).writes_key().flags(&[Flags::DENYOOM, Flags::FAST]).doc(
        "1.2.0",
        "O(log(N)) where N is the number of elements in the sorted set.",
        "Increment the score of a member in a sorted set",
    ),
    Command::new("zrem", -3, members::zrem).writes_key().flags(&[Flags::FAST]).doc(
        "1.2.0",
        "O(M*log(N)) with N being the number of elements in the sorted set and M the number of \
         elements to be removed.",
        "Remove one or more members from a sorted set",
    ),
    Command::reading("zcard", 2, members::zcard).flags(&[Flags::FAST]).doc(
        "1.2.0",
        "O(1)",
        "Get the number of members in a sorted set",
    ),
    Command::new("zcount", 4, range::zcount).reads_key().flags(&[Flags::FAST]).doc(
        "2.0.0",
        COUNT_COMPLEXITY,
        "Count the members in a sorted set with scores within the given values",
    ),
    Command::new("zlexcount", 4, range::zlexcount).reads_key().flags(&[Flags::FAST]).doc(
        "2.8.9",
        COUNT_COMPLEXITY,
        "Count the number of members in a sorted set between a given lexicographical range",
    ),
    Command::reading("zscore", 3, members::zscore).flags(&[Flags::FAST]).doc(
        "1.2.0",
        "O(1)",
        "Get the score associated with the given member in a sorted set",
    ),
    Command::new("zmscore", -3, members::zmscore).reads_key().flags(&[Flags::FAST]).doc(
        "6.2.0",
        "O(N) where N is the number of members being requested.",
        "Get the score associated with the given members in a sorted set",
    ),
    Command::new("zrank", -3, members::zrank).reads_key().flags(&[Flags::FAST]).doc(
        "2.0.0",
        "O(log(N))",
        "Determine the index of a member in a sorted set",
    ),
    Command::new("zrevrank", -3, members::zrevrank).reads_key().flags(&[Flags::FAST]).doc(
        "2.0.0",
        "O(log(N))",
        "Determine the index of a member in a sorted set, with scores ordered from high to low",
    ),
    Command::new("zrange", -4, range::zrange).reads_key().doc(
        "1.2.0",
        RANGE_COMPLEXITY,
        "Return a range of members in a sorted set",
    ),
    Command::new("zrangestore", -5, range::zrangestore)
        .flags(&[Flags::WRITE, Flags::DENYOOM])
        .keys(1, 2, 1)
        .doc(
            "6.2.0",
            "O(log(N)+M) with N being the number of elements in the sorted set and M the number of \
             elements stored into the destination key.",
            "Store a range of members from sorted set into another key",
        ),
    Command::new("zrangebyscore", -4, range::zrangebyscore).reads_key().doc(
        "1.0.5",
        BOUNDED_RANGE_COMPLEXITY,
        "Return a range of members in a sorted set, by score",
    ),
    Command::new("zrevrangebyscore", -4, range::zrevrangebyscore).reads_key().doc(
        "2.2.0",
        BOUNDED_RANGE_COMPLEXITY,
        "Return a range of members in a sorted set, by score, with scores ordered from high to low",
    ),
    Command::new("zrangebylex", -4, range::zrangebylex).reads_key().doc(
        "2.8.9",
        BOUNDED_RANGE_COMPLEXITY,
        "Return a range of members in a sorted set, by lexicographical range",
    ),
    Command::new("zrevrangebylex", -4, range::zrevrangebylex).reads_key().doc(
        "2.8.9",
        BOUNDED_RANGE_COMPLEXITY,
        "Return a range of members in a sorted set, by lexicographical range, ordered from higher to \
         lower strings.",
    ),
    Command::new("zrevrange", -4, range::zrevrange).reads_key().doc(
        "1.2.0",
        RANGE_COMPLEXITY,
        "Return a range of members in a sorted set, by index, with scores ordered from high to low",
    ),
    Command::new("zremrangebyrank", 4, range::zremrangebyrank).writes_key().doc(
        "2.0.0",
        REMOVAL_COMPLEXITY,
        "Remove all members in a sorted set within the given indexes",
    ),
    Command::new("zremrangebyscore", 4, range::zremrangebyscore).writes_key().doc(
        "1.2.0",
        REMOVAL_COMPLEXITY,
        "Remove all members in a sorted set within the given scores",
    ),
    Command::new("zremrangebylex", 4, range::zremrangebylex).writes_key().doc(
        "2.8.9",
        REMOVAL_COMPLEXITY,
        "Remove all members in a sorted set between the given lexicographical range",
    ),
    Command::new("zpopmin", -2, pop::zpopmin).writes_key().flags(&[Flags::FAST]).doc(
        "5.0.0",
        POP_COMPLEXITY,
        "Remove and return members with the lowest scores in a sorted set",
    ),
    Command::new("zpopmax", -2, pop::zpopmax).writes_key().flags(&[Flags::FAST]).doc(
        "5.0.0",
        POP_COMPLEXITY,
        "Remove and return members with the highest scores in a sorted set",
    ),
    Command::new("bzpopmin", -3, pop::bzpopmin)
        .flags(&[Flags::WRITE, Flags::NOSCRIPT, Flags::BLOCKING, Flags::FAST])
        .keys(1, -2, 1)
        .doc(
            "5.0.0",
            COUNT_COMPLEXITY,
            "Remove and return the member with the lowest score from one or more sorted sets, or block \
             until one is available",
        ),
    Command::new("bzpopmax", -3, pop::bzpopmax)
        .flags(&[Flags::WRITE, Flags::NOSCRIPT, Flags::BLOCKING, Flags::FAST])
        .keys(1, -2, 1)
        .doc(
            "5.0.0",
            COUNT_COMPLEXITY,
            "Remove and return the member with the highest score from one or more sorted sets, or block \
             until one is available",
        ),
    Command::new("zmpop", -4, pop::zmpop).flags(&[Flags::WRITE, Flags::MOVABLE_KEYS]).counted_keys(1).doc(
        "7.0.0",
        MULTIPLE_POP_COMPLEXITY,
        "Remove and return members with scores in a sorted set",
    ),
    Command::new("bzmpop", -5, pop::bzmpop)
        .flags(&[Flags::WRITE, Flags::BLOCKING, Flags::MOVABLE_KEYS])
        .counted_keys(2)
        .doc(
            "7.0.0",
            MULTIPLE_POP_COMPLEXITY,
            "Remove and return members with scores in a sorted set or block until one is available",
        ),
    Command::new("zunion", -3, algebra::zunion)
        .flags(&[Flags::READONLY, Flags::MOVABLE_KEYS])
        .counted_keys(1)
        .doc(
            "6.2.0",
            "O(N)+O(M*log(M)) with N being the sum of the sizes of the input sorted sets, and M being the \
             number of elements in the resulting sorted set.",
            "Add multiple sorted sets",
        ),
    Command::new("zunionstore", -4, algebra::zunionstore)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::MOVABLE_KEYS])
        .destination_and_counted_keys()
        .doc(
            "2.0.0",
            "O(N)+O(M log(M)) with N being the sum of the sizes of the input sorted sets, and M being the \
             number of elements in the resulting sorted set.",
            "Add multiple sorted sets and store the resulting sorted set in a new key",
        ),
    Command::new("zinter", -3, algebra::zinter)
        .flags(&[Flags::READONLY, Flags::MOVABLE_KEYS])
        .counted_keys(1)
        .doc("6.2.0", INTERSECTION_COMPLEXITY, "Intersect multiple sorted sets"),
    Command::new("zinterstore", -4, algebra::zinterstore)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::MOVABLE_KEYS])
        .destination_and_counted_keys()
        .doc(
            "2.0.0",
            INTERSECTION_COMPLEXITY,
            "Intersect multiple sorted sets and store the resulting sorted set in a new key",
        ),
    Command::new("zdiff", -3, algebra::zdiff)
        .flags(&[Flags::READONLY, Flags::MOVABLE_KEYS])
        .counted_keys(1)
        .doc("6.2.0", DIFFERENCE_COMPLEXITY, "Subtract multiple sorted sets"),
    Command::new("zdiffstore", -4, algebra::zdiffstore)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::MOVABLE_KEYS])
        .destination_and_counted_keys()
        .doc(
            "6.2.0",
            DIFFERENCE_COMPLEXITY,
            "Subtract multiple sorted sets and store the resulting sorted set in a new key",
        ),
    Command::new("zintercard", -3, algebra::zintercard)
        .flags(&[Flags::READONLY, Flags::MOVABLE_KEYS])
        .counted_keys(1)
        .doc(
            "7.0.0",
            "O(N*K) worst case with N being the smallest input sorted set, K being the number of input \
             sorted sets.",
            "Intersect multiple sorted sets and return the cardinality of the result",
        ),
    Command::new("zrandmember", -2, members::zrandmember).reads_key().doc(
        "6.2.0",
        "O(N) where N is the number of elements returned",
        "Get one or multiple random elements from a sorted set",
    ),
    Command::new("zscan", -3, members::zscan).reads_key().doc(
        "2.8.0",
        "O(1) for every call. O(N) for a complete iteration, including enough command calls for the \
         cursor to return back to 0. N is the number of elements inside the collection..",
        "Incrementally iterate sorted sets elements and associated scores",
    ),
]);
