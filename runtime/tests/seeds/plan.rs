//! A random program: a forest of tasks, each with its objects, its outcome, and its follow-ups.

use crate::common::Random;
use xtasking::Priority;

/// Objects of each class in a [`World`](crate::world::World), in the order of their numbers.
pub const PLAIN: usize = 3;
/// See [`PLAIN`].
pub const SHARED: usize = 3;
/// See [`PLAIN`].
pub const COPIED: usize = 2;
/// See [`PLAIN`].
pub const VERSIONED: usize = 5;
/// Nodes behind links, the last of the objects.
pub const NODES: usize = 3;
/// All of them.
pub const OBJECTS: usize = PLAIN + SHARED + COPIED + VERSIONED + NODES;

/// The objects of a task. Numbers count within a class.
#[derive(Clone, Copy, Debug)]
pub enum Touch {
    Nothing,
    Plain {
        at: usize,
        write: bool,
    },
    Shared {
        at: usize,
        write: bool,
    },
    Copied {
        at: usize,
        write: bool,
    },
    Versioned {
        at: usize,
        write: bool,
    },
    /// An optimistic read with a continuation.
    ReadThen {
        at: usize,
    },
    /// A walk over two nodes, which first rejects a node this many times.
    Visit {
        from: usize,
        again: u8,
    },
    Modify {
        at: usize,
    },
    /// Two plain objects, both written.
    Transfer {
        from: usize,
        to: usize,
    },
    /// One of each class: a shared one read, the others written.
    Mixed {
        plain: usize,
        shared: usize,
        copied: usize,
        versioned: usize,
    },
    /// A plain one written, a copied and a versioned one read.
    Look {
        plain: usize,
        copied: usize,
        versioned: usize,
    },
    /// Two versioned objects, both written.
    Pair {
        one: usize,
        other: usize,
    },
}

/// How a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Returns,
    PanicsAtOnce,
    PanicsAtTheEnd,
}

#[derive(Clone, Debug)]
pub struct Task {
    /// Counts all tasks of a program.
    pub number: usize,
    pub touch: Touch,
    pub priority: Option<Priority>,
    pub core: Option<u16>,
    pub cost: u16,
    pub begins_operation: bool,
    /// The task is joined if it can have a handle.
    pub submitted: bool,
    /// The task is cancelled as soon as it is spawned.
    pub cancelled: bool,
    pub end: Ending,
    pub follow_ups: Vec<Task>,
}

/// The most tasks of a program.
const MOST: usize = 60;

/// A program, and how many tasks it has.
pub fn program(random: &mut Random) -> (Vec<Task>, usize) {
    let mut count = 0;
    // Half of the programs have no panics, because a poisoned object ends many tasks.
    let panics = random.below(2) == 0;
    let tasks = (0..1 + random.below(20)).map(|_| task(random, 0, panics, &mut count)).collect();
    (tasks, count)
}

fn task(random: &mut Random, depth: usize, panics: bool, count: &mut usize) -> Task {
    let number = *count;
    *count += 1;
    let touch = touch(random);
    let end = match random.below(16) {
        0 if panics => Ending::PanicsAtOnce,
        1 if panics => Ending::PanicsAtTheEnd,
        _ => Ending::Returns,
    };
    let mut follow_ups = Vec::new();
    let most = if depth < 3 { random.below(4) } else { 0 };
    while follow_ups.len() < most && *count < MOST {
        follow_ups.push(task(random, depth + 1, panics, count));
    }
    Task {
        number,
        touch,
        priority: [None, None, Some(Priority::High), Some(Priority::Normal), Some(Priority::Low)]
            [random.below(5)],
        core: (random.below(3) == 0).then(|| random.below(20) as u16),
        cost: random.below(5) as u16,
        begins_operation: random.below(4) == 0,
        submitted: random.below(2) == 0,
        cancelled: random.below(8) == 0,
        end,
        follow_ups,
    }
}

fn touch(random: &mut Random) -> Touch {
    let write = random.below(3) > 0;
    let two = |random: &mut Random, count: usize| {
        let one = random.below(count);
        (one, (one + 1 + random.below(count - 1)) % count)
    };
    match random.below(13) {
        0 => Touch::Nothing,
        1 => Touch::Plain { at: random.below(PLAIN), write },
        2 => Touch::Shared { at: random.below(SHARED), write },
        3 => Touch::Copied { at: random.below(COPIED), write },
        4 => Touch::Versioned { at: random.below(VERSIONED), write },
        5 => Touch::ReadThen { at: random.below(VERSIONED) },
        6 => Touch::Visit { from: random.below(NODES), again: random.below(7) as u8 },
        7 => Touch::Modify { at: random.below(NODES) },
        8 | 9 => {
            let (from, to) = two(random, PLAIN);
            Touch::Transfer { from, to }
        }
        10 => {
            let (one, other) = two(random, VERSIONED);
            Touch::Pair { one, other }
        }
        11 => Touch::Mixed {
            plain: random.below(PLAIN),
            shared: random.below(SHARED),
            copied: random.below(COPIED),
            versioned: random.below(VERSIONED),
        },
        _ => Touch::Look {
            plain: random.below(PLAIN),
            copied: random.below(COPIED),
            versioned: random.below(VERSIONED),
        },
    }
}
