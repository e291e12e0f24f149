//! Which units of a log can be replayed side by side.
//!
//! Units that change keys of different shards may be replayed in any order: neither can have seen
//! the other. So the shards are divided into as many parts as there are workers, and a task for
//! each part replays the units whose keys are all there, in their order. A unit with keys of
//! several parts comes after all before it, and before all that follow.

use crate::command::{Command, KeyPositions, Malformed, resolve, visit_unit};
use crate::keyspace::Layout;
use crate::resp::{Args, Requests};
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
    pub(super) bytes: Range<usize>,
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

/// Units, and in which order they can be replayed.
struct Stages<'l> {
    parts: ShardParts<'l>,
    stages: Vec<Stage>,
    /// The command that was looked at last. The next one is mostly the same.
    last: Option<&'static Command>,
}

/// Returns the order in which units can be replayed.
///
/// # Errors
///
/// If they are no units.
pub(super) fn stages(parts: ShardParts<'_>, units: &[u8]) -> Result<Vec<Stage>, Malformed> {
    let mut stages = Stages { parts, stages: Vec::new(), last: None };
    let (mut rest, mut requests) = (units, Requests::default());
    while !rest.is_empty() {
        let start = units.len() - rest.len();
        let place = stages.take_unit(&mut rest, &mut requests)?;
        stages.push(start..units.len() - rest.len(), place);
        if stages.stages.len() > MOST_STAGES {
            return Ok(vec![Stage::Whole(0..units.len())]);
        }
    }
    Ok(stages.stages)
}

impl Stages<'_> {
    /// Takes a unit off the front. Returns its part, and the place of its key if it has only one;
    /// `None` if no part has all its keys.
    fn take_unit(
        &mut self,
        rest: &mut &[u8],
        requests: &mut Requests,
    ) -> Result<Option<UnitPart>, Malformed> {
        let (mut part, mut place, mut is_split, mut count) = (None, None, false, 0);
        visit_unit(rest, requests, |database, args| {
            let command = self.last.map_or_else(|| resolve(args).ok(), |last| last.find_after(args));
            self.last = command;
            let found = command.and_then(|command| self.parts.of_command(command, args));
            is_split |= !planted!("split-unit-in-one-part")
                && found.is_none_or(|(own, _)| part.is_some_and(|part| part != own));
            part = found.map(|(part, _)| part);
            place = found.map(|(_, hash)| (database, hash));
            count += 1;
            Ok::<_, Malformed>(())
        })?;
        Ok(part.filter(|_| !is_split).map(|part| (part, place.filter(|_| count == 1))))
    }

    fn push(&mut self, bytes: Range<usize>, part: Option<UnitPart>) {
        match (self.stages.last_mut(), part) {
            (Some(Stage::Parts(parts)), Some((part, place))) => parts[part].push(PlacedUnit { bytes, place }),
            (Some(Stage::Whole(whole)), None) => whole.end = bytes.end,
            (_, Some((part, place))) => {
                let mut parts = vec![Vec::new(); self.parts.count];
                parts[part].push(PlacedUnit { bytes, place });
                self.stages.push(Stage::Parts(parts));
            }
            (_, None) => self.stages.push(Stage::Whole(bytes)),
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
        let stages = stages(parts, &bytes).unwrap();
        let [Stage::Parts(before), Stage::Whole(whole), Stage::Parts(after)] = &stages[..] else {
            panic!("{stages:?}")
        };
        assert_eq!([before[0].len(), before[1].len()], [3, 1]);
        assert_eq!([after[0].len(), after[1].len()], [0, 1]);
        let hash = layout.hash(one[0].as_bytes());
        let places = before[0].iter().map(|unit| unit.place.filter(|(_, own)| *own == hash));
        assert_eq!(places.collect::<Vec<_>>(), [Some((3, hash)), None, None]);
        // All bytes are there once.
        let mut ranges: Vec<_> =
            before.iter().chain(after).flatten().map(|unit| unit.bytes.clone()).collect();
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
        assert_eq!(stages(ShardParts::new(&layout, 2), &bytes).unwrap(), [Stage::Whole(0..bytes.len())]);
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
