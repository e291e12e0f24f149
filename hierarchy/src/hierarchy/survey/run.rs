//! The chain of tasks that makes a survey; each spawns the next.

use super::progress::Progress;
use super::{Selected, Survey, SurveyResult, Surveyor};
use crate::Hierarchy;
use crate::hierarchy::claim::NodeClaim;
use crate::hierarchy::slab::Slab;
use xtasking::Context;
use xtasking::Held;

/// Granules that one task reads.
const GRANULES_PER_TASK: usize = 16;
/// Failed validations after which the survey reads again; one more, and it claims everything.
const MAX_RETRIES: u32 = 8;

pub(super) struct SurveyRun<T: Send + Sync + 'static, S: Surveyor<T>> {
    tree: Hierarchy<T>,
    selected: Vec<Selected>,
    surveyor: S,
    progress: Progress<S::Output>,
    retries: u32,
}

impl<T: Send + Sync + 'static, S: Surveyor<T>> SurveyRun<T, S> {
    pub fn begin(survey: Survey<T>, surveyor: S, cx: &mut Context) {
        let Survey { tree, selected } = survey;
        Box::new(Self { tree, selected, surveyor, progress: Progress::new(), retries: 0 }).walk(cx);
    }

    /// Walks through what has been read so far. The calling task holds no granules.
    fn walk(mut self: Box<Self>, cx: &mut Context) {
        self.progress.walk(&self.selected, self.tree.granules());
        self.step(cx);
    }

    /// Does what comes next: reads more, walks again, or validates.
    fn step(self: Box<Self>, cx: &mut Context) {
        if !self.progress.is_complete() {
            self.spawn_read(cx);
        } else if self.progress.needs_walk() {
            cx.task(()).as_sibling().spawn(move |(), cx| self.walk(cx));
        } else {
            self.validate(cx);
        }
    }

    /// Spawns the task that reads the next pending granules.
    fn spawn_read(mut self: Box<Self>, cx: &mut Context) {
        let next = self.progress.take_pending(GRANULES_PER_TASK);
        let tree = self.tree.clone();
        let none = tree.granules().read(0..0);
        let claim = next.iter().fold(none, |claim, &(granule, _)| claim.and_read(granule..granule + 1));
        let claim = claim.unordered();
        cx.task(()).as_sibling().claim(claim).spawn_with(move |(), held, cx| {
            match self.progress.read(&held, next, &mut self.surveyor) {
                Ok(nodes) => {
                    self.surveyor.nodes_read(nodes, cx);
                    // This task still holds the granules: if all is complete now, they cannot fail
                    // the validation.
                    self.step(cx);
                }
                Err(_) => self.spawn_claim(cx),
            }
        });
    }

    /// Ends the survey if no granule has changed since it was read.
    fn validate(mut self: Box<Self>, cx: &mut Context) {
        self.surveyor.before_validation(self.progress.granule_count(), cx);
        if !self.progress.reopen_changed(self.tree.granules()) || planted!("survey-unvalidated") {
            return self.finish(false, cx);
        }
        self.retries += 1;
        if self.retries > MAX_RETRIES { self.spawn_claim(cx) } else { self.spawn_read(cx) }
    }

    /// Spawns a task that claims everything and reads it at once.
    fn spawn_claim(mut self: Box<Self>, cx: &mut Context) {
        self.progress = Progress::new();
        let tree = self.tree.clone();
        let claim = NodeClaim::reading(
            &tree,
            self.selected.iter().map(|&Selected { node, with_descendants }| (node, !with_descendants)),
        );
        cx.task(()).as_sibling().claim(claim.unordered()).spawn_with(
            move |(), held: Held<'_, Slab<T>>, cx| {
                let nodes = self.progress.descend(&held, self.selected.clone(), &mut self.surveyor);
                self.surveyor.nodes_read(nodes, cx);
                self.surveyor.before_validation(0, cx);
                self.finish(true, cx);
            },
        );
    }

    /// Ends the survey in a task of its own, which holds no granules.
    fn finish(self, is_claimed: bool, cx: &mut Context) {
        let Self { surveyor, progress, retries, .. } = self;
        let result = SurveyResult { entries: progress.entries, retries, is_claimed };
        cx.task(()).as_sibling().spawn(move |(), cx| surveyor.finish(result, cx));
    }
}
