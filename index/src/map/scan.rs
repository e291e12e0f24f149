//! Reading all entries, bucket by bucket.
//!
//! The order is that of the entries' hashes with their bits reversed. The entries of a bucket are a
//! range in this order, as its index is the lower end of their hashes, and splitting the bucket
//! divides the range in two. So a scan that goes from range to range passes each entry once,
//! however the map grows meanwhile. Between two entries it is at a [`ScanPosition`], which stays
//! valid.

use super::bucket::{Bucket, Entry, Last, PLACES, hash_of};
use super::chain::{CHAIN_MARK, decode_link};
use super::hash::{Inverse, bucket_of, depth};
use super::root::{Buckets, Root, RootRef};
use crate::key_value::WordKey;
use crate::root::{Continuation, Epoch, Operation};
use crate::value::WordValue;

use xtasking::{
    Context, JoinError, Part,
    arena::{Link, Reader, Step, Visit},
    task::Spawner,
};

/// Where a scan of a [`HashMap`](crate::HashMap) goes on. The default is the beginning.
///
/// It is valid for one map, for ever. An entry that exists all along between two scans is on one
/// side of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanPosition(
    /// A hash with its bits reversed, which the next entry has or exceeds.
    u64,
);

/// The entries of a scan, and the position where a further scan goes on; `None` at the end of the
/// map.
pub type ScanResult<K, V> = (Vec<(K, V)>, Option<ScanPosition>);

/// What is read of one bucket, or of one node of its chain.
#[derive(Clone, Copy)]
pub(super) struct NodeRead {
    entries: [Entry; PLACES],
    count: usize,
    /// The link of the chain's next node.
    next: u64,
    /// The depth of the bucket. A node does not know it.
    depth: u32,
}

/// Reads the bucket of a hash, or a node of its chain.
fn read_node(buckets: Buckets, hash: u64, at: Link<Bucket>, node: &Bucket) -> Step<Bucket, NodeRead> {
    let contents = node.contents();
    let mut read = NodeRead { entries: [Entry { key: 0, value: 0 }; PLACES], count: 0, next: 0, depth: 0 };
    contents.for_each(|entry| {
        read.entries[read.count] = entry;
        read.count += 1;
    });
    if let Last::Link(_, link) = contents.last() {
        read.next = link;
    }
    if at.mark() != CHAIN_MARK {
        let len = buckets.len();
        let index = bucket_of(hash, len);
        let bucket = buckets.link(index);
        if !bucket.is_same_node(at) {
            return Step::Go(bucket, Part::HEAD);
        }
        read.depth = depth(index, len);
    }
    Step::End(read)
}

/// What a scan does with the entries, which it gets in order.
pub(super) trait EntrySink: Send + 'static {
    /// Takes the entries of one bucket, and returns how many of them it has taken. It wants no more
    /// if these are not all.
    fn take(&mut self, entries: &[(u64, Entry)]) -> usize;

    /// Returns true if it wants further entries.
    fn wants_more(&self) -> bool;
}

/// Collects entries.
pub(super) struct EntryCollector<K, V> {
    entries: Vec<(K, V)>,
    limit: usize,
    inverse: Inverse,
}

/// Reserved for the entries of a scan. Most scans are short; the vector grows for a long one.
const RESERVED_ENTRIES: usize = 128;

impl<K: WordKey, V: WordValue> EntryCollector<K, V> {
    pub(super) fn new(limit: usize, inverse: Inverse) -> Self {
        Self { entries: Vec::with_capacity(limit.min(RESERVED_ENTRIES)), limit, inverse }
    }

    pub(super) fn into_entries(self) -> Vec<(K, V)> {
        self.entries
    }
}

impl<K: WordKey, V: WordValue> EntrySink for EntryCollector<K, V> {
    fn take(&mut self, entries: &[(u64, Entry)]) -> usize {
        let count = entries.len().min(self.limit - self.entries.len());
        let decoded = entries[..count].iter().map(|&(reversed, entry)| {
            (K::from_word(self.inverse.key(reversed.reverse_bits())), V::from_word(entry.value))
        });
        self.entries.extend(decoded);
        count
    }

    fn wants_more(&self) -> bool {
        self.entries.len() < self.limit
    }
}

/// Counts entries.
#[derive(Default)]
pub(super) struct EntryCounter(pub(super) u64);

impl EntrySink for EntryCounter {
    fn take(&mut self, entries: &[(u64, Entry)]) -> usize {
        self.0 += entries.len() as u64;
        entries.len()
    }

    fn wants_more(&self) -> bool {
        true
    }
}

/// The progress of a scan.
pub(super) struct Progress<G> {
    /// `None` at the end of the map.
    position: Option<ScanPosition>,
    /// The entries that were read of the bucket at the position, with their reversed hashes.
    bucket: Vec<(u64, Entry)>,
    depth: u32,
    sink: G,
}

impl<G: EntrySink> Progress<G> {
    pub(super) fn new(position: ScanPosition, sink: G) -> Self {
        Self { position: Some(position), bucket: Vec::new(), depth: 0, sink }
    }

    /// Returns the hash whose bucket is read next; `None` if the scan is over.
    pub(super) fn hash(&self) -> Option<u64> {
        self.position.filter(|_| self.sink.wants_more()).map(|position| position.0.reverse_bits())
    }

    /// Keeps what was read of the bucket of `hash`. Returns the link of its next node, if there is
    /// one; else the sink gets the bucket.
    fn keep(&mut self, hash: u64, read: &NodeRead) -> Option<Link<Bucket>> {
        if read.depth != 0 {
            self.depth = read.depth;
        }
        // Of the index only the lowest bits matter, which the hash has.
        let with_order = read.entries[..read.count]
            .iter()
            .map(|&entry| (hash_of(entry.key, hash as usize).reverse_bits(), entry));
        self.bucket.extend(with_order);
        let next = decode_link(read.next);
        if next.is_none() {
            self.end_bucket(hash.reverse_bits());
        }
        next
    }

    fn end_bucket(&mut self, position: u64) {
        self.bucket.retain(|&(reversed, _)| reversed >= position);
        self.bucket.sort_unstable_by_key(|&(reversed, _)| reversed);
        let taken = self.sink.take(&self.bucket);
        self.position = match self.bucket.get(taken) {
            Some(&(reversed, _)) => Some(ScanPosition(reversed)),
            // The end of the bucket's range, beyond which there is nothing after the last one.
            None => (position | (u64::MAX >> self.depth)).checked_add(1).map(ScanPosition),
        };
        self.bucket.clear();
    }

    /// Returns the sink, and where a further scan goes on.
    pub(super) fn finish(self) -> (G, Option<ScanPosition>) {
        (self.sink, self.position)
    }
}

/// Scans up to a number of buckets without tasks. The reader must be older than this call.
pub(super) fn in_place<G: EntrySink>(
    reader: &Reader<'_>,
    buckets: Buckets,
    mut progress: Progress<G>,
    limit: usize,
) -> Result<Progress<G>, JoinError> {
    for _ in 0..limit {
        let Some(hash) = progress.hash() else { break };
        let mut next = Some(buckets.of(hash).0);
        while let Some(at) = next {
            let read = reader.walk(at, move |at, node| read_node(buckets, hash, at, node))?;
            next = progress.keep(hash, &read);
        }
    }
    Ok(progress)
}

/// Starts a scan.
pub(super) fn begin<S: Spawner, G: EntrySink, F: Continuation<(G, Option<ScanPosition>)>>(
    at: S,
    root: RootRef,
    buckets: Buckets,
    progress: Progress<G>,
    then: F,
) {
    root.begin(at, Scan { buckets, hash: 0, progress, then });
}

struct Scan<G, F> {
    buckets: Buckets,
    /// The hash whose bucket is read.
    hash: u64,
    progress: Progress<G>,
    then: F,
}

impl<G: EntrySink, F: Continuation<(G, Option<ScanPosition>)>> Operation<Root> for Scan<G, F> {
    fn start<S: Spawner>(mut self, at: S, root: &Root, epoch: Epoch) {
        match self.progress.hash() {
            Some(hash) => {
                self.hash = hash;
                epoch.annotate(at.task(root.buckets.of(hash).0.read())).visit(self);
            }
            None => epoch.annotate(at.task(())).spawn(|(), cx| (self.then)(self.progress.finish(), cx)),
        }
    }
}

impl<G: EntrySink, F: Continuation<(G, Option<ScanPosition>)>> Visit for Scan<G, F> {
    type Target = Bucket;
    type Output = NodeRead;

    fn read(&self, at: Link<Bucket>, node: &Bucket) -> Step<Bucket, NodeRead> {
        read_node(self.buckets, self.hash, at, node)
    }

    fn then(mut self, read: NodeRead, cx: &mut Context) {
        let next = self.progress.keep(self.hash, &read).or_else(|| {
            self.hash = self.progress.hash()?;
            Some(self.buckets.of(self.hash).0)
        });
        match next {
            Some(next) => cx.task(next.read()).visit(self),
            None => (self.then)(self.progress.finish(), cx),
        }
    }
}
