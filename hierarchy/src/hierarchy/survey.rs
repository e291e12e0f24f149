//! Long looks at many nodes, in many short tasks.

use super::slab::{Location, Slab};
use super::{Hierarchy, View};
use crate::Node;
use std::collections::{BTreeMap, HashMap, HashSet};
use xtasking::{Context, Handle, Held, Promise, Runtime};

/// So many granules a task looks at.
const AT_ONCE: usize = 16;
/// So often it is tried without a claim to everything.
const ATTEMPTS: u32 = 3;

impl<T: Send + Sync + 'static> Hierarchy<T> {
    /// Calls `visit` with a node and all below it, each once and in no order, for what comes of it from `start`: as if it had all been
    /// looked at in one moment, though nobody who writes has to wait for longer than it takes to look at a few granules.
    ///
    /// It is *optimistic*: task after task looks at some granules, and in the end it is seen whether any of them was written
    /// meanwhile. Then all of it is done again from `start`, and at the third time with a [claim](Self::node) to all of it. So a visit
    /// may come to see what does not fit together, and must not fail for that: what comes of it is forgotten. (Where other
    /// controls than [lines](xtasking::Control::Lines) keep tasks apart, there is a claim to all of it at once.)
    ///
    /// If there is no such node, what comes of it is `start`. The handle says
    /// [`JoinError::Abandoned`](xtasking::JoinError::Abandoned) if a visit panics, or data are poisoned.
    ///
    /// ```
    /// use xtasking::Runtime;
    /// use xtasking_hierarchy::{Hierarchy, Node, generate};
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let tree = Hierarchy::builder(generate::complete(2, 12)?).build(&rt, |_| 1u64);
    /// let sum = tree.survey(&rt, Node(1), 0, |sum, _, value| *sum += value);
    /// assert_eq!(sum.join()?, 2047);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn survey<A, F>(&self, rt: &Runtime, node: Node, start: A, visit: F) -> Handle<A>
    where
        A: Clone + Send + 'static,
        F: FnMut(&mut A, Node, &T) + Send + 'static,
    {
        let (promise, handle) = rt.promise();
        let seen = Seen::new(start.clone());
        let survey = Box::new(Survey { tree: self.clone(), node, start, visit, promise, attempts: 0, seen });
        rt.task(()).spawn(move |(), cx| survey.try_it(cx));
        handle
    }
}

struct Survey<T: Send + Sync + 'static, A, F> {
    tree: Hierarchy<T>,
    node: Node,
    start: A,
    visit: F,
    promise: Promise<A>,
    attempts: u32,
    seen: Seen<A>,
}

/// What an attempt has seen.
struct Seen<A> {
    result: A,
    /// Nodes to come, by granule.
    open: BTreeMap<u32, Vec<Node>>,
    /// What was the version of each granule.
    versions: HashMap<u32, u64>,
    /// Nodes with several parents.
    shared: HashSet<Node>,
}

impl<A> Seen<A> {
    fn new(start: A) -> Self {
        Self { result: start, open: BTreeMap::new(), versions: HashMap::new(), shared: HashSet::new() }
    }
}

/// What came of a look.
#[derive(PartialEq, Eq)]
enum Look {
    Whole,
    /// Something was written meanwhile.
    Torn,
    /// Nobody counts what is written.
    Uncounted,
}

impl<T, A, F> Survey<T, A, F>
where
    T: Send + Sync + 'static,
    A: Clone + Send + 'static,
    F: FnMut(&mut A, Node, &T) + Send + 'static,
{
    fn try_it(mut self: Box<Self>, cx: &mut Context) {
        self.seen = Seen::new(self.start.clone());
        if self.attempts == ATTEMPTS {
            return self.do_it(cx);
        }
        self.attempts += 1;
        if let Some(at) = Location::find(self.tree.granules.directory(), self.node) {
            self.seen.open.insert(at.granule, vec![self.node]);
        }
        self.go_on(cx);
    }

    /// With all of it in one task.
    fn do_it(mut self: Box<Self>, cx: &mut Context) {
        let tree = self.tree.clone();
        cx.task(()).claim(tree.node(self.node).read().unordered()).spawn_with(move |(), held, _| {
            let view = View::new(held);
            if view.find(self.node).is_some() {
                for node in view.below(self.node) {
                    (self.visit)(&mut self.seen.result, node, &view[node]);
                }
            }
            self.promise.fulfil(self.seen.result);
        });
    }

    /// Has the next task look at what is open.
    fn go_on(mut self: Box<Self>, cx: &mut Context) {
        let tree = self.tree.clone();
        let next: Vec<(u32, Vec<Node>)> = (0..AT_ONCE).map_while(|_| self.seen.open.pop_first()).collect();
        if next.is_empty() {
            // At the moment before the first of these looks all was as it was seen, if it is so still.
            let is_whole =
                |(&granule, &version): (&u32, &u64)| tree.granules.version(granule) == Some(version);
            return match self.seen.versions.iter().all(is_whole) {
                true => self.promise.fulfil(self.seen.result),
                false => self.try_it(cx),
            };
        }
        let claim = next
            .iter()
            .fold(tree.granules.read(0..0), |claim, &(granule, _)| claim.and_read(granule..granule + 1));
        cx.task(()).claim(claim.unordered()).spawn_with(move |(), held, cx| match self.look(held, next) {
            Look::Whole => self.go_on(cx),
            Look::Torn => self.try_it(cx),
            Look::Uncounted => {
                self.attempts = ATTEMPTS;
                self.try_it(cx);
            }
        });
    }

    fn look(&mut self, held: Held<'_, Slab<T>>, next: Vec<(u32, Vec<Node>)>) -> Look {
        let seen = &mut self.seen;
        for &(granule, _) in &next {
            let Some(version) = held.version(granule) else { return Look::Uncounted };
            if seen.versions.insert(granule, version).is_some_and(|before| before != version) {
                return Look::Torn;
            }
        }
        let mut open: Vec<Node> = next.into_iter().flat_map(|(_, nodes)| nodes).collect();
        while let Some(node) = open.pop() {
            let Some(Location { granule, slot }) = Location::find(held.directory(), node) else {
                return Look::Torn;
            };
            if !held.has(granule) {
                seen.open.entry(granule).or_default().push(node);
                continue;
            }
            let Some(record) = held.get(granule).get(node, slot) else { return Look::Torn };
            if record.parents.len() < 2 || seen.shared.insert(node) {
                (self.visit)(&mut seen.result, node, &record.value);
                open.extend(&record.children);
            }
        }
        Look::Whole
    }
}
