//! The entries of the commands on bits.

use super::super::{Command, Family, Flags};
use super::bits::{getbit, setbit};
use super::field::{bitfield, bitfield_ro};
use super::operation::bitop;
use super::search::{bitcount, bitpos};

const FAMILY: Family = Family::new("bitmap", &["bitmap"]);

pub(in super::super) const COMMANDS: &[Command] = &FAMILY.commands([
    Command::new("setbit", 4, setbit).writes_key().flags(&[Flags::DENYOOM]).doc(
        "2.2.0",
        "O(1)",
        "Sets or clears the bit at offset in the string value stored at key",
    ),
    Command::new("getbit", 3, getbit).reads_key().flags(&[Flags::FAST]).doc(
        "2.2.0",
        "O(1)",
        "Returns the bit value at offset in the string value stored at key",
    ),
    Command::new("bitcount", -2, bitcount).reads_key().doc("2.6.0", "O(N)", "Count set bits in a string"),
    Command::new("bitpos", -3, bitpos).reads_key().doc(
        "2.8.7",
        "O(N)",
        "Find first bit set or clear in a string",
    ),
    Command::new("bitop", -4, bitop).flags(&[Flags::WRITE, Flags::DENYOOM]).keys(2, -1, 1).doc(
        "2.6.0",
        "O(N)",
        "Perform bitwise operations between strings",
    ),
    Command::new("bitfield", -2, bitfield).writes_key().flags(&[Flags::DENYOOM]).doc(
        "3.2.0",
        "O(1) for each subcommand specified",
        "Perform arbitrary bitfield integer operations on strings",
    ),
    Command::new("bitfield_ro", -2, bitfield_ro).reads_key().flags(&[Flags::FAST]).doc(
        "6.0.0",
        "O(1) for each subcommand specified",
        "Perform arbitrary bitfield integer operations on strings. Read-only variant of BITFIELD",
    ),
]);
