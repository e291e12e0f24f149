//! The XML of hwloc 2: a tree of objects with their CPUs, followed by tables.

use super::InvalidDescription;
use super::description::{CpuKind, Description, ProcessingUnit};
use crate::facts::consistency::NODES_MAX;
use crate::facts::{Cache, CacheKind, CoreKind, CpuSet, Node};
use crate::system::brief;
use roxmltree::{Document, ParsingOptions};
use std::str::FromStr;

/// The largest machines have fewer elements and texts.
const XML_NODES_MAX: u32 = 1 << 22;
/// No machine has more CPUs or nodes.
const BITS_MAX: usize = 1 << 20;

/// Ignored objects: containers, whose contents are read, and devices.
const IGNORED_CONTAINERS: [&str; 7] = ["Machine", "Package", "Die", "Group", "Core", "Bridge", "PCIDev"];
const IGNORED_DEVICES: [&str; 2] = ["OSDev", "Misc"];

pub(super) fn parse(text: &str) -> Result<Description, InvalidDescription> {
    let wrong = |why: String| InvalidDescription(why);
    let options = ParsingOptions { allow_dtd: true, nodes_limit: XML_NODES_MAX, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options)
        .map_err(|error| wrong(format!("it is not XML: {error}")))?;
    let root = document.root_element();
    if root.tag_name().name() != "topology" {
        return Err(wrong(format!(
            "the root element is `{}`, not a `topology` of hwloc",
            root.tag_name().name()
        )));
    }
    match root.attribute("version") {
        Some(version) if version.split('.').next() == Some("2") => {}
        Some(version) => {
            return Err(wrong(format!("it is a topology of version {version}; only version 2 is supported")));
        }
        None => {
            return Err(wrong(
                "it is a topology of hwloc 1; write it again with `lstopo --of xml` of hwloc 2".into(),
            ));
        }
    }
    let mut description = Description::default();
    for object in root.descendants().filter(|node| node.has_tag_name("object")) {
        Object(object).add_to(&mut description);
    }
    for table in root.children().filter(roxmltree::Node::is_element) {
        match table.tag_name().name() {
            "distances2" => distances(table, &mut description),
            "cpukind" => kind(table, &mut description),
            _ => {}
        }
    }
    Ok(description)
}

/// An object of the tree.
struct Object<'a>(roxmltree::Node<'a, 'a>);

impl<'a> Object<'a> {
    fn kind(&self) -> &'a str {
        self.0.attribute("type").unwrap_or_default()
    }

    fn number<T: FromStr>(&self, name: &str) -> Option<T> {
        self.0.attribute(name)?.parse().ok()
    }

    fn set(&self, name: &str) -> Option<CpuSet> {
        bits(self.0.attribute(name)?)
    }

    /// Returns the identifier of the enclosing object of a type.
    fn within(&self, kind: &str) -> Option<usize> {
        let contains = |node: &roxmltree::Node<'_, '_>| node.attribute("type") == Some(kind);
        self.0.ancestors().skip(1).find(contains).map(|node| node.id().get_usize())
    }

    fn add_to(&self, description: &mut Description) {
        match self.kind() {
            "PU" => match self.number("os_index").filter(|&id: &u32| (id as usize) < BITS_MAX) {
                Some(id) => description.cpus.push(ProcessingUnit {
                    id,
                    core: self.within("Core"),
                    package: self.within("Package"),
                }),
                None => description.gap("CPUs", "one without a number is ignored"),
            },
            "NUMANode" => match (self.number("os_index"), self.set("cpuset")) {
                // One node more than the maximum is kept, so that the description is refused.
                (Some(id), Some(cpus))
                    if description.nodes.len() <= NODES_MAX
                        && description.nodes.iter().all(|node| node.id != id) =>
                {
                    let memory = self.number("local_memory").filter(|&bytes: &u64| bytes > 0);
                    description.nodes.push(Node { id, cpus, memory, free: None, distances: Vec::new() });
                }
                _ => description.gap("nodes", "one without a unique number or without CPUs is ignored"),
            },
            kind if kind.ends_with("Cache") && kind.starts_with('L') => match self.cache() {
                Some(cache) => description.caches.push(cache),
                None => description
                    .gap("caches", format!("an `{kind}` without size, level, type or CPUs is ignored")),
            },
            "MemCache" => description.gap("caches", "a memory-side cache is ignored"),
            kind if IGNORED_CONTAINERS.contains(&kind) || IGNORED_DEVICES.contains(&kind) => {}
            kind => description.gap("objects", format!("a `{}` is unknown and ignored", brief(kind))),
        }
        if self.kind() == "Machine" {
            description.allowed = ["allowed_cpuset", "allowed_nodeset"].map(|name| self.set(name));
        }
        if matches!(self.kind(), "Machine" | "Package") && description.model.is_none() {
            description.model = info(self.0, "CPUModel").map(str::to_string);
        }
    }

    fn cache(&self) -> Option<Cache> {
        let kind = match self.0.attribute("cache_type")? {
            "0" => CacheKind::Unified,
            "1" => CacheKind::Data,
            "2" => CacheKind::Instruction,
            _ => return None,
        };
        Some(Cache {
            level: self.number("depth").filter(|level| (1..=9).contains(level))?,
            kind,
            size: self.number("cache_size").filter(|&size| size > 0)?,
            line: self.number("cache_linesize").filter(|&line| line > 0),
            cpus: self.set("cpuset")?,
        })
    }
}

/// Returns the value of an `info` element of an object or a kind.
fn info<'a>(of: roxmltree::Node<'a, 'a>, name: &str) -> Option<&'a str> {
    let infos = of.children().filter(|child| child.has_tag_name("info"));
    infos.into_iter().find(|info| info.attribute("name") == Some(name))?.attribute("value")
}

/// Parses a bitmap such as `0x0000000f,0xffffffff`: 32-bit words, the lowest last.
fn bits(text: &str) -> Option<CpuSet> {
    let words: Vec<&str> = text.trim().split(',').collect();
    if words.len() * 32 > BITS_MAX {
        return None;
    }
    let mut set = Vec::new();
    for (first, word) in (0..).step_by(32).zip(words.into_iter().rev()) {
        let digits = word.strip_prefix("0x").unwrap_or(word);
        // A word of zero may be empty.
        let word = if word.is_empty() { 0 } else { u32::from_str_radix(digits, 16).ok()? };
        set.extend((0..32).filter(|bit| word >> bit & 1 == 1).map(|bit| first + bit));
    }
    Some(set.into_iter().collect())
}

/// Reads the distances between nodes if the table holds latencies.
fn distances(table: roxmltree::Node<'_, '_>, description: &mut Description) {
    const LATENCY: u32 = 4;
    let kind = table.attribute("kind").and_then(|kind| kind.parse::<u32>().ok()).unwrap_or(0);
    let already_known = description.nodes.iter().any(|node| !node.distances.is_empty());
    if table.attribute("type") != Some("NUMANode") || kind & LATENCY == 0 || already_known {
        return;
    }
    let numbers = |name: &str| -> Option<Vec<u32>> {
        let texts =
            table.children().filter(|child| child.has_tag_name(name)).filter_map(|child| child.text());
        texts.flat_map(str::split_whitespace).map(|number| number.parse().ok()).collect()
    };
    let ids: Vec<_> = description.nodes.iter().map(|node| node.id).collect();
    let read = || {
        let (indexes, values) = (numbers("indexes")?, numbers("u64values")?);
        let by_number = table.attribute("indexing") == Some("os");
        if !by_number || indexes.len().checked_pow(2)? != values.len() || indexes.is_empty() {
            return None;
        }
        let place = |id: &u32| indexes.iter().position(|index| index == id);
        let mut sorted = ids.clone();
        sorted.sort_unstable();
        let row = |from: &u32| -> Option<Vec<u32>> {
            let from = place(from)?;
            sorted.iter().map(|to| Some(values[from * indexes.len() + place(to)?])).collect()
        };
        ids.iter().map(row).collect::<Option<Vec<_>>>()
    };
    match read() {
        Some(rows) => description.nodes.iter_mut().zip(rows).for_each(|(node, row)| node.distances = row),
        None => description.gap("distances", "the table of distances between nodes is invalid"),
    }
}

/// Reads a kind of cores.
fn kind(table: roxmltree::Node<'_, '_>, description: &mut Description) {
    let kind = match info(table, "CoreType") {
        Some("IntelAtom") => Some(CoreKind::Efficiency),
        Some("IntelCore") => Some(CoreKind::Performance),
        _ => None,
    };
    let capacity = info(table, "LinuxCapacity").and_then(|capacity| capacity.parse().ok());
    let capacity = capacity.filter(|capacity| (1..=1024).contains(capacity));
    match table.attribute("cpuset").and_then(bits) {
        Some(cpus) => description.kinds.push(CpuKind { cpus, kind, capacity }),
        None => description.gap("kinds of cores", "one without CPUs is ignored"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bitmaps_are_parsed() {
        let set = |text| bits(text).map(|set| set.to_string());
        assert_eq!(set("0x0000ffff").as_deref(), Some("0-15"));
        assert_eq!(set("0x00000001,0x80000000").as_deref(), Some("31-32"));
        assert_eq!(set("0x1,,0x3").as_deref(), Some("0-1,64"));
        assert_eq!(set("0x0").as_deref(), Some(""));
        for wrong in ["0xf...f", "x", "0x100000000", "-1", "0x1 0x1"] {
            assert_eq!(set(wrong), None, "{wrong}");
        }
        assert_eq!(bits(&",".repeat(BITS_MAX)), None);
    }
}
