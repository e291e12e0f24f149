//! The entries of the commands on places, in the words of Redis.

use super::members::{geoadd, geodist, geohash, geopos};
use super::options::keys;
use super::search::{
    georadius, georadius_ro, georadiusbymember, georadiusbymember_ro, geosearch, geosearchstore,
};
use crate::command::{Call, Command, CommandResult, Family, Flags};

/// What COMMAND DOCS says of the time that a search in a circle takes.
const RADIUS_COMPLEXITY: &str = "O(N+log(M)) where N is the number of elements inside the bounding box of \
     the circular area delimited by center and radius and M is the number of items inside the index.";

const FAMILY: Family = Family::new("geo", &["geo"]);

const SEARCH_COMPLEXITY: &str = "O(N+log(M)) where N is the number of elements in the grid-aligned bounding \
     box area around the shape provided as the filter and M is the number of items inside the shape";

pub(in crate::command) const COMMANDS: &[Command] = &FAMILY.commands([
    Command::new("geoadd", -5, geoadd).writes_key().flags(&[Flags::DENYOOM]).doc(
        "3.2.0",
        "O(log(N)) for each item added, where N is the number of elements in the sorted set.",
        "Add one or more geospatial items in the geospatial index represented using a sorted set",
    ),
    Command::reading("geopos", -2, geopos).doc(
        "3.2.0",
        "O(N) where N is the number of members requested.",
        "Returns longitude and latitude of members of a geospatial index",
    ),
    Command::reading("geodist", -4, geodist).doc(
        "3.2.0",
        "O(log(N))",
        "Returns the distance between two members of a geospatial index",
    ),
    Command::reading("geohash", -2, geohash).doc(
        "3.2.0",
        "O(log(N)) for each member requested, where N is the number of elements in the sorted set.",
        "Returns members of a geospatial index as standard geohash strings",
    ),
    Command::new("geosearch", -7, geosearch).reads_key().doc(
        "6.2.0",
        SEARCH_COMPLEXITY,
        "Query a sorted set representing a geospatial index to fetch members inside an area of a \
         box or a circle.",
    ),
    Command::new("geosearchstore", -8, geosearchstore)
        .flags(&[Flags::WRITE, Flags::DENYOOM])
        .keys(1, 2, 1)
        .doc(
            "6.2.0",
            SEARCH_COMPLEXITY,
            "Query a sorted set representing a geospatial index to fetch members inside an area of a \
             box or a circle, and store the result in another key.",
        ),
    radius("georadius", -6, georadius).doc(
        "3.2.0",
        RADIUS_COMPLEXITY,
        "Query a sorted set representing a geospatial index to fetch members matching a given \
         maximum distance from a point",
    ),
    Command::new("georadius_ro", -6, georadius_ro).reads_key().doc(
        "3.2.10",
        RADIUS_COMPLEXITY,
        "A read-only variant for GEORADIUS",
    ),
    radius("georadiusbymember", -5, georadiusbymember).doc(
        "3.2.0",
        RADIUS_COMPLEXITY,
        "Query a sorted set representing a geospatial index to fetch members matching a given \
         maximum distance from a member",
    ),
    Command::new("georadiusbymember_ro", -5, georadiusbymember_ro).reads_key().doc(
        "3.2.10",
        RADIUS_COMPLEXITY,
        "A read-only variant for GEORADIUSBYMEMBER",
    ),
]);

/// Begins the entry of a search in a circle that may store what it finds.
const fn radius(name: &'static str, arity: i32, run: fn(&mut Call<'_, '_>) -> CommandResult) -> Command {
    Command::new(name, arity, run)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::MOVABLE_KEYS])
        .keys_and_patterns(keys, |_| false)
}
