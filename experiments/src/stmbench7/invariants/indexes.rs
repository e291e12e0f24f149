//! That indexes and pools know what is there, and nothing else.

use super::super::ids::Pool;
use super::super::layout::Ids;
use super::super::pages::{ByDate, ById, ByTitle, Place};
use super::super::text;
use super::super::world::View;
use super::Check;
use std::collections::BTreeMap;
use std::fmt::Debug;
use xtasking_hierarchy::Node;

impl<W: View> Check<'_, W> {
    pub(super) fn indexes(&mut self) {
        let (layout, world) = (self.layout, self.world);
        for of in [Ids::Complex, Ids::Base, Ids::Composite] {
            let pages = layout.pages(of).flat_map(|page| {
                let entries = world.the::<ById<Node>>(page).all();
                entries.map(move |(id, node)| (page, id, layout.page(of, id), node))
            });
            let there = self.all(of).clone();
            self.index(&format!("{of:?} by id"), pages, there);
        }
        let there: BTreeMap<_, Place> = self.parts.iter().map(|(&id, (part, _))| (id, part.place)).collect();
        let pages = layout.pages(Ids::Atomic).flat_map(|page| {
            let entries = world.the::<ById<Place>>(page).all();
            entries.map(move |(id, place)| (page, id, layout.page(Ids::Atomic, id), place))
        });
        self.index("Atomic by id", pages, there);
        let there: BTreeMap<_, _> =
            self.parts.iter().map(|(&id, &(part, date))| ((date, id), part.place)).collect();
        let pages = layout.date_pages().flat_map(|page| {
            let entries = world.the::<ByDate>(page).all();
            entries.map(move |(date, part)| (page, (date, part.id), layout.date_page(date), part.place))
        });
        self.index("Atomic by date", pages, there);
        let title = |id| {
            let mut title = String::new();
            text::write_title(&mut title, id);
            title
        };
        let there = self.all(Ids::Composite).iter().map(|(&id, &node)| (title(id), node)).collect();
        let pages = layout.title_pages().flat_map(|page| {
            let entries = world.the::<ByTitle>(page).iter();
            entries.map(move |(title, &node)| (page, title.clone(), layout.title_page(title), node))
        });
        self.index("documents by title", pages, there);
    }

    /// The pages of an index have what is there: each entry comes with its page, its key, and the page that is for the key.
    fn index<K: Ord + Debug, T: PartialEq + Debug>(
        &mut self,
        name: &str,
        entries: impl Iterator<Item = (Node, K, Node, T)>,
        mut there: BTreeMap<K, T>,
    ) {
        for (page, key, right, entry) in entries {
            self.expect(page == right, || format!("index of {name}: {key:?} is on a wrong page"));
            match there.remove(&key) {
                Some(object) => {
                    let same = object == entry;
                    self.expect(same, || {
                        format!("index of {name}: {key:?} leads to {entry:?}, not {object:?}")
                    });
                }
                None => {
                    self.wrong.push(format!("index of {name}: {key:?} is not there, or twice in the index"))
                }
            }
        }
        self.wrong.extend(there.keys().map(|key| format!("index of {name}: {key:?} is missing")));
    }

    /// Each id is free or that of an object.
    pub(super) fn pools(&mut self) {
        for of in Ids::ALL {
            let taken: Vec<u32> = match of {
                Ids::Atomic => self.parts.keys().copied().collect(),
                _ => self.all(of).keys().copied().collect(),
            };
            let pool: &Pool = self.world.the(self.layout.pool(of));
            let mut ids: Vec<u32> = taken.into_iter().chain(pool.free()).collect();
            ids.sort_unstable();
            let mut expected = 1..=self.layout.last_id(of);
            // The first that is not what it should be tells what is wrong.
            let wrong =
                ids.iter().copied().find(|&id| expected.next() != Some(id)).or_else(|| expected.next());
            if let Some(id) = wrong {
                let text = format!(
                    "ids of the kind {of:?}: about {id}, one is lost, or free and taken, or free twice"
                );
                self.wrong.push(text);
            }
        }
    }
}
