//! The sizes up to which values keep their compact encodings, named as Redis' settings.

/// Sizes up to which values are compact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactLimits {
    /// `list-max-listpack-size`: entries of a chunk, or -1 to -5 for 4 KiB to 64 KiB.
    pub list_max_listpack_size: i32,
    /// `hash-max-listpack-entries`: fields of a compact hash.
    pub hash_max_listpack_entries: usize,
    /// `hash-max-listpack-value`: bytes of a field or value of a compact hash.
    pub hash_max_listpack_value: usize,
    /// `set-max-intset-entries`: members of a set of integers.
    pub set_max_intset_entries: usize,
    /// `set-max-listpack-entries`: members of a compact set.
    pub set_max_listpack_entries: usize,
    /// `set-max-listpack-value`: bytes of a member of a compact set.
    pub set_max_listpack_value: usize,
    /// `zset-max-listpack-entries`: members of a compact sorted set.
    pub zset_max_listpack_entries: usize,
    /// `zset-max-listpack-value`: bytes of a member of a compact sorted set.
    pub zset_max_listpack_value: usize,
    /// `stream-node-max-bytes`: bytes of a block of a stream; 0 for any number.
    pub stream_node_max_bytes: usize,
    /// `stream-node-max-entries`: entries of a block of a stream; 0 for any number.
    pub stream_node_max_entries: usize,
}

impl Default for CompactLimits {
    fn default() -> Self {
        Self {
            list_max_listpack_size: -2,
            hash_max_listpack_entries: 512,
            hash_max_listpack_value: 64,
            set_max_intset_entries: 512,
            set_max_listpack_entries: 128,
            set_max_listpack_value: 64,
            zset_max_listpack_entries: 128,
            zset_max_listpack_value: 64,
            stream_node_max_bytes: 4096,
            stream_node_max_entries: 100,
        }
    }
}

/// Bytes that a chunk limited by its number of entries may have at most.
const SAFE_CHUNK_BYTES: usize = 8192;

impl CompactLimits {
    /// Returns true if a chunk of a list may have so many bytes and entries.
    pub(crate) fn chunk_fits(&self, bytes: usize, entries: usize) -> bool {
        match self.list_max_listpack_size {
            count @ 0.. => bytes <= SAFE_CHUNK_BYTES && entries <= (count.max(1)) as usize,
            size => bytes <= 4096 << (-1 - size.max(-5)),
        }
    }

    /// Returns true if a list of one chunk with so many bytes and entries is compact again. Half
    /// the limit, so that a list at the limit does not convert back and forth.
    pub(crate) fn shrunk_list_fits(&self, bytes: usize, entries: usize) -> bool {
        self.chunk_fits(bytes * 2, entries * 2)
    }
}
