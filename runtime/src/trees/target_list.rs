//! The targets of a claim.

use super::key_map::NodeMap;
use super::node::Node;
use super::rights::Target;
use super::short_list::ShortList;
use alloc::boxed::Box;
use core::ops::Deref;

/// Lists of more targets have an index: a plan asks for each node whether it is a target already.
const MOST_SEARCHED: usize = 8;

/// The targets of a claim.
#[derive(Clone, Default)]
pub(crate) struct TargetList {
    list: ShortList<Target, 6>,
    /// Some targets come with all that is below.
    has_all_below: bool,
    /// What the targets of each node allow, if there are many.
    index: Option<Box<NodeMap<Allowed>>>,
}

/// What may be done with a node: a bit for each of [`allowed`].
#[derive(Clone, Copy, Default)]
struct Allowed(u8);

/// Returns the bit for reading or writing a node, alone or with all below.
#[inline(always)]
const fn allowed(write: bool, all_below: bool) -> u8 {
    1 << (write as u8 + 2 * all_below as u8)
}

impl Allowed {
    fn and(self, target: &Target) -> Self {
        let [alone, all] = [false, !target.alone].map(|all_below| allowed(target.write, all_below));
        Self(self.0 | alone | all | allowed(false, false) | allowed(false, !target.alone))
    }
}

impl Target {
    #[inline(always)]
    fn allows(&self, write: bool, all_below: bool) -> bool {
        (self.write || !write) && !(all_below && self.alone)
    }
}

impl TargetList {
    #[inline(always)]
    pub fn new() -> Self {
        Self { list: ShortList::new(), has_all_below: false, index: None }
    }

    /// Makes an empty list in its place, like [`ShortList::init`].
    ///
    /// # Safety
    ///
    /// The place is valid for writes, and aligned. What is there is not dropped.
    #[inline(always)]
    pub unsafe fn init(place: *mut Self) {
        // A field that is added has to be set below, too.
        let _ = |Self { list: _, has_all_below: _, index: _ }: &Self| ();
        // SAFETY: by the contract of this function.
        unsafe {
            ShortList::init(&raw mut (*place).list);
            (&raw mut (*place).has_all_below).write(false);
            (&raw mut (*place).index).write(None);
        }
    }

    /// Returns true if some of the list lies outside.
    #[inline(always)]
    pub fn has_memory(&self) -> bool {
        let Self { list, has_all_below: _, index } = self;
        list.has_memory() | index.is_some()
    }

    #[inline(always)]
    pub fn push(&mut self, target: Target) {
        self.list.push(target);
        self.has_all_below |= !target.alone;
        if self.list.len() > MOST_SEARCHED {
            self.enter_last();
        }
    }

    pub fn extend_from_slice(&mut self, targets: &[Target]) {
        targets.iter().for_each(|&target| self.push(target));
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    pub fn retain(&mut self, keeps: impl Fn(&Target) -> bool) {
        let mut kept = Self::default();
        self.list.iter().filter(|target| keeps(target)).for_each(|&target| kept.push(target));
        *self = kept;
    }

    /// Returns true if some targets come with all that is below.
    #[inline(always)]
    pub fn has_all_below(&self) -> bool {
        self.has_all_below
    }

    /// Returns true if the first target allows to read or write this node.
    #[inline(always)]
    pub fn first_allows(&self, node: Node, write: bool) -> bool {
        self.list.first().is_some_and(|target| target.node == node && target.allows(write, false))
    }

    /// Returns true if a target allows to read or write this node, perhaps with all below.
    #[inline]
    pub fn allow(&self, node: Node, write: bool, all_below: bool) -> bool {
        match &self.index {
            None => self.list.iter().any(|target| target.node == node && target.allows(write, all_below)),
            Some(index) => index.get(node).is_some_and(|found| found.0 & allowed(write, all_below) != 0),
        }
    }

    /// Enters the last target in the index, or all if there is none.
    #[inline(never)]
    fn enter_last(&mut self) {
        let new = if self.index.is_some() { self.list.len() - 1 } else { 0 };
        let index = self.index.get_or_insert_default();
        for target in &self.list[new..] {
            let before = index.get(target.node).unwrap_or_default();
            index.insert(target.node, before.and(target));
        }
    }
}

impl Deref for TargetList {
    type Target = [Target];

    #[inline(always)]
    fn deref(&self) -> &[Target] {
        &self.list
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn a_long_list_allows_what_its_targets_do() {
        let node = |index| Node { index, generation: 1 };
        let targets: Vec<Target> = (0..80)
            .map(|bits| Target { node: node(bits % 29), alone: bits % 3 > 0, write: bits % 5 > 2 })
            .collect();
        let mut list = TargetList::default();
        for (count, &target) in (1..).zip(&targets) {
            list.push(target);
            for (index, write, all_below) in (0..30 * 4).map(|bits| (bits / 4, bits & 1 > 0, bits & 2 > 0)) {
                let one_does = targets[..count]
                    .iter()
                    .any(|target| target.node == node(index) && target.allows(write, all_below));
                assert_eq!(list.allow(node(index), write, all_below), one_does);
                assert!(!list.allow(Node { index, generation: 3 }, write, all_below));
            }
        }
        list.retain(|target| target.node.index < 2);
        assert!(list.len() < MOST_SEARCHED && list.index.is_none());
        assert!(list.allow(node(1), false, false) && !list.allow(node(6), false, false));
    }
}
