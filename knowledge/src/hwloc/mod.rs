//! Machines as hwloc describes them: the XML that `lstopo --of xml` writes, and synthetic descriptions such as
//! `package:2 [numa(memory=8GiB)] l3:1(size=32MiB) core:8 pu:2`.
//!
//! Portable Hardware Locality (hwloc) is what many tools and clusters keep descriptions of machines in. Nothing of it is
//! needed to read them. What it tells and the facts have no place for, such as devices, is passed over; what is missing,
//! unknown or contradictory is named in [`Facts::gaps`]. No load and no free memory is told.

mod parts;
mod synthetic;
mod xml;

use crate::facts::Facts;
use std::fmt;

/// The text describes no machine, or one that cannot be understood; it says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAMachine(String);

/// Reads either: XML begins with `<`.
///
/// # Errors
/// As [`xml`] and [`synthetic`].
pub fn machine(text: &str) -> Result<Facts, NotAMachine> {
    if text.trim_start().starts_with('<') { xml(text) } else { synthetic(text) }
}

/// Reads XML as hwloc 2 writes it.
///
/// # Errors
/// It is no such XML, which that of hwloc 1 is not either, or names no CPU.
pub fn xml(text: &str) -> Result<Facts, NotAMachine> {
    xml::parts(text)?.facts()
}

/// Reads a synthetic description: levels from the outermost to `pu`, each as `type:count(attributes)`, where memory that
/// is attached to a level stands after it in brackets.
///
/// Types are `package`, `die`, `group`, `numa`, `core`, `pu`, and caches such as `l3`, `l1d` and `l1i`. Attributes are
/// `size` of a cache, `memory` of a node, both in bytes or with a unit, and `indexes` of CPUs as a list of numbers. As in
/// hwloc, a cache that is told no size has 32 KiB at level 1, 4 MiB at level 2 and four times as much at each further one;
/// without any `numa` there is one node of 1 GiB.
///
/// ```
/// use xtasking_knowledge::hwloc;
///
/// let facts = hwloc::synthetic("package:2 [numa(memory=8GiB)] l3:1(size=32MiB) core:8 pu:2")?;
/// assert_eq!((facts.cpus.len(), facts.nodes.len()), (32, 2));
/// # Ok::<(), hwloc::NotAMachine>(())
/// ```
///
/// # Errors
/// Something in it is not understood. Levels without a type, and indexes other than a list, are not.
pub fn synthetic(text: &str) -> Result<Facts, NotAMachine> {
    synthetic::parts(text)?.facts()
}

impl fmt::Display for NotAMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotAMachine {}
