//! Tests of the arithmetic of segments. No memory is touched.

use super::*;
use crate::object::{Plain, RuntimeTag};

type Small = Segments<Plain<u64>>;

/// Segments at made-up addresses, which are far apart.
fn segments<C>(first_len: usize, workers: usize, len: usize) -> Segments<C> {
    let parameters = Parameters {
        first_len,
        workers,
        primitive: Primitive::Sequencing,
        frequency: Frequency::Normal,
        is_kept_on_panic: false,
        free_word: FreeWord::of(&RuntimeTag::new().unwrap()),
    };
    let segments = Segments::new(cells(0), parameters);
    while let Some((number, elements)) = segments.next_missing(len) {
        assert_eq!(elements, segments.unit() << number);
        segments.add(number, cells(1 + number));
    }
    segments
}

fn cells<C>(number: usize) -> NonNull<Cell<C>> {
    NonNull::new(core::ptr::without_provenance_mut((1 + number) << 40)).unwrap()
}

/// Publishes elements that no test touches. They need no drop.
fn publish(segments: &Small, len: usize) {
    segments.set_len(len);
}

#[test]
fn indices_and_addresses_correspond() {
    for (first_len, workers) in [(0, 1), (1, 3), (1000, 4), (1024, 2), (1025, 7), (1 << 20, 256)] {
        let len = 5 * first_len + 100_000;
        let segments: Small = segments(first_len, workers, len);
        publish(&segments, len);
        let mut before = None;
        for index in (0..len).step_by(if cfg!(miri) { 9973 } else { 1 }) {
            let reference = segments.reserved(index);
            assert_eq!(reference, segments.reference(index));
            assert_eq!(reference.primitive(), Primitive::Sequencing);
            assert_eq!(segments.index_of(reference.address()), Some(index));
            assert!(before < Some(reference.address()), "made-up segments are in order");
            before = Some(reference.address());
        }
        let beyond = segments.reserved(len - 1).address() + Small::STRIDE as u64;
        assert_eq!((segments.index_of(beyond), segments.index_of(0)), (None, None));
    }
}

#[test]
fn each_segment_behind_the_first_is_twice_as_large() {
    let segments: Small = segments(1500, 1, 50_000);
    let lens: Vec<_> = (0..5).map(|number| segments.later_segment(number).len).collect();
    assert_eq!(lens, [2048, 4096, 8192, 16384, 32768]);
    assert_eq!(segments.next_missing(50_000), None);
    assert_eq!(segments.next_missing(1500 + 31 * 2048), None);
    assert_eq!(segments.next_missing(1500 + 31 * 2048 + 1), Some((5, 65536)));
}

/// Adds as many segments as fit into 48-bit addresses.
fn fill_table<T: Send + 'static>(first_len: usize) {
    let segments: Segments<Plain<T>> = segments(first_len, 1, first_len);
    while let Some((number, elements)) = segments.next_missing(usize::MAX) {
        let bytes = elements.checked_mul(Segments::<Plain<T>>::STRIDE);
        if bytes.is_none_or(|bytes| bytes >> HOME_SHIFT != 0) {
            return;
        }
        // There is no such memory, so the first address will do.
        segments.add(number, NonNull::dangling());
    }
}

#[test]
fn the_table_has_room_for_all_segments_that_fit_into_memory() {
    for first_len in [0, 1, 1 << 20] {
        fill_table::<u64>(first_len);
        // A few cells of this size are a little less than the least segment.
        fill_table::<[u8; 8128 - 16]>(first_len);
        fill_table::<[u8; 1 << 20]>(first_len);
    }
}

#[test]
fn blocks_have_one_home_and_cover_all_elements() {
    for (first_len, workers) in [(0, 1), (1, 3), (5, 16), (1000, 4), (1023, 7), (1 << 20, 256)] {
        let len = 3 * first_len + 300_000;
        let segments: Small = segments(first_len, workers, len);
        let home = |index| segments.reserved(index).home();
        let mut blocks = vec![0; workers];
        let mut begin = 0;
        while begin < len {
            let end = segments.block_end(begin);
            assert!(begin < end && home(begin) == home(end - 1), "{begin}..{end}");
            // Two neighbours have one home only with one worker, or at the end of a segment.
            let joins = end < len && home(end) == home(begin);
            assert!(!joins || workers == 1 || segments.locate(end).1 == 0, "{begin}..{end}");
            blocks[home(begin)] += end - begin;
            begin = end;
        }
        assert!(blocks.iter().all(|&block| block != 0 || workers > first_len), "{blocks:?}");
    }
}

#[test]
fn workers_take_turns_in_large_segments() {
    let (workers, first_len) = (3, 1 << 20);
    let segments: Small = segments(first_len, workers, first_len + 1);
    // Three blocks of two thirds of 2^17 lines, again and again.
    let cycle = segments.later_segment(0).cycle;
    assert_eq!(cycle, 4 * HUGE_PAGE / 64);
    for index in [first_len, first_len + cycle, first_len + 7 * cycle] {
        let homes = [0, cycle / 2, cycle - 1].map(|offset| segments.reserved(index + offset).home());
        assert_eq!(homes, [0, 1, 2]);
    }
}

#[test]
fn what_links_are_computed_from_is_in_one_line() {
    let end = core::mem::offset_of!(Small, len) + size_of::<AtomicUsize>();
    assert!(end <= 64 && align_of::<Small>() == 64);
}
