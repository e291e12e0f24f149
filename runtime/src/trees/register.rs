//! Fast registration: a target is had at once, or nothing is changed.

use super::counts::Site;
use super::mode::{Mode, Modes};
use super::node::{NONE, Node};
use super::queue::{ClaimPtr, GateEntry, HomeEntry, Ready};
use super::rights::{Exact, Rights, Target};
use super::table::{GateSlot, TreeTable};
use crate::sync::{Acquire, Backoff, Relaxed, Release, SeqCst, fence};
use smallvec::SmallVec;

/// What came of an attempt to register a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// The claim holds the target.
    Granted,
    /// Others are in the way. Nothing was changed.
    Blocked,
    /// The node does not exist.
    Missing,
}

/// The way to a node, as it was when it was looked up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Path {
    /// The node is this gate; the second is the gate above.
    Gate { gate: u32, above: u32 },
    /// The node is in this home, below this gate.
    Home { home: u32, above: u32 },
}

impl Path {
    /// Returns the gate above; [`NONE`] for the root.
    pub fn above(self) -> u32 {
        match self {
            Self::Gate { above, .. } | Self::Home { above, .. } => above,
        }
    }
}

/// Modes counted for one target, at gates from its path upwards.
type Climb<'t> = SmallVec<[(u32, Mode, &'t GateSlot); 4]>;

/// Why a path is not had.
enum Refused {
    Clash,
    /// The tree has changed meanwhile; the path has to be looked up again.
    Moved,
}

impl TreeTable {
    /// Looks up the way to a node; `None` if the node does not exist.
    pub fn path(&self, node: Node) -> Option<Path> {
        let mut backoff = Backoff::new();
        loop {
            let slot = self.find(node)?;
            // Acquire, here and below, pairs with the Release of the change that published the
            // place: its entries in the queues are seen.
            let gate = slot.gate.load(Acquire);
            if let Some(record) = self.gates.get(gate) {
                return Some(Path::Gate { gate, above: record.above.load(Acquire) });
            }
            let home = slot.home.load(Acquire);
            if let Some(top) = self.nodes.get(home) {
                let above = top.above.load(Acquire);
                if above != NONE {
                    return Some(Path::Home { home, above });
                }
            }
            // A change has published a part of the place, and will publish the rest.
            backoff.wait();
        }
    }

    /// Tries to add a target to what a claim holds.
    ///
    /// The path is read while nothing is held, so it is read again after it was registered. From
    /// then on it stays: no node of it moves without all claims below being gone.
    pub fn try_add(
        &self,
        site: Site,
        claim: ClaimPtr,
        rights: &mut Rights,
        target: Target,
        ready: &mut Ready,
    ) -> Added {
        loop {
            let Some(path) = self.path(target.node) else { return Added::Missing };
            let refused = match path {
                Path::Gate { gate, above } if !target.alone || target.write => {
                    self.add_explicit(site, claim, rights, target, (gate, above), ready)
                }
                _ => self.add_counted(site, claim, rights, target, path, ready),
            };
            match refused {
                None => {
                    rights.targets.push(target);
                    return Added::Granted;
                }
                Some(Refused::Clash) => return Added::Blocked,
                Some(Refused::Moved) => {}
            }
        }
    }

    /// Adds a target in a home, or to read a gate alone.
    #[inline]
    fn add_counted(
        &self,
        site: Site,
        claim: ClaimPtr,
        rights: &mut Rights,
        target: Target,
        path: Path,
        ready: &mut Ready,
    ) -> Option<Refused> {
        let mut climb = Climb::new();
        let intention = Mode::intention(target.write);
        let (exact, end) = match path {
            Path::Gate { gate, above } => {
                if !rights.counted_at(gate).has(Mode::ReadAlone) {
                    climb.push((gate, Mode::ReadAlone, self.gate(gate)));
                }
                (None, self.climb(rights, above, intention, &mut climb))
            }
            Path::Home { home, above } => {
                (Some(target.exact(home)), self.climb(rights, above, intention, &mut climb))
            }
        };
        let passes = self.count_all(site, claim, rights, &climb);
        let entered = exact
            .filter(|_| passes)
            .filter(|&exact| self.try_enter(HomeEntry { claim, exact }, rights.is_unordered));
        // SAFETY: the caller owns the claim.
        let is_displaced = unsafe { &claim.0.as_ref().is_displaced };
        // Acquire pairs with the Release of `enter_home`.
        if passes
            && entered == exact
            && self.is_valid(target.node, path, &climb, end)
            && !is_displaced.load(Acquire)
        {
            rights.add_climb(&climb);
            rights.exact.extend(exact);
            return None;
        }
        let clashes = !passes || entered != exact;
        self.take_back(site, claim, &climb, entered, ready);
        // Relaxed: the entry has gone, and what the claim holds is not outdated.
        is_displaced.store(false, Relaxed);
        Some(if clashes { Refused::Clash } else { Refused::Moved })
    }

    /// Adds a target that needs an entry in the queue of a gate.
    fn add_explicit(
        &self,
        site: Site,
        claim: ClaimPtr,
        rights: &mut Rights,
        target: Target,
        (number, above): (u32, u32),
        ready: &mut Ready,
    ) -> Option<Refused> {
        let mode = target.explicit_mode();
        // What the claim itself has at this gate is merged with this by the slow way.
        if rights.explicit_at(number).is_some() || rights.counted_at(number).meets(mode.clashes()) {
            return Some(Refused::Clash);
        }
        let mut climb = Climb::new();
        let end = self.climb(rights, above, Mode::intention(target.write), &mut climb);
        let passes = self.count_all(site, claim, rights, &climb);
        let gate = self.gate(number);
        let mut queue = gate.queue.lock();
        gate.flag.store(true, Relaxed);
        // Pairs with the fence of `count_all`: either this sees what is counted there, or that
        // thread sees the flag.
        fence(SeqCst);
        let modes = Modes::only(mode);
        let is_free = passes
            && queue.admits_now(claim, modes, rights.is_unordered)
            && !self.counts.is_counted(number, modes.clashes());
        let path = Path::Gate { gate: number, above };
        let is_granted = is_free && self.is_valid(target.node, path, &climb, end);
        if is_granted {
            queue.hold(GateEntry { claim, modes });
            rights.explicit.push((number, mode));
            rights.add_climb(&climb);
        } else if queue.is_empty() {
            gate.flag.store(false, Release);
        }
        drop(queue);
        if is_granted {
            return None;
        }
        self.take_back(site, claim, &climb, None, ready);
        Some(if is_free { Refused::Moved } else { Refused::Clash })
    }

    /// Lists the gates at which an intention is new, from one upwards. Returns the gate where the
    /// claim has it already, and so at all above.
    fn climb<'t>(&'t self, rights: &Rights, from: u32, intention: Mode, climb: &mut Climb<'t>) -> u32 {
        let mut next = from;
        while let Some(gate) = self.gates.get(next) {
            let counted = rights.counted_at(next);
            if counted.has(intention) || counted.has(Mode::IntendWrite) {
                return next;
            }
            climb.push((next, intention, gate));
            next = gate.above.load(Acquire);
        }
        NONE
    }

    /// Counts modes at gates. Returns true if they clash with nothing there.
    fn count_all(&self, site: Site, claim: ClaimPtr, rights: &Rights, climb: &Climb<'_>) -> bool {
        climb.iter().for_each(|&(gate, mode, _)| self.counts.count_one_in(site, gate, mode));
        if !climb.is_empty() && !planted!("tree-count-without-fence") {
            // Pairs with the fences of `add_explicit` and `enqueue`: either those see the counts,
            // or this sees their flags.
            fence(SeqCst);
        }
        climb.iter().all(|&(number, mode, gate)| {
            // Acquire pairs with the Release by which a gate's flag goes down, so that this sees
            // what the tasks there did.
            !gate.flag.load(Acquire)
                || gate.queue.lock().admits_now(claim, Modes::only(mode), rights.is_unordered)
                    && !rights.explicit_at(number).is_some_and(|held| held.clashes().has(mode))
        })
    }

    /// Enters a home, unless others there are in the way.
    #[inline]
    fn try_enter(&self, entry: HomeEntry, overtakes: bool) -> bool {
        let mut stripe = self.stripe(entry.exact.home).lock();
        let is_free = stripe.admits_now(&entry, overtakes, |one, other, waits| self.meet(one, other, waits));
        if is_free {
            stripe.hold(entry);
        }
        is_free
    }

    /// Returns true if the way to a node is what it was when it was looked up.
    fn is_valid(&self, node: Node, path: Path, climb: &Climb<'_>, end: u32) -> bool {
        if planted!("tree-path-unvalidated") {
            return true;
        }
        // The gates of the climb come one above the other; that of the node itself may be the
        // first.
        let gates = match path {
            Path::Gate { gate, .. } if climb.first().is_some_and(|first| first.0 == gate) => &climb[1..],
            _ => &climb[..],
        };
        let aboves = gates.iter().skip(1).map(|next| next.0).chain([end]);
        self.path(node) == Some(path)
            && gates.iter().zip(aboves).all(|(gate, above)| gate.2.above.load(Acquire) == above)
    }

    /// Gives back what an attempt has registered, and lets those go on that it has blocked.
    fn take_back(
        &self,
        site: Site,
        claim: ClaimPtr,
        climb: &Climb<'_>,
        entered: Option<Exact>,
        ready: &mut Ready,
    ) {
        climb.iter().for_each(|&(gate, mode, _)| self.counts.count_out(site, gate, Modes::only(mode)));
        self.serve_flagged(site, climb.iter().map(|entry| entry.0), ready);
        if let Some(exact) = entered {
            self.leave_home(claim, &exact, ready);
        }
    }
}

impl Rights {
    /// Adds what was counted for one target.
    fn add_climb(&mut self, climb: &Climb<'_>) {
        if self.counted.is_empty() {
            self.counted.extend(climb.iter().map(|&(gate, mode, _)| (gate, Modes::only(mode))));
        } else {
            climb.iter().for_each(|&(gate, mode, _)| self.add_counted(gate, Modes::only(mode)));
        }
    }
}

impl Target {
    /// Returns the entry of the target in a home.
    pub fn exact(&self, home: u32) -> Exact {
        Exact { home, node: self.node, alone: self.alone, write: self.write }
    }

    /// Returns how the target uses its node if that is a gate, and the use is not only counted.
    pub fn explicit_mode(&self) -> Mode {
        match (self.alone, self.write) {
            (true, _) => Mode::WriteAlone,
            (false, false) => Mode::Read,
            (false, true) => Mode::Write,
        }
    }
}
