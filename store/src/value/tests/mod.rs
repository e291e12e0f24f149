//! Each data structure beside a model that is too simple to be wrong.

mod counted_tree;
mod hash;
mod list;
mod packed;
mod set;
mod sorted_set;
mod stream;

use proptest::prelude::*;

use super::CompactLimits;

/// Small limits, so that all encodings and many chunks are met.
fn limits() -> CompactLimits {
    CompactLimits {
        list_max_listpack_size: 4,
        hash_max_listpack_entries: 6,
        hash_max_listpack_value: 8,
        set_max_intset_entries: 5,
        set_max_listpack_entries: 7,
        set_max_listpack_value: 8,
        zset_max_listpack_entries: 6,
        zset_max_listpack_value: 8,
        stream_node_max_bytes: 400,
        stream_node_max_entries: 5,
    }
}

/// Few words, so that they meet again; some longer than the limits.
fn word() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => (0u8..24).prop_map(|word| format!("w{word}").into_bytes()),
        8 => (-9i64..9).prop_map(|word| word.to_string().into_bytes()),
        1 => any::<i64>().prop_map(|word| word.to_string().into_bytes()),
        1 => proptest::collection::vec(any::<u8>(), 0..300),
    ]
}
