//! Sets: sorted integers, or members in one buffer, when small; a hash table when large.

use std::borrow::Cow;

use crate::resp::parse_integer;
use crate::value::intset::IntSet;
use crate::value::limits::CompactLimits;
use crate::value::memory::{ROUNDING, sampled, table_bytes};
use crate::value::packed::PackedList;
use crate::value::pieces::Removed;
use crate::value::table::{Members, scan_range};

/// A set of byte strings.
#[derive(Clone, Debug)]
pub struct Set {
    repr: Repr,
}

#[derive(Clone, Debug)]
enum Repr {
    Integers(IntSet),
    Packed(PackedList),
    Table(MemberTable),
}

/// Members in a hash table.
#[derive(Clone, Debug, Default)]
struct MemberTable {
    members: Members,
    /// The bytes of all members.
    bytes: usize,
}

impl Set {
    /// Makes an empty set that is to get `first`, and about `size` members in all: they decide its
    /// encoding.
    pub fn new(first: &[u8], size: usize, limits: &CompactLimits) -> Self {
        let repr = if size <= limits.set_max_intset_entries && parse_integer(first).is_some() {
            Repr::Integers(IntSet::default())
        } else if size <= limits.set_max_listpack_entries {
            Repr::Packed(PackedList::new())
        } else {
            Repr::Table(MemberTable::default())
        };
        Self { repr }
    }

    /// Returns the number of members that are freed one by one.
    pub(super) fn pieces(&self) -> usize {
        match &self.repr {
            Repr::Integers(_) | Repr::Packed(_) => 1,
            Repr::Table(table) => table.members.len(),
        }
    }

    /// Frees the set, a member at a time.
    pub(super) fn into_pieces(self) -> impl Iterator<Item = ()> + Send {
        let members = match self.repr {
            Repr::Integers(_) | Repr::Packed(_) => Members::default(),
            Repr::Table(table) => table.members,
        };
        members.into_iter().map(drop)
    }

    /// Returns the number of members.
    pub fn len(&self) -> usize {
        match &self.repr {
            Repr::Integers(integers) => integers.len(),
            Repr::Packed(members) => members.len(),
            Repr::Table(table) => table.members.len(),
        }
    }

    /// Returns true if there is no member.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns about how many bytes it points to, from so many samples.
    pub(super) fn memory(&self, samples: usize) -> usize {
        match &self.repr {
            Repr::Integers(integers) => integers.memory(),
            Repr::Packed(members) => members.memory(),
            Repr::Table(table) => {
                let members = table.members.iter().map(|member| member.len());
                table_bytes::<Box<[u8]>>(table.members.capacity()) + sampled(members, samples)
            }
        }
    }

    /// Returns how many bytes it points to.
    pub(super) fn bytes(&self) -> usize {
        match &self.repr {
            Repr::Integers(integers) => integers.memory(),
            Repr::Packed(members) => members.memory(),
            Repr::Table(table) => {
                let slots = table_bytes::<Box<[u8]>>(table.members.capacity());
                slots + table.bytes + ROUNDING * table.members.len()
            }
        }
    }

    /// Checks the count of bytes against what is there.
    #[cfg(test)]
    pub(super) fn check_bytes(&self) {
        if let Repr::Table(table) = &self.repr {
            assert_eq!(table.bytes, table.members.iter().map(|member| member.len()).sum::<usize>());
        }
    }

    /// Returns the encoding as `OBJECT ENCODING` names it.
    pub const fn encoding(&self) -> &'static str {
        match &self.repr {
            Repr::Integers(_) => "intset",
            Repr::Packed(_) => "listpack",
            Repr::Table(_) => "hashtable",
        }
    }

    /// Returns true if `member` is in the set.
    pub fn contains(&self, member: &[u8]) -> bool {
        match &self.repr {
            Repr::Integers(integers) => {
                parse_integer(member).is_some_and(|integer| integers.contains(integer))
            }
            Repr::Packed(members) => members.iter().any(|other| other == member),
            Repr::Table(table) => table.members.contains(member),
        }
    }

    /// Adds a member. Returns false if it was there.
    pub fn insert(&mut self, member: &[u8], limits: &CompactLimits) -> bool {
        match &mut self.repr {
            Repr::Integers(integers) => match parse_integer(member) {
                Some(integer) => {
                    let is_new = integers.insert(integer);
                    if integers.len() > limits.set_max_intset_entries {
                        self.table();
                    }
                    is_new
                }
                None => {
                    if can_pack(integers, member, limits) {
                        self.repr = Repr::Packed(self.to_packed());
                    }
                    self.insert_bytes(member, limits)
                }
            },
            _ => self.insert_bytes(member, limits),
        }
    }

    /// Removes a member. Returns false if it was not there.
    pub fn remove(&mut self, member: &[u8]) -> bool {
        match &mut self.repr {
            Repr::Integers(integers) => parse_integer(member).is_some_and(|integer| integers.remove(integer)),
            Repr::Packed(members) => {
                let found = members.iter().position(|other| other == member);
                found.inspect(|&index| members.remove(index, 1)).is_some()
            }
            Repr::Table(table) => table.take(member).is_some(),
        }
    }

    /// Removes members. Returns what is to be freed, if that is much.
    pub(crate) fn take_all<'m>(&mut self, members: impl Iterator<Item = &'m [u8]>) -> Option<Removed> {
        match &mut self.repr {
            Repr::Table(table) => {
                let before = table.bytes;
                let removed: Vec<_> = members.filter_map(|member| table.take(member)).collect();
                let bytes = before - table.bytes + ROUNDING * removed.len();
                Removed::new(removed, bytes)
            }
            _ => {
                members.for_each(|member| _ = self.remove(member));
                None
            }
        }
    }

    /// Returns the member at an index below the length.
    pub fn get_index(&self, index: usize) -> Option<Cow<'_, [u8]>> {
        match &self.repr {
            Repr::Integers(integers) => integers.get(index).map(|integer| integer_bytes(integer).into()),
            Repr::Packed(members) => members.get(index).map(Cow::Borrowed),
            Repr::Table(table) => table.members.get_index(index).map(|member| member.as_ref().into()),
        }
    }

    /// Iterates over the members.
    pub fn iter(&self) -> impl Iterator<Item = Cow<'_, [u8]>> {
        let (integers, packed, table) = match &self.repr {
            Repr::Integers(integers) => (Some(integers), None, None),
            Repr::Packed(members) => (None, Some(members), None),
            Repr::Table(table) => (None, None, Some(&table.members)),
        };
        let integers = integers.into_iter().flat_map(IntSet::iter);
        let integers = integers.map(|integer| Cow::Owned(integer_bytes(integer)));
        let packed = packed.into_iter().flat_map(PackedList::iter).map(Cow::Borrowed);
        let table = table.into_iter().flatten().map(|member| Cow::Borrowed(member.as_ref()));
        integers.chain(packed).chain(table)
    }

    /// Visits about `count` members from a cursor on, 0 at first, and returns the next cursor, 0 at
    /// the end. A compact set is visited at once.
    pub fn scan<'a>(&'a self, cursor: u64, count: usize, mut visit: impl FnMut(Cow<'a, [u8]>)) -> u64 {
        let Repr::Table(MemberTable { members, .. }) = &self.repr else {
            self.iter().for_each(visit);
            return 0;
        };
        let range = scan_range(members.len(), cursor, count);
        for member in members[range.clone()].iter().rev() {
            visit(member.as_ref().into());
        }
        range.start as u64
    }

    /// Adds a member to a set that is not of integers, or cannot stay so.
    fn insert_bytes(&mut self, member: &[u8], limits: &CompactLimits) -> bool {
        if let Repr::Packed(members) = &mut self.repr {
            if members.iter().any(|other| other == member) {
                return false;
            }
            if members.len() < limits.set_max_listpack_entries
                && member.len() <= limits.set_max_listpack_value
            {
                members.push_back(member);
                return true;
            }
        }
        self.table().insert(member.into())
    }

    fn to_packed(&self) -> PackedList {
        let mut packed = PackedList::new();
        self.iter().for_each(|member| packed.push_back(&member));
        packed
    }

    /// Converts to a hash table, if it is none.
    fn table(&mut self) -> &mut MemberTable {
        if !matches!(self.repr, Repr::Table(_)) {
            let mut table = MemberTable::default();
            self.iter().for_each(|member| _ = table.insert(member.into_owned().into_boxed_slice()));
            self.repr = Repr::Table(table);
        }
        match &mut self.repr {
            Repr::Table(table) => table,
            _ => unreachable!("it was converted"),
        }
    }
}

impl MemberTable {
    /// Adds a member. Returns false if it was there.
    fn insert(&mut self, member: Box<[u8]>) -> bool {
        let len = member.len();
        let is_new = self.members.insert(member);
        self.bytes += if is_new { len } else { 0 };
        is_new
    }

    fn take(&mut self, member: &[u8]) -> Option<Box<[u8]>> {
        let taken = self.members.swap_take(member)?;
        self.bytes -= taken.len();
        Some(taken)
    }
}

/// Returns true if the integers and `member` can be in one buffer.
fn can_pack(integers: &IntSet, member: &[u8], limits: &CompactLimits) -> bool {
    let ends = [integers.get(0), integers.get(integers.len().wrapping_sub(1))];
    let longest = ends.into_iter().flatten().map(|end| integer_bytes(end).len()).max().unwrap_or(0);
    integers.len() < limits.set_max_listpack_entries
        && member.len().max(longest) <= limits.set_max_listpack_value
}

fn integer_bytes(integer: i64) -> Vec<u8> {
    integer.to_string().into_bytes()
}
