//! Every contender carries out every mix, and all answers and the whole tree are checked; and the
//! checks find every fault.

use super::super::body::Body;
use super::super::cases::{Case, MIXES};
use super::super::contender::{Entry, Profile};
use super::super::contents::Contents;
use super::super::layout::{Locations, MIDDLES, Place};
use super::super::operation::{Action, Answer, Operation, ROUND, Sum, Way};
use super::super::turn::{BodyCosts, TurnInput};
use super::ALL;
use super::plain::PlainTree;
use super::threads::{OnThreads, SharedTree};
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const ON_THREADS: BodyCosts = BodyCosts::Threads { rounds: 0.1 };
const IN_VIRTUAL_TIME: BodyCosts = BodyCosts::Virtual { node: 20 };

/// Runs a case with each contender that can.
fn run_all(workers: usize, operations: u64, costs: BodyCosts, case: &Case) {
    let is_virtual = matches!(costs, BodyCosts::Virtual { .. });
    for entry in ALL {
        let profile = &entry.more;
        if (case.way == Way::Handle && !profile.has_handles) || (is_virtual && !profile.is_virtual) {
            continue;
        }
        let input = TurnInput { case, workers, operations, seed: 7, repetition: 0, costs };
        let context = format!("{} on {} with {workers} workers", entry.name, case.name());
        let result = input.run(entry, &context).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(result.rate > 0.0, "{context}");
        // Only a path can become wrong, and a move whose directory has just moved.
        let has_moves = case.mix.name == "small writes";
        assert!(result.tally.missed == 0 || has_moves, "{context}: {:?}", result.tally);
        assert_eq!(result.cpu_rate.is_some(), !is_virtual && cfg!(target_os = "linux"), "{context}");
    }
}

#[test]
fn all_contenders_give_right_answers_on_threads() {
    for mix in MIXES {
        for way in [Way::Path, Way::Handle] {
            for (workers, body, moves) in [(1, 0, 0), (3, 1000, 60)] {
                run_all(workers, 600, ON_THREADS, &Case { mix, way, body, moves });
            }
        }
    }
}

#[test]
fn contenders_give_right_answers_in_virtual_time() {
    for mix in MIXES {
        for way in [Way::Path, Way::Handle] {
            for workers in [1, 5] {
                let case = Case { mix, way, body: 20_000, moves: 40 };
                run_all(workers, 400, IN_VIRTUAL_TIME, &case);
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    WriteIsLost,
    AdditionIsPartial,
    SumIsShort,
    SumIsTorn,
    MoveLosesDirectory,
    MoveGoesElsewhere,
    Panics,
}

/// A tree, one of whose operations is wrong.
struct Faulty {
    tree: RwLock<PlainTree>,
    locations: Arc<Locations>,
    fault: Fault,
    has_struck: AtomicBool,
}

impl Faulty {
    /// Returns true the first time, if this is the fault.
    fn strikes(&self, fault: Fault) -> bool {
        self.fault == fault && !self.has_struck.swap(true, Relaxed)
    }
}

impl SharedTree for Faulty {
    fn perform(&self, operation: &Operation, body: &Body) -> Answer {
        assert!(!self.strikes(Fault::Panics), "a bug");
        match operation.action {
            Action::Write if self.strikes(Fault::WriteIsLost) => return Answer::Written,
            Action::Move if self.strikes(Fault::MoveLosesDirectory) => {
                let taken = self.tree.write().take(operation.from().path().number(), operation.name());
                return taken.map_or(Answer::Missed, |_| Answer::Moved);
            }
            Action::Move if self.strikes(Fault::MoveGoesElsewhere) => {
                let elsewhere = Place::of((operation.to.index() + 1) % MIDDLES);
                let moved = Operation { to: elsewhere, ..*operation };
                let answer = self.tree.write().write(&moved, body);
                self.locations.set(operation.name(), operation.to);
                return answer;
            }
            Action::Add if self.strikes(Fault::AdditionIsPartial) => {
                let part = Operation { target: operation.target.child(3), ..*operation };
                return self.tree.write().write(&part, body);
            }
            _ => {}
        }
        if !operation.only_reads() {
            return self.tree.write().write(operation, body);
        }
        match self.tree.read().read(operation, body) {
            Answer::Sum(Sum { nodes, total, first }) if self.strikes(Fault::SumIsShort) => {
                Answer::Sum(Sum { nodes: nodes - 1, total: total - first, first })
            }
            Answer::Sum(Sum { nodes, total, first }) if self.strikes(Fault::SumIsTorn) => {
                Answer::Sum(Sum { nodes, total: total + ROUND, first })
            }
            answer => answer,
        }
    }

    fn contents(&self) -> Contents {
        self.tree.read().contents()
    }
}

macro_rules! faulty {
    ($fault:ident) => {
        Entry {
            name: "faulty",
            about: "",
            is_parallel: true,
            start: |settings| {
                let tree = RwLock::new(PlainTree::new(&settings.locations));
                let (locations, has_struck) = (settings.locations, AtomicBool::new(false));
                OnThreads::boxed(Faulty { tree, locations, fault: Fault::$fault, has_struck })
            },
            more: Profile { has_handles: true, is_atomic: true, clients: 1, is_virtual: false },
        }
    };
}

#[test]
fn every_fault_is_found() {
    let run = |entry: &Entry, mix: usize| {
        let case = Case { mix: &MIXES[mix], way: Way::Path, body: 0, moves: 0 };
        let (workers, operations, costs) = (2, 500, ON_THREADS);
        let input = TurnInput { case: &case, workers, operations, seed: 7, repetition: 0, costs };
        input.run(entry, "").map(|_| ()).map_err(|failure| failure.to_string())
    };
    assert_eq!(run(&faulty!(None), 1), Ok(()));
    for (entry, mix, words) in [
        (faulty!(WriteIsLost), 0, " was added"),
        (faulty!(AdditionIsPartial), 3, "sums or additions are not of one moment"),
        (faulty!(SumIsShort), 2, "1 sums or additions are not of one moment"),
        (faulty!(SumIsTorn), 0, "1 sums or additions are not of one moment"),
        (faulty!(MoveLosesDirectory), 1, " is in None instead of "),
        (faulty!(MoveGoesElsewhere), 1, " instead of Place"),
        (faulty!(Panics), 1, "a thread panicked"),
    ] {
        let wrong = run(&entry, mix).unwrap_err();
        assert!(wrong.contains(words), "{wrong}");
    }
}
