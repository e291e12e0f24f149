//! SM3, SM4: base assemblies use composite parts, or do not.

use super::super::find;
use super::super::layout::Ids;
use super::super::outcome::{Answer, Failed, Found};
use super::super::parts::{Base, Composite};
use super::super::world::{Mode, Planner, World};
use super::Tools;
use xtasking_hierarchy::Node;

/// Finds a base assembly and a composite part.
pub fn find_two(tools: &mut Tools<'_>, planner: &mut impl Planner) -> Found<()> {
    let mut object = |of| {
        let id = find::any_id(tools.layout, of, &mut tools.random);
        find::object(planner, tools.layout, of, id, Mode::Read)
    };
    let (base, composite) = (object(Ids::Base), object(Ids::Composite));
    use_of(base?, composite?, tools, planner)
}

/// Finds a base assembly and a composite part that it uses.
pub fn find_use(tools: &mut Tools<'_>, planner: &mut impl Planner) -> Found<()> {
    let id = find::any_id(tools.layout, Ids::Base, &mut tools.random);
    let base = find::object(planner, tools.layout, Ids::Base, id, Mode::Read)?;
    let composite =
        planner.claim(base, Mode::Write, |base: &Base, _, _| find::any_of(base.bag(), &mut tools.random))?;
    use_of(base, composite.ok_or(Failed::NoComponent)?, tools, planner)
}

fn use_of(base: Node, composite: Node, tools: &mut Tools<'_>, planner: &mut impl Planner) -> Found<()> {
    planner.only(base, Mode::Write);
    planner.only(composite, Mode::Write);
    tools.scratch.found.uses.push((base, composite));
    Ok(())
}

/// The base assembly uses it once more.
pub fn link(tools: &mut Tools<'_>, world: &mut impl World) -> Answer {
    let (base, composite) = tools.scratch.found.uses[0];
    if world.the_mut::<Base>(base).add(composite) {
        world.link(base, composite);
    }
    tell(base, composite, world)
}

/// The base assembly uses it once less.
pub fn unlink(tools: &mut Tools<'_>, world: &mut impl World) -> Answer {
    let (base, composite) = tools.scratch.found.uses[0];
    if world.the_mut::<Base>(base).take_away(composite) {
        world.unlink(base, composite);
    }
    tell(base, composite, world)
}

/// Which ones they are, and how many components the base assembly has.
fn tell(base: Node, composite: Node, world: &impl World) -> Answer {
    let (base, composite): (&Base, &Composite) = (world.the(base), world.the(composite));
    let sum = u64::from(base.id) << 32 | u64::from(composite.id);
    Answer { count: base.bag().count() as u64, sum, ..Answer::default() }
}
