//! Rows move between partitions, while batches come.
//!
//! What has passed the gate is waited for first, and what comes to it meanwhile is held there: so every batch finds each row
//! once, wherever that is.

use super::gate::{Gate, Parts};
use super::shares::Shares;
use xtasking::{Context, Object, Plain, Promise};

/// What partitions have said, and what was moved so far.
pub(super) struct Census {
    /// How many chunks each of them has.
    chunks: Vec<Option<usize>>,
    /// How many moves were made, and of how many rows together.
    moves: usize,
    rows: u64,
}

impl Census {
    /// Nothing as yet, from so many partitions.
    pub fn new(partitions: usize) -> Self {
        Self { chunks: vec![None; partitions], moves: 0, rows: 0 }
    }
}

/// One giving of shares.
pub(super) struct Balance {
    pub parts: Parts,
    pub shares: Shares,
    pub census: Object<Plain<Census>>,
    /// How many rows were moved.
    pub promise: Promise<u64>,
}

impl Balance {
    /// Waits for what is under way.
    pub fn begin(self, gate: &mut Gate, cx: &mut Context) {
        gate.held = Some(Vec::new());
        let under_way = gate.under_way.take().unwrap_or_else(|| cx.group());
        cx.task(()).after(under_way).spawn(move |(), cx| self.count(cx));
    }

    fn count(self, cx: &mut Context) {
        let group = cx.group();
        for (place, partition) in self.parts.partitions.iter().enumerate() {
            let both = cx.task((partition.write(), self.census.write())).of(&group);
            both.spawn(move |(partition, census), _| census.chunks[place] = Some(partition.chunks()));
        }
        let census = self.census.clone();
        cx.task(census.read()).after(group).spawn(move |census, cx| {
            // Without a word from all of them one is lost: then nothing is moved, and who waits learns that nobody keeps the
            // promise.
            match census.chunks.iter().copied().collect::<Option<Vec<usize>>>() {
                Some(chunks) => {
                    let moves = self.shares.moves(&chunks);
                    self.make(moves, cx);
                }
                None => cx.task(self.parts.gate.write()).spawn(open),
            }
        });
    }

    fn make(self, moves: Vec<(usize, usize, usize)>, cx: &mut Context) {
        let Self { parts, shares, census, promise } = self;
        let count = moves.len();
        let group = cx.group();
        for (from, to, chunks) in moves {
            let [from, to] = [from, to].map(|at| &parts.partitions[at]);
            let arrived = to.clone();
            let all = cx.task((from.write(), to.write(), census.write())).of(&group);
            all.spawn(move |(from, to, census), cx| {
                census.rows += from.give(chunks, to);
                census.moves += 1;
                // By itself, so that it is done by the worker, and on the node, that the partition belongs to.
                cx.task(arrived.write()).as_sibling().spawn(|partition, _| partition.settle());
            });
        }
        let at = parts.gate.clone();
        cx.task((at.write(), census.read())).after(group).spawn(move |(gate, census), cx| {
            // Whoever has no share has no rows any more, and is not asked.
            if census.moves == count {
                gate.serving = shares.some();
                gate.shares = shares;
                promise.fulfil(census.rows);
            }
            open(gate, cx);
        });
    }
}

/// Lets pass what was held, up to the next one who moves rows.
fn open(gate: &mut Gate, cx: &mut Context) {
    let held = gate.held.take().unwrap_or_default();
    held.into_iter().for_each(|what| gate.pass(cx, what));
}
