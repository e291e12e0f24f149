//! Which units of a log, or of a file of Redis, can be replayed side by side.
//!
//! Units that change keys of different shards may be replayed in any order: neither can have seen
//! the other. So the shards are divided into as many parts as there are workers, and a task for
//! each part replays the units whose keys are all there, in their order. A unit with keys of
//! several parts comes after all before it, and before all that follow.

use crate::command::{Command, KeyPositions, Malformed, resolve, visit_unit};
use crate::keyspace::Layout;
use crate::resp::{Args, Requests};
use std::mem;
use std::ops::Range;

/// The most stages of the units that are replayed together. If there were more, the waits between
/// them would take longer than the units.
const MOST_STAGES: usize = 16;

/// The database and the hash of a key.
type KeyPlace = (usize, u64);
/// The part of the shards in which a unit lies, and where its key is if it has only one.
type UnitPart = (usize, Option<KeyPlace>);

/// Where a unit is among those that are replayed together, and what it will touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlacedUnit {
    /// Bytes of a log, or commands of a file of Redis.
    pub(super) span: Range<usize>,
    /// Where its key is, if it has only one.
    pub(super) place: Option<KeyPlace>,
}

/// Units that are replayed after all those of the stage before.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Units of each part of the shards, which are replayed side by side.
    Parts(Vec<Vec<PlacedUnit>>),
    /// Units that are replayed one after the other, on all shards.
    Whole(Range<usize>),
}

/// Units in the order in which they can be replayed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StagedUnits {
    pub(super) stages: Vec<Stage>,
    /// Whether one of them may be about a range of keys: each looks at all keys of a database that
    /// is not in order.
    pub(super) may_have_ranges: bool,
}

/// The shards of a store in parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShardParts<'l> {
    layout: &'l Layout,
    count: usize,
}

impl<'l> ShardParts<'l> {
    /// Divides the shards into this many parts, if there are as many.
    pub(super) fn new(layout: &'l Layout, count: usize) -> Self {
        Self { layout, count: count.clamp(1, layout.shards()) }
    }

    /// Returns the shards of a part.
    pub(super) fn shards(self, part: usize) -> Range<usize> {
        let first = |part: usize| (part * self.layout.shards()).div_ceil(self.count);
        first(part)..first(part + 1)
    }

    /// Returns the part of the shards in which a hash lies.
    fn part_of(self, hash: u64) -> usize {
        self.layout.shard_of(hash) * self.count / self.layout.shards()
    }

    /// Returns the part in which all keys of a command lie, and the hash of the last one; `None` if
    /// there is no such part.
    fn of_command(self, command: &Command, args: Args<'_>) -> Option<(usize, u64)> {
        match command.keys {
            KeyPositions::Range { first: 1, last: 1, .. } => {
                let hash = self.layout.hash(args.get(1)?);
                return Some((self.part_of(hash), hash));
            }
            KeyPositions::Patterns { has_patterns, .. } if has_patterns(args) => return None,
            KeyPositions::Range { .. }
            | KeyPositions::Counted { .. }
            | KeyPositions::Function(_)
            | KeyPositions::Patterns { .. } => {}
            _ => return None,
        }
        let mut only = None;
        for key in command.keys.positions(args).into_iter().map(|at| args.at(at)) {
            let hash = self.layout.hash(key);
            let part = self.part_of(hash);
            if only.is_some_and(|(other, _)| other != part) {
                return None;
            }
            only = Some((part, hash));
        }
        only
    }
}

/// Finds the order in which units can be replayed. It looks at one command after the other.
pub(super) struct Stages<'l> {
    parts: ShardParts<'l>,
    stages: Vec<Stage>,
    /// The command that was looked at last. The next one is mostly the same.
    last: Option<&'static Command>,
    unit: UnitKeys,
    has_ranges: bool,
}

/// The keys of a unit, as far as it was looked at.
#[derive(Default)]
struct UnitKeys {
    part: Option<usize>,
    place: Option<KeyPlace>,
    is_split: bool,
    count: usize,
}

/// Returns the order in which units of a log can be replayed.
///
/// # Errors
///
/// If they are no units.
pub(super) fn stages(parts: ShardParts<'_>, units: &[u8]) -> Result<StagedUnits, Malformed> {
    let (mut stages, mut rest, mut requests) = (Stages::new(parts), units, Requests::default());
    while !rest.is_empty() {
        let start = units.len() - rest.len();
        visit_unit(&mut rest, &mut requests, |database, args| {
            stages.take(database, args);
            Ok::<_, Malformed>(())
        })?;
        if !stages.end_unit(start..units.len() - rest.len()) {
            // The rest is not looked at.
            return Ok(StagedUnits { stages: vec![Stage::Whole(0..units.len())], may_have_ranges: true });
        }
    }
    Ok(StagedUnits { stages: stages.stages, may_have_ranges: stages.has_ranges })
}

impl<'l> Stages<'l> {
    pub(super) fn new(parts: ShardParts<'l>) -> Self {
        Self { parts, stages: Vec::new(), last: None, unit: UnitKeys::default(), has_ranges: false }
    }

    /// Takes the next command of a unit.
    pub(super) fn take(&mut self, database: usize, args: Args<'_>) {
        let command = self.last.map_or_else(|| resolve(args).ok(), |last| last.find_after(args));
        self.last = command;
        self.has_ranges |= command.is_some_and(|command| command.name == "rangedel");
        let found = command.and_then(|command| self.parts.of_command(command, args));
        self.unit.add(database, found);
    }

    /// Ends a unit that is at this place. Returns false if the stages are too many: then all units
    /// are better replayed one after the other.
    pub(super) fn end_unit(&mut self, span: Range<usize>) -> bool {
        match (self.stages.last_mut(), mem::take(&mut self.unit).part()) {
            (Some(Stage::Parts(parts)), Some((part, place))) => parts[part].push(PlacedUnit { span, place }),
            (Some(Stage::Whole(whole)), None) => whole.end = span.end,
            (_, Some((part, place))) => {
                let mut parts = vec![Vec::new(); self.parts.count];
                parts[part].push(PlacedUnit { span, place });
                self.stages.push(Stage::Parts(parts));
            }
            (_, None) => self.stages.push(Stage::Whole(span)),
        }
        self.stages.len() <= MOST_STAGES
    }

    /// Returns the stages of the units that were taken.
    pub(super) fn into_stages(self) -> Vec<Stage> {
        self.stages
    }
}

impl UnitKeys {
    /// Adds a command in a database. All its keys are in one part and the last one has this hash,
    /// or there is no such part.
    fn add(&mut self, database: usize, found: Option<(usize, u64)>) {
        self.is_split |= !planted!("split-unit-in-one-part")
            && found.is_none_or(|(own, _)| self.part.is_some_and(|part| part != own));
        self.part = found.map(|(part, _)| part);
        self.place = found.map(|(_, hash)| (database, hash));
        self.count += 1;
    }

    /// Returns the part of the unit, and the place of its key if it has only one; `None` if no part
    /// has all its keys.
    fn part(self) -> Option<UnitPart> {
        let part = self.part.filter(|_| !self.is_split)?;
        Some((part, self.place.filter(|_| self.count == 1)))
    }
}

impl Stage {
    /// Returns what is run side by side: shards, and units on them.
    pub(super) fn on_shards(self, parts: ShardParts<'_>) -> Vec<(Range<usize>, Vec<PlacedUnit>)> {
        match self {
            Self::Whole(span) => vec![(0..parts.layout.shards(), vec![PlacedUnit { span, place: None }])],
            Self::Parts(units) => {
                let filled = units.into_iter().enumerate().filter(|(_, units)| !units.is_empty());
                filled.map(|(part, units)| (parts.shards(part), units)).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Commands;

    fn units(lines: &[&[&str]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for unit in lines {
            let mut commands = Commands::default();
            unit.iter().for_each(|line| commands.push(3, line.split(' ')));
            commands.write(&mut bytes);
        }
        bytes
    }

    /// Returns keys of the first and of the second part.
    fn keys(parts: ShardParts<'_>) -> [Vec<String>; 2] {
        let keys = (0..100).map(|number| format!("key:{number}"));
        let (first, second) = keys.partition(|key| parts.part_of(parts.layout.hash(key.as_bytes())) == 0);
        [first, second]
    }

    #[test]
    fn units_of_one_part_are_apart_from_those_of_others() {
        let layout = Layout::new(16, 1);
        let parts = ShardParts::new(&layout, 2);
        let [one, two] = keys(parts);
        let set = |key: &String| format!("SET {key} 1");
        let both = format!("MSET {} 1 {} 2", one[0], two[0]);
        let same = format!("MSET {} 1 {} 2", one[1], one[2]);
        let (first, second) = (set(&one[0]), set(&two[0]));
        let bytes = units(&[
            &[&first],
            &[&second],
            &[&same],
            &[&first, &first],
            // From here on all before has to be there.
            &[&both],
            &[&first, &second],
            &["FLUSHALL"],
            &[&second],
        ]);
        let staged = stages(parts, &bytes).unwrap();
        let [Stage::Parts(before), Stage::Whole(whole), Stage::Parts(after)] = &staged.stages[..] else {
            panic!("{staged:?}")
        };
        assert!(!staged.may_have_ranges);
        let ranges = units(&[&[&first], &["RANGEDEL [a [b SCAN"]]);
        assert!(stages(parts, &ranges).unwrap().may_have_ranges);
        assert_eq!([before[0].len(), before[1].len()], [3, 1]);
        assert_eq!([after[0].len(), after[1].len()], [0, 1]);
        let hash = layout.hash(one[0].as_bytes());
        let places = before[0].iter().map(|unit| unit.place.filter(|(_, own)| *own == hash));
        assert_eq!(places.collect::<Vec<_>>(), [Some((3, hash)), None, None]);
        // All bytes are there once.
        let mut ranges: Vec<_> = before.iter().chain(after).flatten().map(|unit| unit.span.clone()).collect();
        ranges.push(whole.clone());
        ranges.sort_by_key(|range| range.start);
        assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!((ranges[0].start, ranges.last().unwrap().end), (0, bytes.len()));
    }

    #[test]
    fn units_that_often_need_all_parts_are_replayed_as_one() {
        let layout = Layout::new(16, 1);
        let lines: Vec<&[&str]> = [&["SET key 1"][..], &["FLUSHALL"]].into_iter().cycle().take(100).collect();
        let bytes = units(&lines);
        let staged = StagedUnits { stages: vec![Stage::Whole(0..bytes.len())], may_have_ranges: true };
        assert_eq!(stages(ShardParts::new(&layout, 2), &bytes).unwrap(), staged);
        // Fewer are read to their end.
        assert!(stages(ShardParts::new(&layout, 2), &units(&[&["SET key 1"]])[1..]).is_err());
    }

    #[test]
    fn each_shard_is_in_one_part() {
        for (shards, count) in [(1, 4), (2, 2), (16, 3), (1024, 7)] {
            let layout = Layout::new(shards, 1);
            let parts = ShardParts::new(&layout, count);
            let all: Vec<_> = (0..parts.count).flat_map(|part| parts.shards(part)).collect();
            assert!(all.into_iter().eq(0..shards), "{shards} in {count}");
            for hash in (0..1000_u64).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15)) {
                assert!(parts.shards(parts.part_of(hash)).contains(&layout.shard_of(hash)));
            }
        }
    }
}
