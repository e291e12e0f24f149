//! Where all batches pass, one after another.

use super::gathered::Gathered;
use super::shares::Shares;
use crate::partition::{Changes, Partition, Queries};
use crate::plan::{Planned, Questions};
use crate::statistics::{Bounds, Statistics};
use crate::value::Kind;
use std::sync::Arc;
use xtasking::{Context, Group, Object, Plain};

/// The objects of a table.
#[derive(Clone)]
pub(super) struct Parts {
    pub partitions: Arc<[Object<Plain<Partition>>]>,
    pub gate: Object<Plain<Gate>>,
}

/// See the module's documentation.
pub(super) struct Gate {
    /// What is known of the rows from the batches that have passed.
    known: Statistics,
    pub shares: Shares,
    /// The partitions that have rows or may get some.
    pub serving: Box<[usize]>,
    /// How many batches have passed.
    passed: u64,
    /// The tasks of those that have, since rows were moved; made by the first of them.
    pub under_way: Option<Group>,
    /// While rows are moved: what has come meanwhile, in order.
    pub held: Option<Vec<Held>>,
}

/// Something that has come to the gate while rows were moved.
pub(super) type Held = Box<dyn FnOnce(&mut Gate, &mut Context) + Send>;

/// A batch whose requests were checked. Those that failed are left out.
pub(super) struct Sent {
    pub changes: Vec<Planned>,
    pub queries: Questions,
    /// How far what the changes bring reaches in each column.
    pub bounds: Vec<Bounds>,
    pub gathered: Object<Plain<Gathered>>,
}

impl Gate {
    /// For columns of these kinds, and for partitions with these shares.
    pub fn new(kinds: &[Kind], shares: Shares) -> Self {
        let serving = shares.some();
        let known = Statistics::new(kinds);
        Self { known, shares, serving, passed: 0, under_way: None, held: None }
    }

    /// Lets something pass now, or when rows have been moved.
    pub fn pass(&mut self, cx: &mut Context, what: impl FnOnce(&mut Self, &mut Context) + Send + 'static) {
        match &mut self.held {
            Some(held) => held.push(Box::new(what)),
            None => what(self, cx),
        }
    }

    /// Sends a batch to all partitions that it concerns.
    pub fn send(&mut self, sent: Sent, partitions: &Arc<[Object<Plain<Partition>>]>, cx: &mut Context) {
        let Sent { changes, queries, bounds, gathered } = sent;
        self.known.note(&bounds, &changes);
        let known = self.known.settle();
        let changes = Changes::new(changes, known, |rows| self.shares.deal(rows));
        let work = Arc::new((changes, Queries::new(queries, known)));
        let number = self.passed;
        self.passed += 1;
        let group = self.under_way.get_or_insert_with(|| cx.group());
        let parts = self.serving.len();
        for &place in &self.serving {
            let partition = &partitions[place];
            let (work, gathered) = (work.clone(), gathered.clone());
            cx.task(partition.write()).of(group).spawn(move |partition, cx| {
                let (changes, queries) = &*work;
                partition.come(number);
                let (counts, found) = partition.serve(changes, queries, place);
                cx.task(gathered.write())
                    .spawn(move |gathered, _| gathered.add(parts, counts, found, &work.1.questions));
            });
        }
    }
}
