//! A list of leaves with labels that give their order.
//!
//! Positions are inserted and removed, but never change their order, nor their granule. A label is
//! a number between the labels of the neighbours. Where there is none left, the labels around are
//! reassigned in the smallest range that is not over-full. (Order maintenance by tags: Bender,
//! Cole, Demaine, Farach-Colton, Zito, "Two Simplified Algorithms for Maintaining Order in a List",
//! ESA 2002.) Hulls refer to positions and look their labels up, so relabelling does not touch
//! them.
//!
//! A position counts the ends of hulls that refer to it. It becomes vacant when its leaf is
//! removed, and it is freed when the count drops to zero.

use crate::Node;
use crate::node::NONE;

/// A position in the list, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position(u32);

#[derive(Clone, Debug)]
struct PositionRecord {
    label: u64,
    before: u32,
    after: u32,
    granule: u32,
    /// Ends of hulls that refer to this position.
    holds: u32,
    /// `NONE` if the position is vacant.
    leaf: u32,
}

/// Where a new position is inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InsertPoint {
    /// Into an empty list.
    First,
    Before(Position),
    After(Position),
}

#[derive(Clone, Debug)]
pub(crate) struct LeafList {
    records: Vec<PositionRecord>,
    free: Vec<Position>,
    first: u32,
    last: u32,
    leaves: usize,
}

/// A range of 2^b labels is over-full if it has more than (2/DENSITY_BASE)^b positions. Larger
/// ranges must be sparser, so that it takes a while until a range of the same size is relabelled
/// again. A greater base means fewer relabellings; but all 2^64 labels must suffice for 2^31
/// positions, which holds up to 1.41.
const DENSITY_BASE: f64 = 1.4;
/// Least distance between two labels after a relabelling.
const MIN_LABEL_GAP: u64 = 4;

impl LeafList {
    /// Creates a position for each leaf, in order. Labels are evenly spaced, and the sizes of the
    /// granules differ by at max_count one leaf.
    pub fn new(leaves: &[Node], granules: u32) -> Self {
        let count = leaves.len() as u64;
        let step = u64::MAX / (count + 1);
        let record = |(index, leaf): (u64, &Node)| PositionRecord {
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

    /// The position of the leaf at `index` of those given to [`new`](Self::new).
    pub fn nth(index: u32) -> Position {
        Position(index)
    }

    pub fn label(&self, position: Position) -> u64 {
        self.at(position).label
    }

    pub fn granule(&self, position: Position) -> u32 {
        self.at(position).granule
    }

    pub fn is_vacant(&self, position: Position) -> bool {
        self.at(position).leaf == NONE
    }

    pub fn leaf(&self, position: Position) -> Option<Node> {
        let leaf = self.at(position).leaf;
        (leaf != NONE).then_some(Node(leaf))
    }

    pub fn before(&self, position: Position) -> Option<Position> {
        some(self.at(position).before)
    }

    pub fn after(&self, position: Position) -> Option<Position> {
        some(self.at(position).after)
    }

    /// Number of leaves.
    pub fn leaf_count(&self) -> usize {
        self.leaves
    }

    /// Number of positions without a leaf.
    pub fn vacant_count(&self) -> usize {
        self.records.len() - self.free.len() - self.leaves
    }

    /// All leaves, in order.
    pub fn iter(&self) -> impl Iterator<Item = Node> {
        std::iter::successors(some(self.first), |&position| self.after(position))
            .filter_map(|position| self.leaf(position))
    }

    /// Puts a leaf at a vacant position, or in position of another leaf.
    pub fn occupy(&mut self, position: Position, leaf: Node) {
        self.leaves += usize::from(self.is_vacant(position));
        self.at_mut(position).leaf = leaf.0;
    }

    /// Removes the leaf from a position, which is freed once all hulls have
    /// [released](Self::release) it.
    pub fn vacate(&mut self, position: Position) {
        self.leaves -= usize::from(!self.is_vacant(position));
        self.at_mut(position).leaf = NONE;
    }

    /// Counts one more end of a hull at this position.
    pub fn hold(&mut self, position: Position) {
        self.at_mut(position).holds += 1;
    }

    /// Counts one end of a hull less, and frees the position after the last.
    pub fn release(&mut self, position: Position) {
        let record = self.at_mut(position);
        record.holds -= 1;
        if record.holds == 0 {
            debug_assert_eq!(record.leaf, NONE, "a position with a leaf is in use");
            let (before, after) = (record.before, record.after);
            self.set_after(before, after);
            self.set_before(after, before);
            self.free.push(position);
        }
    }

    /// Inserts a position with a leaf, to which no hull refers yet. Its granule is that of the
    /// position beside it. Also returns how many labels had to change.
    pub fn insert(&mut self, point: InsertPoint, leaf: Node) -> (Position, usize) {
        let (before, after, granule) = match point {
            InsertPoint::First => (self.last, self.first, 0),
            InsertPoint::Before(position) => (self.at(position).before, position.0, self.granule(position)),
            InsertPoint::After(position) => (position.0, self.at(position).after, self.granule(position)),
        };
        let (mut label, mut relabelled) = (self.label_between(before, after, point), 0);
        if label.is_none() {
            let neighbour = some(before).or(some(after)).expect("an empty list has room for a label");
            relabelled = self.relabel_around(neighbour);
            label = self.label_between(before, after, point);
        }
        let label = label.expect("relabelling makes room");
        let record = PositionRecord { label, before, after, granule, holds: 0, leaf: leaf.0 };
        self.leaves += 1;
        let position = match self.free.pop() {
            Some(free) => {
                *self.at_mut(free) = record;
                free
            }
            None => {
                self.records.push(record);
                Position(self.records.len() as u32 - 1)
            }
        };
        self.set_after(before, position.0);
        self.set_before(after, position.0);
        (position, relabelled)
    }

    /// A label between two neighbours, if there is one left.
    fn label_between(&self, before: u32, after: u32, point: InsertPoint) -> Option<u64> {
        let low = some(before).map_or(0, |position| self.label(position));
        let high = some(after).map_or(u64::MAX, |position| self.label(position));
        let gap = high - low;
        // After a last child often comes another one: leave more room on that side.
        let share = if matches!(point, InsertPoint::After(_)) { 8 } else { 2 };
        (gap >= 2).then(|| low + (gap / share).max(1))
    }

    /// Reassigns the labels around a position, in the smallest range that is not over-full. Returns
    /// how many labels have changed.
    fn relabel_around(&mut self, position: Position) -> usize {
        let (mut first, mut last, mut count, mut max_count) = (position, position, 1u64, 1.0);
        for bits in 1..=u64::BITS {
            max_count *= 2.0 / DENSITY_BASE;
            let size = u64::MAX >> (u64::BITS - bits);
            let (low, high) = (self.label(position) & !size, self.label(position) | size);
            while let Some(before) = self.before(first).filter(|&position| self.label(position) >= low) {
                (first, count) = (before, count + 1);
            }
            while let Some(after) = self.after(last).filter(|&position| self.label(position) <= high) {
                (last, count) = (after, count + 1);
            }
            let step = size / count;
            if count as f64 <= max_count && step >= MIN_LABEL_GAP {
                return self.assign_labels(first, count, low + step / 2, step);
            }
        }
        unreachable!("all 2^64 labels suffice for all positions")
    }

    /// Assigns ascending labels to `count` positions. Returns how many labels have changed.
    fn assign_labels(&mut self, first: Position, count: u64, label: u64, step: u64) -> usize {
        let (mut position, mut relabelled) = (first, 0);
        for index in 0..count {
            let record = self.at_mut(position);
            let label = label + index * step;
            relabelled += usize::from(record.label != label);
            record.label = label;
            position = Position(record.after);
        }
        relabelled
    }

    fn at(&self, position: Position) -> &PositionRecord {
        &self.records[position.0 as usize]
    }

    fn at_mut(&mut self, position: Position) -> &mut PositionRecord {
        &mut self.records[position.0 as usize]
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

fn some(position: u32) -> Option<Position> {
    (position != NONE).then_some(Position(position))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(list: &LeafList) -> Vec<u64> {
        let positions = std::iter::successors(some(list.first), |&position| list.after(position));
        positions.map(|position| list.label(position)).collect()
    }

    fn ascends(list: &LeafList) -> bool {
        labels(list).windows(2).all(|two| two[0] < two[1])
    }

    #[test]
    fn granules_have_equal_sizes() {
        let leaves: Vec<_> = (0..1000).map(Node).collect();
        let list = LeafList::new(&leaves, 7);
        let granules: Vec<u32> = (0..1000).map(|index| list.granule(LeafList::nth(index))).collect();
        assert!(granules.is_sorted());
        for granule in 0..7 {
            let count = granules.iter().filter(|&&of| of == granule).count();
            assert!((142..=143).contains(&count), "{count} leaves of granule {granule}");
        }
        assert!(ascends(&list));
    }

    /// Wherever all new positions are inserted, each costs few relabellings on average.
    #[test]
    fn relabelling_is_cheap_on_average() {
        const NEW: usize = 200_000;
        type NextPoint = fn(&LeafList, Position, usize) -> InsertPoint;
        let cases: [(&str, NextPoint); 4] = [
            ("before one", |_, _, _| InsertPoint::Before(Position(500))),
            ("after one", |_, _, _| InsertPoint::After(Position(500))),
            ("after the new", |_, new, _| InsertPoint::After(new)),
            ("before the new", |_, new, _| InsertPoint::Before(new)),
        ];
        for (name, next_point) in cases {
            let mut list = LeafList::new(&(0..1000).map(Node).collect::<Vec<_>>(), 1);
            let (mut new, mut all, mut max_count) = (Position(500), 0, 0);
            for index in 0..NEW {
                let relabelled;
                (new, relabelled) = list.insert(next_point(&list, new, index), Node(index as u32));
                all += relabelled;
                max_count = max_count.max(relabelled);
            }
            assert!(ascends(&list), "{name}");
            assert_eq!((list.leaf_count(), list.vacant_count()), (NEW + 1000, 0));
            let mean = all as f64 / NEW as f64;
            assert!(mean > 0.0, "{name}: no gap has run out");
            assert!(
                mean < 20.0,
                "{name}: {mean} labels changed per insertion on average, {max_count} at max_count"
            );
        }
    }

    proptest! {
        /// Compares with a plain list, while leaves are inserted and removed and some positions
        /// stay in use.
        #[test]
        fn order_agrees_with_a_plain_list(
            count in 0u32..5,
            steps in prop::collection::vec((any::<prop::sample::Index>(), 0..8u8), 0..200),
        ) {
            let start: Vec<_> = (0..count).map(Node).collect();
            let mut list = LeafList::new(&start, 3);
            let mut expected: Vec<Position> = (0..count).map(Position).collect();
            expected.iter().for_each(|&position| list.hold(position));
            // Labels as dense as in a full list, so that gaps run out.
            (0..).zip(&expected).for_each(|(index, position)| list.at_mut(*position).label = 1000 + index);
            for (number, (pick, what)) in steps.into_iter().enumerate() {
                let leaf = Node(1000 + number as u32);
                if expected.is_empty() {
                    let position = list.insert(InsertPoint::First, leaf).0;
                    list.hold(position);
                    expected.push(position);
                    continue;
                }
                let at = pick.index(expected.len());
                match what {
                    0 => {
                        list.vacate(expected[at]);
                        list.release(expected.remove(at));
                    }
                    1 => list.vacate(expected[at]),
                    2 => list.occupy(expected[at], leaf),
                    _ => {
                        let (point, index) = match what % 2 {
                            0 => (InsertPoint::Before(expected[at]), at),
                            _ => (InsertPoint::After(expected[at]), at + 1),
                        };
                        let position = list.insert(point, leaf).0;
                        prop_assert_eq!(list.granule(position), list.granule(expected[at]));
                        list.hold(position);
                        expected.insert(index, position);
                    }
                }
                let after = |&position: &Position| list.after(position);
                let positions: Vec<_> = std::iter::successors(some(list.first), after).collect();
                prop_assert_eq!(&positions, &expected);
                let before = |&position: &Position| list.before(position);
                let backwards: Vec<_> = std::iter::successors(some(list.last), before).collect();
                prop_assert!(backwards.iter().rev().eq(&expected));
                prop_assert!(ascends(&list));
                prop_assert!(expected.is_sorted_by_key(|&position| list.granule(position)));
                let vacant = expected.iter().filter(|&&position| list.is_vacant(position)).count();
                prop_assert_eq!((list.vacant_count(), list.leaf_count()), (vacant, expected.len() - vacant));
            }
        }
    }
}
