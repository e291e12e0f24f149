//! The drawing as SVG: nested boxes, and in each core a bar for each thread.

use super::part_tree::{Part, PartRun};
use super::sections::{sections, summary};
use super::{percent, shares};
use crate::facts::{CpuLoad, Facts};
use std::fmt::Write;

/// Draws the machine as an SVG document. Packages, nodes and caches are nested boxes, cores are
/// small boxes, and each thread is a column filled from below by its load. Limits and gaps are
/// listed at the end.
pub fn svg(facts: &Facts) -> String {
    let summary = summary(facts);
    let mut stack = vec![lines(summary.iter().enumerate().map(|(index, line)| {
        let is_name = index == 0 && summary.len() > 1;
        (line.as_str(), if is_name { TITLE_PX } else { SMALL_PX })
    }))];
    stack.push(legend(facts));
    stack.push(nested(&Part::new(facts), facts, 0));
    for section in sections(facts) {
        let texts: Vec<_> = section.lines.iter().map(|(name, text)| format!("{name}: {text}")).collect();
        let heading = std::iter::once((section.heading, TEXT_PX));
        stack.push(lines(heading.chain(texts.iter().map(|text| (text.trim_end_matches(": "), SMALL_PX)))));
    }
    let whole = below_each_other(stack);
    let (width, height) = (whole.width + 2 * MARGIN_PX, whole.height + 2 * MARGIN_PX);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" fill=\"{INK}\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n{}</svg>\n",
        whole.at(MARGIN_PX, MARGIN_PX)
    )
}

/// A finished part of the drawing, with its size in pixels.
struct Block {
    width: usize,
    height: usize,
    svg: String,
}

/// Font sizes.
const TITLE_PX: usize = 18;
const TEXT_PX: usize = 13;
const SMALL_PX: usize = 12;
const TINY_PX: usize = 8;

const MARGIN_PX: usize = 16;
const GAP_PX: usize = 8;
/// The maximum width of a row, unless a single box is wider.
const WIDTH_MAX_PX: usize = 1240;
/// Cores in a row, if they fill several.
const CORES_PER_ROW: usize = 16;
/// Width and height of a thread's column.
const THREAD_PX: (usize, usize) = (16, 40);

const INK: &str = "#282828";
const FORBIDDEN: &str = "#d0d0d0";
/// A palette for colour-blind readers (Okabe and Ito).
const STATES: [(&str, &str); 4] = [
    ("#0072b2", "own"),
    ("#e69f00", "others"),
    ("#f0e442", "niced"),
    ("#cc79a7", "stolen by the hypervisor"),
];

impl Block {
    /// Moves the block so that its upper left corner is at `x`, `y`.
    fn at(&self, x: usize, y: usize) -> String {
        format!("<g transform=\"translate({x},{y})\">\n{}</g>\n", self.svg)
    }
}

/// Lays out lines of text with their font sizes.
fn lines<'a>(texts: impl IntoIterator<Item = (&'a str, usize)>) -> Block {
    let mut block = Block { width: 0, height: 0, svg: String::new() };
    for (text, size) in texts {
        block.height += size + 4;
        // The width of a letter depends on the viewer's fonts, so estimate it.
        block.width = block.width.max(text.chars().count() * size * 11 / 20);
        let (baseline, text) = (block.height - 4, escaped(text));
        _ = writeln!(block.svg, "<text y=\"{baseline}\" font-size=\"{size}\">{text}</text>");
    }
    block
}

fn below_each_other(blocks: Vec<Block>) -> Block {
    let mut whole = Block { width: 0, height: 0, svg: String::new() };
    for block in blocks.into_iter().filter(|block| block.height > 0) {
        let y = if whole.height == 0 { 0 } else { whole.height + GAP_PX };
        whole.svg += &block.at(0, y);
        whole.width = whole.width.max(block.width);
        whole.height = y + block.height;
    }
    whole
}

/// Lays out blocks in rows.
fn side_by_side(blocks: Vec<Block>, widest: usize, gap: usize) -> Block {
    let mut rows = Vec::new();
    let mut row = Block { width: 0, height: 0, svg: String::new() };
    for block in blocks {
        if row.width > 0 && row.width + gap + block.width > widest {
            rows.push(std::mem::replace(&mut row, Block { width: 0, height: 0, svg: String::new() }));
        }
        let x = if row.width == 0 { 0 } else { row.width + gap };
        row.svg += &block.at(x, 0);
        row.width = x + block.width;
        row.height = row.height.max(block.height);
    }
    rows.push(row);
    below_each_other(rows)
}

/// Draws a frame around a block.
fn framed(inner: &Block, depth: usize) -> Block {
    let (width, height) = (inner.width + 2 * GAP_PX, inner.height + 2 * GAP_PX);
    let fill = ["#f4f4f4", "#e9eef2", "#f7f3ea"][depth % 3];
    let frame = format!(
        "<rect width=\"{width}\" height=\"{height}\" rx=\"4\" fill=\"{fill}\" stroke=\"{INK}\" \
         stroke-width=\"0.6\"/>\n"
    );
    Block { width, height, svg: frame + &inner.at(GAP_PX, GAP_PX) }
}

/// Draws the inside of a part: boxes in rows, and equal cores in a grid.
fn nested(part: &Part, facts: &Facts, depth: usize) -> Block {
    let mut blocks = Vec::new();
    for run in part.runs() {
        if run.0[0].core.is_some() {
            blocks.push(cores(run, facts));
        } else {
            blocks.extend(run.0.chunks(1).map(|one| {
                let title = PartRun(one).title(true);
                let title = lines([(title.as_str(), SMALL_PX)]);
                framed(&below_each_other(vec![title, nested(&one[0], facts, depth + 1)]), depth)
            }));
        }
    }
    side_by_side(blocks, WIDTH_MAX_PX.saturating_sub(2 * GAP_PX * depth), GAP_PX)
}

/// Draws equal cores: a title, and a box for each with its threads.
fn cores(run: PartRun<'_>, facts: &Facts) -> Block {
    let core = |part: &Part| {
        let threads = part.cpus.iter().map(|cpu| thread(cpu, facts)).collect();
        let threads = side_by_side(threads, usize::MAX, 1);
        let (width, height) = (threads.width + 4, threads.height + 4);
        let frame = format!(
            "<rect width=\"{width}\" height=\"{height}\" rx=\"2\" fill=\"white\" stroke=\"{INK}\" \
             stroke-width=\"0.6\"/>\n"
        );
        Block { width, height, svg: frame + &threads.at(2, 2) }
    };
    let boxes: Vec<_> = run.0.iter().map(core).collect();
    let width = boxes.iter().map(|block| block.width + 3).max().unwrap_or(0);
    let grid = side_by_side(boxes, width * CORES_PER_ROW, 3);
    let title = run.title(true);
    // Put the caches on their own line, because a box of few cores is narrow.
    let (what, caches) = title.split_once(": ").unwrap_or((&title, ""));
    let texts = [what, caches].into_iter().filter(|text| !text.is_empty()).map(|text| (text, SMALL_PX));
    below_each_other(vec![lines(texts), grid])
}

/// Draws a thread as a column with its number below.
fn thread(cpu: u32, facts: &Facts) -> Block {
    let (width, height) = THREAD_PX;
    let allowed = facts.limits.allow(cpu);
    let load = facts.load.as_ref().and_then(|load| load.cpu(cpu));
    let mut svg = format!("<g><title>{}</title>\n", escaped(&tooltip(cpu, load, allowed)));
    let fill = if allowed { "white" } else { FORBIDDEN };
    _ = writeln!(
        svg,
        "<rect width=\"{width}\" height=\"{height}\" fill=\"{fill}\" stroke=\"{INK}\" stroke-width=\"0.3\"/>"
    );
    let mut top = height as f64;
    for (share, (colour, _)) in load.map(shares).unwrap_or_default().into_iter().zip(STATES) {
        let part = (share * height as f64).min(top);
        if part > 0.0 {
            top -= part;
            _ = writeln!(
                svg,
                "<rect y=\"{top:.1}\" width=\"{width}\" height=\"{part:.1}\" fill=\"{colour}\"/>"
            );
        }
    }
    if !allowed {
        _ = writeln!(svg, "<path d=\"M0 {height}L{width} 0\" stroke=\"{INK}\" stroke-width=\"0.6\"/>");
    }
    let (middle, baseline) = (width / 2, height + TINY_PX + 1);
    _ = writeln!(
        svg,
        "<text x=\"{middle}\" y=\"{baseline}\" font-size=\"{TINY_PX}\" \
         text-anchor=\"middle\">{cpu}</text>\n</g>"
    );
    Block { width, height: height + TINY_PX + 3, svg }
}

/// Returns the tooltip of a thread.
fn tooltip(cpu: u32, load: Option<&CpuLoad>, allowed: bool) -> String {
    let mut tooltip = format!("CPU {cpu}");
    if let Some(load) = load {
        let shares = shares(load).into_iter().zip(STATES);
        tooltip.extend(shares.map(|(share, (_, name))| format!(", {name} {}", percent(share))));
    }
    if !allowed {
        tooltip += ", forbidden";
    }
    tooltip
}

/// Draws the legend of the colours.
fn legend(facts: &Facts) -> Block {
    let entry = |colour: &str, name: &str| {
        let text = lines([(name, SMALL_PX)]);
        let square = format!(
            "<rect y=\"3\" width=\"12\" height=\"12\" fill=\"{colour}\" stroke=\"{INK}\" \
             stroke-width=\"0.3\"/>\n"
        );
        Block { width: 18 + text.width, height: text.height, svg: square + &text.at(18, 0) }
    };
    let mut entries = Vec::new();
    if let Some(load) = &facts.load {
        entries.push(lines([(format!("load over {} ms:", load.span.as_millis()).as_str(), SMALL_PX)]));
        entries.extend(STATES.map(|(colour, name)| entry(colour, name)));
        entries.push(entry("white", "idle"));
    }
    if facts.allowed().len() < facts.cpus.len() {
        entries.push(entry(FORBIDDEN, "forbidden"));
    }
    side_by_side(entries, WIDTH_MAX_PX, 2 * GAP_PX)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::test_machines;
    use super::*;

    /// Checks that each thread is drawn once and each tag is closed.
    fn check(facts: &Facts) -> String {
        let svg = svg(facts);
        for cpu in &facts.cpus {
            let title = svg.matches(&format!("<title>CPU {}<", cpu.id)).count();
            let loaded = svg.matches(&format!("<title>CPU {},", cpu.id)).count();
            assert_eq!(title + loaded, 1, "CPU {}", cpu.id);
        }
        for tag in ["g", "text", "title", "svg"] {
            let opened =
                [" ", ">"].map(|end| svg.matches(&format!("<{tag}{end}")).count()).iter().sum::<usize>();
            assert_eq!(opened, svg.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        svg
    }

    fn width(svg: &str) -> usize {
        let (_, rest) = svg.split_once("width=\"").unwrap();
        rest.split_once('"').unwrap().0.parse().unwrap()
    }

    #[test]
    fn drawings_have_a_readable_width() {
        let mut large = test_machines::large();
        large.load = Some(test_machines::uneven(&large));
        for facts in [test_machines::four_by_four(), test_machines::hybrid(), large, test_machines::unknown()]
        {
            assert!(width(&check(&facts)) <= WIDTH_MAX_PX + 2 * MARGIN_PX);
        }
        check(&Facts::default());
    }

    #[test]
    fn names_are_escaped() {
        let svg = check(&test_machines::four_by_four());
        assert!(svg.contains("AMD Opteron 8354 &lt;quad&gt;") && !svg.contains("<quad>"));
        assert!(!svg.contains("load over") && !svg.contains("forbidden"), "neither is known");
    }

    #[test]
    fn loads_are_to_scale_and_forbidden_cpus_are_marked() {
        let svg = check(&test_machines::hybrid());
        assert!(svg.contains("CPU 0, own 50 %, others 25 %, niced 0 %, stolen by the hypervisor 0 %"));
        // Half of 40 pixels, and a quarter above it.
        for (y, height, colour) in [("20.0", "20.0", STATES[0].0), ("10.0", "10.0", STATES[1].0)] {
            let bar = format!("<rect y=\"{y}\" width=\"16\" height=\"{height}\" fill=\"{colour}\"/>");
            assert_eq!(svg.matches(&bar).count(), 1, "{bar}");
        }
        assert_eq!(svg.matches("<path").count(), 2);
        assert!(
            svg.contains("CPU 7, own 0 %, others 0 %, niced 0 %, stolen by the hypervisor 0 %, forbidden")
        );
        assert!(svg.contains("affinity mask: CPUs 0-5"));
    }

    #[test]
    fn an_impossible_load_stays_in_its_column() {
        let mut facts = test_machines::unknown();
        let cpus = vec![
            CpuLoad { cpu: 0, own: 7.0, others: 0.5, nice: -1.0, steal: 1.0 },
            CpuLoad { cpu: 1, own: f64::NAN, ..CpuLoad::default() },
        ];
        facts.load = Some(crate::facts::Load { cpus, ..Default::default() });
        let svg = check(&facts);
        let filled = svg.lines().filter(|line| line.starts_with("<rect y=") && line.contains("width=\"16\""));
        let expected = format!("<rect y=\"0.0\" width=\"16\" height=\"40.0\" fill=\"{}\"/>", STATES[0].0);
        assert_eq!(filled.collect::<Vec<_>>(), [expected]);
        assert!(!svg.contains("y=\"-"));
    }
}
