//! Rows that fit into the first cache, column by column.

use crate::text::Texts;
use crate::value::Kind;
use std::ops::Range;

/// Where a slice is in memory.
pub(crate) fn addresses<T>(slice: &[T]) -> Range<usize> {
    let Range { start, end } = slice.as_ptr_range();
    start.addr()..end.addr()
}

/// Bits, one for each row of a chunk.
#[derive(Clone, Debug)]
pub(crate) struct Bits(Box<[u64]>);

impl Bits {
    /// How many of them are in a block.
    pub const BLOCK: usize = u64::BITS as usize;

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

    /// So many of them at once, the first in the lowest bit.
    #[inline(always)]
    pub fn block(&self, block: usize) -> u64 {
        self.0[block]
    }

    /// The first that is not set, if any word has one.
    fn first_unset(&self) -> Option<usize> {
        let word = self.0.iter().position(|&word| word != u64::MAX)?;
        Some(word * 64 + self.0[word].trailing_ones() as usize)
    }

    /// Where they are in memory.
    fn addresses(&self) -> Range<usize> {
        addresses(&self.0)
    }

    /// Calls `each` for every bit that is set.
    pub fn for_each(&self, each: impl FnMut(usize)) {
        self.for_each_of_both(self, each);
    }

    /// Calls `each` for every bit that is set in both.
    #[inline(always)]
    pub fn for_each_of_both(&self, other: &Self, mut each: impl FnMut(usize)) {
        for (index, (word, other)) in self.0.iter().zip(&other.0).enumerate() {
            let mut left = word & other;
            while left != 0 {
                each(index * 64 + left.trailing_zeros() as usize);
                left &= left - 1;
            }
        }
    }
}

/// What a row has in a column: a word, unless it is null, and the text that it stands for, if the column has texts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cell<'a> {
    pub word: Option<u64>,
    pub text: &'a str,
}

/// A column of a chunk, as Arrow has it: words, and bits that say which of them are values.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    words: Box<[u64]>,
    pub valid: Bits,
    texts: Option<Box<Texts>>,
}

impl Column {
    fn new(kind: Kind, rows: usize) -> Self {
        Self {
            words: vec![0; rows].into(),
            valid: Bits::new(rows),
            texts: (kind == Kind::Prefix).then(|| Box::new(Texts::new(rows))),
        }
    }

    #[inline(always)]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The word of a row, if it has a value.
    #[inline(always)]
    pub fn get(&self, row: usize) -> Option<u64> {
        self.valid.get(row).then(|| self.words()[row])
    }

    /// The text of a row; an empty one if it is null, or the column has no texts.
    pub fn text(&self, row: usize) -> &str {
        self.texts.as_ref().map_or("", |texts| texts.get(row))
    }

    pub fn set(&mut self, row: usize, cell: Cell) {
        self.valid.set(row, cell.word.is_some());
        // A null is a zero, so that equal columns have equal words.
        self.words[row] = cell.word.unwrap_or(0);
        if let Some(texts) = &mut self.texts {
            texts.set(row, cell.text);
        }
    }

    /// Where its parts are in memory.
    fn addresses(&self) -> impl Iterator<Item = Range<usize>> {
        let texts = self.texts.iter().flat_map(|texts| texts.addresses());
        [addresses(&self.words), self.valid.addresses()].into_iter().chain(texts)
    }

    /// Forgets what a row has beside its word.
    fn forget(&mut self, row: usize) {
        if let Some(texts) = &mut self.texts {
            texts.set(row, "");
        }
    }
}

/// See the module's documentation. Its rows are numbered by 16 bits.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    pub columns: Box<[Column]>,
    /// Rows that are there.
    pub live: Bits,
    /// How many these are, and how many there can be.
    len: usize,
    most: usize,
}

impl Chunk {
    /// An empty one for so many rows at most, of columns of these kinds.
    pub fn new(kinds: &[Kind], rows: usize) -> Self {
        assert!(rows <= MOST, "rows are numbered by 16 bits");
        let columns = kinds.iter().map(|&kind| Column::new(kind, rows)).collect();
        Self { columns, live: Bits::new(rows), len: 0, most: rows }
    }

    /// How many rows are there.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn is_full(&self) -> bool {
        self.len == self.most
    }

    /// Puts a row where none is; returns where. There is room.
    pub fn push<'a>(&mut self, cells: impl IntoIterator<Item = Cell<'a>>) -> usize {
        let row = self.live.first_unset().filter(|&row| row < self.most).expect("there is room");
        self.len += 1;
        self.live.set(row, true);
        self.columns.iter_mut().zip(cells).for_each(|(column, cell)| column.set(row, cell));
        row
    }

    /// Where its parts are in memory.
    pub fn addresses(&self) -> impl Iterator<Item = Range<usize>> {
        self.columns.iter().flat_map(Column::addresses).chain([self.live.addresses()])
    }

    /// Removes a row that is there.
    pub fn remove(&mut self, row: usize) {
        debug_assert!(self.live.get(row));
        self.len -= 1;
        self.live.set(row, false);
        self.columns.iter_mut().for_each(|column| column.forget(row));
    }
}

/// A chunk has no more rows than that.
const MOST: usize = 1 << 16;

/// Whether a table can have chunks of so many rows.
pub(crate) fn rows_possible(rows: usize) -> bool {
    (Bits::BLOCK..=MOST).contains(&rows) && rows.is_multiple_of(Bits::BLOCK)
}

/// Rows of a chunk of which a column takes half of a cache of so many bytes, or as nearly as can be.
pub(crate) fn rows_for(cache: u64) -> usize {
    let rows = cache / 2 / size_of::<u64>() as u64;
    let rows = usize::try_from(rows).unwrap_or(MOST).clamp(Bits::BLOCK, MOST);
    rows - rows % Bits::BLOCK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_takes_half_of_a_cache() {
        for (cache, rows) in
            [(0, 64), (1 << 10, 64), (1100, 64), (32 << 10, 2048), (48 << 10, 3072), (50_000, 3072)]
        {
            assert_eq!(rows_for(cache), rows);
        }
        assert_eq!([1 << 20, 1 << 21, u64::MAX].map(rows_for), [MOST; 3]);
        assert_eq!([0, 63, 100, MOST + 64].map(rows_possible), [false; 4]);
        assert!((0..3_000_000).step_by(777).map(rows_for).all(rows_possible));
    }

    #[test]
    fn rows_come_and_go() {
        let mut chunk = Chunk::new(&[Kind::Unsigned, Kind::Unsigned, Kind::Prefix], 100);
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
        chunk.live.for_each_of_both(&chunk.columns[1].valid, |row| both.push(row));
        assert!(both.iter().copied().eq((3..100).step_by(6)));
        assert_eq!((chunk.columns[2].text(40), chunk.columns[2].text(41)), ("", "41"));
        let new = |word| [cell(Some(word)), cell(None)];
        assert_eq!([chunk.push(new(1)), chunk.push(new(2))], [0, 2]);
        chunk.columns[0].set(99, cell(None));
        assert_eq!((chunk.columns[0].get(99), chunk.columns[0].words()[99]), (None, 0));
    }
}
