//! T1 to T6, Q6, Q7: through all assemblies, or through all atomic parts.
//!
//! A component is visited as often as base assemblies use it.

use super::super::layout::{Ids, Layout, Shelves};
use super::super::outcome::Answer;
use super::super::pages::{ById, Place};
use super::super::parts::{Composite, Network, Part};
use super::super::world::{Mode, Planner, View, World};
use super::{Operation, Tools, deeds};
use xtasking_hierarchy::Node;

/// Claims whole sub-trees: these operations are about all that there is.
pub fn claim(operation: Operation, tools: &Tools<'_>, planner: &mut impl Planner) {
    if operation == Operation::Q7 {
        tools.layout.pages(Ids::Atomic).for_each(|page| planner.only(page, Mode::Read));
        return planner.tree(Layout::library(Shelves::Networks), Mode::Read);
    }
    planner.tree(tools.layout.root(), Mode::Read);
    match operation {
        Operation::Q6 => {}
        Operation::T4 | Operation::T5 => planner.tree(Layout::library(Shelves::Documents), operation.mode()),
        _ => planner.tree(Layout::library(Shelves::Networks), operation.mode()),
    }
    if let Operation::T3a | Operation::T3b | Operation::T3c = operation {
        tools.layout.date_pages().for_each(|page| planner.only(page, Mode::Write));
    }
}

/// Does it.
pub fn act(operation: Operation, tools: &mut Tools<'_>, world: &mut impl World) -> Answer {
    let mut answer = Answer::default();
    match operation {
        Operation::Q6 => {
            count_newer(world, tools.layout.root(), &mut answer);
            return answer;
        }
        Operation::Q7 => {
            for page in tools.layout.pages(Ids::Atomic) {
                for (_, place) in world.the::<ById<Place>>(page).all() {
                    let network: &Network = world.the(place.network);
                    answer.add_part(&network.parts[place.position as usize]);
                }
            }
            return answer;
        }
        _ => {}
    }
    let components = &mut tools.scratch.found.nodes;
    answer.effort.nodes = gather(world, tools.layout.root(), components) + components.len() as u64;
    let (walk, moves) = (&mut tools.scratch.walk, &mut tools.scratch.dated);
    for &part in &*components {
        let answer = &mut answer;
        let &Composite { document, network, .. } = world.the(part);
        match operation {
            Operation::T1 => deeds::visit_graph(world, network, walk, answer),
            Operation::T2a => deeds::swap(world, network, 0, answer),
            Operation::T2b => deeds::swap_graph(world, network, 1, walk, answer),
            Operation::T2c => deeds::swap_graph(world, network, 4, walk, answer),
            Operation::T3a => deeds::redate_part(world, tools.layout, network, 0, answer),
            Operation::T3b => deeds::redate_graph(world, tools.layout, network, 1, walk, moves, answer),
            Operation::T3c => deeds::redate_graph(world, tools.layout, network, 4, walk, moves, answer),
            Operation::T4 => deeds::count_letter(world, document, answer),
            Operation::T5 => deeds::toggle(world, document, &mut tools.scratch.spare, answer),
            _ => answer.add_part(&world.the::<Network>(network).parts[0]),
        }
    }
    answer
}

/// The components of all base assemblies below an assembly, each as often as it is used. Tells how many assemblies there are.
fn gather(world: &impl View, assembly: Node, components: &mut Vec<Node>) -> u64 {
    if let Part::Base(base) = world.get(assembly) {
        components.extend(base.bag());
        return 1;
    }
    1 + world.children(assembly).iter().map(|&child| gather(world, child, components)).sum::<u64>()
}

/// Counts the base assemblies with a component that is newer, and all assemblies above them; tells whether there are any.
fn count_newer(world: &impl View, assembly: Node, answer: &mut Answer) -> bool {
    answer.effort.nodes += 1;
    let (any, id) = match world.get(assembly) {
        Part::Base(base) => (deeds::has_newer(world, base, answer), base.id),
        Part::Complex(complex) => {
            let below = |any, &child: &Node| count_newer(world, child, answer) | any;
            (world.children(assembly).iter().fold(false, below), complex.id)
        }
        other => panic!("{} is below an assembly", other.name()),
    };
    if any {
        answer.add(id.into());
    }
    any
}
