//! What one worker has appended and the disk does not have yet.

use super::waiting::Waiting;
use crate::command::Commands;
use std::mem;

/// The buffer of a worker, in cache lines of its own. Its lock is contended by the thread that
/// writes, which takes the parts and does not copy them.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Lane {
    /// The stamp of the last unit.
    last_stamp: u64,
    /// The epochs in which units were appended, in order: mostly one, two while an epoch is closed.
    parts: Vec<Part>,
    /// The bytes of all parts.
    len: usize,
    /// Batches that wait for the disk.
    pub waiting: Vec<Waiting>,
}

/// What a lane has of one epoch.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub epoch: u64,
    /// For each unit its stamp, its length and its bytes. Stamps ascend.
    pub records: Vec<u8>,
}

/// The bytes before a unit in a part.
const RECORD_HEADER: usize = 16;

impl Lane {
    /// Appends a unit whose stamp has to be above `floor`. Returns the stamp.
    pub fn append(&mut self, epoch: u64, floor: u64, commands: &Commands) -> u64 {
        let stamp = self.last_stamp.max(floor) + 1;
        self.last_stamp = stamp;
        if self.parts.last().is_none_or(|part| part.epoch != epoch) {
            self.parts.push(Part { epoch, records: Vec::new() });
        }
        let Some(part) = self.parts.last_mut() else { unreachable!("there is a part of this epoch") };
        let start = part.records.len();
        part.records.extend_from_slice(&[0; RECORD_HEADER]);
        commands.write(&mut part.records);
        let len = part.records.len() - start;
        let header = &mut part.records[start..start + RECORD_HEADER];
        header[..8].copy_from_slice(&stamp.to_le_bytes());
        header[8..].copy_from_slice(&((len - RECORD_HEADER) as u64).to_le_bytes());
        self.len += len;
        stamp
    }

    /// Returns the number of bytes that were appended and not taken.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Takes the parts of epochs up to `closed`.
    pub fn take(&mut self, closed: u64) -> Vec<Part> {
        let kept = self.parts.iter().position(|part| part.epoch > closed).unwrap_or(self.parts.len());
        let kept = self.parts.split_off(kept);
        let taken = mem::replace(&mut self.parts, kept);
        self.len -= taken.iter().map(|part| part.records.len()).sum::<usize>();
        taken
    }
}

/// Splits the first unit off the records of a part: its stamp, its bytes, and what follows.
fn split_record(records: &[u8]) -> Option<(u64, &[u8], &[u8])> {
    let (stamp, rest) = records.split_first_chunk::<8>()?;
    let (len, rest) = rest.split_first_chunk::<8>()?;
    let (unit, rest) = rest.split_at_checked(u64::from_le_bytes(*len) as usize)?;
    Some((u64::from_le_bytes(*stamp), unit, rest))
}

/// Appends the units of several lanes to `out`, in the order of their stamps. So each unit comes
/// after those that it depends on.
pub(super) fn merge(parts: &[Part], out: &mut Vec<u8>) {
    let mut heads: Vec<_> = parts.iter().filter_map(|part| split_record(&part.records)).collect();
    while let Some(first) = first_of(&heads) {
        let (_, unit, rest) = heads[first];
        out.extend_from_slice(unit);
        match split_record(rest) {
            Some(next) => heads[first] = next,
            None => _ = heads.remove(first),
        }
    }
}

/// Returns the index of the unit with the lowest stamp.
fn first_of(heads: &[(u64, &[u8], &[u8])]) -> Option<usize> {
    if planted!("merged-by-lane") {
        return (!heads.is_empty()).then_some(0);
    }
    (0..heads.len()).min_by_key(|&at| heads[at].0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Malformed, visit_units};

    fn unit(key: u64) -> Commands {
        let mut commands = Commands::default();
        commands.push(0, ["DEL", &key.to_string()]);
        commands
    }

    #[test]
    fn units_of_several_lanes_are_merged_by_their_stamps() {
        let mut lanes = [Lane::default(), Lane::default(), Lane::default()];
        let mut stamp = 0;
        // Each unit depends on the one before it.
        for key in 0..100 {
            stamp = lanes[(key * key % 3) as usize].append(1, stamp, &unit(key));
        }
        let parts: Vec<_> = lanes.iter_mut().flat_map(|lane| lane.take(1)).collect();
        let (mut merged, mut keys) = (Vec::new(), Vec::new());
        merge(&parts, &mut merged);
        visit_units(&merged, |_, args| {
            keys.push(String::from_utf8_lossy(&args[1]).parse::<u64>().unwrap());
            Ok::<_, Malformed>(())
        })
        .unwrap();
        assert_eq!(keys, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn what_belongs_to_a_later_epoch_stays() {
        let mut lane = Lane::default();
        for epoch in [1, 1, 2] {
            lane.append(epoch, 0, &unit(epoch));
        }
        let taken = lane.take(1);
        assert_eq!((taken.len(), taken[0].epoch), (1, 1));
        assert!(lane.len() > 0 && lane.take(1).is_empty());
        assert_eq!(lane.take(2).len(), 1);
        assert_eq!(lane.len(), 0);
    }
}
