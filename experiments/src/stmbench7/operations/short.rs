//! ST1 to ST10: along a path through the assemblies.

use super::super::find;
use super::super::layout::Ids;
use super::super::outcome::{Answer, Found, Stop};
use super::super::pages::{ById, ByTitle};
use super::super::parts::{Base, Composite, Network};
use super::super::world::{Mode, Planner, World};
use super::{Operation, Tools, deeds};
use xtasking_hierarchy::Node;

/// So many titles are looked for.
const TITLES: usize = 100;

/// Finds a composite part, or assemblies.
pub fn find(operation: Operation, tools: &mut Tools<'_>, planner: &mut impl Planner) -> Found<()> {
    let (layout, mode) = (tools.layout, operation.mode());
    match operation {
        Operation::ST3 | Operation::ST8 => {
            let id = find::any_id(layout, Ids::Atomic, &mut tools.random);
            let composite = find::place(planner, layout, id)?.composite;
            find::ancestors(planner, layout, composite, mode, &mut tools.scratch.found.nodes)
        }
        Operation::ST4 => find_users(tools, planner),
        Operation::ST5 => {
            layout.pages(Ids::Base).for_each(|page| planner.only(page, mode));
            // All base assemblies and nearly all composite parts are asked.
            planner.tree(layout.root(), mode);
            Ok(())
        }
        _ => {
            let composite = find::path(planner, layout, &mut tools.random)?;
            let node =
                planner.claim(composite, Mode::Read, |composite: &Composite, _, _| match operation {
                    Operation::ST2 | Operation::ST7 => composite.document,
                    _ => composite.network,
                })?;
            planner.only(node, mode);
            tools.scratch.found.nodes.push(node);
            Ok(())
        }
    }
}

/// The base assemblies that use the composite parts of random titles. Titles that there are not are passed over.
fn find_users(tools: &mut Tools<'_>, planner: &mut impl Planner) -> Found<()> {
    let (layout, uses) = (tools.layout, &mut tools.scratch.found.uses);
    let mut unseen = false;
    for _ in 0..TITLES {
        let id = find::any_id(layout, Ids::Composite, &mut tools.random);
        let title = &mut tools.scratch.title;
        let page = layout.title_page_of(id, title);
        let known = planner.claim(page, Mode::Read, |page: &ByTitle, _, _| page.get(title).copied());
        let composite = match known {
            Ok(Some(composite)) => composite,
            Ok(None) => continue,
            Err(_) => {
                unseen = true;
                continue;
            }
        };
        let from = uses.len();
        let users = |_: &Composite, _: &[Node], parents: &[Node]| {
            let bases = parents.iter().filter(|&&parent| !layout.is_shelf(parent));
            uses.extend(bases.map(|&base| (base, composite)));
        };
        unseen |= planner.claim(composite, Mode::Read, users).is_err();
        uses[from..].iter().for_each(|&(base, _)| planner.only(base, Mode::Read));
    }
    if unseen { Err(Stop::Unseen) } else { Ok(()) }
}

/// Does it.
pub fn act(operation: Operation, tools: &mut Tools<'_>, world: &mut impl World) -> Answer {
    let mut answer = Answer::default();
    match operation {
        Operation::ST3 | Operation::ST8 => {
            let assemblies = &tools.scratch.found.nodes;
            assemblies.iter().for_each(|&node| deeds::date(world, node, operation.mode(), &mut answer));
        }
        Operation::ST4 => {
            for &(base, composite) in &tools.scratch.found.uses {
                let base: &Base = world.the(base);
                let times = base.bag().filter(|&part| part == composite).count();
                (0..times).for_each(|_| answer.add_dated(base.id, base.date));
            }
        }
        Operation::ST5 => {
            for (id, base) in
                tools.layout.pages(Ids::Base).flat_map(|page| world.the::<ById<Node>>(page).all())
            {
                answer.effort.nodes += 1;
                if deeds::has_newer(world, world.the(base), &mut answer) {
                    answer.add(id.into());
                }
            }
        }
        _ => at_the_end(operation, tools, world, &mut answer),
    }
    answer
}

/// What is done at the end of a path.
fn at_the_end(operation: Operation, tools: &mut Tools<'_>, world: &mut impl World, answer: &mut Answer) {
    let node = tools.scratch.found.nodes[0];
    let position = tools.other_chance().below(tools.layout.sizes.parts.into()) as usize;
    match operation {
        Operation::ST1 => answer.add_part(&world.the::<Network>(node).parts[position]),
        Operation::ST2 => deeds::count_letter(world, node, answer),
        Operation::ST6 => deeds::swap(world, node, position, answer),
        Operation::ST7 => deeds::toggle(world, node, &mut tools.scratch.spare, answer),
        Operation::ST9 => deeds::visit_graph(world, node, &mut tools.scratch.walk, answer),
        _ => deeds::swap_graph(world, node, 1, &mut tools.scratch.walk, answer),
    }
}
