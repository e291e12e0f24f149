//! Checks that indexes and pools match the objects.

use super::super::ids::Pool;
use super::super::layout::Ids;
use super::super::node::Node;
use super::super::pages::{ByDate, ById, ByTitle, PartLocation};
use super::super::text;
use super::super::world::View;
use super::Check;
use std::collections::BTreeMap;
use std::fmt::Debug;

impl<W: View> Check<'_, W> {
    pub(super) fn indexes(&mut self) {
        let (layout, world) = (self.layout, self.world);
        for of in [Ids::Complex, Ids::Base, Ids::Composite] {
            let pages = layout.pages(of).flat_map(|page| {
                let entries = world.get_as::<ById<Node>>(page).all();
                entries.map(move |(id, node)| (page, id, layout.page(of, id), node))
            });
            let objects = self.all(of).clone();
            self.index(&format!("{of:?} by id"), pages, objects);
        }
        let objects: BTreeMap<_, PartLocation> =
            self.parts.iter().map(|(&id, (part, _))| (id, part.location)).collect();
        let pages = layout.pages(Ids::Atomic).flat_map(|page| {
            let entries = world.get_as::<ById<PartLocation>>(page).all();
            entries.map(move |(id, location)| (page, id, layout.page(Ids::Atomic, id), location))
        });
        self.index("Atomic by id", pages, objects);
        let objects: BTreeMap<_, _> =
            self.parts.iter().map(|(&id, &(part, date))| ((date, id), part.location)).collect();
        let pages = layout.date_pages().flat_map(|page| {
            let entries = world.get_as::<ByDate>(page).all();
            entries.map(move |(date, part)| (page, (date, part.id), layout.date_page(date), part.location))
        });
        self.index("Atomic by date", pages, objects);
        let title = |id| {
            let mut title = String::new();
            text::write_title(&mut title, id);
            title
        };
        let objects = self.all(Ids::Composite).iter().map(|(&id, &node)| (title(id), node)).collect();
        let pages = layout.title_pages().flat_map(|page| {
            let entries = world.get_as::<ByTitle>(page).iter();
            entries.map(move |(title, &node)| (page, title.clone(), layout.title_page(title), node))
        });
        self.index("documents by title", pages, objects);
    }

    /// Checks the pages of an index against the objects. Each entry comes with its page, its key,
    /// and the right page for the key.
    fn index<K: Ord + Debug, T: PartialEq + Debug>(
        &mut self,
        name: &str,
        entries: impl Iterator<Item = (Node, K, Node, T)>,
        mut objects: BTreeMap<K, T>,
    ) {
        for (page, key, right, entry) in entries {
            self.expect(page == right, || format!("index of {name}: {key:?} is on a wrong page"));
            match objects.remove(&key) {
                Some(object) => {
                    let same = object == entry;
                    self.expect(same, || {
                        format!("index of {name}: {key:?} leads to {entry:?}, not {object:?}")
                    });
                }
                None => self
                    .wrong
                    .push(format!("index of {name}: {key:?} does not exist, or is in the index twice")),
            }
        }
        self.wrong.extend(objects.keys().map(|key| format!("index of {name}: {key:?} is missing")));
    }

    /// Checks that each id is either free or used by an object.
    pub(super) fn pools(&mut self) {
        for of in Ids::ALL {
            let used: Vec<u32> = match of {
                Ids::Atomic => self.parts.keys().copied().collect(),
                _ => self.all(of).keys().copied().collect(),
            };
            let pool: &Pool = self.world.get_as(self.layout.pool(of));
            let mut ids: Vec<u32> = used.into_iter().chain(pool.free()).collect();
            ids.sort_unstable();
            let mut expected = 1..=self.layout.last_id(of);
            // The first mismatch shows what is wrong.
            let wrong =
                ids.iter().copied().find(|&id| expected.next() != Some(id)).or_else(|| expected.next());
            if let Some(id) = wrong {
                let text = format!(
                    "ids of the kind {of:?}: near {id}, an id is lost, both free and used, or free twice"
                );
                self.wrong.push(text);
            }
        }
    }
}
