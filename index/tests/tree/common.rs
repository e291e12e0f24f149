//! What the index's tests share beyond `xtasking_testing`: layouts, primitives, and checks of a whole tree.

use xtasking::Runtime;
use xtasking_index::node::words;
use xtasking_index::{Hinted, Key, Layout, Report, Sorted, Tree, Value};

pub use xtasking_testing::*;

/// Layouts by name: the smaller the nodes, the sooner they split and merge.
pub type Hinted512 = Hinted<{ words(512) }>;
pub type Hinted1024 = Hinted<{ words(1024) }>;
pub type Hinted2048 = Hinted<{ words(2048) }>;
pub type Hinted4096 = Hinted<{ words(4096) }>;
pub type Sorted512 = Sorted<{ words(512) }>;
pub type Sorted1024 = Sorted<{ words(1024) }>;
pub type Sorted2048 = Sorted<{ words(2048) }>;
pub type Sorted4096 = Sorted<{ words(4096) }>;

/// Calls a function that is generic over a layout and a primitive, `f(primitive, …)`, for some primitives. One primitive
/// does to nodes of all sizes the same, so not every layout needs every primitive; and each pair takes long to compile.
#[macro_export]
macro_rules! with_primitives {
    ([$($primitive:ident),+], $call:ident::<$layout:ty>$arguments:tt) => {{
        $($crate::with_primitives!(@ $primitive, $call, $layout, $arguments);)+
    }};
    (@ $primitive:ident, $call:ident, $layout:ty, ($($argument:expr),*)) => {
        $call::<$layout, _>(xtasking::$primitive, $($argument),*)
    };
}

/// The same for all primitives.
#[macro_export]
macro_rules! with_all_primitives {
    ($($call:tt)+) => {
        $crate::with_primitives!(
            [OptimisticLatched, OptimisticSequenced, SpinLatch, ReaderWriterLatch, Sequencing],
            $($call)+
        )
    };
}

/// Checks a tree that nobody changes: nothing may be broken. (Nodes that their parents do not know of yet are counted,
/// not reported.)
///
/// # Safety
///
/// As for [`Tree::check`]. In a simulation no task runs unless somebody waits, so that between two waits of the only
/// thread nobody changes anything.
pub unsafe fn sound<K: Key, V: Value, L: Layout>(tree: &Tree<K, V, L>) -> Report {
    // SAFETY: by the caller's promise.
    let report = unsafe { tree.check() };
    assert!(report.defects.is_empty(), "the tree is broken: {:?}", report.defects);
    report
}

/// Ends a runtime, all structure changes included, and checks the tree: every node must be known to its parent.
pub fn sound_after<K: Key, V: Value, L: Layout>(rt: Runtime, tree: &Tree<K, V, L>) -> Report {
    rt.shutdown(xtasking::Shutdown::Drain);
    // SAFETY: nothing is left that could change the tree.
    let report = unsafe { sound(tree) };
    assert_eq!(report.unseparated, 0, "a separator got lost");
    report
}
