//! Where the rows of a table are in memory.

use super::Table;
use crate::partition::Partition;
use std::ops::Range;
use xtasking::{Handle, Promise, Runtime, SpinLatch};

/// Where a partition has its rows in memory, as [`Table::memory`] tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionMemory {
    /// The worker that has told it: the one that serves the partition's batches, as [`Context::worker`] numbers them.
    ///
    /// [`Context::worker`]: xtasking::Context::worker
    pub worker: usize,
    /// How many rows are there.
    pub rows: u64,
    /// In how many chunks these are.
    pub chunks: usize,
    /// The addresses of what the columns of its chunks keep, in order, without those of nothing.
    pub addresses: Vec<Range<usize>>,
}

impl PartitionMemory {
    /// How many bytes that are.
    pub fn bytes(&self) -> u64 {
        self.addresses.iter().map(|range| range.len() as u64).sum()
    }

    fn new(partition: &Partition, worker: usize) -> Self {
        let mut addresses: Vec<_> = partition.addresses().filter(|range| !range.is_empty()).collect();
        addresses.sort_unstable_by_key(|range| range.start);
        Self { worker, rows: partition.rows(), chunks: partition.chunks(), addresses }
    }
}

/// What partitions have told so far.
struct Told {
    memory: Vec<Option<PartitionMemory>>,
    promise: Option<Promise<Vec<PartitionMemory>>>,
}

impl Told {
    fn add(&mut self, place: usize, memory: PartitionMemory) {
        self.memory[place] = Some(memory);
        if self.memory.iter().all(Option::is_some)
            && let Some(promise) = self.promise.take()
        {
            promise.fulfil(self.memory.drain(..).flatten().collect());
        }
    }
}

impl Table {
    /// Where each partition has its rows in memory, when all batches that were sent before have been served: for whoever wants
    /// to know on which node that is. Later batches may move it.
    ///
    /// A partition's worker is the first to touch its memory, also after rows have [moved](Self::balance): so it lies on that
    /// worker's node, if there is room, and unless the process has said otherwise. The handle fails if a partition was lost.
    pub fn memory(&self, rt: &Runtime) -> Handle<Vec<PartitionMemory>> {
        let (promise, handle) = rt.promise();
        let told = Told { memory: vec![None; self.partitions()], promise: Some(promise) };
        let told = rt.plain(told).pin(SpinLatch).build();
        let partitions = self.parts.partitions.clone();
        rt.task(self.parts.gate.write()).spawn(move |gate, cx| {
            gate.pass(cx, move |gate, cx| {
                let group = gate.under_way.get_or_insert_with(|| cx.group());
                for (place, partition) in partitions.iter().enumerate() {
                    let told = told.clone();
                    cx.task(partition.write()).of(group).spawn(move |partition, cx| {
                        let memory = PartitionMemory::new(partition, cx.worker());
                        cx.task(told.write()).spawn(move |told, _| told.add(place, memory));
                    });
                }
            });
        });
        handle
    }
}
