//! The XML that hwloc 2 writes: a tree of objects, each with its CPUs, and tables beside it.

use super::NotAMachine;
use super::parts::{Kind, Parts, Thread};
use crate::facts::{Cache, CacheKind, CoreKind, CpuSet, Node};
use crate::system::brief;
use roxmltree::{Document, ParsingOptions};
use std::str::FromStr;

/// Elements and texts of the largest machines are fewer.
const MOST: u32 = 1 << 22;
/// No machine has so many CPUs or nodes.
const MOST_BITS: usize = 1 << 20;

/// Objects that contain others, and devices: what is needed of the former is in what they contain.
const PASSED_OVER: [&str; 7] = ["Machine", "Package", "Die", "Group", "Core", "Bridge", "PCIDev"];
const DEVICES: [&str; 2] = ["OSDev", "Misc"];

pub(super) fn parts(text: &str) -> Result<Parts, NotAMachine> {
    let wrong = |why: String| NotAMachine(why);
    let options = ParsingOptions { allow_dtd: true, nodes_limit: MOST, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options)
        .map_err(|error| wrong(format!("it is no XML: {error}")))?;
    let root = document.root_element();
    if root.tag_name().name() != "topology" {
        return Err(wrong(format!("it is `{}`, not a topology of hwloc", root.tag_name().name())));
    }
    match root.attribute("version") {
        Some(version) if version.split('.').next() == Some("2") => {}
        Some(version) => {
            return Err(wrong(format!("it is a topology of version {version}: version 2 is understood")));
        }
        None => {
            return Err(wrong(
                "it is a topology of hwloc 1: write it anew with `lstopo --of xml` of hwloc 2".into(),
            ));
        }
    }
    let mut parts = Parts::default();
    for object in root.descendants().filter(|node| node.has_tag_name("object")) {
        Object(object).add_to(&mut parts);
    }
    for table in root.children().filter(roxmltree::Node::is_element) {
        match table.tag_name().name() {
            "distances2" => distances(table, &mut parts),
            "cpukind" => kind(table, &mut parts),
            _ => {}
        }
    }
    Ok(parts)
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

    /// Which object of that type contains it.
    fn within(&self, kind: &str) -> Option<usize> {
        let contains = |node: &roxmltree::Node<'_, '_>| node.attribute("type") == Some(kind);
        self.0.ancestors().skip(1).find(contains).map(|node| node.id().get_usize())
    }

    fn add_to(&self, parts: &mut Parts) {
        match self.kind() {
            "PU" => match self.number("os_index").filter(|&id: &u32| (id as usize) < MOST_BITS) {
                Some(id) => {
                    parts.cpus.push(Thread { id, core: self.within("Core"), package: self.within("Package") })
                }
                None => parts.gap("CPUs", "one has no number, and is left out"),
            },
            "NUMANode" => match (self.number("os_index"), self.set("cpuset")) {
                (Some(id), Some(cpus)) if parts.nodes.iter().all(|node| node.id != id) => {
                    let memory = self.number("local_memory").filter(|&bytes: &u64| bytes > 0);
                    parts.nodes.push(Node { id, cpus, memory, free: None, distances: Vec::new() });
                }
                _ => parts.gap("nodes", "one has no number, or that of another, or no CPUs, and is left out"),
            },
            kind if kind.ends_with("Cache") && kind.starts_with('L') => match self.cache() {
                Some(cache) => parts.caches.push(cache),
                None => parts.gap(
                    "caches",
                    format!("an `{kind}` lacks its size, its level, its type or its CPUs, and is left out"),
                ),
            },
            "MemCache" => parts.gap("caches", "one in front of a node's memory is left out"),
            kind if PASSED_OVER.contains(&kind) || DEVICES.contains(&kind) => {}
            kind => parts.gap("objects", format!("a `{}` is not known, and is left out", brief(kind))),
        }
        if self.kind() == "Machine" {
            parts.allowed = ["allowed_cpuset", "allowed_nodeset"].map(|name| self.set(name));
        }
        if matches!(self.kind(), "Machine" | "Package") && parts.model.is_none() {
            parts.model = info(self.0, "CPUModel").map(str::to_string);
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

/// What is told by that name of an object or a kind.
fn info<'a>(of: roxmltree::Node<'a, 'a>, name: &str) -> Option<&'a str> {
    let infos = of.children().filter(|child| child.has_tag_name("info"));
    infos.into_iter().find(|info| info.attribute("name") == Some(name))?.attribute("value")
}

/// `0x0000000f,0xffffffff`: words of 32 bits, the last one being the first.
fn bits(text: &str) -> Option<CpuSet> {
    let words: Vec<&str> = text.trim().split(',').collect();
    if words.len() * 32 > MOST_BITS {
        return None;
    }
    let mut set = Vec::new();
    for (first, word) in (0..).step_by(32).zip(words.into_iter().rev()) {
        let digits = word.strip_prefix("0x").unwrap_or(word);
        // A word of nothing may be left empty.
        let word = if word.is_empty() { 0 } else { u32::from_str_radix(digits, 16).ok()? };
        set.extend((0..32).filter(|bit| word >> bit & 1 == 1).map(|bit| first + bit));
    }
    Some(set.into_iter().collect())
}

/// Distances between nodes, as far as they are latencies.
fn distances(table: roxmltree::Node<'_, '_>, parts: &mut Parts) {
    const LATENCY: u32 = 4;
    let kind = table.attribute("kind").and_then(|kind| kind.parse::<u32>().ok()).unwrap_or(0);
    let told_already = parts.nodes.iter().any(|node| !node.distances.is_empty());
    if table.attribute("type") != Some("NUMANode") || kind & LATENCY == 0 || told_already {
        return;
    }
    let numbers = |name: &str| -> Option<Vec<u32>> {
        let texts =
            table.children().filter(|child| child.has_tag_name(name)).filter_map(|child| child.text());
        texts.flat_map(str::split_whitespace).map(|number| number.parse().ok()).collect()
    };
    let ids: Vec<_> = parts.nodes.iter().map(|node| node.id).collect();
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
        Some(rows) => parts.nodes.iter_mut().zip(rows).for_each(|(node, row)| node.distances = row),
        None => parts.gap("distances", "the table of the nodes is not understood"),
    }
}

/// A kind of cores.
fn kind(table: roxmltree::Node<'_, '_>, parts: &mut Parts) {
    let kind = match info(table, "CoreType") {
        Some("IntelAtom") => Some(CoreKind::Efficiency),
        Some("IntelCore") => Some(CoreKind::Performance),
        _ => None,
    };
    let capacity = info(table, "LinuxCapacity").and_then(|capacity| capacity.parse().ok());
    let capacity = capacity.filter(|capacity| (1..=1024).contains(capacity));
    match table.attribute("cpuset").and_then(bits) {
        Some(cpus) => parts.kinds.push(Kind { cpus, kind, capacity }),
        None => parts.gap("kinds of cores", "one has no CPUs, and is left out"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_bits() {
        let set = |text| bits(text).map(|set| set.to_string());
        assert_eq!(set("0x0000ffff").as_deref(), Some("0-15"));
        assert_eq!(set("0x00000001,0x80000000").as_deref(), Some("31-32"));
        assert_eq!(set("0x1,,0x3").as_deref(), Some("0-1,64"));
        assert_eq!(set("0x0").as_deref(), Some(""));
        for wrong in ["0xf...f", "x", "0x100000000", "-1", "0x1 0x1"] {
            assert_eq!(set(wrong), None, "{wrong}");
        }
        assert_eq!(bits(&",".repeat(MOST_BITS)), None);
    }
}
