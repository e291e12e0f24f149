//! One lock for the whole tree.

use super::super::contender::{Contender, Entry};
use super::super::growth::{Growth, Inserter};
use parking_lot::RwLock;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use xtasking_harness::failure::Wrong;
use xtasking_harness::machine::pin;

pub(super) const ENTRY: Entry = Entry {
    name: "rwlock",
    about: "one parking_lot::RwLock over a plain tree, on plain threads",
    is_parallel: true,
    start: |workers| Ok(Box::new(Locked { nodes: Arc::default(), workers })),
    more: (),
};

struct Locked {
    nodes: Arc<RwLock<Vec<PlainNode>>>,
    workers: usize,
}

struct PlainNode {
    number: u32,
    entries: Vec<u32>,
}

fn insert_all(nodes: &RwLock<Vec<PlainNode>>, growth: &Growth, mut inserter: Inserter) {
    while let Some((number, parent)) = growth.next(&mut inserter) {
        let mut nodes = nodes.write();
        let handle = nodes.len();
        nodes.push(PlainNode { number, entries: Vec::new() });
        nodes[growth.handle(parent) as usize].entries.push(handle as u32);
        drop(nodes);
        growth.inserted((number, parent), handle as u64);
    }
}

impl Contender for Locked {
    fn grow(&mut self, growth: &Arc<Growth>) -> Result<Duration, Wrong> {
        *self.nodes.write() = vec![PlainNode { number: 0, entries: Vec::new() }];
        growth.begin(0);
        let (workers, began) = (self.workers, Instant::now());
        let threads = growth.inserters(workers as u32).enumerate().map(|(index, inserter)| {
            let (nodes, growth) = (self.nodes.clone(), growth.clone());
            thread::spawn(move || {
                pin(index, workers);
                insert_all(&nodes, &growth, inserter);
            })
        });
        let threads: Vec<_> = threads.collect();
        let joined: Result<Vec<()>, _> = threads.into_iter().map(thread::JoinHandle::join).collect();
        joined.map_err(|_| Wrong::new("a thread panicked"))?;
        Ok(began.elapsed())
    }

    fn links(&mut self) -> Result<Vec<(u32, u32)>, Wrong> {
        let nodes = self.nodes.read();
        let of = |node: &PlainNode| {
            let link = |&entry: &u32| (node.number, nodes[entry as usize].number);
            node.entries.iter().map(link).collect::<Vec<_>>()
        };
        Ok(nodes.iter().flat_map(of).collect())
    }

    fn count_exclusive(&mut self, _: &Growth, _: &[(u32, u32)]) -> Result<Option<usize>, Wrong> {
        Ok(None)
    }
}
