//! Machines for tests: the files of a Linux system in a temporary directory.
//!
//! `tests/machines/NAME.txt` describes one, with a file on each line:
//!
//! ```text
//! # `n` runs through the range in the path. Formulas in braces are evaluated from left to right.
//! /sys/devices/system/cpu/cpu{0-15}/topology/core_cpus_list = {n}
//! /sys/devices/system/cpu/cpu{0-15}/cache/index3/shared_cpu_list = {n/4*4}-{n/4*4+3}
//! # Continuation lines are indented.
//! /proc/meminfo = MemTotal:       16777216 kB
//!     MemFree:        15728640 kB
//! # Another description is read first; later files replace earlier ones.
//! include process
//! ```

#![allow(dead_code, reason = "each test needs a part")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;
use xtasking_knowledge::facts::{Cache, CpuSet, Facts, Limits, Node};
use xtasking_knowledge::system::System;

/// Returns the facts of a machine in `tests/machines`; they are read once, because some machines
/// have thousands of files.
pub fn machine(name: &'static str) -> Facts {
    static READ: Mutex<BTreeMap<&str, Facts>> = Mutex::new(BTreeMap::new());
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    read.entry(name).or_insert_with(|| Machine::named(name).facts()).clone()
}

/// All descriptions of whole machines.
pub const MACHINES: [&str; 9] = [
    "amd-4x4",
    "big-little",
    "container-v1",
    "container-v2",
    "cxl",
    "eight",
    "hybrid-laptop",
    "masked",
    "two-sockets",
];

/// Asserts the invariants that the types of the facts document.
pub fn coherent(facts: &Facts) {
    let online: CpuSet = facts.cpus.iter().map(|cpu| cpu.id).collect();
    assert!(!facts.cpus.is_empty() && facts.cpus.is_sorted_by_key(|cpu| cpu.id));
    assert_eq!(online.len(), facts.cpus.len());
    assert!(!facts.nodes.is_empty() && facts.nodes.is_sorted_by_key(|node| node.id));
    for cpu in &facts.cpus {
        assert!(cpu.capacity.is_none_or(|capacity| (1..=1024).contains(&capacity)));
        let claims = |node: &&Node| node.cpus.contains(cpu.id);
        let homes: Vec<_> = facts.nodes.iter().filter(claims).map(|node| node.id).collect();
        assert_eq!(homes, [cpu.node]);
    }
    for node in &facts.nodes {
        assert_eq!(node.cpus.and(&online), node.cpus);
        assert!(node.distances.is_empty() || node.distances.len() == facts.nodes.len());
        assert!(node.free.zip(node.memory).is_none_or(|(free, memory)| free <= memory));
    }
    let key = |cache: &Cache| (cache.level, cache.kind, cache.cpus.iter().next());
    assert!(facts.caches.is_sorted_by_key(key));
    for cache in &facts.caches {
        assert!(!cache.cpus.is_empty() && cache.size > 0 && cache.line != Some(0));
        assert_eq!(cache.cpus.and(&online), cache.cpus);
    }
    for [a, b] in facts.caches.windows(2).map(|pair| [&pair[0], &pair[1]]) {
        assert!((a.level, a.kind) != (b.level, b.kind) || !a.cpus.meets(&b.cpus), "{a:?} {b:?}");
    }
    assert!(!facts.allowed().is_empty());
    let Limits { affinity, group, nodes, quota, .. } = &facts.limits;
    assert!([affinity, group].into_iter().flatten().all(|cpus| cpus.meets(&online) && *cpus != online));
    assert!(nodes.as_ref().is_none_or(|allowed| facts.nodes.iter().any(|node| allowed.contains(node.id))));
    assert!(quota.as_ref().is_none_or(|quota| quota.cpus > 0.0 && quota.cpus.is_finite()));
}

/// A machine whose files can be changed.
pub struct Machine(TempDir);

impl Machine {
    /// Creates a machine without files.
    pub fn empty() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Creates a machine of `tests/machines`.
    pub fn named(name: &str) -> Self {
        let machine = Self::empty();
        machine.describe(name);
        machine
    }

    pub fn system(&self) -> System {
        System::below(self.0.path())
    }

    pub fn facts(&self) -> Facts {
        self.system().facts().unwrap()
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Writes a file atomically: concurrent readers see the old or the new content.
    pub fn replace(&self, path: &str, content: impl AsRef<[u8]>) {
        let new = format!("{path}.new");
        self.write(&new, content);
        fs::rename(self.path(&new), self.path(path)).unwrap();
    }

    pub fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.path(path)).unwrap()
    }

    /// Removes a file, or a directory with its contents.
    pub fn remove(&self, path: &str) {
        let path = self.path(path);
        if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
    }

    /// Returns all files in order, as paths on the machine.
    pub fn files(&self) -> Vec<String> {
        let mut folders = vec![self.0.path().to_path_buf()];
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.push(format!("/{}", path.strip_prefix(self.0.path()).unwrap().display()));
                }
            }
        }
        files.sort();
        files
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path.trim_start_matches('/'))
    }

    fn describe(&self, name: &str) {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/machines/{name}.txt"));
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let mut lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).peekable();
        while let Some(line) = lines.next() {
            if let Some(other) = line.strip_prefix("include ") {
                self.describe(other);
                continue;
            }
            let (path, content) = line.split_once(" =").unwrap_or_else(|| panic!("{name}: {line}"));
            let mut content = content.trim_start().to_string();
            while let Some(more) = lines.next_if(|line| line.starts_with(' ')) {
                content = format!("{content}\n{}", more.trim_start());
            }
            content.push('\n');
            match between(path) {
                Some((before, range, after)) => {
                    for n in range.parse::<CpuSet>().unwrap().iter() {
                        self.write(&format!("{before}{n}{after}"), filled(&content, n));
                    }
                }
                None => self.write(path, content),
            }
        }
    }
}

/// Splits a text at its first pair of braces.
fn between(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('{')?;
    let (inside, after) = rest.split_once('}')?;
    Some((before, inside, after))
}

/// Evaluates the formulas in a content for `n`.
fn filled(content: &str, n: u32) -> String {
    let Some((before, formula, after)) = between(content) else { return content.to_string() };
    let mut value = n;
    let mut rest = formula.strip_prefix('n').unwrap();
    while let Some(operator) = rest.chars().next() {
        let end = rest[1..].find(|char: char| !char.is_ascii_digit()).map_or(rest.len(), |end| end + 1);
        let number: u32 = rest[1..end].parse().unwrap();
        value = match operator {
            '+' => value + number,
            '-' => value - number,
            '*' => value * number,
            '/' => value / number,
            '%' => value % number,
            _ => panic!("{formula}"),
        };
        rest = &rest[end..];
    }
    format!("{before}{value}{}", filled(after, n))
}
