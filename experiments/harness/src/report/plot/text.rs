//! The text around the panels: title and legend above, explanations below.

use super::axes::{Axes, colour};
use super::canvas::{Area, DrawResult, style};
use super::scale::Scale;
use crate::report::Report;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

const MARGIN: i32 = 20;
const TITLE_LINE: i32 = 24;
const LEGEND_LINE: i32 = 19;
const FOOT_LINE: i32 = 17;

fn left(size: u32) -> TextStyle<'static> {
    style(size, HPos::Left, VPos::Center)
}

/// Breaks text into lines of a width, given the average width of a letter, both in pixels.
///
/// The width of a letter is an estimate, as the fonts of the viewer are unknown.
fn wrap(text: &str, width: u32, letter: u32) -> Vec<String> {
    let length = ((width as i32 - 2 * MARGIN).max(1) as u32 / letter) as usize;
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= length => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

/// The text above the panels: the title, the machine and the legend.
pub(super) struct Head<'a> {
    title: Vec<String>,
    machine: String,
    /// The names with their positions: left end in pixels, and line.
    legend: Vec<(&'a str, i32, i32)>,
}

impl<'a> Head<'a> {
    pub fn of(report: &Report, axes: &Axes<'a>, width: u32) -> Self {
        let machine = format!("{}, {} cores", report.machine.cpu, report.machine.cores);
        let (mut x, mut line) = (MARGIN, 0);
        let mut legend = Vec::new();
        for &name in &axes.implementations {
            let space = 40 + 8 * name.chars().count() as i32;
            if x > MARGIN && x + space > width as i32 {
                (x, line) = (MARGIN, line + 1);
            }
            legend.push((name, x, line));
            x += space;
        }
        Self { title: wrap(report.title, width, 11), machine, legend }
    }

    /// Returns the height in pixels.
    pub fn height(&self) -> u32 {
        let legend_lines = self.legend.last().map_or(1, |(_, _, line)| line + 1);
        (self.title.len() as i32 * TITLE_LINE + 43 + legend_lines * LEGEND_LINE) as u32
    }

    pub fn draw(&self, area: &Area) -> DrawResult {
        let mut y = 20;
        for line in &self.title {
            area.draw(&Text::new(line.clone(), (MARGIN, y), left(20)))?;
            y += TITLE_LINE;
        }
        area.draw(&Text::new(self.machine.clone(), (MARGIN, y - 1), left(12)))?;
        for (index, &(name, x, line)) in self.legend.iter().enumerate() {
            let y = y + 23 + line * LEGEND_LINE;
            area.draw(&Rectangle::new([(x, y - 6), (x + 12, y + 6)], colour(index).filled()))?;
            area.draw(&Text::new(name.to_string(), (x + 18, y), left(13)))?;
        }
        Ok(())
    }
}

/// The text below the panels, which explains the marks and the names in the legend.
pub(super) struct Foot(Vec<String>);

impl Foot {
    pub fn of(report: &Report, axes: &Axes, scales: &[Scale], width: u32) -> Self {
        let mut texts = Vec::new();
        if scales.iter().any(|scale| !scale.is_logarithmic()) {
            let text = "Bars: median of the repetitions; thin lines: from minimum to maximum.";
            texts.push(text.to_string());
        }
        if scales.iter().any(|scale| scale.is_logarithmic()) {
            let text =
                "Dots on a logarithmic axis: median of the repetitions; thin lines: from minimum to maximum.";
            texts.push(text.to_string());
        }
        for name in &axes.implementations {
            let about = report.legend.iter().find(|(known, _)| known == name);
            texts.extend(about.map(|(_, about)| format!("{name}: {about}.")));
        }
        Self(texts.iter().flat_map(|text| wrap(text, width, 7)).collect())
    }

    /// Returns the height in pixels.
    pub fn height(&self) -> u32 {
        if self.0.is_empty() { 0 } else { (self.0.len() as i32 * FOOT_LINE + MARGIN) as u32 }
    }

    pub fn draw(&self, area: &Area) -> DrawResult {
        for (line, text) in self.0.iter().enumerate() {
            area.draw(&Text::new(text.clone(), (MARGIN, 12 + line as i32 * FOOT_LINE), left(12)))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("one two three", 40 + 7 * 7, 7), ["one two", "three"]);
        assert_eq!(wrap("a very-long-word", 40 + 7 * 4, 7), ["a", "very-long-word"]);
        assert!(wrap("", 640, 7).is_empty());
    }
}
