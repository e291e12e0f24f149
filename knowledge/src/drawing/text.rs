//! The drawing as lines of text.

use super::outline::{Part, Run};
use super::remarks::{remarks, summary};
use super::{named, percent, shares};
use crate::facts::{CpuLoad, CpuSet, Facts, Load};
use std::fmt::Write;

/// The machine as lines of text: what it is, its parts within each other, the load of each CPU as a bar, and what limits
/// this process.
///
/// Lines are about 100 columns wide, for a font of fixed width.
///
/// ```
/// use xtasking_knowledge::drawing;
/// use xtasking_knowledge::facts::Facts;
///
/// assert!(drawing::text(&Facts::default()).starts_with("0 CPUs"));
/// ```
pub fn text(facts: &Facts) -> String {
    let mut out = summary(facts).join("\n") + "\n\n";
    let mut lines = Vec::new();
    branches(&Part::of(facts), "", true, &mut lines);
    let width = lines.iter().map(|(left, _)| left.chars().count()).max().unwrap_or(0);
    for (left, cpus) in lines {
        let space = width - left.chars().count();
        _ = writeln!(out, "{}", format!("{left}{:space$}  {cpus}", "").trim_end());
    }
    if let Some(load) = &facts.load {
        bars(load, facts, &mut out);
    }
    for remarks in remarks(facts) {
        _ = writeln!(out, "\n{}", remarks.heading);
        let width = remarks.lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (name, text) in remarks.lines {
            _ = writeln!(out, "{}", format!("  {name:width$}  {text}").trim_end());
        }
    }
    out
}

/// A line for each run of parts: what it is, and its CPUs.
fn branches(part: &Part, before: &str, numbered: bool, lines: &mut Vec<(String, String)>) {
    let runs: Vec<Run> = part.runs().collect();
    for (index, &run) in runs.iter().enumerate() {
        let is_last = index + 1 == runs.len();
        let (branch, below) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        let cpus = if numbered { named(&run.cpus()) } else { String::new() };
        lines.push((format!("{before}{branch}{}", run.title(numbered)), cpus));
        branches(&run.0[0], &format!("{before}{below}"), numbered && run.0.len() == 1, lines);
    }
}

/// What a bar is made of, one sign for each state.
const SIGNS: [(char, &str); 5] =
    [('█', "own"), ('▓', "others"), ('░', "giving way"), ('×', "taken below"), ('·', "idle")];
/// Rows of one CPU or some alike, with numbers beside them, up to so many; beyond that the bars alone, in columns.
const MOST_ROWS: usize = 40;
const WIDE: usize = 20;
const NARROW: usize = 8;
const COLUMNS: usize = 8;

fn bars(load: &Load, facts: &Facts, out: &mut String) {
    let signs = SIGNS.map(|(sign, name)| format!("{sign} {name}")).join("  ");
    let forbidden = load.cpus.iter().any(|load| !facts.limits.allow(load.cpu));
    let forbidden = if forbidden { "  ! forbidden" } else { "" };
    _ = writeln!(out, "\nload over {} ms: {signs}{forbidden}", load.span.as_millis());
    // Those that look the same share a row.
    let looks = |load: &CpuLoad| {
        (shares(load).map(|share| (share * 100.0).round() as i64), facts.limits.allow(load.cpu))
    };
    let rows: Vec<&[CpuLoad]> = load.cpus.chunk_by(|one, other| looks(one) == looks(other)).collect();
    if rows.len() > MOST_ROWS {
        for row in load.cpus.chunks(COLUMNS) {
            let cells =
                row.iter().map(|cpu| format!("{:>4}{} {}", cpu.cpu, mark(facts, cpu.cpu), bar(cpu, NARROW)));
            _ = writeln!(out, "{}", cells.collect::<String>());
        }
        return;
    }
    let names: Vec<_> = rows.iter().map(|row| row.iter().map(|load| load.cpu).collect::<CpuSet>()).collect();
    let width = names.iter().map(|name| name.to_string().len()).max().unwrap_or(0);
    for (row, name) in rows.iter().zip(&names) {
        let [own, others, nice, steal] = shares(&row[0]).map(percent);
        let numbers = format!("own {own}, others {others}, giving way {nice}, taken below {steal}");
        let name = name.to_string();
        _ = writeln!(out, "  {name:>width$}{} {}  {numbers}", mark(facts, row[0].cpu), bar(&row[0], WIDE));
    }
}

/// Marks what this process may not use.
fn mark(facts: &Facts, cpu: u32) -> char {
    if facts.limits.allow(cpu) { ' ' } else { '!' }
}

/// A bar of so many signs.
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
    use super::super::machines;
    use super::*;

    #[test]
    fn packages_with_nodes_and_cores() {
        let text = text(&machines::four_by_four());
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
    fn kinds_of_cores_limits_and_loads() {
        let text = text(&machines::hybrid());
        let expected = "
└─ package 0 · node 0 (16 GiB) · L3 12 MiB                                             CPUs 0-7
   ├─ 2 performance cores 0-1, 2 threads each, strength 1024: L2 1.2 MiB · L1d 48 KiB  CPUs 0-3
   └─ L2 2 MiB                                                                         CPUs 4-7
      ├─ 2 efficiency cores 2-3, strength 593: L1d 32 KiB                              CPUs 4-5
      └─ 2 efficiency cores 4-5, strength 593, forbidden: L1d 32 KiB                   CPUs 6-7

load over 200 ms: █ own  ▓ others  ░ giving way  × taken below  · idle  ! forbidden
    0  ██████████▓▓▓▓▓·····  own 50 %, others 25 %, giving way 0 %, taken below 0 %
    1  ░░░░░░░░░░×××××·····  own 0 %, others 0 %, giving way 50 %, taken below 25 %
  2-5  ····················  own 0 %, others 0 %, giving way 0 %, taken below 0 %
  6-7! ····················  own 0 %, others 0 %, giving way 0 %, taken below 0 %

limits of this process
  affinity mask  CPUs 0-5
  quota          the time of 1.5 CPUs, says /sys/fs/cgroup/cpu.max
  memory         2 GiB
  what is left   CPUs 0-5; forbidden: CPUs 6-7

pressure: waited in the last 10, 60, 300 s
  for a CPU  some task 12.5 %, 3.0 %, 0.2 %; all tasks 0.0 %, 0.0 %, 0.0 %
";
        assert!(text.ends_with(expected), "{text}");
    }

    #[test]
    fn a_large_machine_is_folded() {
        let mut facts = machines::large();
        let still = text(&facts);
        assert!(still.lines().count() < 20, "{still}");
        assert!(still.contains("│  └─ 8 × L3 32 MiB, 16 CPUs each "), "{still}");
        assert!(
            still.contains("│     └─ 8 cores, 2 threads each: L2 1 MiB · L1d 32 KiB · L1i 32 KiB\n"),
            "{still}"
        );
        facts.load = Some(machines::uneven(&facts));
        let busy = text(&facts);
        assert!(busy.lines().count() < 60 && busy.lines().all(|line| line.chars().count() <= 120), "{busy}");
        assert!(busy.contains("\n   0  ········   1  █▓······   2  ██▓▓▓···"), "{busy}");
        assert!(busy.contains(" 255  "), "{busy}");
    }

    #[test]
    fn what_is_not_known_is_not_drawn() {
        let expected = "\
8 CPUs · 8 cores · 1 package · 1 node

└─ package 0 · node 0  CPUs 0-7
   └─ 8 cores 0-7      CPUs 0-7

not known, or contradictory
  caches  the system tells of none
";
        assert_eq!(text(&machines::unknown()), expected);
    }

    /// One of two threads forbidden, memory without CPUs, and a cache that lies across two packages.
    #[test]
    fn odd_machines() {
        let mut facts = machines::hybrid();
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
