//! Implements T1 to T6, Q6 and Q7: traversals of all assemblies or all atomic parts.
//!
//! A component is visited as often as base assemblies use it.

use super::super::layout::{Ids, Shelves};
use super::super::node::Node;
use super::super::outcome::Answer;
use super::super::pages::{ById, PartLocation};
use super::super::parts::{Composite, Network, Part};
use super::super::world::{Mode, Planner, View, World};
use super::{Operation, Tools, actions};

/// Claims whole sub-trees, as these operations visit everything there.
pub fn claim(operation: Operation, tools: &Tools<'_>, planner: &mut impl Planner) {
    if operation == Operation::Q7 {
        tools.layout.pages(Ids::Atomic).for_each(|page| planner.claim_node(page, Mode::Read));
        return planner.claim_tree(tools.layout.library(Shelves::Networks), Mode::Read);
    }
    planner.claim_tree(tools.layout.root(), Mode::Read);
    match operation {
        Operation::Q6 => {}
        Operation::T4 | Operation::T5 => {
            planner.claim_tree(tools.layout.library(Shelves::Documents), operation.mode())
        }
        _ => planner.claim_tree(tools.layout.library(Shelves::Networks), operation.mode()),
    }
    if let Operation::T3a | Operation::T3b | Operation::T3c = operation {
        tools.layout.date_pages().for_each(|page| planner.claim_node(page, Mode::Write));
    }
}

/// Runs the operation.
pub fn execute(operation: Operation, tools: &mut Tools<'_>, world: &mut impl World) -> Answer {
    let mut answer = Answer::default();
    match operation {
        Operation::Q6 => {
            count_newer(world, tools.layout.root(), &mut answer);
            return answer;
        }
        Operation::Q7 => {
            for page in tools.layout.pages(Ids::Atomic) {
                for (_, location) in world.get_as::<ById<PartLocation>>(page).all() {
                    let network: &Network = world.get_as(location.network);
                    answer.add_part(&network.parts[location.position as usize]);
                }
            }
            return answer;
        }
        _ => {}
    }
    let components = &mut tools.scratch.targets.nodes;
    answer.effort.nodes = gather(world, tools.layout.root(), components) + components.len() as u64;
    let (walk, moves) = (&mut tools.scratch.walk, &mut tools.scratch.dated);
    for &part in &*components {
        let answer = &mut answer;
        let &Composite { document, network, .. } = world.get_as(part);
        match operation {
            Operation::T1 => actions::visit_graph(world, network, walk, answer),
            Operation::T2a => actions::swap(world, network, 0, answer),
            Operation::T2b => actions::swap_graph(world, network, 1, walk, answer),
            Operation::T2c => actions::swap_graph(world, network, 4, walk, answer),
            Operation::T3a => actions::redate_part(world, tools.layout, network, 0, answer),
            Operation::T3b => actions::redate_graph(world, tools.layout, network, 1, walk, moves, answer),
            Operation::T3c => actions::redate_graph(world, tools.layout, network, 4, walk, moves, answer),
            Operation::T4 => actions::count_letter(world, document, answer),
            Operation::T5 => actions::toggle(world, document, &mut tools.scratch.spare, answer),
            _ => answer.add_part(&world.get_as::<Network>(network).parts[0]),
        }
    }
    answer
}

/// Adds the components of all base assemblies below an assembly, each as often as it is used.
/// Returns the number of assemblies.
fn gather(world: &impl View, assembly: Node, components: &mut Vec<Node>) -> u64 {
    if let Part::Base(base) = world.get(assembly) {
        components.extend(base.bag());
        return 1;
    }
    1 + world.children(assembly).iter().map(|child| gather(world, child, components)).sum::<u64>()
}

/// Counts the base assemblies with a newer component, and all assemblies above them. Returns true
/// if there are any.
fn count_newer(world: &impl View, assembly: Node, answer: &mut Answer) -> bool {
    answer.effort.nodes += 1;
    let (any, id) = match world.get(assembly) {
        Part::Base(base) => (actions::has_newer(world, base, answer), base.id),
        Part::Complex(complex) => {
            let below = |any, child| count_newer(world, child, answer) | any;
            (world.children(assembly).iter().fold(false, below), complex.id)
        }
        other => panic!("{} is not an assembly, but below one", other.name()),
    };
    if any {
        answer.add(id.into());
    }
    any
}
