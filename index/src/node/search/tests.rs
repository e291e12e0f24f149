//! Every search that the processor has, compared with its definition.

use super::*;
use crate::node::tests::{Chain, token};
use crate::node::{HintedNode, Layout, WriteMode, words};
use core::cell::Cell;
use proptest::prelude::*;

thread_local! {
    static IS_PORTABLE_FORCED: Cell<bool> = const { Cell::new(false) };
}

/// Returns true if this thread is to search as on a processor without vectors.
pub(super) fn is_portable_forced() -> bool {
    IS_PORTABLE_FORCED.get()
}

/// Runs `check` with the processor's vectors, if it has them, and without.
fn with_each_search(check: impl Fn()) {
    choose();
    for is_forced in [false, true] {
        IS_PORTABLE_FORCED.set(is_forced);
        check();
    }
    IS_PORTABLE_FORCED.set(false);
}

fn words_of<const N: usize>(values: [u64; N]) -> [Word; N] {
    values.map(Word::new)
}

/// Words at the limits and beside each other as well as any.
fn word() -> impl Strategy<Value = u64> + Clone {
    const LIMITS: [u64; 7] = [0, 1, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, u64::MAX - 1, u64::MAX];
    prop_oneof![prop::sample::select(&LIMITS[..]), 0..20_u64, any::<u64>()]
}

/// A line of ascending keys, padded as a block is, and a key to search.
fn sorted_line() -> impl Strategy<Value = ([u64; LINE_WORDS], u64)> {
    (prop::collection::vec(word(), 0..=LINE_WORDS), word(), any::<prop::sample::Index>()).prop_map(
        |(mut keys, other, index)| {
            keys.resize(LINE_WORDS, u64::MAX);
            keys.sort_unstable();
            // Half of the searches are for a key of the line.
            let key = if other.is_multiple_of(2) { other } else { *index.get(&keys) };
            (keys.try_into().expect("the length was set"), key)
        },
    )
}

fn compare_sorted(line: [u64; LINE_WORDS], key: u64) {
    let keys = words_of(line);
    let below = line.iter().filter(|other| **other < key).count();
    assert_eq!(lower_bound(&keys, key), below.min(LINE_WORDS - 1));
    if line[0] <= key {
        let not_above = line.iter().filter(|other| **other <= key).count();
        assert_eq!(last_not_above(&keys, key), not_above - 1);
    }
    // All runs of separators in the line, as in nodes of all sizes.
    for separators in line.windows(SEPARATORS) {
        let not_above = separators.iter().filter(|other| **other <= key).count();
        let separators: [u64; SEPARATORS] = separators.try_into().expect("windows have this length");
        assert_eq!(count_not_above(&words_of(separators), key), not_above);
    }
}

proptest! {
    #[test]
    fn searches_of_ascending_words_agree((line, key) in sorted_line()) {
        with_each_search(|| compare_sorted(line, key));
    }

    /// Torn words are in any order.
    #[test]
    fn searches_of_any_words_stay_in_range(line in prop::array::uniform8(word()), key in word()) {
        let keys = words_of(line);
        let separators: &[Word; SEPARATORS] = keys.first_chunk().expect("a line is longer");
        with_each_search(|| {
            assert!(lower_bound(&keys, key) < LINE_WORDS);
            assert!(last_not_above(&keys, key) < LINE_WORDS);
            assert!(count_not_above(separators, key) <= SEPARATORS);
        });
    }
}

#[test]
fn limits_and_repeated_words_are_found() {
    let max = u64::MAX;
    let lines = [
        [max; LINE_WORDS],
        [0; LINE_WORDS],
        [0, max, max, max, max, max, max, max],
        [0, 0, 0, 0, max, max, max, max],
        [0, 1, 2, 3, 4, 5, 6, 7],
        [5, 5, 5, 5, 5, 5, 5, 5],
        [1, 2, 1 << 62, 1 << 63, (1 << 63) + 1, max - 1, max, max],
    ];
    with_each_search(|| {
        for line in lines {
            for key in line.into_iter().flat_map(|key| [key.saturating_sub(1), key, key.saturating_add(1)]) {
                compare_sorted(line, key);
            }
        }
    });
}

/// The words beside the separators do not count, whatever they are.
#[test]
fn neighbours_of_separators_are_ignored() {
    with_each_search(|| {
        for neighbour in [0, 7, u64::MAX] {
            let mut line = [neighbour; 2 * LINE_WORDS];
            let separators = [1, 3, 5, 7, 9, 11];
            for start in 0..=line.len() - SEPARATORS {
                line.fill(neighbour);
                line[start..start + SEPARATORS].copy_from_slice(&separators);
                let line = words_of(line);
                for key in 0..13 {
                    let separators = line[start..].first_chunk().expect("the rest is long enough");
                    assert_eq!(count_not_above(separators, key), key.div_ceil(2) as usize);
                }
            }
        }
    });
}

/// The words before the separators are not even read: they may belong to another object.
#[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
#[test]
fn words_before_the_separators_are_not_read() {
    use core::ffi::{c_int, c_void};
    const PAGE: usize = 4096;
    const READ_WRITE: c_int = 3;
    const PRIVATE_ANONYMOUS: c_int = 0x22;
    // SAFETY: the declarations are those of the C library on 64-bit Linux.
    unsafe extern "C" {
        fn mmap(
            at: *mut c_void,
            length: usize,
            access: c_int,
            flags: c_int,
            file: c_int,
            from: i64,
        ) -> *mut c_void;
        fn mprotect(at: *mut c_void, length: usize, access: c_int) -> c_int;
        fn munmap(at: *mut c_void, length: usize) -> c_int;
    }
    // SAFETY: two fresh pages, of which the first can be accessed no more.
    let pages = unsafe { mmap(core::ptr::null_mut(), 2 * PAGE, READ_WRITE, PRIVATE_ANONYMOUS, -1, 0) };
    assert_ne!(pages.addr(), usize::MAX, "two pages can be mapped");
    // SAFETY: the first of the two pages.
    assert_eq!(unsafe { mprotect(pages, PAGE, 0) }, 0);
    // SAFETY: the second page has zeros, which are valid words, and stays until the searches end.
    let separators: &[Word; SEPARATORS] = unsafe { &*pages.byte_add(PAGE).cast() };
    with_each_search(|| assert_eq!(count_not_above(separators, 0), SEPARATORS));
    // SAFETY: nothing refers to the pages any more.
    assert_eq!(unsafe { munmap(pages, 2 * PAGE) }, 0);
}

/// Nodes work alike on processors with and without vectors.
#[test]
fn nodes_do_not_depend_on_the_processor() {
    fn check<L: Layout<Keys = crate::Words>>() {
        let mut chain = Chain::<L>::new(0);
        for number in 0..1000_u64 {
            let key = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            chain.write(key, number, WriteMode::Insert);
            chain.write(number, key, WriteMode::Upsert);
        }
        chain.write(u64::MAX, 1, WriteMode::Insert);
        chain.check();
        let node = L::new(0, 0);
        assert_eq!(node.remove(0, &token()), crate::node::RemoveResult::Missing);
    }
    with_each_search(|| {
        check::<HintedNode<{ words(512) }>>();
        check::<HintedNode<{ words(1024) }>>();
        check::<HintedNode<{ words(2048) }>>();
        check::<HintedNode<{ words(4096) }>>();
    });
}

/// Vectors are used where the processor has them, and only unless the portable searches are forced.
#[cfg(target_arch = "x86_64")]
#[test]
fn vectors_are_used_where_they_are() {
    let is_hidden = cfg!(any(miri, sanitizer = "address", sanitizer = "thread"));
    let is_there = std::arch::is_x86_feature_detected!("avx512f") && !is_hidden;
    with_each_search(|| {
        assert_eq!(avx512::Avx512::get().is_some(), is_there && !is_portable_forced());
    });
}
