//! The entries of the commands on places, in the words of Redis.

use super::members::{geoadd, geodist, geohash, geopos};
use super::options::keys;
use super::search::{
    georadius, georadius_ro, georadiusbymember, georadiusbymember_ro, geosearch, geosearchstore,
};
use crate::command::{Command, Flags};

/// What COMMAND DOCS says of the time that a search in a circle takes.
const RADIUS_COMPLEXITY: &str = "O(N+log(M)) where N is the number of elements inside the bounding box of \
                                 the circular area delimited by center and radius and M is the number of \
                                 items inside the index.";

pub(in crate::command) const COMMANDS: &[Command] = &[
    Command::new("geoadd", -5, geoadd)
        .flags(&[Flags::WRITE, Flags::DENYOOM])
        .keys(1, 1, 1)
        .categories(&["geo"])
        .doc(
            "geo",
            "3.2.0",
            "O(log(N)) for each item added, where N is the number of elements in the sorted set.",
            "Add one or more geospatial items in the geospatial index represented using a sorted set",
        ),
    Command::reading("geopos", -2, geopos).categories(&["geo"]).doc(
        "geo",
        "3.2.0",
        "O(N) where N is the number of members requested.",
        "Returns longitude and latitude of members of a geospatial index",
    ),
    Command::reading("geodist", -4, geodist).categories(&["geo"]).doc(
        "geo",
        "3.2.0",
        "O(log(N))",
        "Returns the distance between two members of a geospatial index",
    ),
    Command::reading("geohash", -2, geohash).categories(&["geo"]).doc(
        "geo",
        "3.2.0",
        "O(log(N)) for each member requested, where N is the number of elements in the sorted set.",
        "Returns members of a geospatial index as standard geohash strings",
    ),
    Command::new("geosearch", -7, geosearch)
        .flags(&[Flags::READONLY])
        .keys(1, 1, 1)
        .categories(&["geo"])
        .doc(
            "geo",
            "6.2.0",
            "O(N+log(M)) where N is the number of elements in the grid-aligned bounding box area \
             around the shape provided as the filter and M is the number of items inside the shape",
            "Query a sorted set representing a geospatial index to fetch members inside an area of a \
             box or a circle.",
        ),
    Command::new("geosearchstore", -8, geosearchstore)
        .flags(&[Flags::WRITE, Flags::DENYOOM])
        .keys(1, 2, 1)
        .categories(&["geo"])
        .doc(
            "geo",
            "6.2.0",
            "O(N+log(M)) where N is the number of elements in the grid-aligned bounding box area \
             around the shape provided as the filter and M is the number of items inside the shape",
            "Query a sorted set representing a geospatial index to fetch members inside an area of a \
             box or a circle, and store the result in another key.",
        ),
    Command::new("georadius", -6, georadius)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::MOVABLE_KEYS])
        .keys_and_patterns(keys, |_| false)
        .categories(&["geo"])
        .doc(
            "geo",
            "3.2.0",
            RADIUS_COMPLEXITY,
            "Query a sorted set representing a geospatial index to fetch members matching a given \
             maximum distance from a point",
        ),
    Command::new("georadius_ro", -6, georadius_ro)
        .flags(&[Flags::READONLY])
        .keys(1, 1, 1)
        .categories(&["geo"])
        .doc("geo", "3.2.10", RADIUS_COMPLEXITY, "A read-only variant for GEORADIUS"),
    Command::new("georadiusbymember", -5, georadiusbymember)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::MOVABLE_KEYS])
        .keys_and_patterns(keys, |_| false)
        .categories(&["geo"])
        .doc(
            "geo",
            "3.2.0",
            RADIUS_COMPLEXITY,
            "Query a sorted set representing a geospatial index to fetch members matching a given \
             maximum distance from a member",
        ),
    Command::new("georadiusbymember_ro", -5, georadiusbymember_ro)
        .flags(&[Flags::READONLY])
        .keys(1, 1, 1)
        .categories(&["geo"])
        .doc("geo", "3.2.10", RADIUS_COMPLEXITY, "A read-only variant for GEORADIUSBYMEMBER"),
];
