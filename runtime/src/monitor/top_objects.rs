//! The objects with the greatest weights, in bounded memory: the algorithm *Space-Saving*.
//!
//! If an object is not in the full table, it takes the place of the lightest one, and inherits its
//! weight. So a weight is never too small, and too large by at most what was inherited; and every
//! object that is heavier than the lightest one is there. (Metwally, Agrawal, El Abbadi, "Efficient
//! Computation of Frequent and Top-k Elements in Data Streams", ICDT 2005.)

use super::Touched;
use alloc::vec::Vec;

/// Objects that a table keeps.
const CAPACITY: usize = 128;

/// What tasks did with an object since it has been in a table. Times are in ticks.
#[derive(Clone, Copy)]
pub(crate) struct TrackedObject {
    pub object: Touched,
    /// By how much the weight may be too large.
    pub error: u64,
    pub accesses: u64,
    pub waits: u64,
    pub waited: u64,
}

/// What a run of a task adds to an object.
#[derive(Clone, Copy)]
pub(crate) struct ObjectAccess {
    pub object: Touched,
    pub accesses: u64,
    /// Whether the task had to wait for the object although it was its turn.
    pub waits: bool,
    /// How long it waited.
    pub waited: u64,
}

/// The objects with the greatest weights.
#[derive(Default)]
pub(crate) struct TopObjects {
    /// The address of each object. Apart from the rest, so that a search is fast.
    addresses: Vec<usize>,
    weights: Vec<u64>,
    objects: Vec<TrackedObject>,
}

impl TopObjects {
    pub fn clear(&mut self) {
        self.addresses.clear();
        self.weights.clear();
        self.objects.clear();
    }

    /// Adds an access, with its weight.
    pub fn add(&mut self, access: &ObjectAccess, weight: u64) {
        let at = self.find_or_insert(access.object);
        self.weights[at] += weight;
        let object = &mut self.objects[at];
        object.accesses += access.accesses;
        object.waits += u64::from(access.waits);
        object.waited += access.waited;
    }

    /// Takes back an access that was added before, with its weight, if the object is still here.
    pub fn take_back(&mut self, address: usize, weight: u64) {
        if let Some(at) = self.addresses.iter().position(|&other| other == address) {
            self.weights[at] = self.weights[at].saturating_sub(weight);
            self.objects[at].accesses = self.objects[at].accesses.saturating_sub(1);
        }
    }

    fn find_or_insert(&mut self, object: Touched) -> usize {
        if let Some(at) = self.addresses.iter().position(|&address| address == object.address) {
            return at;
        }
        let tracked = |error| TrackedObject { object, error, accesses: 0, waits: 0, waited: 0 };
        if self.addresses.len() < CAPACITY {
            self.addresses.push(object.address);
            self.weights.push(0);
            self.objects.push(tracked(0));
            return self.addresses.len() - 1;
        }
        let weights = self.weights.iter().enumerate();
        let (at, &least) = weights.min_by_key(|&(_, &weight)| weight).expect("a full table has objects");
        self.addresses[at] = object.address;
        self.objects[at] = tracked(least);
        at
    }

    /// Returns the largest weight that an object can have that is not here.
    pub fn least(&self) -> u64 {
        if self.weights.len() < CAPACITY { 0 } else { self.weights.iter().copied().min().unwrap_or(0) }
    }

    /// Returns the objects with their weights, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &TrackedObject)> {
        self.weights.iter().copied().zip(&self.objects)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Primitive;

    fn access(address: usize) -> ObjectAccess {
        let object =
            Touched { name: None, data: "u64", address, primitive: Primitive::Sequencing, write: true };
        ObjectAccess { object, accesses: 1, waits: true, waited: 3 }
    }

    /// A hot object is never lost among many cold ones, and the bounds of its weight hold.
    #[test]
    fn a_hot_object_is_found_among_many() {
        let mut top = TopObjects::default();
        let mut hot = 0;
        for round in 0..100_000usize {
            let is_hot = round.is_multiple_of(20);
            hot += u64::from(is_hot);
            top.add(&access(if is_hot { 7 } else { 100 + round % 5000 }), 1);
        }
        let (weight, found) = top.iter().find(|(_, tracked)| tracked.object.address == 7).expect("hot");
        assert!(weight >= hot && weight - found.error <= hot, "{weight} and {} for {hot}", found.error);
        assert!(top.least() <= 100_000 / CAPACITY as u64);
        assert_eq!(top.iter().count(), CAPACITY);
        assert_eq!((found.waits, found.waited), (found.accesses, 3 * found.accesses));
    }

    #[test]
    fn few_objects_are_counted_exactly() {
        let mut top = TopObjects::default();
        (0..100 * CAPACITY).for_each(|round| top.add(&access(round % CAPACITY), round as u64 % 3));
        assert!(top.iter().all(|(_, tracked)| tracked.error == 0 && tracked.accesses == 100));
        top.clear();
        assert_eq!((top.least(), top.iter().count()), (0, 0));
    }
}
