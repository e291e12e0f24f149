//! Checks of single results. They take a few nanoseconds and share no mutable state, so that they
//! can run in the timed loop of a thread or in the continuation of a task.

use super::{EXACT_SCANS, Plan, Trace};
use crate::keyspace::sequence;
use xtasking_harness_core::wrong::Wrong;

impl Plan {
    /// Checks the result of looking up an existing key.
    ///
    /// # Errors
    ///
    /// If the key was not found, or its value is no value that was written to it.
    #[inline]
    pub fn check_read(&self, key: u64, found: Option<u64>) -> Result<(), Wrong> {
        match found {
            Some(value) if sequence(key, value).is_some_and(|sequence| sequence < self.end_sequence()) => {
                Ok(())
            }
            _ => Err(self.wrong_value(key, found)),
        }
    }

    /// Checks that an update found its key.
    ///
    /// # Errors
    ///
    /// If it did not.
    #[inline]
    pub fn check_update(&self, key: u64, existed: bool) -> Result<(), Wrong> {
        if existed { Ok(()) } else { Err(self.about(key, "the update did not find the key")) }
    }

    /// Checks that an insert found its key absent.
    ///
    /// # Errors
    ///
    /// If it did not.
    #[inline]
    pub fn check_insert(&self, key: u64, inserted: bool) -> Result<(), Wrong> {
        if inserted { Ok(()) } else { Err(self.about(key, "the insert found the key already present")) }
    }

    /// Returns the check of a scan, which is operation `index` of `worker`.
    #[inline]
    pub fn scan_check(&self, worker: usize, index: usize) -> ScanCheck {
        let operation = self.operation(worker, index);
        let (bound, position) = match &self.traces[worker] {
            Trace::Run { scans, .. } => {
                let exact = index.is_multiple_of(EXACT_SCANS);
                let position = exact.then(|| scans.positions.get(index / EXACT_SCANS)).flatten();
                (scans.last_keys.get(index), position)
            }
            Trace::Load { .. } => (None, None),
        };
        ScanCheck {
            from: self.keyspace.key(operation.record()),
            previous: None,
            bound: bound.copied().unwrap_or(u64::MAX),
            seen: 0,
            length: operation.scan_length() as u32,
            next_old: position.copied(),
        }
    }

    /// Creates an error about a key, with its record.
    #[cold]
    pub(super) fn about(&self, key: u64, what: &str) -> Wrong {
        let record = self.keyspace.record(key);
        let record =
            if record < self.records_after { format!("record {record}") } else { "of no record".to_string() };
        Wrong::new(format!("key {key:#018x} ({record}): {what}"))
    }

    #[cold]
    fn wrong_value(&self, key: u64, found: Option<u64>) -> Wrong {
        let what = match found {
            None => "the key was not found".to_string(),
            Some(value) => match sequence(key, value) {
                None => format!("the value {value:#018x} does not belong to this key"),
                Some(sequence) => format!(
                    "the value has sequence number {sequence}, but only those below {} were given out",
                    self.end_sequence()
                ),
            },
        };
        self.about(key, &what)
    }
}

/// Checks the entries of one scan, one after another.
///
/// - The first key is the requested one, and the keys ascend strictly.
/// - Every value belongs to its key.
/// - The scan has the requested length, or less if the key space ends.
/// - No key is left out. A last key beyond `bound` shows that, unless concurrent inserts hide it;
///   some scans are therefore compared key by key.
#[derive(Clone, Copy, Debug)]
pub struct ScanCheck {
    from: u64,
    previous: Option<u64>,
    /// The greatest valid last key: where the scan ends without the records that this run inserts.
    bound: u64,
    seen: u32,
    length: u32,
    /// For a comparison key by key: the index in `Plan::sorted` of the next key from before the
    /// run.
    next_old: Option<u32>,
}

impl ScanCheck {
    /// Checks the next entry.
    ///
    /// # Errors
    ///
    /// If it does not belong there.
    #[inline]
    pub fn entry(&mut self, plan: &Plan, key: u64, value: u64) -> Result<(), Wrong> {
        let in_order = match self.previous {
            Some(previous) => previous < key,
            None => key == self.from,
        };
        if !in_order || key > self.bound || self.seen == self.length {
            return Err(self.misplaced(plan, key, in_order));
        }
        if let Some(position) = self.next_old {
            self.old_entry(plan, key, position)?;
        }
        self.previous = Some(key);
        self.seen += 1;
        plan.check_read(key, Some(value))
    }

    /// Checks that a key from before the run is the next one of these.
    fn old_entry(&mut self, plan: &Plan, key: u64, position: u32) -> Result<(), Wrong> {
        if plan.keyspace.record(key) < plan.records_before {
            if plan.sorted.get(position as usize) != Some(&key) {
                return Err(self.misplaced(plan, key, true));
            }
            self.next_old = Some(position + 1);
        }
        Ok(())
    }

    /// Checks that no entry is missing at the end.
    ///
    /// # Errors
    ///
    /// If one is missing.
    #[inline]
    pub fn finish(self, plan: &Plan) -> Result<(), Wrong> {
        if self.seen == self.length && self.next_old.is_none() { Ok(()) } else { self.end(plan) }
    }

    /// Checks all entries of a scan.
    ///
    /// # Errors
    ///
    /// The first violation.
    #[inline]
    pub fn all(mut self, plan: &Plan, entries: &[(u64, u64)]) -> Result<(), Wrong> {
        for &(key, value) in entries {
            self.entry(plan, key, value)?;
        }
        self.finish(plan)
    }

    /// Checks the end of a scan that is short or compared key by key: it must reach the last key
    /// from before the run.
    fn end(self, plan: &Plan) -> Result<(), Wrong> {
        let rest = || &plan.sorted[plan.sorted.partition_point(|key| *key < self.from)..];
        // If this run inserted the first key, the scan has one entry more.
        let expected = || rest().len() + usize::from(rest().first() != Some(&self.from));
        let short = self.seen < self.length;
        if short && (self.bound != u64::MAX || (self.seen as usize) < expected()) {
            let what = format!(
                "the scan from this key gave {} of {} entries, but the key space does not end there",
                self.seen, self.length
            );
            return Err(plan.about(self.from, &what));
        }
        // The next key from before the run must lie beyond the last entry.
        let next = self.next_old.and_then(|position| plan.sorted.get(position as usize));
        match next {
            Some(&next) if short || self.previous > Some(next) => {
                let what = format!("the scan from this key left out key {next:#018x}");
                Err(plan.about(self.from, &what))
            }
            _ => Ok(()),
        }
    }

    #[cold]
    fn misplaced(&self, plan: &Plan, key: u64, in_order: bool) -> Wrong {
        let what = match self.previous {
            None => format!("the scan from this key gave key {key:#018x} first"),
            Some(previous) if !in_order => {
                format!("the scan from this key gave key {key:#018x} after key {previous:#018x}")
            }
            _ if self.seen == self.length => {
                format!("the scan from this key gave more than the {} requested entries", self.length)
            }
            _ => format!(
                "the scan from this key left out a key before {key:#018x}, which is its entry {} of {}",
                self.seen + 1,
                self.length
            ),
        };
        plan.about(self.from, &what)
    }
}
