//! Judging the result of one operation: a few nanoseconds, no shared state, so that it can stand in the timed loop of
//! a thread as well as in the continuation of a task.

use super::{EXACT_SCANS, Plan, Trace};
use crate::ycsb::keyspace::sequence;
use std::fmt;

/// A result that must not be.
///
/// Small to hand around, because the good case is the one that is timed.
#[derive(Debug)]
pub struct Wrong(Box<Finding>);

#[derive(Debug)]
struct Finding {
    message: String,
    operation: Option<(usize, usize)>,
}

impl Wrong {
    /// A finding in words.
    #[cold]
    pub fn new(message: impl Into<String>) -> Self {
        Self(Box::new(Finding { message: message.into(), operation: None }))
    }

    /// Adds which operation of which worker it was.
    #[must_use]
    pub fn at(mut self, worker: usize, index: usize) -> Self {
        self.0.operation = Some((worker, index));
        self
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((worker, index)) = self.0.operation {
            write!(f, "operation {index} of worker {worker}: ")?;
        }
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Wrong {}

impl Plan {
    /// Checks what a lookup of an existing key has found.
    #[inline]
    pub fn check_read(&self, key: u64, found: Option<u64>) -> Result<(), Wrong> {
        match found {
            Some(value) if sequence(key, value).is_some_and(|sequence| sequence < self.end_sequence()) => {
                Ok(())
            }
            _ => Err(self.wrong_value(key, found)),
        }
    }

    /// Checks that an update has met an existing key.
    #[inline]
    pub fn check_update(&self, key: u64, existed: bool) -> Result<(), Wrong> {
        if existed { Ok(()) } else { Err(self.about(key, "the update did not find the key")) }
    }

    /// Checks that an insert has met no such key.
    #[inline]
    pub fn check_insert(&self, key: u64, inserted: bool) -> Result<(), Wrong> {
        if inserted { Ok(()) } else { Err(self.about(key, "the insert found the key already there")) }
    }

    /// What checks the entries of a scan, which is operation `index` of `worker`.
    #[inline]
    pub fn scan_check(&self, worker: usize, index: usize) -> ScanCheck {
        let operation = self.operation(worker, index);
        let (bound, place) = match &self.traces[worker] {
            Trace::Run { scans, .. } => {
                let exact = index.is_multiple_of(EXACT_SCANS);
                (scans.last_keys.get(index), exact.then(|| scans.places.get(index / EXACT_SCANS)).flatten())
            }
            Trace::Load { .. } => (None, None),
        };
        ScanCheck {
            from: self.keyspace.key(operation.record()),
            previous: None,
            bound: bound.copied().unwrap_or(u64::MAX),
            seen: 0,
            length: operation.scan_length() as u32,
            next_old: place.copied(),
        }
    }

    /// A finding about a key, with what is known of it.
    #[cold]
    pub(super) fn about(&self, key: u64, what: &str) -> Wrong {
        let record = self.keyspace.record(key);
        let record = if record < self.records_after {
            format!("record {record}")
        } else {
            "which belongs to no record".to_string()
        };
        Wrong::new(format!("key {key:#018x} ({record}): {what}"))
    }

    #[cold]
    fn wrong_value(&self, key: u64, found: Option<u64>) -> Wrong {
        let what = match found {
            None => "the key was not found".to_string(),
            Some(value) => match sequence(key, value) {
                None => format!("the value {value:#018x} does not belong to this key"),
                Some(sequence) => format!(
                    "the value carries sequence number {sequence}, but only those below {} were given out",
                    self.end_sequence()
                ),
            },
        };
        self.about(key, &what)
    }
}

/// Checks the entries of one scan as they come: the first is the key that was asked for, the keys ascend, every value
/// belongs to its key, and the scan is as long as asked for unless the key space ends, and no longer. That no key is left
/// out shows in the last one, as long as no new keys make up for it; every so often, it is made sure of key by key.
#[derive(Clone, Copy, Debug)]
pub struct ScanCheck {
    from: u64,
    previous: Option<u64>,
    /// The greatest last key that is right: where the scan would end without the records that this run inserts.
    bound: u64,
    seen: u32,
    length: u32,
    /// Where checked key by key: the place of the next key that was there before the run.
    next_old: Option<u32>,
}

impl ScanCheck {
    /// Checks the next entry.
    #[inline]
    pub fn entry(&mut self, plan: &Plan, key: u64, value: u64) -> Result<(), Wrong> {
        let in_order = match self.previous {
            Some(previous) => previous < key,
            None => key == self.from,
        };
        if !in_order || key > self.bound || self.seen == self.length {
            return Err(self.misplaced(plan, key, in_order));
        }
        if let Some(place) = self.next_old {
            self.old_entry(plan, key, place)?;
        }
        self.previous = Some(key);
        self.seen += 1;
        plan.check_read(key, Some(value))
    }

    /// Checks that a key that was there before the run is the next of these.
    fn old_entry(&mut self, plan: &Plan, key: u64, place: u32) -> Result<(), Wrong> {
        if plan.keyspace.record(key) < plan.records_before {
            if plan.sorted.get(place as usize) != Some(&key) {
                return Err(self.misplaced(plan, key, true));
            }
            self.next_old = Some(place + 1);
        }
        Ok(())
    }

    /// Checks that nothing is missing at the end.
    #[inline]
    pub fn finish(self, plan: &Plan) -> Result<(), Wrong> {
        if self.seen == self.length && self.next_old.is_none() { Ok(()) } else { self.end(plan) }
    }

    /// Checks all entries of a scan at once.
    #[inline]
    pub fn all(mut self, plan: &Plan, entries: &[(u64, u64)]) -> Result<(), Wrong> {
        for &(key, value) in entries {
            self.entry(plan, key, value)?;
        }
        self.finish(plan)
    }

    /// A short scan is right if it has reached the last of the keys that were there before the run.
    fn end(self, plan: &Plan) -> Result<(), Wrong> {
        let rest = || &plan.sorted[plan.sorted.partition_point(|key| *key < self.from)..];
        // The first key may have been inserted by this run: then it comes on top of the rest.
        let expected = || rest().len() + usize::from(rest().first() != Some(&self.from));
        let short = self.seen < self.length;
        if short && (self.bound != u64::MAX || (self.seen as usize) < expected()) {
            let what = format!(
                "the scan that begins here gave {} of {} entries, and the key space does not end there",
                self.seen, self.length
            );
            return Err(plan.about(self.from, &what));
        }
        // The next of the old keys must lie beyond what has been given.
        let next = self.next_old.and_then(|place| plan.sorted.get(place as usize));
        match next {
            Some(&next) if short || self.previous > Some(next) => {
                let what = format!("the scan that begins here left out key {next:#018x}");
                Err(plan.about(self.from, &what))
            }
            _ => Ok(()),
        }
    }

    #[cold]
    fn misplaced(&self, plan: &Plan, key: u64, in_order: bool) -> Wrong {
        let what = match self.previous {
            None => format!("the scan that begins here gave key {key:#018x} first"),
            Some(previous) if !in_order => {
                format!("the scan that begins here gave key {key:#018x} after key {previous:#018x}")
            }
            _ if self.seen == self.length => {
                format!("the scan that begins here gave more than the {} entries asked for", self.length)
            }
            _ => format!(
                "the scan that begins here left out a key before {key:#018x}, which is its entry {} of {}",
                self.seen + 1,
                self.length
            ),
        };
        plan.about(self.from, &what)
    }
}
