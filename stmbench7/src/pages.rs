//! Implements pages of the indexes. Each page is a node of its own, so that operations on different
//! keys rarely conflict.

use super::dates::Date;
use super::node::Node;
use std::collections::BTreeMap;

/// The location of an atomic part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartLocation {
    /// Its composite part.
    pub composite: Node,
    /// The network of that composite part.
    pub network: Node,
    /// Its position in the network.
    pub position: u16,
}

impl PartLocation {
    /// Calls a function with each node of the location.
    pub fn for_each_node(&mut self, each: &mut impl FnMut(&mut Node)) {
        each(&mut self.composite);
        each(&mut self.network);
    }
}

/// Entries of consecutive ids.
#[derive(Clone, Debug)]
pub struct ById<T> {
    first: u32,
    slots: Vec<Option<T>>,
}

impl<T: Copy> ById<T> {
    /// Creates an empty page of `ids` ids from `first` on.
    pub fn new(first: u32, ids: u32) -> Self {
        Self { first, slots: vec![None; ids as usize] }
    }

    /// Returns the entry of an id on this page.
    pub fn get(&self, id: u32) -> Option<T> {
        self.slots[(id - self.first) as usize]
    }

    /// Sets the entry of an id.
    pub fn put(&mut self, id: u32, what: T) {
        self.slots[(id - self.first) as usize] = Some(what);
    }

    /// Removes the entry of an id.
    pub fn remove(&mut self, id: u32) {
        self.slots[(id - self.first) as usize] = None;
    }

    /// Returns all entries, to be changed.
    pub fn entries_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().flatten()
    }

    /// Returns all ids with entries.
    pub fn all(&self) -> impl Iterator<Item = (u32, T)> {
        (self.first..).zip(&self.slots).filter_map(|(id, slot)| Some((id, (*slot)?)))
    }
}

/// Dates on a page: five pairs of dates.
pub const DAYS: usize = 10;

/// An atomic part in the index by date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatedPart {
    /// Its id.
    pub id: u32,
    /// Its location.
    pub location: PartLocation,
}

/// The atomic parts with the dates of a page.
#[derive(Clone, Debug, Default)]
pub struct ByDate {
    first: Date,
    /// For each date, the parts in the order of their ids.
    days: [Vec<DatedPart>; DAYS],
}

impl ByDate {
    /// Creates an empty page from the date `first` on.
    pub fn new(first: Date) -> Self {
        Self { first, ..Self::default() }
    }

    /// Enters an atomic part under its new date.
    pub fn insert(&mut self, date: Date, part: DatedPart) {
        let day = &mut self.days[(date - self.first) as usize];
        day.insert(day.partition_point(|other| other.id < part.id), part);
    }

    /// Removes an atomic part from its old date.
    ///
    /// # Panics
    /// If it is not there.
    pub fn remove(&mut self, date: Date, id: u32) -> DatedPart {
        let day = &mut self.days[(date - self.first) as usize];
        match day.binary_search_by_key(&id, |part| part.id) {
            Ok(at) => day.remove(at),
            Err(_) => panic!("the index has no atomic part {id} with date {date}"),
        }
    }

    /// Returns all parts with this or a later date, with their dates.
    pub fn since(&self, date: Date) -> impl Iterator<Item = (Date, DatedPart)> {
        let skipped = (date - self.first).clamp(0, DAYS as Date);
        let days = (self.first + skipped..).zip(&self.days[skipped as usize..]);
        days.flat_map(|(date, day)| day.iter().map(move |&part| (date, part)))
    }

    /// Returns the locations of all parts, to be changed.
    pub fn locations_mut(&mut self) -> impl Iterator<Item = &mut PartLocation> {
        self.days.iter_mut().flatten().map(|part| &mut part.location)
    }

    /// Returns all parts, with their dates.
    pub fn all(&self) -> impl Iterator<Item = (Date, DatedPart)> {
        self.since(self.first)
    }
}

/// The composite parts by the titles of their documents.
pub type ByTitle = BTreeMap<String, Node>;

#[cfg(test)]
mod tests {
    use super::*;

    fn dated(id: u32) -> DatedPart {
        DatedPart {
            id,
            location: PartLocation {
                composite: Node::of_number(id / 2),
                network: Node::of_number(id / 2 + 1),
                position: id as u16 % 2,
            },
        }
    }

    #[test]
    fn an_id_leads_to_its_entry() {
        let mut page = ById::new(11, 5);
        page.put(11, 'a');
        page.put(15, 'b');
        page.put(12, 'c');
        page.remove(11);
        assert_eq!([11, 12, 15].map(|id| page.get(id)), [None, Some('c'), Some('b')]);
        assert!(page.all().eq([(12, 'c'), (15, 'b')]));
    }

    #[test]
    fn a_date_leads_to_the_parts_that_have_it() {
        let mut page = ByDate::new(1009);
        for (date, id) in [(1010, 7), (1009, 5), (1010, 3), (1018, 1), (1010, 5)] {
            page.insert(date, dated(id));
        }
        assert_eq!(page.remove(1010, 5), dated(5));
        let from = |date| page.since(date).map(|(date, part)| (date, part.id)).collect::<Vec<_>>();
        assert_eq!(from(1000), [(1009, 5), (1010, 3), (1010, 7), (1018, 1)]);
        assert_eq!(from(1010), [(1010, 3), (1010, 7), (1018, 1)]);
        assert_eq!(from(1018), [(1018, 1)]);
        assert_eq!(from(1019), []);
    }

    #[test]
    #[should_panic(expected = "no atomic part 5 with date 1010")]
    fn removing_a_missing_part_panics() {
        ByDate::new(1009).remove(1010, 5);
    }
}
