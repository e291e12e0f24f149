//! Updates the indexes when objects are created and deleted, and claims the pages for that.

use super::dates::Date;
use super::layout::{Ids, Layout};
use super::node::Node;
use super::pages::{ByDate, ById, ByTitle, DatedPart, PartLocation};
use super::world::{Mode, Planner, Values};

/// Enters a new object that is a node of its own.
pub fn enter(values: &mut impl Values, layout: &Layout, of: Ids, id: u32, node: Node) {
    values.get_mut_as::<ById<Node>>(layout.page(of, id)).put(id, node);
}

/// Removes an object that was a node of its own.
pub fn remove(values: &mut impl Values, layout: &Layout, of: Ids, id: u32) {
    values.get_mut_as::<ById<Node>>(layout.page(of, id)).remove(id);
}

/// Enters a new composite part, with its atomic parts at the positions of their order.
pub fn enter_composite(
    values: &mut impl Values,
    layout: &Layout,
    id: u32,
    location: impl Fn(u16) -> PartLocation,
    parts: impl Iterator<Item = (u32, Date)>,
) {
    let node = location(0).composite;
    enter(values, layout, Ids::Composite, id, node);
    let mut title = String::new();
    let page = layout.title_page_of(id, &mut title);
    values.get_mut_as::<ByTitle>(page).insert(title, node);
    for ((id, date), position) in parts.zip(0..) {
        let location = location(position);
        values.get_mut_as::<ById<PartLocation>>(layout.page(Ids::Atomic, id)).put(id, location);
        values.get_mut_as::<ByDate>(layout.date_page(date)).insert(date, DatedPart { id, location });
    }
}

/// Removes a composite part, with its atomic parts.
pub fn remove_composite(
    values: &mut impl Values,
    layout: &Layout,
    id: u32,
    parts: impl Iterator<Item = (u32, Date)>,
) {
    remove(values, layout, Ids::Composite, id);
    let mut title = String::new();
    let page = layout.title_page_of(id, &mut title);
    values.get_mut_as::<ByTitle>(page).remove(&title);
    for (id, date) in parts {
        values.get_mut_as::<ById<PartLocation>>(layout.page(Ids::Atomic, id)).remove(id);
        values.get_mut_as::<ByDate>(layout.date_page(date)).remove(date, id);
    }
}

/// Claims the pages to enter or remove a composite part with these atomic parts.
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
    pages.into_iter().for_each(|page| planner.claim_node(page, Mode::Write));
}
