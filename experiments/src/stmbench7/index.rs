//! What the indexes are told when objects come and go, and which of their pages that takes.

use super::dates::Date;
use super::layout::{Ids, Layout};
use super::pages::{ByDate, ById, ByTitle, Dated, Place};
use super::world::{Mode, Planner, Values};
use xtasking_hierarchy::Node;

/// An object that is a node of its own has come.
pub fn enter(values: &mut impl Values, layout: &Layout, of: Ids, id: u32, node: Node) {
    values.the_mut::<ById<Node>>(layout.page(of, id)).put(id, node);
}

/// An object that was a node of its own goes.
pub fn leave(values: &mut impl Values, layout: &Layout, of: Ids, id: u32) {
    values.the_mut::<ById<Node>>(layout.page(of, id)).remove(id);
}

/// A composite part has come, with these atomic parts, each at the place of its number.
pub fn enter_composite(
    values: &mut impl Values,
    layout: &Layout,
    id: u32,
    place: impl Fn(u16) -> Place,
    parts: impl Iterator<Item = (u32, Date)>,
) {
    let node = place(0).composite;
    enter(values, layout, Ids::Composite, id, node);
    let mut title = String::new();
    let page = layout.title_page_of(id, &mut title);
    values.the_mut::<ByTitle>(page).insert(title, node);
    for ((id, date), position) in parts.zip(0..) {
        let place = place(position);
        values.the_mut::<ById<Place>>(layout.page(Ids::Atomic, id)).put(id, place);
        values.the_mut::<ByDate>(layout.date_page(date)).insert(date, Dated { id, place });
    }
}

/// A composite part goes, with these atomic parts.
pub fn leave_composite(
    values: &mut impl Values,
    layout: &Layout,
    id: u32,
    parts: impl Iterator<Item = (u32, Date)>,
) {
    leave(values, layout, Ids::Composite, id);
    let mut title = String::new();
    let page = layout.title_page_of(id, &mut title);
    values.the_mut::<ByTitle>(page).remove(&title);
    for (id, date) in parts {
        values.the_mut::<ById<Place>>(layout.page(Ids::Atomic, id)).remove(id);
        values.the_mut::<ByDate>(layout.date_page(date)).remove(date, id);
    }
}

/// Claims the pages that are told when a composite part with these atomic parts comes or goes.
pub fn claim_composite(
    planner: &mut impl Planner,
    layout: &Layout,
    id: u32,
    parts: impl Iterator<Item = (u32, Date)>,
) {
    let mut pages = vec![layout.page(Ids::Composite, id), layout.title_page_of(id, &mut String::new())];
    pages.extend(parts.flat_map(|(id, date)| [layout.page(Ids::Atomic, id), layout.date_page(date)]));
    pages.sort_unstable();
    pages.dedup();
    pages.into_iter().for_each(|page| planner.only(page, Mode::Write));
}
