//! What the tests of the tree share beyond `xtasking_testing`: layouts, primitives, and checks of a
//! whole tree.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use xtasking::Runtime;
use xtasking_index::node::OwnedKey;
use xtasking_index::node::words;
use xtasking_index::{HintedNode, Key, Layout, Report, SortedNode, Tree, Value};

pub use xtasking_testing::*;

/// Layouts. The smaller the nodes, the more often they split and merge.
pub type Hinted512 = HintedNode<{ words(512) }>;
pub type Hinted1024 = HintedNode<{ words(1024) }>;
pub type Hinted2048 = HintedNode<{ words(2048) }>;
pub type Hinted4096 = HintedNode<{ words(4096) }>;
pub type Sorted512 = SortedNode<{ words(512) }>;
pub type Sorted1024 = SortedNode<{ words(1024) }>;
pub type Sorted2048 = SortedNode<{ words(2048) }>;
pub type Sorted4096 = SortedNode<{ words(4096) }>;

/// Calls a function that is generic over a layout and a primitive, `f(primitive, …)`, for some
/// primitives. A primitive acts on nodes of all sizes alike, so not every layout needs every
/// primitive; and each pair takes long to compile.
#[macro_export]
macro_rules! with_primitives {
    ([$($primitive:ident),+], $call:ident::<$layout:ty>$arguments:tt) => {{
        $($crate::with_primitives!(@ $primitive, $call, $layout, $arguments);)+
    }};
    (@ $primitive:ident, $call:ident, $layout:ty, ($($argument:expr),*)) => {
        $call::<$layout, _>(xtasking::primitive::$primitive, $($argument),*)
    };
}

/// Like `with_primitives`, for all primitives.
#[macro_export]
macro_rules! with_all_primitives {
    ($($call:tt)+) => {
        $crate::with_primitives!(
            [OptimisticLatched, OptimisticSequenced, SpinLatch, ReaderWriterLatch, Sequencing],
            $($call)+
        )
    };
}

/// Checks that a tree that is not being changed has no defects. (Nodes without a separator in the
/// level above are counted, not reported.)
///
/// # Safety
///
/// As for [`Tree::check`]. In a simulation tasks run only while a thread waits. So nothing changes
/// the tree between two waits of the only thread.
pub unsafe fn sound<K: Key, V: Value, L: Layout<Keys = K::Keys>>(
    tree: &Tree<K, V, L>,
) -> Report<OwnedKey<L>> {
    // SAFETY: the caller guarantees that no operation changes the tree.
    let report = unsafe { tree.check() };
    assert!(report.defects.is_empty(), "the tree has defects: {:?}", report.defects);
    report
}

/// Shuts a runtime down, after all structure changes, and checks the tree: every node must have its
/// separator.
pub fn sound_after<K: Key, V: Value, L: Layout<Keys = K::Keys>>(
    rt: Runtime,
    tree: &Tree<K, V, L>,
) -> Report<OwnedKey<L>> {
    rt.shutdown(xtasking::Shutdown::Drain);
    // SAFETY: the runtime was shut down, so no operation is left.
    let report = unsafe { sound(tree) };
    assert_eq!(report.unseparated, 0, "a separator got lost");
    report
}

/// Runs a change beside threads that read over and over, each by random numbers of its own, until
/// they have read more than `least` times. Returns the result of the change.
pub fn beside_readers<R: Send>(
    readers: u64,
    least: u64,
    read: impl Fn(&mut Random) + Sync,
    change: impl FnOnce() -> R + Send,
) -> R {
    let (over, reads, mut result) = (AtomicBool::new(false), AtomicU64::new(0), None);
    let (over, reads, read, changed) = (&over, &reads, &read, &mut result);
    let mut bodies: Vec<Box<dyn FnOnce() + Send + '_>> = Vec::new();
    for seed in 0..readers {
        bodies.push(Box::new(move || {
            let mut random = Random(seed);
            while !over.load(SeqCst) {
                read(&mut random);
                reads.fetch_add(1, SeqCst);
            }
        }));
    }
    bodies.push(Box::new(move || {
        *changed = Some(change());
        eventually("the readers get on", || reads.load(SeqCst) > least);
        over.store(true, SeqCst);
    }));
    side_by_side(bodies);
    result.expect("the change has ended")
}
