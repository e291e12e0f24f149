//! OP1 to OP15: on some objects that an index leads to.

use super::super::dates::{self, Date};
use super::super::find;
use super::super::layout::{Ids, Layout, Shelves};
use super::super::outcome::{Answer, Found, Stop};
use super::super::pages::{ByDate, Place};
use super::super::parts::{Complex, Network};
use super::super::text;
use super::super::world::{Mode, Planner, World};
use super::{Operation, Tools, deeds};

/// So many ids are looked for.
const IDS: usize = 10;

/// The first one of the latest hundredth of all dates, or of the latest tenth.
const fn latest(operation: Operation) -> Date {
    let years = *dates::MIDDLE.end() - *dates::MIDDLE.start() + 1;
    *dates::MIDDLE.end() + 1 - years / if let Operation::OP3 = operation { 10 } else { 100 }
}

/// Finds atomic parts, or nodes with dates.
pub fn find(operation: Operation, tools: &mut Tools<'_>, planner: &mut impl Planner) -> Found<()> {
    let mode = operation.mode();
    match operation {
        Operation::OP1 | Operation::OP9 | Operation::OP15 => find_parts(operation, tools, planner),
        Operation::OP2 | Operation::OP10 => find_latest(operation, tools, planner),
        Operation::OP3 => {
            let pages = tools.layout.date_pages_since(latest(operation));
            pages.for_each(|page| planner.only(page, mode));
            // Of so many atomic parts, there are some in nearly every composite part.
            planner.tree(Layout::library(Shelves::Networks), mode);
            Ok(())
        }
        Operation::OP4 | Operation::OP5 | Operation::OP11 => {
            planner.only(Layout::MANUAL, mode);
            Ok(())
        }
        Operation::OP6 | Operation::OP12 => find_siblings(Ids::Complex, mode, tools, planner),
        Operation::OP7 | Operation::OP13 => find_siblings(Ids::Base, mode, tools, planner),
        _ => find_components(mode, tools, planner),
    }
}

/// The atomic parts of random ids. Ids that there are not are passed over.
fn find_parts(operation: Operation, tools: &mut Tools<'_>, planner: &mut impl Planner) -> Found<()> {
    let mut unseen = false;
    for _ in 0..IDS {
        let id = find::any_id(tools.layout, Ids::Atomic, &mut tools.random);
        let place = match find::place(planner, tools.layout, id) {
            Ok(place) => place,
            Err(stop) => {
                unseen |= stop == Stop::Unseen;
                continue;
            }
        };
        tools.scratch.found.places.push(place);
        planner.only(place.network, operation.mode());
        if operation == Operation::OP15 {
            let date = planner
                .look(place.network, |network: &Network, _, _| network.parts[place.position as usize].date);
            match date {
                Ok(date) => planner.only(tools.layout.date_page(date), Mode::Write),
                Err(_) => unseen = true,
            }
        }
    }
    if unseen { Err(Stop::Unseen) } else { Ok(()) }
}

/// The atomic parts with the latest dates.
fn find_latest(operation: Operation, tools: &mut Tools<'_>, planner: &mut impl Planner) -> Found<()> {
    let since = latest(operation);
    let (mut unseen, found) = (false, &mut tools.scratch.found);
    for page in tools.layout.date_pages_since(since) {
        let parts = planner.claim(page, Mode::Read, |page: &ByDate, _, _| {
            found.places.extend(page.since(since).map(|(_, part)| part.place));
        });
        unseen |= parts.is_err();
    }
    // Most composite parts have several of them.
    found.nodes.extend(found.places.iter().map(|place| place.network));
    found.nodes.sort_unstable();
    found.nodes.dedup();
    found.nodes.iter().for_each(|&network| planner.only(network, operation.mode()));
    if unseen { Err(Stop::Unseen) } else { Ok(()) }
}

/// The children of the parent of a random assembly; the root is its only sibling.
fn find_siblings(of: Ids, mode: Mode, tools: &mut Tools<'_>, planner: &mut impl Planner) -> Found<()> {
    let (layout, siblings) = (tools.layout, &mut tools.scratch.found.nodes);
    let id = find::any_id(layout, of, &mut tools.random);
    let node = find::object(planner, layout, of, id, Mode::Read)?;
    if node == layout.root() {
        siblings.push(node);
    } else {
        let parent = find::parent(planner, layout, node, Mode::Read)?;
        planner.claim(parent, Mode::Read, |_: &Complex, children, _| siblings.extend(children))?;
    }
    siblings.iter().for_each(|&sibling| planner.only(sibling, mode));
    Ok(())
}

/// The components of a random base assembly, each as often as it is used.
fn find_components(mode: Mode, tools: &mut Tools<'_>, planner: &mut impl Planner) -> Found<()> {
    let components = &mut tools.scratch.found.nodes;
    let id = find::any_id(tools.layout, Ids::Base, &mut tools.random);
    let node = find::object(planner, tools.layout, Ids::Base, id, Mode::Read)?;
    find::components(planner, node, Mode::Read, components)?;
    components.iter().for_each(|&component| planner.only(component, mode));
    Ok(())
}

/// Does it.
pub fn act(operation: Operation, tools: &mut Tools<'_>, world: &mut impl World) -> Answer {
    let mut answer = Answer::default();
    match operation {
        Operation::OP3 => {
            let since = latest(operation);
            for page in tools.layout.date_pages_since(since) {
                for (_, part) in world.the::<ByDate>(page).since(since) {
                    let Place { network, position, .. } = part.place;
                    answer.add_part(&world.the::<Network>(network).parts[position as usize]);
                }
            }
        }
        Operation::OP4 => {
            let text: &Vec<u8> = world.the(Layout::MANUAL);
            answer.count = text::count(text, deeds::LETTER);
            answer.effort.read = text.len() as u64;
        }
        Operation::OP5 => {
            let text: &Vec<u8> = world.the(Layout::MANUAL);
            answer.count = u64::from(text.first() == text.last());
        }
        Operation::OP11 => {
            let text: &mut Vec<u8> = world.the_mut(Layout::MANUAL);
            answer.count = text::change_case(text);
            // It takes no more, as it is done for many at once.
            answer.effort.read = text.len() as u64;
        }
        Operation::OP1 | Operation::OP2 => {
            for &Place { network, position, .. } in &tools.scratch.found.places {
                answer.add_part(&world.the::<Network>(network).parts[position as usize]);
            }
        }
        Operation::OP9 | Operation::OP10 => {
            for &Place { network, position, .. } in &tools.scratch.found.places {
                deeds::swap(world, network, position.into(), &mut answer);
            }
        }
        Operation::OP15 => {
            for &Place { network, position, .. } in &tools.scratch.found.places {
                deeds::redate_part(world, tools.layout, network, position.into(), &mut answer);
            }
        }
        _ => {
            let nodes = &tools.scratch.found.nodes;
            nodes.iter().for_each(|&node| deeds::date(world, node, operation.mode(), &mut answer));
        }
    }
    answer
}
