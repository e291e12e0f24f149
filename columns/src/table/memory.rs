//! The memory of a table's partitions.

use super::Table;
use crate::partition::Partition;
use std::ops::Range;
use xtasking::{Handle, Promise, Runtime, primitive::SpinLatch};

/// The memory of a partition, as [`Table::memory`] reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartitionMemory {
    /// The worker that reported it and that serves the partition's batches, as [`Context::worker`]
    /// numbers it.
    ///
    /// [`Context::worker`]: xtasking::Context::worker
    pub worker: usize,
    /// The number of rows.
    pub rows: u64,
    /// The number of chunks.
    pub chunks: usize,
    /// The addresses of the chunks' allocations in ascending order, without empty ones.
    pub addresses: Vec<Range<usize>>,
}

impl PartitionMemory {
    /// Returns the size of the allocations, in bytes.
    pub fn bytes(&self) -> u64 {
        self.addresses.iter().map(|range| range.len() as u64).sum()
    }

    fn new(partition: &Partition, worker: usize) -> Self {
        let mut addresses: Vec<_> = partition.addresses().filter(|range| !range.is_empty()).collect();
        addresses.sort_unstable_by_key(|range| range.start);
        Self { worker, rows: partition.rows(), chunks: partition.chunks(), addresses }
    }
}

/// The reports of the partitions so far.
struct MemoryReport {
    memory: Vec<Option<PartitionMemory>>,
    promise: Option<Promise<Vec<PartitionMemory>>>,
}

impl MemoryReport {
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
    /// Reports where each partition has its rows in memory, for example to find their NUMA nodes.
    /// The report waits for all batches that were sent before; later batches may move rows.
    ///
    /// A partition's worker touches its memory first, also after a [rebalance](Self::balance). So
    /// the memory lies on that worker's node, if there is room and the process has no other policy.
    /// The handle fails if a partition was lost.
    pub fn memory(&self, rt: &Runtime) -> Handle<Vec<PartitionMemory>> {
        let (promise, handle) = rt.promise();
        let report = MemoryReport { memory: vec![None; self.partitions()], promise: Some(promise) };
        let report = rt.plain(report).pin(SpinLatch).build();
        let partitions = self.objects.partitions.clone();
        rt.task(self.objects.dispatcher.write()).spawn(move |dispatcher, cx| {
            dispatcher.run_or_defer(cx, move |dispatcher, cx| {
                let group = dispatcher.in_flight.get_or_insert_with(|| cx.group());
                for (place, partition) in partitions.iter().enumerate() {
                    let report = report.clone();
                    cx.task(partition.write()).of(group).spawn(move |partition, cx| {
                        let memory = PartitionMemory::new(partition, cx.worker());
                        cx.task(report.write()).spawn(move |report, _| report.add(place, memory));
                    });
                }
            });
        });
        handle
    }
}
