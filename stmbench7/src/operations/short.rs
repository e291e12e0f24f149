//! Implements ST1 to ST10: operations along a path through the assemblies.

use super::super::find;
use super::super::layout::Ids;
use super::super::node::Node;
use super::super::outcome::{Answer, SearchResult, SearchStop};
use super::super::pages::{ById, ByTitle};
use super::super::parts::{Base, Composite, Network};
use super::super::world::{Mode, Planner, World};
use super::{Operation, Targets, Tools, actions};

/// Number of titles to look up.
const TITLES: usize = 100;

/// Finds a composite part, or assemblies.
pub fn find(operation: Operation, tools: &mut Tools<'_>, planner: &mut impl Planner) -> SearchResult<()> {
    let (layout, mode) = (tools.layout, operation.mode());
    match operation {
        Operation::ST3 | Operation::ST8 => {
            let id = find::any_id(layout, Ids::Atomic, &mut tools.random);
            let composite = find::location(planner, layout, id)?.composite;
            find::ancestors(planner, layout, composite, mode, &mut tools.scratch.targets.nodes)
        }
        Operation::ST4 => find_users(tools, planner),
        Operation::ST5 => {
            layout.pages(Ids::Base).for_each(|page| planner.claim_node(page, mode));
            // All base assemblies and nearly all composite parts are read.
            planner.claim_tree(layout.root(), mode);
            Ok(())
        }
        _ => {
            let composite = find::path(planner, layout, &mut tools.random)?;
            let node = planner.claim(composite, Mode::Read, |composite: &Composite, _| match operation {
                Operation::ST2 | Operation::ST7 => composite.document,
                _ => composite.network,
            })?;
            planner.claim_node(node, mode);
            tools.scratch.targets.nodes.push(node);
            Ok(())
        }
    }
}

/// Finds the base assemblies that use the composite parts of random titles. Missing titles are
/// skipped.
fn find_users(tools: &mut Tools<'_>, planner: &mut impl Planner) -> SearchResult<()> {
    let (layout, Targets { nodes: bases, uses, .. }) = (tools.layout, &mut tools.scratch.targets);
    let mut unseen = false;
    for _ in 0..TITLES {
        let id = find::any_id(layout, Ids::Composite, &mut tools.random);
        let title = &mut tools.scratch.title;
        let page = layout.title_page_of(id, title);
        let known = planner.claim(page, Mode::Read, |page: &ByTitle, _| page.get(title).copied());
        let composite = match known {
            Ok(Some(composite)) => composite,
            Ok(None) => continue,
            Err(_) => {
                unseen = true;
                continue;
            }
        };
        bases.clear();
        planner.claim_node(composite, Mode::Read);
        unseen |= find::users(planner, layout, composite, bases).is_err();
        uses.extend(bases.iter().map(|&base| (base, composite)));
        bases.iter().for_each(|&base| planner.claim_node(base, Mode::Read));
    }
    if unseen { Err(SearchStop::Unseen) } else { Ok(()) }
}

/// Runs the operation.
pub fn execute(operation: Operation, tools: &mut Tools<'_>, world: &mut impl World) -> Answer {
    let mut answer = Answer::default();
    match operation {
        Operation::ST3 | Operation::ST8 => {
            let assemblies = &tools.scratch.targets.nodes;
            assemblies.iter().for_each(|&node| actions::date(world, node, operation.mode(), &mut answer));
        }
        Operation::ST4 => {
            for &(base, composite) in &tools.scratch.targets.uses {
                let base: &Base = world.get_as(base);
                let times = base.bag().filter(|&part| part == composite).count();
                (0..times).for_each(|_| answer.add_dated(base.id, base.date));
            }
        }
        Operation::ST5 => {
            for (id, base) in
                tools.layout.pages(Ids::Base).flat_map(|page| world.get_as::<ById<Node>>(page).all())
            {
                answer.effort.nodes += 1;
                if actions::has_newer(world, world.get_as(base), &mut answer) {
                    answer.add(id.into());
                }
            }
        }
        _ => at_the_end(operation, tools, world, &mut answer),
    }
    answer
}

/// Runs the action at the end of a path.
fn at_the_end(operation: Operation, tools: &mut Tools<'_>, world: &mut impl World, answer: &mut Answer) {
    let node = tools.scratch.targets.nodes[0];
    let position = tools.independent_random().below(tools.layout.sizes.parts.into()) as usize;
    match operation {
        Operation::ST1 => answer.add_part(&world.get_as::<Network>(node).parts[position]),
        Operation::ST2 => actions::count_letter(world, node, answer),
        Operation::ST6 => actions::swap(world, node, position, answer),
        Operation::ST7 => actions::toggle(world, node, &mut tools.scratch.spare, answer),
        Operation::ST9 => actions::visit_graph(world, node, &mut tools.scratch.walk, answer),
        _ => actions::swap_graph(world, node, 1, &mut tools.scratch.walk, answer),
    }
}
