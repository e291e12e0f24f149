//! A check of strict serialisability: whether some order of the transactions explains all that was
//! seen, and agrees with the time at which they began and ended.
//!
//! The method is that of Elle (Kingsbury and Alvaro, VLDB 2020). As each value is written once,
//! what was seen says which transaction has written it, and mostly in which order a key had its
//! values:
//!
//! | data | order of its values |
//! |---|---|
//! | list | that of its elements |
//! | register | a transaction that reads and then writes it says which value follows which |
//! | queue | that of its elements; they are taken in the order in which they were pushed |
//!
//! So it is known what comes before what, and in an order that explains all there is no cycle.

use super::graph::{Graph, Reason};
use super::history::{Key, Op, Outcome, Transaction};
use super::internal::check_internal;
use super::values::Values;
use super::verdict::{Anomaly, Checked, Kind, anomaly};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Checks a history.
pub fn check(history: &[Transaction]) -> Checked {
    history.iter().try_for_each(check_internal)?;
    let mut checker = Checker::new(history)?;
    checker.look_at_lists()?;
    for (number, transaction) in history.iter().enumerate() {
        if transaction.outcome == Outcome::Done {
            checker.look(number, transaction)?;
        }
    }
    checker.check_intermediate()?;
    checker.check_lists()?;
    checker.check_queues()?;
    checker.check_cycles()
}

struct Checker<'h> {
    history: &'h [Transaction],
    values: BTreeMap<Key, Values>,
    /// What transactions without an effect have written.
    failed: BTreeMap<(Key, u64), usize>,
    /// The keys to which transactions of unknown outcome may have copied a value.
    copied_to: BTreeSet<Key>,
    /// How many transactions of unknown outcome may have taken a value.
    may_pop: BTreeMap<Key, usize>,
    /// Whether it has had its effect.
    is_effective: Vec<bool>,
}

impl<'h> Checker<'h> {
    fn new(history: &'h [Transaction]) -> Result<Self, Anomaly> {
        let is_effective = history.iter().map(|transaction| transaction.outcome == Outcome::Done).collect();
        let mut checker = Self {
            history,
            values: BTreeMap::new(),
            failed: BTreeMap::new(),
            copied_to: BTreeSet::new(),
            may_pop: BTreeMap::new(),
            is_effective,
        };
        for (number, transaction) in history.iter().enumerate() {
            transaction.ops.iter().try_for_each(|op| checker.note_written(number, transaction, op))?;
        }
        Ok(checker)
    }

    fn note_written(&mut self, number: usize, transaction: &Transaction, op: &Op) -> Checked {
        if let (Some(written), Outcome::Failed) = (op.written(), transaction.outcome) {
            self.failed.insert(written, number);
        } else if let Some((key, value)) = op.written() {
            let values = self.values.entry(key).or_default();
            values.is_register |= matches!(op, Op::Set(..) | Op::SetFor(..));
            values.last.insert(number, value);
            if let Some(other) = values.writers.insert(value, number) {
                return Err(self.anomaly(Kind::Duplicate, format!("{key} {value}"), &[other, number]));
            }
        }
        match op {
            Op::Pop(key, value) => {
                let other = self.values.entry(key).or_default().takers.insert(*value, number);
                if let Some(other) = other {
                    return Err(self.anomaly(Kind::Duplicate, format!("{key} {value}"), &[other, number]));
                }
            }
            _ if transaction.outcome == Outcome::Failed => {}
            Op::MayPop(key) => *self.may_pop.entry(key).or_default() += 1,
            Op::MayCopy(key) => _ = self.copied_to.insert(key),
            _ => {}
        }
        Ok(())
    }

    fn anomaly(&self, kind: Kind, text: impl fmt::Display, involved: &[usize]) -> Anomaly {
        let involved: Vec<_> = involved.iter().map(|&number| &self.history[number]).collect();
        anomaly(kind, text, &involved)
    }

    /// Notes that a transaction has seen a value: then it was written.
    fn see(&mut self, number: usize, key: Key, value: u64) -> Checked {
        if let Some(&writer) = self.values.get(key).and_then(|values| values.writers.get(&value)) {
            self.is_effective[writer] = true;
            return Ok(());
        }
        let text = format!("{key} {value}");
        match self.failed.get(&(key, value)) {
            Some(&failed) => Err(self.anomaly(Kind::Aborted, text, &[failed, number])),
            None if self.copied_to.contains(key) => Ok(()),
            None => Err(self.anomaly(Kind::Phantom, text, &[number])),
        }
    }

    /// Finds the longest of each list: the others have to be how it begins.
    fn look_at_lists(&mut self) -> Checked {
        let mut longest = BTreeMap::<Key, (usize, &Vec<u64>)>::new();
        let history = self.history;
        let is_done = |(_, transaction): &(usize, &Transaction)| transaction.outcome == Outcome::Done;
        for (number, transaction) in history.iter().enumerate().filter(is_done) {
            for op in &transaction.ops {
                let Op::List(key, values) = op else { continue };
                let (other, known) = longest.entry(key).or_insert((number, values));
                let is_longer = values.len() > known.len();
                let (long, short) = if is_longer { (values, &**known) } else { (&**known, values) };
                if !long.starts_with(short) {
                    return Err(self.anomaly(Kind::Order, key, &[*other, number]));
                }
                if is_longer {
                    (*other, *known) = (number, values);
                }
            }
        }
        for (key, (number, elements)) in longest {
            let mut seen = BTreeSet::new();
            let mut previous = None;
            for &value in elements {
                if !seen.insert(value) {
                    return Err(self.anomaly(Kind::Duplicate, format!("{key} {value}"), &[number]));
                }
                self.see(number, key, value)?;
                let values = self.values.entry(key).or_default();
                values.link(previous, value);
                previous = Some(value);
                values.longest.push(value);
            }
        }
        Ok(())
    }

    /// Looks at what a transaction has seen.
    fn look(&mut self, number: usize, transaction: &Transaction) -> Checked {
        // The values of registers that it would see.
        let mut current = BTreeMap::<Key, Option<u64>>::new();
        for op in &transaction.ops {
            match op {
                Op::List(key, elements) => {
                    let values = self.values.entry(key).or_default();
                    values.reads.push((number, elements.last().copied()));
                    self.note_final(number, key, elements);
                }
                Op::Queue(key, elements) => self.look_at_queue(number, key, elements)?,
                &Op::Pop(key, value) => self.see(number, key, value)?,
                &Op::Get(key, value) | &Op::GetLive(key, value) => {
                    // Nothing is known if it has expired.
                    if value.is_none() && matches!(op, Op::GetLive(..)) {
                        current.remove(key);
                        continue;
                    }
                    value.map_or(Ok(()), |value| self.see(number, key, value))?;
                    self.values.entry(key).or_default().reads.push((number, value));
                    current.insert(key, value);
                }
                &Op::Set(key, value) | &Op::SetFor(key, value, _) => {
                    let values = self.values.entry(key).or_default();
                    if let Some(previous) = current.insert(key, Some(value))
                        && !values.link(previous, value)
                    {
                        let other = values.next[&previous];
                        let other = values.writers.get(&other).copied().unwrap_or(number);
                        return Err(self.anomaly(
                            Kind::LostUpdate,
                            format!("{key} {previous:?}"),
                            &[other, number],
                        ));
                    }
                }
                Op::Append(..) | Op::Push(..) | Op::MayPop(_) | Op::MayCopy(_) => {}
            }
        }
        Ok(())
    }

    fn look_at_queue(&mut self, number: usize, key: Key, elements: &[u64]) -> Checked {
        elements.iter().try_for_each(|&value| self.see(number, key, value))?;
        let values = self.values.entry(key).or_default();
        let are_linked = elements.windows(2).all(|pair| values.link(Some(pair[0]), pair[1]));
        if let Some(last) = elements.last() {
            values.reads.push((number, Some(*last)));
            values.windows.push((number, elements.to_vec()));
        }
        self.note_final(number, key, elements);
        if are_linked { Ok(()) } else { Err(self.anomaly(Kind::Order, key, &[number])) }
    }

    /// Notes what was seen of a list or queue, if no other transaction that has, began later.
    fn note_final(&mut self, number: usize, key: Key, elements: &[u64]) {
        let values = self.values.entry(key).or_default();
        let begun = |number: usize| self.history[number].begun;
        if values.final_read.as_ref().is_none_or(|(other, _)| begun(*other) <= begun(number)) {
            values.final_read = Some((number, elements.to_vec()));
        }
    }

    /// Checks that a value that others have seen is the last one that its transaction has written.
    fn check_intermediate(&self) -> Checked {
        for (key, values) in &self.values {
            for &(number, value) in &values.reads {
                let Some(value) = value else { continue };
                let Some(&writer) = values.writers.get(&value) else { continue };
                if writer != number && values.last[&writer] != value {
                    return Err(self.anomaly(
                        Kind::Intermediate,
                        format!("{key} {value}"),
                        &[writer, number],
                    ));
                }
            }
        }
        Ok(())
    }

    /// Returns true if one had ended when the other began.
    fn precedes(&self, first: usize, second: usize) -> bool {
        self.history[first].ended < self.history[second].begun
    }

    /// Checks that nothing is missing in lists, and that replies have told their lengths.
    fn check_lists(&self) -> Checked {
        let effective = (0..self.history.len()).filter(|&number| self.is_effective[number]);
        for (number, op) in
            effective.flat_map(|number| self.history[number].ops.iter().map(move |op| (number, op)))
        {
            let &Op::Append(key, value, len) = op else { continue };
            let values = &self.values[key];
            if let Some((last, elements)) = &values.final_read
                && self.precedes(number, *last)
                && !elements.contains(&value)
            {
                return Err(self.anomaly(Kind::Lost, format!("{key} {value}"), &[number, *last]));
            }
            let at = len.and_then(|len| values.longest.get(len as usize - 1));
            if at.is_some_and(|there| *there != value) {
                return Err(self.anomaly(Kind::Order, format!("{key} {value}"), &[number]));
            }
        }
        Ok(())
    }

    /// Checks that what is missing in queues was taken, or may have been.
    fn check_queues(&self) -> Checked {
        for (key, values) in &self.values {
            let Some((last, elements)) = &values.final_read else { continue };
            let is_missing = |&(value, writer): &(&u64, &usize)| {
                self.is_effective[*writer]
                    && self.precedes(*writer, *last)
                    && !elements.contains(value)
                    && !values.takers.contains_key(value)
            };
            // Nothing is taken from a list.
            if values.longest.is_empty() {
                let missing: Vec<_> =
                    values.writers.iter().filter(is_missing).map(|(_, writer)| *writer).collect();
                if missing.len() > self.may_pop.get(key).copied().unwrap_or(0) {
                    return Err(self.anomaly(Kind::Lost, key, &missing));
                }
            }
        }
        Ok(())
    }

    /// Checks that no transactions come before each other.
    fn check_cycles(&self) -> Checked {
        let count = self.history.len();
        let mut ended: Vec<_> = (0..count).filter(|&number| self.is_effective[number]).collect();
        ended.sort_by_key(|&number| self.history[number].ended);
        // Behind the transactions: the moments at which they ended, in order.
        let mut graph = Graph::new(count + ended.len());
        for (at, &number) in ended.iter().enumerate() {
            graph.add(number, count + at, Reason::Time);
            if at > 0 {
                graph.add(count + at - 1, count + at, Reason::Time);
            }
            let before = ended.partition_point(|&other| self.precedes(other, number));
            if before > 0 {
                graph.add(count + before - 1, number, Reason::Time);
            }
        }
        let mut sessions = BTreeMap::new();
        for number in (0..count).filter(|&number| self.is_effective[number]) {
            if let Some(before) = sessions.insert(self.history[number].session, number) {
                graph.add(before, number, Reason::Session);
            }
        }
        self.values.values().for_each(|values| self.add_edges(values, &mut graph));
        let Some(cycle) = graph.cycle() else { return Ok(()) };
        let cycle: Vec<_> = cycle.into_iter().filter(|(node, _)| *node < count).collect();
        let reasons: Vec<_> = cycle.iter().map(|(_, reason)| reason).collect();
        let numbers: Vec<_> = cycle.iter().map(|(number, _)| *number).collect();
        Err(self.anomaly(Kind::Cycle, format!("{reasons:?}"), &numbers))
    }

    /// Adds what is known by the values of a key.
    fn add_edges(&self, values: &Values, graph: &mut Graph) {
        let writer = |value: &u64| {
            let writer = values.writers.get(value).copied();
            writer.filter(|&writer| self.is_effective[writer])
        };
        let mut add = |from: Option<usize>, to: Option<usize>, reason| {
            if let (Some(from), Some(to)) = (from, to) {
                graph.add(from, to, reason);
            }
        };
        for (previous, next) in &values.next {
            let Some(previous) = previous else { continue };
            add(writer(previous), writer(next), Reason::Overwritten);
            let taker = |value| values.takers.get(value).copied();
            add(taker(previous), taker(next), Reason::Overwritten);
        }
        for &(reader, value) in &values.reads {
            add(value.as_ref().and_then(writer), Some(reader), Reason::Seen);
            add(Some(reader), values.next.get(&value).and_then(writer), Reason::Unseen);
            if values.is_register {
                self.add_by_time(values, reader, value, &mut add);
            }
        }
        for (value, &taker) in &values.takers {
            add(writer(value), Some(taker), Reason::Seen);
        }
        for (reader, elements) in &values.windows {
            for value in elements {
                add(Some(*reader), values.takers.get(value).copied(), Reason::Unseen);
            }
            let before = elements.first().and_then(|first| values.previous.get(first));
            let before = before.and_then(|before| before.as_ref());
            add(before.and_then(|before| values.takers.get(before).copied()), Some(*reader), Reason::Seen);
        }
    }

    /// Adds what is known of a register as its values replace each other: what was written after a
    /// value was written, a reader of that value has not seen; and what was written before it read,
    /// was replaced.
    fn add_by_time(
        &self,
        values: &Values,
        reader: usize,
        value: Option<u64>,
        add: &mut impl FnMut(Option<usize>, Option<usize>, Reason),
    ) {
        let seen = value.map(|value| values.writers.get(&value).copied());
        // The transaction that has written it is not known.
        if seen == Some(None) {
            return;
        }
        let seen = seen.flatten();
        for &other in values.writers.values() {
            if !self.is_effective[other] || other == reader || Some(other) == seen {
                continue;
            }
            if seen.is_none_or(|seen| self.precedes(seen, other)) {
                add(Some(reader), Some(other), Reason::Unseen);
            } else if self.precedes(other, reader) {
                add(Some(other), seen, Reason::Overwritten);
            }
        }
    }
}
