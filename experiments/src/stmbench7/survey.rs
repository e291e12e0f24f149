//! Long reads without a claim: what an operation names is surveyed, and the operation done on a snapshot of that.

use super::concurrent::Shared;
use super::layout::Layout;
use super::operations::{Operation, Scratch};
use super::parts::Part;
use super::snapshot::{Snapshot, Taken};
use super::turn::Course;
use super::world::{Mode, Planner};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use xtasking::Context;
use xtasking_hierarchy::{Node, Seen, Surveyed, Surveyor};

/// What an operation names that need not look at anything to do so.
pub(super) struct Names {
    /// Nodes, and whether each is alone.
    pub nodes: Vec<(Node, bool)>,
    /// It would have looked at something.
    is_blind: bool,
}

impl Names {
    /// Those of an operation; `None` if it has to look.
    pub fn of(operation: Operation, seed: u64, layout: &Layout) -> Option<Self> {
        let mut names = Self { nodes: Vec::new(), is_blind: false };
        operation.plan(layout, seed, &mut Scratch::default(), &mut names);
        (!names.is_blind).then_some(names)
    }
}

impl Planner for Names {
    fn see<R>(&mut self, _: Node, _: impl FnOnce(&Part, &[Node], &[Node]) -> R) -> Option<R> {
        self.is_blind = true;
        None
    }

    fn only(&mut self, node: Node, _: Mode) {
        self.nodes.push((node, true));
    }

    fn tree(&mut self, node: Node, _: Mode) {
        self.nodes.push((node, false));
    }
}

/// Takes a snapshot of what an operation names, which is done then.
///
/// The operation's stamp is drawn when all has been seen, before versions are compared; and that puts it where it belongs among those
/// who write, who draw theirs while they have what they write. Be the survey's stamp s, and that of a task w, which writes a granule
/// that the survey has looked at. If the task had the granule before the look, it had given it back by then, so w was drawn before s;
/// and the survey has seen what it wrote. If it got the granule after the look, but before this was compared, it is noticed there, and
/// s is given up: another one is drawn next time, and a number that nobody has does no harm, as stamps are only compared. If it got the
/// granule even later, w is drawn after s, and the survey has not seen what it wrote. (Who draws a stamp, and who gets a granule, is
/// told by one atomic number and one lock for each: what comes before a stamp or the lock on one thread is before it for all.)
pub(super) struct Reading {
    pub course: Arc<Course>,
    /// The operation's.
    pub number: usize,
    pub stamp: u64,
}

impl Surveyor<Shared> for Reading {
    type Kept = Taken;

    fn look(&mut self, seen: Seen<'_, Shared>) -> Taken {
        Taken::of(seen.value(), seen.children(), seen.parents())
    }

    fn looked(&mut self, nodes: usize, _: &mut Context) {
        self.course.spend_on_looks(nodes);
    }

    fn moment(&mut self, granules: usize, _: &mut Context) {
        self.stamp = self.course.stamp();
        // Before it is compared: whoever writes meanwhile is noticed.
        self.course.spend_on_comparing(granules);
    }

    fn over(self, surveyed: Surveyed<Taken>, cx: &mut Context) {
        let Self { course, number, stamp } = self;
        course.surveys.count(&surveyed);
        course.read(number, stamp, Snapshot::from(surveyed), cx);
    }
}

/// How surveys have gone.
#[derive(Debug, Default)]
pub(super) struct Surveys {
    all: AtomicU64,
    repeated: AtomicU64,
    repeats: AtomicU64,
    claimed: AtomicU64,
}

impl Surveys {
    fn count<R>(&self, surveyed: &Surveyed<R>) {
        let repeats = surveyed.repeats();
        // Relaxed, as nobody looks before all is over.
        self.all.fetch_add(1, Relaxed);
        self.repeated.fetch_add(u64::from(repeats > 0), Relaxed);
        self.repeats.fetch_add(repeats.into(), Relaxed);
        self.claimed.fetch_add(surveyed.is_claimed().into(), Relaxed);
    }

    /// For people; `None` if there were none.
    pub fn told(&self) -> Option<String> {
        (self.all.load(Relaxed) > 0).then(|| self.to_string())
    }
}

impl fmt::Display for Surveys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [all, repeated, repeats, claimed] =
            [&self.all, &self.repeated, &self.repeats, &self.claimed].map(|count| count.load(Relaxed));
        write!(
            f,
            "{all} surveys, of which {repeated} were compared more than once, {repeats} times more in all, and {claimed} claimed all"
        )
    }
}
