//! Hashes: pairs of field and value in one buffer when small, a hash table when large.

use crate::value::limits::CompactLimits;
use crate::value::memory::{ROUNDING, sampled, table_bytes};
use crate::value::packed::PackedList;
use crate::value::table::{IndexedTable, scan_range};

/// A map from fields to values.
#[derive(Clone, Debug, Default)]
pub struct Hash {
    repr: Repr,
}

#[derive(Clone, Debug)]
enum Repr {
    /// A field, then its value, then the next field.
    Packed(PackedList),
    Table(Pairs),
}

/// Pairs in a hash table.
#[derive(Clone, Debug, Default)]
struct Pairs {
    table: IndexedTable<Box<[u8]>, Box<[u8]>>,
    /// The bytes of all fields and values.
    bytes: usize,
}

impl Default for Repr {
    fn default() -> Self {
        Self::Packed(PackedList::new())
    }
}

impl Hash {
    /// Makes an empty hash.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of fields.
    pub fn len(&self) -> usize {
        match &self.repr {
            Repr::Packed(pairs) => pairs.len() / 2,
            Repr::Table(pairs) => pairs.table.len(),
        }
    }

    /// Returns true if there is no field.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of pairs that are freed one by one.
    pub(super) fn pieces(&self) -> usize {
        match &self.repr {
            Repr::Packed(_) => 1,
            Repr::Table(pairs) => pairs.table.len(),
        }
    }

    /// Frees the hash, a pair at a time.
    pub(super) fn into_pieces(self) -> impl Iterator<Item = ()> + Send {
        let table = match self.repr {
            Repr::Packed(_) => IndexedTable::default(),
            Repr::Table(pairs) => pairs.table,
        };
        table.into_iter().map(drop)
    }

    /// Returns about how many bytes it points to, from so many samples.
    pub(super) fn memory(&self, samples: usize) -> usize {
        match &self.repr {
            Repr::Packed(pairs) => pairs.memory(),
            Repr::Table(Pairs { table, .. }) => {
                let pairs = table.iter().map(|(field, value)| field.len() + value.len());
                table_bytes::<(Box<[u8]>, Box<[u8]>)>(table.capacity()) + sampled(pairs, samples)
            }
        }
    }

    /// Returns how many bytes it points to.
    pub(super) fn bytes(&self) -> usize {
        match &self.repr {
            Repr::Packed(pairs) => pairs.memory(),
            Repr::Table(pairs) => {
                let slots = table_bytes::<(Box<[u8]>, Box<[u8]>)>(pairs.table.capacity());
                slots + pairs.bytes + 2 * ROUNDING * pairs.table.len()
            }
        }
    }

    /// Checks the count of bytes against what is there.
    #[cfg(test)]
    pub(super) fn check_bytes(&self) {
        if let Repr::Table(pairs) = &self.repr {
            let sizes = pairs.table.iter().map(|(field, value)| field.len() + value.len());
            assert_eq!(pairs.bytes, sizes.sum::<usize>());
        }
    }

    /// Returns the encoding as `OBJECT ENCODING` names it.
    pub const fn encoding(&self) -> &'static str {
        match &self.repr {
            Repr::Packed(_) => "listpack",
            Repr::Table(_) => "hashtable",
        }
    }

    /// Returns the value of a field.
    pub fn get(&self, field: &[u8]) -> Option<&[u8]> {
        match &self.repr {
            Repr::Packed(pairs) => pairs.get(find(pairs, field)? + 1),
            Repr::Table(pairs) => pairs.table.get(field).map(AsRef::as_ref),
        }
    }

    /// Returns true if there is such a field.
    pub fn contains(&self, field: &[u8]) -> bool {
        self.get(field).is_some()
    }

    /// Sets the value of a field. Returns true if the field is new.
    pub fn set(&mut self, field: &[u8], value: &[u8], limits: &CompactLimits) -> bool {
        if let Repr::Packed(pairs) = &mut self.repr {
            let most = limits.hash_max_listpack_value;
            if field.len() <= most && value.len() <= most {
                let is_new = set_packed(pairs, field, value);
                if pairs.len() / 2 > limits.hash_max_listpack_entries {
                    self.table();
                }
                return is_new;
            }
        }
        self.table().insert(field.into(), value.into())
    }

    /// Removes a field. Returns false if it was not there.
    pub fn remove(&mut self, field: &[u8]) -> bool {
        match &mut self.repr {
            Repr::Packed(pairs) => {
                let found = find(pairs, field);
                found.inspect(|&index| pairs.remove(index, 2)).is_some()
            }
            Repr::Table(pairs) => pairs.remove(field),
        }
    }

    /// Returns the field and value at an index below the length.
    pub fn get_index(&self, index: usize) -> Option<(&[u8], &[u8])> {
        match &self.repr {
            Repr::Packed(pairs) => {
                let mut pair = pairs.iter_from(2 * index);
                Some((pair.next()?, pair.next()?))
            }
            Repr::Table(Pairs { table, .. }) => {
                table.get_index(index).map(|(field, value)| (field.as_ref(), value.as_ref()))
            }
        }
    }

    /// Iterates over fields and values.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let (pairs, table) = match &self.repr {
            Repr::Packed(pairs) => (Some(pairs), None),
            Repr::Table(pairs) => (None, Some(&pairs.table)),
        };
        let pairs = pairs.into_iter().flat_map(|pairs| {
            let mut entries = pairs.iter();
            std::iter::from_fn(move || Some((entries.next()?, entries.next()?)))
        });
        pairs.chain(table.into_iter().flatten().map(|(field, value)| (field.as_ref(), value.as_ref())))
    }

    /// Visits about `count` fields from a cursor on, 0 at first, and returns the next cursor, 0 at
    /// the end. A compact hash is visited at once.
    pub fn scan<'a>(&'a self, cursor: u64, count: usize, mut visit: impl FnMut(&'a [u8], &'a [u8])) -> u64 {
        match &self.repr {
            Repr::Packed(_) => {
                self.iter().for_each(|(field, value)| visit(field, value));
                0
            }
            Repr::Table(Pairs { table, .. }) => {
                let range = scan_range(table.len(), cursor, count);
                for (field, value) in table[range.clone()].iter().rev() {
                    visit(field, value);
                }
                range.start as u64
            }
        }
    }

    /// Converts to a hash table, if it is none.
    fn table(&mut self) -> &mut Pairs {
        if let Repr::Packed(_) = &self.repr {
            let mut pairs = Pairs::default();
            self.iter().for_each(|(field, value)| _ = pairs.insert(field.into(), value.into()));
            self.repr = Repr::Table(pairs);
        }
        match &mut self.repr {
            Repr::Table(pairs) => pairs,
            Repr::Packed(_) => unreachable!("it was converted"),
        }
    }
}

impl Pairs {
    /// Sets the value of a field. Returns true if the field is new.
    fn insert(&mut self, field: Box<[u8]>, value: Box<[u8]>) -> bool {
        let (field_len, value_len) = (field.len(), value.len());
        let old = self.table.insert(field, value);
        self.bytes += value_len;
        match &old {
            Some(old) => self.bytes -= old.len(),
            None => self.bytes += field_len,
        }
        old.is_none()
    }

    fn remove(&mut self, field: &[u8]) -> bool {
        let old = self.table.swap_remove(field);
        old.inspect(|old| self.bytes -= field.len() + old.len()).is_some()
    }
}

/// Returns the index of a field's entry.
fn find(pairs: &PackedList, field: &[u8]) -> Option<usize> {
    pairs.iter().step_by(2).position(|other| other == field).map(|pair| 2 * pair)
}

/// Sets the value of a field of a compact hash. Returns true if the field is new.
fn set_packed(pairs: &mut PackedList, field: &[u8], value: &[u8]) -> bool {
    match find(pairs, field) {
        Some(index) => pairs.replace(index + 1, value),
        None => {
            pairs.push_back(field);
            pairs.push_back(value);
            return true;
        }
    }
    false
}
