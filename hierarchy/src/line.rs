//! The line on which the leaves stand: places in an order, with labels that tell it.
//!
//! Places come anywhere and go, but never change their order, nor their granules. A label is a number between those of the
//! places beside it; where none is left, the labels around are spread anew over a range that is as small as can be without
//! its being crowded. (Order maintenance by tags: Bender, Cole, Demaine, Farach-Colton, Zito, "Two Simplified Algorithms
//! for Maintaining Order in a List", ESA 2002.) What refers to places need not know of that, as it asks them for their labels.
//!
//! A place is held by each end of a hull that is there. If its leaf is removed it is vacant; it goes when nothing holds it.

use crate::Node;
use crate::node::NONE;

/// A place on the line, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(u32);

#[derive(Clone, Debug)]
struct Record {
    label: u64,
    before: u32,
    after: u32,
    granule: u32,
    /// How many ends of hulls are here.
    holds: u32,
    /// None if it is vacant.
    leaf: u32,
}

/// Where a new place comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    /// On an empty line.
    First,
    Before(Place),
    After(Place),
}

#[derive(Clone, Debug)]
pub(crate) struct Line {
    records: Vec<Record>,
    free: Vec<Place>,
    first: u32,
    last: u32,
    leaves: usize,
}

/// A range of 2^b labels is crowded if more than (2/CROWD)^b places are in it: the larger it is, the sparser they have to be,
/// so that it takes a while until a range of the same size is looked for there again. The greater this is, the fewer labels
/// are changed; but all 2^64 have to be enough for as many places as there can be, which is so up to 1.41.
const CROWD: f64 = 1.4;
/// So far apart labels are at least after they have been spread.
const APART: u64 = 4;

impl Line {
    /// A place for each leaf, in that order, the labels evenly spread; each of `granules` has as many leaves as any other,
    /// or one more or less.
    pub fn new(leaves: &[Node], granules: u32) -> Self {
        let count = leaves.len() as u64;
        let step = u64::MAX / (count + 1);
        let record = |(index, leaf): (u64, &Node)| Record {
            label: (index + 1) * step,
            before: if index == 0 { NONE } else { index as u32 - 1 },
            after: if index + 1 == count { NONE } else { index as u32 + 1 },
            granule: (index * u64::from(granules) / count) as u32,
            holds: 0,
            leaf: leaf.0,
        };
        let (first, last) = if count == 0 { (NONE, NONE) } else { (0, count as u32 - 1) };
        Self {
            records: (0..).zip(leaves).map(record).collect(),
            free: Vec::new(),
            first,
            last,
            leaves: leaves.len(),
        }
    }

    /// Places are numbered in their order by [`new`](Self::new).
    pub fn nth(index: u32) -> Place {
        Place(index)
    }

    pub fn label(&self, place: Place) -> u64 {
        self.at(place).label
    }

    pub fn granule(&self, place: Place) -> u32 {
        self.at(place).granule
    }

    pub fn is_vacant(&self, place: Place) -> bool {
        self.at(place).leaf == NONE
    }

    pub fn leaf(&self, place: Place) -> Option<Node> {
        let leaf = self.at(place).leaf;
        (leaf != NONE).then_some(Node(leaf))
    }

    pub fn before(&self, place: Place) -> Option<Place> {
        some(self.at(place).before)
    }

    pub fn after(&self, place: Place) -> Option<Place> {
        some(self.at(place).after)
    }

    /// How many leaves there are.
    pub fn leaves(&self) -> usize {
        self.leaves
    }

    /// How many places have no leaf.
    pub fn vacant(&self) -> usize {
        self.records.len() - self.free.len() - self.leaves
    }

    /// All leaves, in order.
    pub fn iter(&self) -> impl Iterator<Item = Node> {
        std::iter::successors(some(self.first), |&place| self.after(place))
            .filter_map(|place| self.leaf(place))
    }

    /// Puts a leaf on a vacant place, or in the place of another leaf.
    pub fn occupy(&mut self, place: Place, leaf: Node) {
        self.leaves += usize::from(self.is_vacant(place));
        self.at_mut(place).leaf = leaf.0;
    }

    /// Takes the leaf from a place, which goes when it is [released](Self::release) by all.
    pub fn vacate(&mut self, place: Place) {
        self.leaves -= usize::from(!self.is_vacant(place));
        self.at_mut(place).leaf = NONE;
    }

    /// An end of a hull is here now.
    pub fn hold(&mut self, place: Place) {
        self.at_mut(place).holds += 1;
    }

    /// An end of a hull is not here any more.
    pub fn release(&mut self, place: Place) {
        let record = self.at_mut(place);
        record.holds -= 1;
        if record.holds == 0 {
            debug_assert_eq!(record.leaf, NONE, "a leaf holds its place");
            let (before, after) = (record.before, record.after);
            self.set_after(before, after);
            self.set_before(after, before);
            self.free.push(place);
        }
    }

    /// A new place with a leaf, which nothing holds yet, and how many labels of others have been changed for it. Its
    /// granule is that of the place that it is put beside.
    pub fn insert(&mut self, spot: Spot, leaf: Node) -> (Place, usize) {
        let (before, after, granule) = match spot {
            Spot::First => (self.last, self.first, 0),
            Spot::Before(place) => (self.at(place).before, place.0, self.granule(place)),
            Spot::After(place) => (place.0, self.at(place).after, self.granule(place)),
        };
        let (mut label, mut moved) = (self.label_between(before, after, spot), 0);
        if label.is_none() {
            let crowded = some(before).or(some(after)).expect("an empty line has room");
            moved = self.spread(crowded);
            label = self.label_between(before, after, spot);
        }
        let label = label.expect("labels have been spread");
        let record = Record { label, before, after, granule, holds: 0, leaf: leaf.0 };
        self.leaves += 1;
        let place = match self.free.pop() {
            Some(free) => {
                *self.at_mut(free) = record;
                free
            }
            None => {
                self.records.push(record);
                Place(self.records.len() as u32 - 1)
            }
        };
        self.set_after(before, place.0);
        self.set_before(after, place.0);
        (place, moved)
    }

    /// A label between two neighbours, if there is one.
    fn label_between(&self, before: u32, after: u32, spot: Spot) -> Option<u64> {
        let low = some(before).map_or(0, |place| self.label(place));
        let high = some(after).map_or(u64::MAX, |place| self.label(place));
        let gap = high - low;
        // Who comes as the last child is often followed by a later one: more room is left on that side.
        let share = if matches!(spot, Spot::After(_)) { 8 } else { 2 };
        (gap >= 2).then(|| low + (gap / share).max(1))
    }

    /// Spreads labels around a place over the smallest range that is not crowded, and tells how many have changed.
    fn spread(&mut self, place: Place) -> usize {
        let (mut first, mut last, mut count, mut most) = (place, place, 1u64, 1.0);
        for bits in 1..=u64::BITS {
            most *= 2.0 / CROWD;
            let size = u64::MAX >> (u64::BITS - bits);
            let (low, high) = (self.label(place) & !size, self.label(place) | size);
            while let Some(before) = self.before(first).filter(|&place| self.label(place) >= low) {
                (first, count) = (before, count + 1);
            }
            while let Some(after) = self.after(last).filter(|&place| self.label(place) <= high) {
                (last, count) = (after, count + 1);
            }
            let step = size / count;
            if count as f64 <= most && step >= APART {
                return self.assign(first, count, low + step / 2, step);
            }
        }
        unreachable!("all labels together are enough for all places")
    }

    /// Gives labels to `count` places.
    fn assign(&mut self, first: Place, count: u64, label: u64, step: u64) -> usize {
        let (mut place, mut moved) = (first, 0);
        for index in 0..count {
            let record = self.at_mut(place);
            let label = label + index * step;
            moved += usize::from(record.label != label);
            record.label = label;
            place = Place(record.after);
        }
        moved
    }

    fn at(&self, place: Place) -> &Record {
        &self.records[place.0 as usize]
    }

    fn at_mut(&mut self, place: Place) -> &mut Record {
        &mut self.records[place.0 as usize]
    }

    fn set_after(&mut self, before: u32, after: u32) {
        match some(before) {
            Some(before) => self.at_mut(before).after = after,
            None => self.first = after,
        }
    }

    fn set_before(&mut self, after: u32, before: u32) {
        match some(after) {
            Some(after) => self.at_mut(after).before = before,
            None => self.last = before,
        }
    }
}

fn some(place: u32) -> Option<Place> {
    (place != NONE).then_some(Place(place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(line: &Line) -> Vec<u64> {
        let places = std::iter::successors(some(line.first), |&place| line.after(place));
        places.map(|place| line.label(place)).collect()
    }

    fn rise(line: &Line) -> bool {
        labels(line).windows(2).all(|two| two[0] < two[1])
    }

    #[test]
    fn granules_have_equally_many_leaves() {
        let leaves: Vec<_> = (0..1000).map(Node).collect();
        let line = Line::new(&leaves, 7);
        let granules: Vec<u32> = (0..1000).map(|index| line.granule(Line::nth(index))).collect();
        assert!(granules.is_sorted());
        for granule in 0..7 {
            let count = granules.iter().filter(|&&of| of == granule).count();
            assert!((142..=143).contains(&count), "{count} leaves of granule {granule}");
        }
        assert!(rise(&line));
    }

    /// Wherever all new places come, a place costs few changes of other labels in the mean.
    #[test]
    fn gaps_that_have_ended_are_made_anew_by_few_changes() {
        const NEW: usize = 200_000;
        type Way = fn(&Line, Place, usize) -> Spot;
        let ways: [(&str, Way); 4] = [
            ("before one", |_, _, _| Spot::Before(Place(500))),
            ("after one", |_, _, _| Spot::After(Place(500))),
            ("after the new", |_, new, _| Spot::After(new)),
            ("before the new", |_, new, _| Spot::Before(new)),
        ];
        for (name, way) in ways {
            let mut line = Line::new(&(0..1000).map(Node).collect::<Vec<_>>(), 1);
            let (mut new, mut all, mut most) = (Place(500), 0, 0);
            for index in 0..NEW {
                let moved;
                (new, moved) = line.insert(way(&line, new, index), Node(index as u32));
                all += moved;
                most = most.max(moved);
            }
            assert!(rise(&line), "{name}");
            assert_eq!((line.leaves(), line.vacant()), (NEW + 1000, 0));
            let mean = all as f64 / NEW as f64;
            assert!(mean > 0.0, "{name}: no gap has ended");
            assert!(mean < 20.0, "{name}: {mean} labels have changed for each, {most} at most");
        }
    }

    proptest! {
        /// Against a list: leaves come beside others and go, some places being held.
        #[test]
        fn order_is_kept(count in 0u32..5, steps in prop::collection::vec((any::<prop::sample::Index>(), 0..8u8), 0..200)) {
            let start: Vec<_> = (0..count).map(Node).collect();
            let mut line = Line::new(&start, 3);
            let mut list: Vec<Place> = (0..count).map(Place).collect();
            list.iter().for_each(|&place| line.hold(place));
            // As few labels as if there were many places, so that gaps end.
            (0..).zip(&list).for_each(|(index, place)| line.at_mut(*place).label = 1000 + index);
            for (number, (pick, what)) in steps.into_iter().enumerate() {
                let leaf = Node(1000 + number as u32);
                if list.is_empty() {
                    let place = line.insert(Spot::First, leaf).0;
                    line.hold(place);
                    list.push(place);
                    continue;
                }
                let at = pick.index(list.len());
                match what {
                    0 => {
                        line.vacate(list[at]);
                        line.release(list.remove(at));
                    }
                    1 => line.vacate(list[at]),
                    2 => line.occupy(list[at], leaf),
                    _ => {
                        let (spot, index) = if what % 2 == 0 { (Spot::Before(list[at]), at) } else { (Spot::After(list[at]), at + 1) };
                        let place = line.insert(spot, leaf).0;
                        prop_assert_eq!(line.granule(place), line.granule(list[at]));
                        line.hold(place);
                        list.insert(index, place);
                    }
                }
                let places: Vec<_> = std::iter::successors(some(line.first), |&place| line.after(place)).collect();
                prop_assert_eq!(&places, &list);
                let back: Vec<_> = std::iter::successors(some(line.last), |&place| line.before(place)).collect();
                prop_assert!(back.iter().rev().eq(&list));
                prop_assert!(rise(&line));
                prop_assert!(list.is_sorted_by_key(|&place| line.granule(place)));
                let vacant = list.iter().filter(|&&place| line.is_vacant(place)).count();
                prop_assert_eq!((line.vacant(), line.leaves()), (vacant, list.len() - vacant));
            }
        }
    }
}
