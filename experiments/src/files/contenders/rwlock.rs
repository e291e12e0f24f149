//! One lock for the whole tree.

use super::super::body::Body;
use super::super::contender::{Entry, Profile};
use super::super::contents::Contents;
use super::super::operation::{Answer, Operation};
use super::plain::PlainTree;
use super::simulated;
use super::threads::{OnThreads, SharedTree};
use parking_lot::RwLock;

pub(super) const ENTRY: Entry = Entry {
    name: "rwlock",
    about: "one parking_lot::RwLock over a plain tree, on plain threads",
    is_parallel: true,
    start: |settings| match settings.virtual_seed {
        None => OnThreads::boxed(RwLock::new(PlainTree::new(&settings.locations))),
        Some(seed) => simulated::locks::one(&settings, seed),
    },
    more: Profile { has_handles: true, is_atomic: true, clients: 1, is_virtual: true },
};

impl SharedTree for RwLock<PlainTree> {
    fn perform(&self, operation: &Operation, body: &Body) -> Answer {
        if operation.only_reads() {
            self.read().read(operation, body)
        } else {
            self.write().write(operation, body)
        }
    }

    fn contents(&self) -> Contents {
        self.read().contents()
    }
}
