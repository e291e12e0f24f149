//! Implements OP1 to OP15: operations on some objects that an index leads to.

use super::super::dates::{self, Date};
use super::super::find;
use super::super::layout::{Ids, Shelves};
use super::super::outcome::{Answer, SearchResult, SearchStop};
use super::super::pages::{ByDate, PartLocation};
use super::super::parts::{Complex, Network};
use super::super::text;
use super::super::world::{Mode, Planner, World};
use super::{Operation, Tools, actions};

/// Number of ids to look up.
const IDS: usize = 10;

/// Returns the first date of the latest hundredth, or of the latest tenth.
const fn latest(operation: Operation) -> Date {
    let years = *dates::MIDDLE.end() - *dates::MIDDLE.start() + 1;
    *dates::MIDDLE.end() + 1 - years / if let Operation::OP3 = operation { 10 } else { 100 }
}

/// Finds atomic parts, or nodes with dates.
pub fn find(operation: Operation, tools: &mut Tools<'_>, planner: &mut impl Planner) -> SearchResult<()> {
    let mode = operation.mode();
    match operation {
        Operation::OP1 | Operation::OP9 | Operation::OP15 => find_parts(operation, tools, planner),
        Operation::OP2 | Operation::OP10 => find_latest(operation, tools, planner),
        Operation::OP3 => {
            let pages = tools.layout.date_pages_since(latest(operation));
            pages.for_each(|page| planner.claim_node(page, mode));
            // Nearly every composite part has some of these atomic parts.
            planner.claim_tree(tools.layout.library(Shelves::Networks), mode);
            Ok(())
        }
        Operation::OP4 | Operation::OP5 | Operation::OP11 => {
            planner.claim_node(tools.layout.manual(), mode);
            Ok(())
        }
        Operation::OP6 | Operation::OP12 => find_siblings(Ids::Complex, mode, tools, planner),
        Operation::OP7 | Operation::OP13 => find_siblings(Ids::Base, mode, tools, planner),
        _ => find_components(mode, tools, planner),
    }
}

/// Finds the atomic parts of random ids. Missing ids are skipped.
fn find_parts(operation: Operation, tools: &mut Tools<'_>, planner: &mut impl Planner) -> SearchResult<()> {
    let mut unseen = false;
    for _ in 0..IDS {
        let id = find::any_id(tools.layout, Ids::Atomic, &mut tools.random);
        let location = match find::location(planner, tools.layout, id) {
            Ok(location) => location,
            Err(stop) => {
                unseen |= stop == SearchStop::Unseen;
                continue;
            }
        };
        tools.scratch.targets.locations.push(location);
        planner.claim_node(location.network, operation.mode());
        if operation == Operation::OP15 {
            let date = planner.look(location.network, |network: &Network, _| {
                network.parts[location.position as usize].date
            });
            match date {
                Ok(date) => planner.claim_node(tools.layout.date_page(date), Mode::Write),
                Err(_) => unseen = true,
            }
        }
    }
    if unseen { Err(SearchStop::Unseen) } else { Ok(()) }
}

/// Finds the atomic parts with the latest dates.
fn find_latest(operation: Operation, tools: &mut Tools<'_>, planner: &mut impl Planner) -> SearchResult<()> {
    let since = latest(operation);
    let (mut unseen, targets) = (false, &mut tools.scratch.targets);
    for page in tools.layout.date_pages_since(since) {
        let parts = planner.claim(page, Mode::Read, |page: &ByDate, _| {
            targets.locations.extend(page.since(since).map(|(_, part)| part.location));
        });
        unseen |= parts.is_err();
    }
    // Most composite parts have several of them.
    targets.nodes.extend(targets.locations.iter().map(|location| location.network));
    targets.nodes.sort_unstable();
    targets.nodes.dedup();
    targets.nodes.iter().for_each(|&network| planner.claim_node(network, operation.mode()));
    if unseen { Err(SearchStop::Unseen) } else { Ok(()) }
}

/// Finds the children of the parent of a random assembly; the root is its own only sibling.
fn find_siblings(of: Ids, mode: Mode, tools: &mut Tools<'_>, planner: &mut impl Planner) -> SearchResult<()> {
    let (layout, siblings) = (tools.layout, &mut tools.scratch.targets.nodes);
    let id = find::any_id(layout, of, &mut tools.random);
    let node = find::object(planner, layout, of, id, Mode::Read)?;
    if node == layout.root() {
        siblings.push(node);
    } else {
        let parent = find::parent(planner, layout, node, Mode::Read)?;
        planner.claim(parent, Mode::Read, |_: &Complex, children| siblings.extend(children.iter()))?;
    }
    siblings.iter().for_each(|&sibling| planner.claim_node(sibling, mode));
    Ok(())
}

/// Finds the components of a random base assembly, each as often as it is used.
fn find_components(mode: Mode, tools: &mut Tools<'_>, planner: &mut impl Planner) -> SearchResult<()> {
    let components = &mut tools.scratch.targets.nodes;
    let id = find::any_id(tools.layout, Ids::Base, &mut tools.random);
    let node = find::object(planner, tools.layout, Ids::Base, id, Mode::Read)?;
    find::components(planner, node, Mode::Read, components)?;
    components.iter().for_each(|&component| planner.claim_node(component, mode));
    Ok(())
}

/// Runs the operation.
pub fn execute(operation: Operation, tools: &mut Tools<'_>, world: &mut impl World) -> Answer {
    let mut answer = Answer::default();
    match operation {
        Operation::OP3 => {
            let since = latest(operation);
            for page in tools.layout.date_pages_since(since) {
                for (_, part) in world.get_as::<ByDate>(page).since(since) {
                    let PartLocation { network, position, .. } = part.location;
                    answer.add_part(&world.get_as::<Network>(network).parts[position as usize]);
                }
            }
        }
        Operation::OP4 => {
            let text: &Vec<u8> = world.get_as(tools.layout.manual());
            answer.count = text::count(text, actions::LETTER);
            answer.effort.read = text.len() as u64;
        }
        Operation::OP5 => {
            let text: &Vec<u8> = world.get_as(tools.layout.manual());
            answer.count = u64::from(text.first() == text.last());
        }
        Operation::OP11 => {
            let text: &mut Vec<u8> = world.get_mut_as(tools.layout.manual());
            answer.count = text::change_case(text);
            // Only this effort, as characters are processed in vectors.
            answer.effort.read = text.len() as u64;
        }
        Operation::OP1 | Operation::OP2 => {
            for &PartLocation { network, position, .. } in &tools.scratch.targets.locations {
                answer.add_part(&world.get_as::<Network>(network).parts[position as usize]);
            }
        }
        Operation::OP9 | Operation::OP10 => {
            for &PartLocation { network, position, .. } in &tools.scratch.targets.locations {
                actions::swap(world, network, position.into(), &mut answer);
            }
        }
        Operation::OP15 => {
            for &PartLocation { network, position, .. } in &tools.scratch.targets.locations {
                actions::redate_part(world, tools.layout, network, position.into(), &mut answer);
            }
        }
        _ => {
            let nodes = &tools.scratch.targets.nodes;
            nodes.iter().for_each(|&node| actions::date(world, node, operation.mode(), &mut answer));
        }
    }
    answer
}
