//! The tasks of a survey, each of which spawns the next.

use super::found::Found;
use super::{Named, Survey, Surveyed, Surveyor};
use crate::Hierarchy;
use crate::hierarchy::slab::Slab;
use crate::hierarchy::touch::Touch;
use xtasking::Context;
use xtasking::Held;

/// So many granules a task looks at.
const AT_ONCE: usize = 16;
/// So often it is compared in vain before there is a claim to everything.
const REPEATS: u32 = 8;

pub(super) struct Course<T: Send + Sync + 'static, S: Surveyor<T>> {
    tree: Hierarchy<T>,
    named: Vec<Named>,
    surveyor: S,
    found: Found<S::Kept>,
    repeats: u32,
}

impl<T: Send + Sync + 'static, S: Surveyor<T>> Course<T, S> {
    pub fn begin(survey: Survey<T>, surveyor: S, cx: &mut Context) {
        let Survey { tree, named } = survey;
        Box::new(Self { tree, named, surveyor, found: Found::new(), repeats: 0 }).walk(cx);
    }

    /// Goes through what was found, and on from there. The task has nothing.
    fn walk(mut self: Box<Self>, cx: &mut Context) {
        self.found.walk(&self.named, self.tree.granules());
        self.go_on(cx);
    }

    /// What is next.
    fn go_on(self: Box<Self>, cx: &mut Context) {
        if !self.found.is_whole() {
            self.spawn_look(cx);
        } else if self.found.is_loose() {
            cx.task(()).as_sibling().spawn(move |(), cx| self.walk(cx));
        } else {
            self.compare(cx);
        }
    }

    /// Has the next task look at what is open.
    fn spawn_look(mut self: Box<Self>, cx: &mut Context) {
        let next = self.found.next(AT_ONCE);
        let tree = self.tree.clone();
        let none = tree.granules().read(0..0);
        let claim = next.iter().fold(none, |claim, &(granule, _)| claim.and_read(granule..granule + 1));
        let claim = claim.unordered();
        cx.task(()).as_sibling().claim(claim).spawn_with(move |(), held, cx| {
            match self.found.look(&held, next, &mut self.surveyor) {
                Ok(looks) => {
                    self.surveyor.looked(looks, cx);
                    // While it has these granules yet: so it has not to be compared with them in vain.
                    self.go_on(cx);
                }
                Err(_) => self.spawn_claim(cx),
            }
        });
    }

    /// Sees whether it is as it was at one moment.
    fn compare(mut self: Box<Self>, cx: &mut Context) {
        self.surveyor.moment(self.found.granules(), cx);
        if !self.found.open_changed(self.tree.granules()) {
            return self.end(false, cx);
        }
        self.repeats += 1;
        if self.repeats > REPEATS { self.spawn_claim(cx) } else { self.spawn_look(cx) }
    }

    /// Looks at all of it in one task.
    fn spawn_claim(mut self: Box<Self>, cx: &mut Context) {
        self.found = Found::new();
        let tree = self.tree.clone();
        let claim = Touch::to_read(&tree, self.named.iter().map(|&Named { node, below }| (node, !below)));
        cx.task(()).as_sibling().claim(claim.unordered()).spawn_with(
            move |(), held: Held<'_, Slab<T>>, cx| {
                let looks = self.found.descend(&held, self.named.clone(), &mut self.surveyor);
                self.surveyor.looked(looks, cx);
                self.surveyor.moment(0, cx);
                self.end(true, cx);
            },
        );
    }

    /// The caller has granules yet, but not the task that comes now.
    fn end(self, is_claimed: bool, cx: &mut Context) {
        let Self { surveyor, found, repeats, .. } = self;
        let surveyed = Surveyed { entries: found.entries, repeats, is_claimed };
        cx.task(()).as_sibling().spawn(move |(), cx| surveyor.over(surveyed, cx));
    }
}
