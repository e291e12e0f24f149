//! Synthetic descriptions: a tree with equal children at each level.

use super::InvalidDescription;
use super::description::{Description, ProcessingUnit, too_many_nodes};
use crate::facts::consistency::NODES_MAX;
use crate::facts::{Cache, CacheKind, CpuSet, Node};
use crate::system::brief;
use std::cmp::Reverse;

/// No machine has more CPUs.
const CPUS_MAX: usize = 1 << 16;
/// No machine has more levels, or more memories attached to one level.
const LEVELS_MAX: usize = 64;

/// One level of the tree.
struct Level {
    kind: LevelKind,
    /// The number of objects in each object of the level above.
    count: usize,
    attributes: Attributes,
    /// Memory attached to each object.
    attached: Vec<Attributes>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LevelKind {
    Package,
    Core,
    Cpu,
    Node,
    Cache(u8, CacheKind),
    /// A group of objects, which the facts do not need.
    Group,
}

#[derive(Default)]
struct Attributes {
    /// Bytes of a cache or of memory.
    size: Option<u64>,
    indexes: Option<Vec<u32>>,
}

pub(super) fn parse(text: &str) -> Result<Description, InvalidDescription> {
    let levels = levels(text)?;
    checked(&levels)?;
    let all = levels
        .iter()
        .try_fold(1, |all: usize, level| all.checked_mul(level.count).filter(|&all| all <= CPUS_MAX));
    let all = all.ok_or_else(|| wrong(format!("there are more than {CPUS_MAX} CPUs")))?;
    if count_nodes(&levels) > NODES_MAX {
        return Err(too_many_nodes());
    }
    let ids = |attributes: &Attributes, many: usize| -> Result<Vec<u32>, InvalidDescription> {
        let Some(indexes) = &attributes.indexes else { return Ok((0..many as u32).collect()) };
        let mut sorted = indexes.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if indexes.len() != many || sorted.len() != many {
            return Err(wrong(format!("`indexes` must be {many} different numbers")));
        }
        Ok(indexes.clone())
    };
    let cpus = levels.last().map_or(Ok(Vec::new()), |last| ids(&last.attributes, all))?;
    let mut description = Description::default();
    // CPUs in each core and in each package.
    let mut within = [None; 2];
    // Attached memories: their numbering order, CPUs and bytes.
    let mut attached = Vec::new();
    let mut above = 1;
    for (depth, level) in levels.iter().enumerate() {
        let many = above * level.count;
        above = many;
        let width = all / many;
        let sets = (0..many)
            .map(|index| -> CpuSet { cpus[index * width..(index + 1) * width].iter().copied().collect() });
        match level.kind {
            LevelKind::Core => within[0] = Some(width),
            LevelKind::Package => within[1] = Some(width),
            LevelKind::Cache(level_, kind) => {
                let usual = if level_ == 1 { 32 << 10 } else { (256 << 10) << (2 * level_) };
                let size = level.attributes.size.unwrap_or(usual);
                description.caches.extend(sets.map(|cpus| Cache {
                    level: level_,
                    kind,
                    size,
                    line: Some(64),
                    cpus,
                }));
            }
            LevelKind::Node => {
                let memory = Some(level.attributes.size.unwrap_or(1 << 30));
                let ids = ids(&level.attributes, many)?;
                description.nodes.extend(sets.zip(ids).map(|(cpus, id)| node(id, cpus, memory)));
            }
            LevelKind::Cpu | LevelKind::Group => {}
        }
        for (place, memory) in level.attached.iter().enumerate() {
            for index in 0..many {
                let (first, end) = (index * width, (index + 1) * width);
                attached.push(((end, width, Reverse(depth), place), first, memory.size));
            }
        }
    }
    // Inner memories are numbered first.
    attached.sort_unstable();
    for (id, ((end, ..), first, memory)) in (0..).zip(attached) {
        description.nodes.push(node(id, cpus[first..end].iter().copied().collect(), memory));
    }
    if description.nodes.is_empty() {
        description.nodes.push(node(0, cpus.iter().copied().collect(), Some(1 << 30)));
    }
    let thread = |(place, &id): (usize, &u32)| {
        let [core, package] = within.map(|width: Option<usize>| width.map(|width| place / width));
        ProcessingUnit { id, core, package }
    };
    description.cpus = cpus.iter().enumerate().map(thread).collect();
    Ok(description)
}

/// Returns the number of nodes that the levels describe.
fn count_nodes(levels: &[Level]) -> usize {
    let mut objects = 1;
    let nodes = levels.iter().map(|level| {
        objects *= level.count;
        objects * (level.attached.len() + usize::from(level.kind == LevelKind::Node))
    });
    nodes.sum()
}

fn node(id: u32, cpus: CpuSet, memory: Option<u64>) -> Node {
    Node { id, cpus, memory, free: None, distances: Vec::new() }
}

/// Checks that the levels form a machine.
fn checked(levels: &[Level]) -> Result<(), InvalidDescription> {
    let place = |kind: LevelKind| levels.iter().position(|level| level.kind == kind);
    if place(LevelKind::Cpu).is_none_or(|cpus| cpus + 1 != levels.len()) {
        return Err(wrong("the last level, and no other, must be `pu`"));
    }
    let twice = |level: &Level| {
        levels.iter().filter(|other| other.kind == level.kind && level.kind != LevelKind::Group).count() > 1
    };
    if levels.iter().any(twice) {
        return Err(wrong("two levels have the same type"));
    }
    if let (Some(core), Some(package)) = (place(LevelKind::Core), place(LevelKind::Package))
        && core < package
    {
        return Err(wrong("a package is inside a core"));
    }
    if place(LevelKind::Node).is_some() && levels.iter().any(|level| !level.attached.is_empty()) {
        return Err(wrong("`numa` is a level and attached to another level, too"));
    }
    Ok(())
}

fn levels(text: &str) -> Result<Vec<Level>, InvalidDescription> {
    let mut levels = Vec::new();
    // Memory before the first level is attached to the machine.
    let whole =
        Level { kind: LevelKind::Group, count: 1, attributes: Attributes::default(), attached: Vec::new() };
    levels.push(whole);
    let mut rest = text.trim();
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let Some((memory, after)) = inside.split_once(']') else { return Err(wrong("a `[` has no `]`")) };
            rest = after.trim_start();
            let (name, attributes) = head(memory.trim())?;
            if kind(name) != Some(LevelKind::Node) {
                return Err(wrong(format!(
                    "`{}` is attached; only `numa` without a count can be",
                    brief(memory)
                )));
            }
            let attributes = self::attributes(attributes.unwrap_or_default(), LevelKind::Node)?;
            let to: &mut Level = levels.last_mut().expect("there is one from the beginning");
            if attributes.indexes.is_some() || to.attached.len() == LEVELS_MAX {
                return Err(wrong("a level has too many attached memories, or one has `indexes`"));
            }
            to.attached.push(attributes);
            continue;
        }
        // A level ends at a blank outside its attributes.
        let open = rest.find('(');
        let blank = rest.find(|char: char| char.is_whitespace() || char == '[').unwrap_or(rest.len());
        let end = match open.filter(|&open| open < blank) {
            Some(open) => open + 1 + rest[open..].find(')').ok_or_else(|| wrong("a `(` has no `)`"))?,
            None => blank,
        };
        let (level, after) = rest.split_at(end);
        rest = after.trim_start();
        if levels.len() > LEVELS_MAX {
            return Err(wrong("there are too many levels"));
        }
        levels.push(self::level(level)?);
    }
    Ok(levels)
}

fn level(text: &str) -> Result<Level, InvalidDescription> {
    let (head, attributes) = head(text)?;
    let Some((name, count)) = head.split_once(':') else {
        return Err(wrong(format!("`{}` is not a valid level such as `core:4`", brief(text))));
    };
    let kind =
        kind(name).ok_or_else(|| wrong(format!("`{}` is not a valid type of a level", brief(name))))?;
    let count = count.parse().ok().filter(|&count: &usize| count > 0);
    let count = count.ok_or_else(|| wrong(format!("`{}` has no valid count", brief(text))))?;
    let attributes = self::attributes(attributes.unwrap_or_default(), kind)?;
    Ok(Level { kind, count, attributes, attached: Vec::new() })
}

/// Splits a level into the text before and inside the parentheses.
fn head(text: &str) -> Result<(&str, Option<&str>), InvalidDescription> {
    let Some((head, inside)) = text.split_once('(') else { return Ok((text, None)) };
    let inside =
        inside.strip_suffix(')').ok_or_else(|| wrong(format!("`{}` does not end with `)`", brief(text))))?;
    Ok((head, Some(inside)))
}

fn kind(name: &str) -> Option<LevelKind> {
    let name = name.to_ascii_lowercase();
    Some(match name.as_str() {
        "package" | "pack" | "socket" => LevelKind::Package,
        "core" => LevelKind::Core,
        "pu" => LevelKind::Cpu,
        "numa" | "numanode" | "node" => LevelKind::Node,
        "group" | "die" => LevelKind::Group,
        _ => {
            let cache = name.strip_suffix("cache").unwrap_or(&name).strip_prefix('l')?;
            let level = cache.chars().next()?.to_digit(10).filter(|level| (1..=5).contains(level))? as u8;
            let kind = match &cache[1..] {
                "d" => CacheKind::Data,
                "i" if level <= 3 => CacheKind::Instruction,
                "" | "u" => CacheKind::Unified,
                _ => return None,
            };
            LevelKind::Cache(level, kind)
        }
    })
}

fn attributes(text: &str, kind: LevelKind) -> Result<Attributes, InvalidDescription> {
    let mut attributes = Attributes::default();
    for part in text.split_whitespace() {
        let not = || wrong(format!("`{}` is not supported", brief(part)));
        match (part.split_once('=').ok_or_else(not)?, kind) {
            (("size", size), LevelKind::Cache(..)) | (("memory", size), LevelKind::Node) => {
                attributes.size = Some(bytes(size).filter(|&bytes| bytes > 0).ok_or_else(not)?);
            }
            (("indexes", list), _) => {
                let numbers =
                    list.split(',').map(|number| number.parse().ok().filter(|&number| number < 1 << 20));
                attributes.indexes = Some(numbers.collect::<Option<_>>().ok_or_else(not)?);
            }
            _ => return Err(not()),
        }
    }
    Ok(attributes)
}

/// Parses bytes, with an optional unit of 1000 (`MB`) or 1024 (`MiB`).
fn bytes(text: &str) -> Option<u64> {
    let text = text.to_ascii_lowercase();
    let end = text.find(|char: char| !char.is_ascii_hexdigit() && char != 'x').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit: u64 = match unit {
        "" => 1,
        "kb" => 1000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        _ => return None,
    };
    let number = match number.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => number.parse().ok()?,
    };
    number.checked_mul(unit)
}

fn wrong(why: impl Into<String>) -> InvalidDescription {
    InvalidDescription(why.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed() {
        for (text, expected) in [
            ("64", 64),
            ("0x100", 256),
            ("1kB", 1000),
            ("2KiB", 2048),
            ("3GB", 3_000_000_000),
            ("1TiB", 1 << 40),
        ] {
            assert_eq!(bytes(text), Some(expected), "{text}");
        }
        for wrong in ["", "MB", "1.5GB", "-1", "1QB", "99999999999TB", "0x", "1 MB"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }
}
