//! Implements actions on planned objects that several operations share.

use super::super::dates::{self, Date};
use super::super::graph::Walk;
use super::super::layout::Layout;
use super::super::node::Node;
use super::super::outcome::Answer;
use super::super::pages::ByDate;
use super::super::parts::{Base, Composite, Document, Network, Part};
use super::super::world::{Mode, Values, View};
use super::super::{text, world::World};

/// The letter to count.
pub const LETTER: u8 = b'I';

/// Visits all atomic parts of a composite part along its graph.
pub fn visit_graph(world: &impl View, network: Node, walk: &mut Walk, answer: &mut Answer) {
    let Network { graph, parts } = world.get_as(network);
    walk.through(graph, |part| answer.add_part(&parts[part]));
}

/// Visits all atomic parts of a composite part along its graph, and swaps the coordinates of each
/// `times` times.
pub fn swap_graph(values: &mut impl Values, network: Node, times: u32, walk: &mut Walk, answer: &mut Answer) {
    let Network { graph, parts } = values.get_mut_as(network);
    walk.through(graph, |part| {
        for _ in 0..times {
            parts[part].swap();
            answer.add_part(&parts[part]);
        }
    });
}

/// Swaps the coordinates of an atomic part.
pub fn swap(values: &mut impl Values, network: Node, position: usize, answer: &mut Answer) {
    let part = &mut values.get_mut_as::<Network>(network).parts[position];
    part.swap();
    answer.add_part(part);
}

/// Updates the date of an atomic part, also in the index.
pub fn redate_part(
    world: &mut impl World,
    layout: &Layout,
    network: Node,
    position: usize,
    answer: &mut Answer,
) {
    let part = &mut world.get_mut_as::<Network>(network).parts[position];
    let (id, old) = (part.id, part.date);
    part.date = dates::updated(old);
    answer.add_part(part);
    answer.effort.moves += 1;
    redate_in_index(world, layout, id, old);
}

/// Updates the dates of all atomic parts of a composite part along its graph, `times` times each,
/// also in the index.
pub fn redate_graph(
    world: &mut impl World,
    layout: &Layout,
    network: Node,
    times: u32,
    walk: &mut Walk,
    moves: &mut Vec<(u32, Date)>,
    answer: &mut Answer,
) {
    moves.clear();
    let Network { graph, parts } = world.get_mut_as(network);
    walk.through(graph, |at| {
        let part = &mut parts[at];
        for _ in 0..times {
            moves.push((part.id, part.date));
            part.date = dates::updated(part.date);
            answer.add_part(part);
        }
    });
    answer.effort.moves += moves.len() as u64;
    moves.iter().for_each(|&(id, old)| redate_in_index(world, layout, id, old));
}

fn redate_in_index(values: &mut impl Values, layout: &Layout, id: u32, old: Date) {
    // The new date is on the same page.
    let page: &mut ByDate = values.get_mut_as(layout.date_page(old));
    let part = page.remove(old, id);
    page.insert(dates::updated(old), part);
}

/// Visits an assembly or a composite part, and updates its date in write mode.
pub fn date(world: &mut impl World, node: Node, mode: Mode, answer: &mut Answer) {
    if mode == Mode::Write {
        let date = world.get_mut(node).date_mut().expect("only nodes with dates are visited");
        *date = dates::updated(*date);
    }
    match world.get(node) {
        Part::Complex(complex) => answer.add_dated(complex.id, complex.date),
        Part::Base(base) => answer.add_dated(base.id, base.date),
        Part::Composite(composite) => answer.add_dated(composite.id, composite.date),
        other => panic!("{} has no date to visit", other.name()),
    }
}

/// Counts a letter in a document.
pub fn count_letter(world: &impl View, document: Node, answer: &mut Answer) {
    let document: &Document = world.get_as(document);
    answer.count += text::count(document.text.as_bytes(), LETTER);
    answer.effort.read += document.text.len() as u64;
    answer.sum = answer.sum.wrapping_add(u64::from(document.id) * document.text.len() as u64);
}

/// Toggles the form of a document.
pub fn toggle(values: &mut impl Values, document: Node, spare: &mut String, answer: &mut Answer) {
    let document: &mut Document = values.get_mut_as(document);
    answer.count += text::toggle(&mut document.text, spare);
    answer.effort.written += document.text.len() as u64;
    answer.sum = answer.sum.wrapping_add(u64::from(document.id) * document.text.len() as u64);
}

/// Returns true if a base assembly uses a newer composite part.
pub fn has_newer(world: &impl View, base: &Base, answer: &mut Answer) -> bool {
    answer.effort.nodes += base.components.len() as u64;
    base.components.iter().any(|component| world.get_as::<Composite>(component.part).date > base.date)
}
