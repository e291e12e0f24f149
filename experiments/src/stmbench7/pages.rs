//! Pages of the indexes: each is a node of its own, so that who uses some keys keeps nobody from the others.

use super::dates::Date;
use std::collections::BTreeMap;
use xtasking_hierarchy::Node;

/// Where an atomic part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// In which composite part.
    pub composite: Node,
    /// Among which atomic parts: those of that composite part.
    pub network: Node,
    /// Which of these.
    pub position: u16,
}

/// What there is for each of some ids that follow one another.
#[derive(Clone, Debug)]
pub struct ById<T> {
    first: u32,
    slots: Vec<Option<T>>,
}

impl<T: Copy> ById<T> {
    /// A page for so many ids, with nothing.
    pub fn new(first: u32, ids: u32) -> Self {
        Self { first, slots: vec![None; ids as usize] }
    }

    /// What there is for an id that the page is for.
    pub fn get(&self, id: u32) -> Option<T> {
        self.slots[(id - self.first) as usize]
    }

    /// From now on there is this for the id.
    pub fn put(&mut self, id: u32, what: T) {
        self.slots[(id - self.first) as usize] = Some(what);
    }

    /// From now on there is nothing for the id.
    pub fn remove(&mut self, id: u32) {
        self.slots[(id - self.first) as usize] = None;
    }

    /// All ids for which there is something, with what there is.
    pub fn all(&self) -> impl Iterator<Item = (u32, T)> {
        (self.first..).zip(&self.slots).filter_map(|(id, slot)| Some((id, (*slot)?)))
    }
}

/// So many dates are on a page: five of the pairs in which dates stay.
pub const DAYS: usize = 10;

/// An atomic part that has some date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dated {
    /// Its id.
    pub id: u32,
    /// Where it is.
    pub place: Place,
}

/// The atomic parts that have some dates.
#[derive(Clone, Debug, Default)]
pub struct ByDate {
    first: Date,
    /// For each date, by id.
    days: [Vec<Dated>; DAYS],
}

impl ByDate {
    /// The page from a date on, with nothing.
    pub fn new(first: Date) -> Self {
        Self { first, ..Self::default() }
    }

    /// An atomic part has this date from now on.
    pub fn insert(&mut self, date: Date, part: Dated) {
        let day = &mut self.days[(date - self.first) as usize];
        day.insert(day.partition_point(|other| other.id < part.id), part);
    }

    /// An atomic part has this date no more.
    ///
    /// # Panics
    /// If it is not there.
    pub fn remove(&mut self, date: Date, id: u32) -> Dated {
        let day = &mut self.days[(date - self.first) as usize];
        match day.binary_search_by_key(&id, |part| part.id) {
            Ok(at) => day.remove(at),
            Err(_) => panic!("the index has no atomic part {id} with date {date}"),
        }
    }

    /// All that have this date or a later one, with their dates.
    pub fn since(&self, date: Date) -> impl Iterator<Item = (Date, Dated)> {
        let skipped = (date - self.first).clamp(0, DAYS as Date);
        let days = (self.first + skipped..).zip(&self.days[skipped as usize..]);
        days.flat_map(|(date, day)| day.iter().map(move |&part| (date, part)))
    }

    /// All, with their dates.
    pub fn all(&self) -> impl Iterator<Item = (Date, Dated)> {
        self.since(self.first)
    }
}

/// The composite parts whose documents have some titles.
pub type ByTitle = BTreeMap<String, Node>;

#[cfg(test)]
mod tests {
    use super::*;

    fn dated(id: u32) -> Dated {
        Dated {
            id,
            place: Place { composite: Node(id / 2), network: Node(id / 2 + 1), position: id as u16 % 2 },
        }
    }

    #[test]
    fn ids_lead_to_what_was_put_there() {
        let mut page = ById::new(11, 5);
        page.put(11, 'a');
        page.put(15, 'b');
        page.put(12, 'c');
        page.remove(11);
        assert_eq!([11, 12, 15].map(|id| page.get(id)), [None, Some('c'), Some('b')]);
        assert!(page.all().eq([(12, 'c'), (15, 'b')]));
    }

    #[test]
    fn dates_lead_to_those_that_have_them() {
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
    fn who_is_not_there_is_missed() {
        ByDate::new(1009).remove(1010, 5);
    }
}
