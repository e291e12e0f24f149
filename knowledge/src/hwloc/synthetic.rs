//! Synthetic descriptions: the same number of the same parts at each level.

use super::NotAMachine;
use super::parts::{Parts, Thread};
use crate::facts::{Cache, CacheKind, CpuSet, Node};
use crate::system::brief;
use std::cmp::Reverse;

/// More CPUs than any machine has.
const MOST: usize = 1 << 16;
/// More levels, or memories of one level, than any machine has.
const MOST_LEVELS: usize = 64;

/// A level.
struct Level {
    kind: Kind,
    /// So many in each of the level above.
    count: usize,
    attributes: Attributes,
    /// Memories that each has besides.
    attached: Vec<Attributes>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Package,
    Core,
    Cpu,
    Node,
    Cache(u8, CacheKind),
    /// Contains others, and is not needed.
    Group,
}

#[derive(Default)]
struct Attributes {
    /// Bytes of a cache or of memory.
    size: Option<u64>,
    indexes: Option<Vec<u32>>,
}

pub(super) fn parts(text: &str) -> Result<Parts, NotAMachine> {
    let levels = levels(text)?;
    checked(&levels)?;
    let all = levels
        .iter()
        .try_fold(1, |all: usize, level| all.checked_mul(level.count).filter(|&all| all <= MOST));
    let all = all.ok_or_else(|| wrong(format!("there are more than {MOST} CPUs")))?;
    let ids = |attributes: &Attributes, many: usize| -> Result<Vec<u32>, NotAMachine> {
        let Some(indexes) = &attributes.indexes else { return Ok((0..many as u32).collect()) };
        let mut sorted = indexes.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if indexes.len() != many || sorted.len() != many {
            return Err(wrong(format!("`indexes` are not {many} different numbers")));
        }
        Ok(indexes.clone())
    };
    let cpus = levels.last().map_or(Ok(Vec::new()), |last| ids(&last.attributes, all))?;
    let mut parts = Parts::default();
    // Which core, and which package, each CPU is in.
    let mut within = [None; 2];
    // Attached memories: in which order they are numbered, their CPUs and bytes.
    let mut attached = Vec::new();
    let mut above = 1;
    for (depth, level) in levels.iter().enumerate() {
        let many = above * level.count;
        above = many;
        let width = all / many;
        let sets = (0..many)
            .map(|index| -> CpuSet { cpus[index * width..(index + 1) * width].iter().copied().collect() });
        match level.kind {
            Kind::Core => within[0] = Some(width),
            Kind::Package => within[1] = Some(width),
            Kind::Cache(level_, kind) => {
                let usual = if level_ == 1 { 32 << 10 } else { (256 << 10) << (2 * level_) };
                let size = level.attributes.size.unwrap_or(usual);
                parts.caches.extend(sets.map(|cpus| Cache {
                    level: level_,
                    kind,
                    size,
                    line: Some(64),
                    cpus,
                }));
            }
            Kind::Node => {
                let memory = Some(level.attributes.size.unwrap_or(1 << 30));
                let ids = ids(&level.attributes, many)?;
                parts.nodes.extend(sets.zip(ids).map(|(cpus, id)| node(id, cpus, memory)));
            }
            Kind::Cpu | Kind::Group => {}
        }
        for (place, memory) in level.attached.iter().enumerate() {
            for index in 0..many {
                let (first, end) = (index * width, (index + 1) * width);
                attached.push(((end, width, Reverse(depth), place), first, memory.size));
            }
        }
    }
    // What is inside is numbered first.
    attached.sort_unstable();
    for (id, ((end, ..), first, memory)) in (0..).zip(attached) {
        parts.nodes.push(node(id, cpus[first..end].iter().copied().collect(), memory));
    }
    if parts.nodes.is_empty() {
        parts.nodes.push(node(0, cpus.iter().copied().collect(), Some(1 << 30)));
    }
    let thread = |(place, &id): (usize, &u32)| {
        let [core, package] = within.map(|width: Option<usize>| width.map(|width| place / width));
        Thread { id, core, package }
    };
    parts.cpus = cpus.iter().enumerate().map(thread).collect();
    Ok(parts)
}

fn node(id: u32, cpus: CpuSet, memory: Option<u64>) -> Node {
    Node { id, cpus, memory, free: None, distances: Vec::new() }
}

/// Whether the levels can be those of a machine.
fn checked(levels: &[Level]) -> Result<(), NotAMachine> {
    let place = |kind: Kind| levels.iter().position(|level| level.kind == kind);
    if place(Kind::Cpu).is_none_or(|cpus| cpus + 1 != levels.len()) {
        return Err(wrong("the last level, and no other, is `pu`"));
    }
    let twice = |level: &Level| {
        levels.iter().filter(|other| other.kind == level.kind && level.kind != Kind::Group).count() > 1
    };
    if levels.iter().any(twice) {
        return Err(wrong("two levels are of one type"));
    }
    if let (Some(core), Some(package)) = (place(Kind::Core), place(Kind::Package))
        && core < package
    {
        return Err(wrong("packages are in cores"));
    }
    if place(Kind::Node).is_some() && levels.iter().any(|level| !level.attached.is_empty()) {
        return Err(wrong("nodes are a level and attached to another too"));
    }
    Ok(())
}

fn levels(text: &str) -> Result<Vec<Level>, NotAMachine> {
    let mut levels = Vec::new();
    // What is attached before the first level belongs to the whole.
    let whole =
        Level { kind: Kind::Group, count: 1, attributes: Attributes::default(), attached: Vec::new() };
    levels.push(whole);
    let mut rest = text.trim();
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let Some((memory, after)) = inside.split_once(']') else { return Err(wrong("a `[` has no `]`")) };
            rest = after.trim_start();
            let (name, attributes) = head(memory.trim())?;
            if kind(name) != Some(Kind::Node) {
                return Err(wrong(format!(
                    "`{}` is attached, which only `numa` can be, without a number",
                    brief(memory)
                )));
            }
            let attributes = self::attributes(attributes.unwrap_or_default(), Kind::Node)?;
            let to: &mut Level = levels.last_mut().expect("there is one from the beginning");
            if attributes.indexes.is_some() || to.attached.len() == MOST_LEVELS {
                return Err(wrong("attached memory has indexes, or is too much"));
            }
            to.attached.push(attributes);
            continue;
        }
        // A level ends where a blank is outside of its attributes.
        let open = rest.find('(');
        let blank = rest.find(|char: char| char.is_whitespace() || char == '[').unwrap_or(rest.len());
        let end = match open.filter(|&open| open < blank) {
            Some(open) => open + 1 + rest[open..].find(')').ok_or_else(|| wrong("a `(` has no `)`"))?,
            None => blank,
        };
        let (level, after) = rest.split_at(end);
        rest = after.trim_start();
        if levels.len() > MOST_LEVELS {
            return Err(wrong("there are too many levels"));
        }
        levels.push(self::level(level)?);
    }
    Ok(levels)
}

fn level(text: &str) -> Result<Level, NotAMachine> {
    let (head, attributes) = head(text)?;
    let Some((name, count)) = head.split_once(':') else {
        return Err(wrong(format!("`{}` is no level such as `core:4`", brief(text))));
    };
    let kind = kind(name).ok_or_else(|| wrong(format!("`{}` is no type of a level", brief(name))))?;
    let count = count.parse().ok().filter(|&count: &usize| count > 0);
    let count = count.ok_or_else(|| wrong(format!("`{}` has no number of what it is", brief(text))))?;
    let attributes = self::attributes(attributes.unwrap_or_default(), kind)?;
    Ok(Level { kind, count, attributes, attached: Vec::new() })
}

/// What is before and in the parentheses.
fn head(text: &str) -> Result<(&str, Option<&str>), NotAMachine> {
    let Some((head, inside)) = text.split_once('(') else { return Ok((text, None)) };
    let inside =
        inside.strip_suffix(')').ok_or_else(|| wrong(format!("`{}` does not end with `)`", brief(text))))?;
    Ok((head, Some(inside)))
}

fn kind(name: &str) -> Option<Kind> {
    let name = name.to_ascii_lowercase();
    Some(match name.as_str() {
        "package" | "pack" | "socket" => Kind::Package,
        "core" => Kind::Core,
        "pu" => Kind::Cpu,
        "numa" | "numanode" | "node" => Kind::Node,
        "group" | "die" => Kind::Group,
        _ => {
            let cache = name.strip_suffix("cache").unwrap_or(&name).strip_prefix('l')?;
            let level = cache.chars().next()?.to_digit(10).filter(|level| (1..=5).contains(level))? as u8;
            let kind = match &cache[1..] {
                "d" => CacheKind::Data,
                "i" if level <= 3 => CacheKind::Instruction,
                "" | "u" => CacheKind::Unified,
                _ => return None,
            };
            Kind::Cache(level, kind)
        }
    })
}

fn attributes(text: &str, kind: Kind) -> Result<Attributes, NotAMachine> {
    let mut attributes = Attributes::default();
    for part in text.split_whitespace() {
        let not = || wrong(format!("`{}` is not understood", brief(part)));
        match (part.split_once('=').ok_or_else(not)?, kind) {
            (("size", size), Kind::Cache(..)) | (("memory", size), Kind::Node) => {
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

/// Bytes, with a unit of thousands (`MB`) or of 1024 (`MiB`), if any.
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

fn wrong(why: impl Into<String>) -> NotAMachine {
    NotAMachine(why.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
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
