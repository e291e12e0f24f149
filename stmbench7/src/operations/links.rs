//! Implements SM3 and SM4: base assemblies begin or cease to use composite parts.

use super::super::find;
use super::super::layout::Ids;
use super::super::node::Node;
use super::super::outcome::{Answer, OperationFailure, SearchResult};
use super::super::parts::{Base, Composite};
use super::super::world::{Mode, Planner, World};
use super::Tools;

/// Finds a base assembly and a composite part.
pub fn find_two(tools: &mut Tools<'_>, planner: &mut impl Planner) -> SearchResult<()> {
    let mut object = |of| {
        let id = find::any_id(tools.layout, of, &mut tools.random);
        find::object(planner, tools.layout, of, id, Mode::Read)
    };
    let (base, composite) = (object(Ids::Base), object(Ids::Composite));
    use_of(base?, composite?, tools, planner)
}

/// Finds a base assembly and a composite part that it uses.
pub fn find_use(tools: &mut Tools<'_>, planner: &mut impl Planner) -> SearchResult<()> {
    let id = find::any_id(tools.layout, Ids::Base, &mut tools.random);
    let base = find::object(planner, tools.layout, Ids::Base, id, Mode::Read)?;
    let composite =
        planner.claim(base, Mode::Write, |base: &Base, _| find::any_of(base.bag(), &mut tools.random))?;
    use_of(base, composite.ok_or(OperationFailure::NoComponent)?, tools, planner)
}

fn use_of(
    base: Node,
    composite: Node,
    tools: &mut Tools<'_>,
    planner: &mut impl Planner,
) -> SearchResult<()> {
    planner.claim_node(base, Mode::Write);
    planner.claim_node(composite, Mode::Write);
    planner.claim_to_link(base);
    tools.scratch.targets.uses.push((base, composite));
    Ok(())
}

/// Adds a use of the composite part.
pub fn link(tools: &mut Tools<'_>, world: &mut impl World) -> Answer {
    let (base, composite) = tools.scratch.targets.uses[0];
    if world.get_mut_as::<Base>(base).add(composite) {
        world.link(base, composite);
    }
    answer(base, composite, world)
}

/// Removes a use of the composite part.
pub fn unlink(tools: &mut Tools<'_>, world: &mut impl World) -> Answer {
    let (base, composite) = tools.scratch.targets.uses[0];
    if world.get_mut_as::<Base>(base).remove(composite) {
        world.unlink(base, composite);
    }
    answer(base, composite, world)
}

/// Returns the objects concerned, and the number of components of the base assembly.
fn answer(base: Node, composite: Node, world: &impl World) -> Answer {
    let (base, composite): (&Base, &Composite) = (world.get_as(base), world.get_as(composite));
    let sum = u64::from(base.id) << 32 | u64::from(composite.id);
    Answer { count: base.bag().count() as u64, sum, ..Answer::default() }
}
