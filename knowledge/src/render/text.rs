//! The drawing as text.

use super::part_tree::{Part, PartRun};
use super::sections::{sections, summary};
use super::{named, percent, shares};
use crate::facts::{CpuLoad, CpuSet, Facts, Load};
use std::fmt::Write;

/// Draws the machine as text: a summary, the tree of its parts, the load of each CPU as a bar,
/// limits and gaps.
///
/// Lines are about 100 columns wide, in a monospaced font.
///
/// ```
/// use xtasking_knowledge::render;
/// use xtasking_knowledge::facts::Facts;
///
/// assert!(render::text(&Facts::default()).starts_with("0 CPUs"));
/// ```
pub fn text(facts: &Facts) -> String {
    let mut out = summary(facts).join("\n") + "\n\n";
    let mut lines = Vec::new();
    branches(&Part::new(facts), "", true, &mut lines);
    let width = lines.iter().map(|(left, _)| left.chars().count()).max().unwrap_or(0);
    for (left, cpus) in lines {
        let space = width - left.chars().count();
        _ = writeln!(out, "{}", format!("{left}{:space$}  {cpus}", "").trim_end());
    }
    if let Some(load) = &facts.load {
        bars(load, facts, &mut out);
    }
    for section in sections(facts) {
        _ = writeln!(out, "\n{}", section.heading);
        let width = section.lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (name, text) in section.lines {
            _ = writeln!(out, "{}", format!("  {name:width$}  {text}").trim_end());
        }
    }
    out
}

/// Adds a line for each run of equal parts, with its CPUs.
fn branches(part: &Part, before: &str, numbered: bool, lines: &mut Vec<(String, String)>) {
    let runs: Vec<PartRun> = part.runs().collect();
    for (index, &run) in runs.iter().enumerate() {
        let is_last = index + 1 == runs.len();
        let (branch, below) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        let cpus = if numbered { named(&run.cpus()) } else { String::new() };
        lines.push((format!("{before}{branch}{}", run.title(numbered)), cpus));
        branches(&run.0[0], &format!("{before}{below}"), numbered && run.0.len() == 1, lines);
    }
}

/// The signs of a bar, one for each state.
const SIGNS: [(char, &str); 5] =
    [('█', "own"), ('▓', "others"), ('░', "niced"), ('×', "stolen"), ('·', "idle")];
/// Up to this many rows, each has numbers beside its bar; beyond it, bars are in columns without
/// numbers.
const ROWS_MAX: usize = 40;
const BAR_WIDTH: usize = 20;
const SHORT_BAR_WIDTH: usize = 8;
const BARS_PER_LINE: usize = 8;

fn bars(load: &Load, facts: &Facts, out: &mut String) {
    let signs = SIGNS.map(|(sign, name)| format!("{sign} {name}")).join("  ");
    let forbidden = load.cpus.iter().any(|load| !facts.limits.allow(load.cpu));
    let forbidden = if forbidden { "  ! forbidden" } else { "" };
    _ = writeln!(out, "\nload over {} ms: {signs}{forbidden}", load.span.as_millis());
    // CPUs that look the same share a row.
    let looks = |load: &CpuLoad| {
        (shares(load).map(|share| (share * 100.0).round() as i64), facts.limits.allow(load.cpu))
    };
    let rows: Vec<&[CpuLoad]> = load.cpus.chunk_by(|one, other| looks(one) == looks(other)).collect();
    if rows.len() > ROWS_MAX {
        for row in load.cpus.chunks(BARS_PER_LINE) {
            let cells = row
                .iter()
                .map(|cpu| format!("{:>4}{} {}", cpu.cpu, mark(facts, cpu.cpu), bar(cpu, SHORT_BAR_WIDTH)));
            _ = writeln!(out, "{}", cells.collect::<String>());
        }
        return;
    }
    let names: Vec<_> = rows.iter().map(|row| row.iter().map(|load| load.cpu).collect::<CpuSet>()).collect();
    let width = names.iter().map(|name| name.to_string().len()).max().unwrap_or(0);
    for (row, name) in rows.iter().zip(&names) {
        let [own, others, nice, steal] = shares(&row[0]).map(percent);
        let numbers = format!("own {own}, others {others}, niced {nice}, stolen {steal}");
        let name = name.to_string();
        _ = writeln!(
            out,
            "  {name:>width$}{} {}  {numbers}",
            mark(facts, row[0].cpu),
            bar(&row[0], BAR_WIDTH)
        );
    }
}

/// Returns the mark of a CPU that this process may not use.
fn mark(facts: &Facts, cpu: u32) -> char {
    if facts.limits.allow(cpu) { ' ' } else { '!' }
}

/// Draws a bar of `width` signs.
fn bar(load: &CpuLoad, width: usize) -> String {
    let mut bar = String::new();
    let (mut sum, mut drawn) = (0.0, 0);
    for (share, (sign, _)) in shares(load).into_iter().zip(SIGNS) {
        sum += share;
        let end = ((sum * width as f64).round() as usize).min(width);
        bar.extend(std::iter::repeat_n(sign, end - drawn));
        drawn = end;
    }
    bar.extend(std::iter::repeat_n(SIGNS[4].0, width - drawn));
    bar
}

#[cfg(test)]
mod tests {
    use super::super::test_machines;
    use super::*;

    #[test]
    fn packages_contain_nodes_and_cores() {
        let text = text(&test_machines::four_by_four());
        let expected = "\
AMD Opteron 8354 <quad>
16 CPUs · 16 cores · 4 packages · 4 nodes · 16 GiB of memory

├─ package 0 · node 0 (4 GiB, 3 GiB free) · L3 6 MiB  CPUs 0-3
│  └─ 4 cores 0-3: L2 512 KiB · L1d 64 KiB            CPUs 0-3
├─ package 1 · node 1 (4 GiB, 3 GiB free) · L3 6 MiB  CPUs 4-7
";
        assert!(text.starts_with(expected), "{text}");
        assert!(text.contains("\n  from node 3    20  20  20  10\n"), "{text}");
        assert!(
            text.contains("\n  scan  2 workers on CPUs 0,4, 1 GiB on node 0, 1 GiB on node 1\n"),
            "{text}"
        );
        assert!(!text.contains("load over") && !text.contains("limits"), "neither is known: {text}");
    }

    #[test]
    fn kinds_limits_and_loads_are_drawn() {
        let text = text(&test_machines::hybrid());
        let expected = "
└─ package 0 · node 0 (16 GiB) · L3 12 MiB                                             CPUs 0-7
   ├─ 2 performance cores 0-1, 2 threads each, capacity 1024: L2 1.2 MiB · L1d 48 KiB  CPUs 0-3
   └─ L2 2 MiB                                                                         CPUs 4-7
      ├─ 2 efficiency cores 2-3, capacity 593: L1d 32 KiB                              CPUs 4-5
      └─ 2 efficiency cores 4-5, capacity 593, forbidden: L1d 32 KiB                   CPUs 6-7

load over 200 ms: █ own  ▓ others  ░ niced  × stolen  · idle  ! forbidden
    0  ██████████▓▓▓▓▓·····  own 50 %, others 25 %, niced 0 %, stolen 0 %
    1  ░░░░░░░░░░×××××·····  own 0 %, others 0 %, niced 50 %, stolen 25 %
  2-5  ····················  own 0 %, others 0 %, niced 0 %, stolen 0 %
  6-7! ····················  own 0 %, others 0 %, niced 0 %, stolen 0 %

limits of this process
  affinity mask  CPUs 0-5
  quota          1.5 CPUs (/sys/fs/cgroup/cpu.max)
  memory         2 GiB
  allowed        CPUs 0-5; forbidden: CPUs 6-7

pressure: share of the last 10, 60, 300 s spent waiting
  for a CPU  some task 12.5 %, 3.0 %, 0.2 %; all tasks 0.0 %, 0.0 %, 0.0 %
";
        assert!(text.ends_with(expected), "{text}");
    }

    #[test]
    fn a_large_machine_is_folded() {
        let mut facts = test_machines::large();
        let still = text(&facts);
        assert!(still.lines().count() < 20, "{still}");
        assert!(still.contains("│  └─ 8 × L3 32 MiB, 16 CPUs each "), "{still}");
        assert!(
            still.contains("│     └─ 8 cores, 2 threads each: L2 1 MiB · L1d 32 KiB · L1i 32 KiB\n"),
            "{still}"
        );
        facts.load = Some(test_machines::uneven(&facts));
        let busy = text(&facts);
        assert!(busy.lines().count() < 60 && busy.lines().all(|line| line.chars().count() <= 120), "{busy}");
        assert!(busy.contains("\n   0  ········   1  █▓······   2  ██▓▓▓···"), "{busy}");
        assert!(busy.contains(" 255  "), "{busy}");
    }

    #[test]
    fn unknown_facts_are_not_drawn() {
        let expected = "\
8 CPUs · 8 cores · 1 package · 1 node

└─ package 0 · node 0  CPUs 0-7
   └─ 8 cores 0-7      CPUs 0-7

unknown or contradictory
  caches  the system reports none
";
        assert_eq!(text(&test_machines::unknown()), expected);
    }

    /// One of two threads is forbidden, a node has memory only, and a cache spans two packages.
    #[test]
    fn unusual_machines_are_drawn() {
        let mut facts = test_machines::hybrid();
        facts.limits.affinity = Some("0,2,4-7".parse().unwrap());
        facts.nodes.push(crate::facts::Node {
            id: 7,
            cpus: CpuSet::default(),
            memory: Some(1 << 36),
            free: None,
            distances: vec![],
        });
        facts.caches[4].cpus = "3-4".parse().unwrap();
        let text = text(&facts);
        assert!(text.contains("1 of 2 threads forbidden"), "{text}");
        assert!(text.contains("\nmemory without CPUs\n  node 7 (64 GiB)\n"), "{text}");
        assert!(text.lines().any(|line| line.ends_with(" CPUs 3-4")), "{text}");
    }
}
