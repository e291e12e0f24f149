//! Machines as hwloc describes them: the XML of `lstopo --of xml`, and synthetic descriptions such
//! as `package:2 [numa(memory=8GiB)] l3:1(size=32MiB) core:8 pu:2`.
//!
//! Many tools and clusters keep descriptions of machines in the formats of Portable Hardware
//! Locality (hwloc). The parsers here do not need its library. Objects without a place in the
//! facts, such as devices, are ignored. Missing, unknown or contradictory information is named in
//! [`Facts::gaps`]. Descriptions contain neither load nor free memory.

mod description;
mod synthetic;
mod xml;

use crate::facts::Facts;
use std::fmt;

/// The error of parsing a description that is not valid or not supported; its text says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidDescription(String);

/// Parses either format: XML begins with `<`.
///
/// # Errors
/// As for [`xml`] and [`synthetic`].
pub fn machine(text: &str) -> Result<Facts, InvalidDescription> {
    if text.trim_start().starts_with('<') { xml(text) } else { synthetic(text) }
}

/// Parses the XML of hwloc 2.
///
/// # Errors
/// If the text is not XML of hwloc 2 (that of hwloc 1 is not supported), or contains no CPU, or
/// more than 1024 nodes or 256 CPUs of a core.
pub fn xml(text: &str) -> Result<Facts, InvalidDescription> {
    xml::parse(text)?.facts()
}

/// Parses a synthetic description: levels from the outermost to `pu`, each as
/// `type:count(attributes)`. Memory attached to a level follows it in brackets.
///
/// Types are `package`, `die`, `group`, `numa`, `core`, `pu`, and caches such as `l3`, `l1d` and
/// `l1i`. Attributes are `size` of a cache and `memory` of a node, in bytes or with a unit.
/// `indexes` numbers the CPUs by a list. As in hwloc, a cache without a size has 32 KiB at level 1
/// and 4 MiB at level 2. Each further level has four times as much. Without `numa` there is one
/// node of 1 GiB.
///
/// ```
/// use xtasking_knowledge::hwloc;
///
/// let facts = hwloc::synthetic("package:2 [numa(memory=8GiB)] l3:1(size=32MiB) core:8 pu:2")?;
/// assert_eq!((facts.cpus.len(), facts.nodes.len()), (32, 2));
/// # Ok::<(), hwloc::InvalidDescription>(())
/// ```
///
/// # Errors
/// If a part is not supported. Levels without a type and indexes other than a list are not, nor are
/// more than 65,536 CPUs, 1024 nodes, or 256 CPUs of a core.
pub fn synthetic(text: &str) -> Result<Facts, InvalidDescription> {
    synthetic::parse(text)?.facts()
}

impl fmt::Display for InvalidDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidDescription {}
