//! Rows that fit into the L1 cache, column by column.

use crate::text::ChunkTexts;
use crate::value::WordKind;
use std::ops::Range;

/// Returns the addresses that a slice occupies.
pub(crate) fn addresses<T>(slice: &[T]) -> Range<usize> {
    let Range { start, end } = slice.as_ptr_range();
    start.addr()..end.addr()
}

/// A bitmap with a bit for each row of a chunk.
#[derive(Clone, Debug)]
pub(crate) struct Bitmap(Box<[u64]>);

impl Bitmap {
    /// Number of bits in a block.
    pub const BLOCK_BITS: usize = u64::BITS as usize;

    pub fn new(rows: usize) -> Self {
        Self(vec![0; rows.div_ceil(64)].into())
    }

    #[inline(always)]
    pub fn get(&self, row: usize) -> bool {
        self.0[row / 64] >> (row % 64) & 1 != 0
    }

    #[inline(always)]
    pub fn set(&mut self, row: usize, bit: bool) {
        let word = &mut self.0[row / 64];
        *word = *word & !(1 << (row % 64)) | u64::from(bit) << (row % 64);
    }

    /// Returns a block of bits, the first in the lowest position.
    #[inline(always)]
    pub fn block(&self, block: usize) -> u64 {
        self.0[block]
    }

    /// Returns the first clear bit, which may lie behind the last row.
    fn first_unset(&self) -> Option<usize> {
        let word = self.0.iter().position(|&word| word != u64::MAX)?;
        Some(word * 64 + self.0[word].trailing_ones() as usize)
    }

    fn addresses(&self) -> Range<usize> {
        addresses(&self.0)
    }

    /// Calls `each` for every set bit.
    pub fn for_each(&self, each: impl FnMut(usize)) {
        self.for_each_in_both(self, each);
    }

    /// Calls `each` for every bit that is set in both bitmaps.
    #[inline(always)]
    pub fn for_each_in_both(&self, other: &Self, mut each: impl FnMut(usize)) {
        for (index, (word, other)) in self.0.iter().zip(&other.0).enumerate() {
            let mut left = word & other;
            while left != 0 {
                each(index * 64 + left.trailing_zeros() as usize);
                left &= left - 1;
            }
        }
    }
}

/// The value of a row in a column: its word, or none if it is null, and its text, if the column has
/// texts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cell<'a> {
    pub word: Option<u64>,
    pub text: &'a str,
}

/// A column of a chunk: words, and a bitmap of those that are not null, as in Arrow.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    words: Box<[u64]>,
    pub valid: Bitmap,
    texts: Option<Box<ChunkTexts>>,
}

impl Column {
    fn new(kind: WordKind, rows: usize) -> Self {
        Self {
            words: vec![0; rows].into(),
            valid: Bitmap::new(rows),
            texts: (kind == WordKind::Prefix).then(|| Box::new(ChunkTexts::new(rows))),
        }
    }

    #[inline(always)]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns the word of a row, or `None` if it is null.
    #[inline(always)]
    pub fn get(&self, row: usize) -> Option<u64> {
        self.valid.get(row).then(|| self.words()[row])
    }

    /// Returns the text of a row; an empty text if the row is null or the column has no texts.
    pub fn text(&self, row: usize) -> &str {
        self.texts.as_ref().map_or("", |texts| texts.get(row))
    }

    pub fn set(&mut self, row: usize, cell: Cell) {
        self.valid.set(row, cell.word.is_some());
        // A null is stored as 0, so that equal columns have equal words.
        self.words[row] = cell.word.unwrap_or(0);
        if let Some(texts) = &mut self.texts {
            texts.set(row, cell.text);
        }
    }

    /// Returns the addresses of the column's allocations.
    fn addresses(&self) -> impl Iterator<Item = Range<usize>> {
        let texts = self.texts.iter().flat_map(|texts| texts.addresses());
        [addresses(&self.words), self.valid.addresses()].into_iter().chain(texts)
    }

    /// Drops a row's text. Its word and validity stay; the row is no longer live.
    fn clear_text(&mut self, row: usize) {
        if let Some(texts) = &mut self.texts {
            texts.set(row, "");
        }
    }
}

/// A chunk of rows. Row numbers have 16 bits.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    pub columns: Box<[Column]>,
    /// The rows that exist; the others are free.
    pub live: Bitmap,
    len: usize,
    capacity: usize,
}

impl Chunk {
    /// Creates an empty chunk with columns of these kinds and room for `rows` rows.
    pub fn new(kinds: &[WordKind], rows: usize) -> Self {
        assert!(rows <= MAX_CHUNK_ROWS, "{rows} rows exceed the 16 bits of row numbers");
        let columns = kinds.iter().map(|&kind| Column::new(kind, rows)).collect();
        Self { columns, live: Bitmap::new(rows), len: 0, capacity: rows }
    }

    /// Returns the number of live rows.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn is_full(&self) -> bool {
        self.len == self.capacity
    }

    /// Stores a row in the first free position and returns that position. The caller checks that
    /// the chunk is not full.
    pub fn push<'a>(&mut self, cells: impl IntoIterator<Item = Cell<'a>>) -> usize {
        let row = self
            .live
            .first_unset()
            .filter(|&row| row < self.capacity)
            .expect("callers check that the chunk is not full");
        self.len += 1;
        self.live.set(row, true);
        self.columns.iter_mut().zip(cells).for_each(|(column, cell)| column.set(row, cell));
        row
    }

    /// Returns the addresses of the chunk's allocations.
    pub fn addresses(&self) -> impl Iterator<Item = Range<usize>> {
        self.columns.iter().flat_map(Column::addresses).chain([self.live.addresses()])
    }

    /// Removes a live row.
    pub fn remove(&mut self, row: usize) {
        debug_assert!(self.live.get(row));
        self.len -= 1;
        self.live.set(row, false);
        self.columns.iter_mut().for_each(|column| column.clear_text(row));
    }
}

/// The largest chunk: row numbers have 16 bits.
const MAX_CHUNK_ROWS: usize = 1 << 16;

/// Returns true if chunks may have this number of rows.
pub(crate) fn is_valid_chunk_rows(rows: usize) -> bool {
    (Bitmap::BLOCK_BITS..=MAX_CHUNK_ROWS).contains(&rows) && rows.is_multiple_of(Bitmap::BLOCK_BITS)
}

/// Returns the rows of a chunk whose columns take half of an L1 cache each, as closely as whole
/// blocks allow.
pub(crate) fn chunk_rows_for(l1_cache_bytes: u64) -> usize {
    let rows = l1_cache_bytes / 2 / size_of::<u64>() as u64;
    let rows = usize::try_from(rows).unwrap_or(MAX_CHUNK_ROWS).clamp(Bitmap::BLOCK_BITS, MAX_CHUNK_ROWS);
    rows - rows % Bitmap::BLOCK_BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_takes_half_of_the_cache() {
        for (cache, rows) in
            [(0, 64), (1 << 10, 64), (1100, 64), (32 << 10, 2048), (48 << 10, 3072), (50_000, 3072)]
        {
            assert_eq!(chunk_rows_for(cache), rows);
        }
        assert_eq!([1 << 20, 1 << 21, u64::MAX].map(chunk_rows_for), [MAX_CHUNK_ROWS; 3]);
        assert_eq!([0, 63, 100, MAX_CHUNK_ROWS + 64].map(is_valid_chunk_rows), [false; 4]);
        assert!((0..3_000_000).step_by(777).map(chunk_rows_for).all(is_valid_chunk_rows));
    }

    #[test]
    fn free_rows_are_reused() {
        let mut chunk = Chunk::new(&[WordKind::Unsigned, WordKind::Unsigned, WordKind::Prefix], 100);
        let cell = |word| Cell { word, text: "" };
        for row in 0..100u64 {
            assert!(!chunk.is_full());
            let cells = [cell(Some(row)), cell(row.is_multiple_of(3).then_some(7))];
            let text = Cell { word: Some(1), text: &row.to_string() };
            assert_eq!(chunk.push(cells.into_iter().chain([text])), row as usize);
        }
        assert!(chunk.is_full());
        assert_eq!((chunk.columns[0].get(64), chunk.columns[1].get(64)), (Some(64), None));
        (0..100).step_by(2).for_each(|row| chunk.remove(row));
        let mut both = Vec::new();
        chunk.live.for_each_in_both(&chunk.columns[1].valid, |row| both.push(row));
        assert!(both.iter().copied().eq((3..100).step_by(6)));
        assert_eq!((chunk.columns[2].text(40), chunk.columns[2].text(41)), ("", "41"));
        let new = |word| [cell(Some(word)), cell(None)];
        assert_eq!([chunk.push(new(1)), chunk.push(new(2))], [0, 2]);
        chunk.columns[0].set(99, cell(None));
        assert_eq!((chunk.columns[0].get(99), chunk.columns[0].words()[99]), (None, 0));
    }
}
