//! The drawing as SVG: boxes in boxes, and in each core a bar for each of its threads.

use super::outline::{Part, Run};
use super::remarks::{remarks, summary};
use super::{percent, shares};
use crate::facts::{CpuLoad, Facts};
use std::fmt::Write;

/// The machine as an SVG document: packages, nodes and caches as boxes within each other, cores as small ones, and in them a
/// column for each thread, filled from below by what it was doing. Below it stands what limits this process, and what is
/// not known.
pub fn svg(facts: &Facts) -> String {
    let summary = summary(facts);
    let mut stack = vec![lines(summary.iter().enumerate().map(|(index, line)| {
        let is_name = index == 0 && summary.len() > 1;
        (line.as_str(), if is_name { TITLE } else { SMALL })
    }))];
    stack.push(legend(facts));
    stack.push(within(&Part::of(facts), facts, 0));
    for remarks in remarks(facts) {
        let texts: Vec<_> = remarks.lines.iter().map(|(name, text)| format!("{name}: {text}")).collect();
        let heading = std::iter::once((remarks.heading, TEXT));
        stack.push(lines(heading.chain(texts.iter().map(|text| (text.trim_end_matches(": "), SMALL)))));
    }
    let whole = below_each_other(stack);
    let (width, height) = (whole.width + 2 * MARGIN, whole.height + 2 * MARGIN);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" fill=\"{INK}\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n{}</svg>\n",
        whole.at(MARGIN, MARGIN)
    )
}

/// What has been drawn, and how large it is, in pixels.
struct Block {
    width: usize,
    height: usize,
    svg: String,
}

/// Sizes of text.
const TITLE: usize = 18;
const TEXT: usize = 13;
const SMALL: usize = 12;
const TINY: usize = 8;

const MARGIN: usize = 16;
const GAP: usize = 8;
/// A row of boxes is not wider, unless a single one is.
const WIDEST: usize = 1240;
/// A row of cores, if they fill several.
const CORES_IN_A_ROW: usize = 16;
/// The column of a thread.
const THREAD: (usize, usize) = (16, 40);

const INK: &str = "#282828";
const FORBIDDEN: &str = "#d0d0d0";
/// Colours that people who see few of them can tell apart (Okabe and Ito).
const STATES: [(&str, &str); 4] = [
    ("#0072b2", "own"),
    ("#e69f00", "others"),
    ("#f0e442", "giving way"),
    ("#cc79a7", "taken by the machine below"),
];

impl Block {
    /// With its upper left corner there.
    fn at(&self, x: usize, y: usize) -> String {
        format!("<g transform=\"translate({x},{y})\">\n{}</g>\n", self.svg)
    }
}

/// Lines of text, each of some size.
fn lines<'a>(texts: impl IntoIterator<Item = (&'a str, usize)>) -> Block {
    let mut block = Block { width: 0, height: 0, svg: String::new() };
    for (text, size) in texts {
        block.height += size + 4;
        // The width of a letter can only be guessed without the fonts of whoever will look at the drawing.
        block.width = block.width.max(text.chars().count() * size * 11 / 20);
        let (baseline, text) = (block.height - 4, escaped(text));
        _ = writeln!(block.svg, "<text y=\"{baseline}\" font-size=\"{size}\">{text}</text>");
    }
    block
}

fn below_each_other(blocks: Vec<Block>) -> Block {
    let mut whole = Block { width: 0, height: 0, svg: String::new() };
    for block in blocks.into_iter().filter(|block| block.height > 0) {
        let y = if whole.height == 0 { 0 } else { whole.height + GAP };
        whole.svg += &block.at(0, y);
        whole.width = whole.width.max(block.width);
        whole.height = y + block.height;
    }
    whole
}

/// Blocks side by side, in as many rows as it takes.
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

/// A frame around something.
fn framed(inner: &Block, depth: usize) -> Block {
    let (width, height) = (inner.width + 2 * GAP, inner.height + 2 * GAP);
    let fill = ["#f4f4f4", "#e9eef2", "#f7f3ea"][depth % 3];
    let frame = format!(
        "<rect width=\"{width}\" height=\"{height}\" rx=\"4\" fill=\"{fill}\" stroke=\"{INK}\" stroke-width=\"0.6\"/>\n"
    );
    Block { width, height, svg: frame + &inner.at(GAP, GAP) }
}

/// What is within a part: boxes side by side, and cores that are alike in a grid.
fn within(part: &Part, facts: &Facts, depth: usize) -> Block {
    let mut blocks = Vec::new();
    for run in part.runs() {
        if run.0[0].core.is_some() {
            blocks.push(cores(run, facts));
        } else {
            blocks.extend(run.0.chunks(1).map(|one| {
                let title = Run(one).title(true);
                let title = lines([(title.as_str(), SMALL)]);
                framed(&below_each_other(vec![title, within(&one[0], facts, depth + 1)]), depth)
            }));
        }
    }
    side_by_side(blocks, WIDEST.saturating_sub(2 * GAP * depth), GAP)
}

/// Cores that are alike: what they are, and each as a box with its threads.
fn cores(run: Run<'_>, facts: &Facts) -> Block {
    let core = |part: &Part| {
        let threads = part.cpus.iter().map(|cpu| thread(cpu, facts)).collect();
        let threads = side_by_side(threads, usize::MAX, 1);
        let (width, height) = (threads.width + 4, threads.height + 4);
        let frame = format!(
            "<rect width=\"{width}\" height=\"{height}\" rx=\"2\" fill=\"white\" stroke=\"{INK}\" stroke-width=\"0.6\"/>\n"
        );
        Block { width, height, svg: frame + &threads.at(2, 2) }
    };
    let boxes: Vec<_> = run.0.iter().map(core).collect();
    let width = boxes.iter().map(|block| block.width + 3).max().unwrap_or(0);
    let grid = side_by_side(boxes, width * CORES_IN_A_ROW, 3);
    let title = run.title(true);
    // The caches on a line of their own, as a box of few cores is narrow.
    let (what, caches) = title.split_once(": ").unwrap_or((&title, ""));
    let texts = [what, caches].into_iter().filter(|text| !text.is_empty()).map(|text| (text, SMALL));
    below_each_other(vec![lines(texts), grid])
}

/// A thread as a column, with its number below.
fn thread(cpu: u32, facts: &Facts) -> Block {
    let (width, height) = THREAD;
    let allowed = facts.limits.allow(cpu);
    let load = facts.load.as_ref().and_then(|load| load.of(cpu));
    let mut svg = format!("<g><title>{}</title>\n", escaped(&told(cpu, load, allowed)));
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
    let (middle, baseline) = (width / 2, height + TINY + 1);
    _ = writeln!(
        svg,
        "<text x=\"{middle}\" y=\"{baseline}\" font-size=\"{TINY}\" text-anchor=\"middle\">{cpu}</text>\n</g>"
    );
    Block { width, height: height + TINY + 3, svg }
}

/// What is said of a thread when it is pointed at.
fn told(cpu: u32, load: Option<&CpuLoad>, allowed: bool) -> String {
    let mut told = format!("CPU {cpu}");
    if let Some(load) = load {
        let shares = shares(load).into_iter().zip(STATES);
        told.extend(shares.map(|(share, (_, name))| format!(", {name} {}", percent(share))));
    }
    if !allowed {
        told += ", forbidden";
    }
    told
}

/// What the colours stand for.
fn legend(facts: &Facts) -> Block {
    let entry = |colour: &str, name: &str| {
        let text = lines([(name, SMALL)]);
        let square = format!(
            "<rect y=\"3\" width=\"12\" height=\"12\" fill=\"{colour}\" stroke=\"{INK}\" stroke-width=\"0.3\"/>\n"
        );
        Block { width: 18 + text.width, height: text.height, svg: square + &text.at(18, 0) }
    };
    let mut entries = Vec::new();
    if let Some(load) = &facts.load {
        entries.push(lines([(format!("load over {} ms:", load.span.as_millis()).as_str(), SMALL)]));
        entries.extend(STATES.map(|(colour, name)| entry(colour, name)));
        entries.push(entry("white", "idle"));
    }
    if facts.allowed().len() < facts.cpus.len() {
        entries.push(entry(FORBIDDEN, "forbidden"));
    }
    side_by_side(entries, WIDEST, 2 * GAP)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::machines;
    use super::*;

    /// Every thread is drawn once, and every tag is closed.
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
    fn all_machines_are_drawn_in_a_readable_width() {
        let mut large = machines::large();
        large.load = Some(machines::uneven(&large));
        for facts in [machines::four_by_four(), machines::hybrid(), large, machines::unknown()] {
            assert!(width(&check(&facts)) <= WIDEST + 2 * MARGIN);
        }
        check(&Facts::default());
    }

    #[test]
    fn names_are_text_and_not_tags() {
        let svg = check(&machines::four_by_four());
        assert!(svg.contains("AMD Opteron 8354 &lt;quad&gt;") && !svg.contains("<quad>"));
        assert!(!svg.contains("load over") && !svg.contains("forbidden"), "neither is known");
    }

    #[test]
    fn loads_are_as_high_as_they_are_and_the_forbidden_is_marked() {
        let svg = check(&machines::hybrid());
        assert!(svg.contains("CPU 0, own 50 %, others 25 %, giving way 0 %, taken by the machine below 0 %"));
        // Half of 40 pixels, and a quarter on top of it.
        for (y, height, colour) in [("20.0", "20.0", STATES[0].0), ("10.0", "10.0", STATES[1].0)] {
            let bar = format!("<rect y=\"{y}\" width=\"16\" height=\"{height}\" fill=\"{colour}\"/>");
            assert_eq!(svg.matches(&bar).count(), 1, "{bar}");
        }
        assert_eq!(svg.matches("<path").count(), 2);
        assert!(svg.contains(
            "CPU 7, own 0 %, others 0 %, giving way 0 %, taken by the machine below 0 %, forbidden"
        ));
        assert!(svg.contains("affinity mask: CPUs 0-5"));
    }

    #[test]
    fn a_load_that_cannot_be_stays_in_its_column() {
        let mut facts = machines::unknown();
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
