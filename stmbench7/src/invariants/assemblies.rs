//! Checks the module, the manual, and the tree of assemblies.

use super::super::dates;
use super::super::layout::Ids;
use super::super::node::Node;
use super::super::parts::{Base, Composite, Kind, Part};
use super::super::text;
use super::super::world::View;
use super::Check;

impl<W: View> Check<'_, W> {
    pub(super) fn assemblies(&mut self) {
        let (world, root, manual) = (self.world, self.layout.root(), self.layout.manual());
        if let &Part::Module(date) = world.get(self.layout.module()) {
            self.expect_date(date, &[dates::MIDDLE], self.layout.module());
        }
        let children = world.children(self.layout.module());
        self.expect(children == [manual, root], || format!("the module has the children {children:?}"));
        let upper = text::manual(1, self.layout.sizes.manual);
        let mut lower = upper.clone();
        text::change_case(&mut lower);
        let text: &Vec<u8> = world.get_as(manual);
        self.expect([&upper, &lower].contains(&text), || "the manual has a wrong text".to_string());
        self.assembly(root, self.layout.module(), self.layout.sizes.levels);
    }

    fn assembly(&mut self, node: Node, parent: Node, level: u32) {
        let world = self.world;
        let (part, parents, children) = (world.get(node), world.parents(node), world.children(node));
        let name = || part.name();
        self.expect(parents == [parent], || format!("{} has the parents {parents:?}", name()));
        match part {
            Part::Base(base) => {
                self.expect(level == 1, || format!("{} is on level {level}", name()));
                self.expect_date(base.date, &[dates::MIDDLE], node);
                self.note(Ids::Base, base.id, node);
                self.components(node, base);
            }
            Part::Complex(complex) => {
                self.expect(complex.level == level && level > 1, || {
                    format!("{} has level {} stored and is on level {level}", name(), complex.level)
                });
                self.expect_date(complex.date, &[dates::MIDDLE], node);
                self.expect(!children.is_empty(), || format!("{} has no children", name()));
                self.note(Ids::Complex, complex.id, node);
                // Below level 1 the rest makes no sense.
                if level > 1 {
                    children.iter().for_each(|child| self.assembly(child, node, level - 1));
                }
            }
            _ => self.wrong.push(format!("{} is not an assembly, but among them", name())),
        }
    }

    /// Checks that the components of a base assembly are its children.
    fn components(&mut self, node: Node, base: &Base) {
        let children = self.world.children(node);
        let parts = base.components.iter().map(|component| component.part);
        let distinct = (1..base.components.len()).all(|at| {
            let part = base.components[at].part;
            base.components[..at].iter().all(|other| other.part != part)
        });
        let same =
            children.len() == base.components.len() && parts.clone().all(|part| children.contains(part));
        self.expect(distinct && same, || {
            format!(
                "base assembly {} has components {:?} and children {children:?}",
                base.id, base.components
            )
        });
        let times = base.components.iter().all(|component| component.times > 0);
        self.expect(times, || format!("base assembly {} has a component with 0 uses", base.id));
        for child in children.iter() {
            let part = self.world.get(child);
            let known = Composite::of(part).is_some();
            self.expect(known, || format!("base assembly {} has {} as a component", base.id, part.name()));
        }
    }
}
