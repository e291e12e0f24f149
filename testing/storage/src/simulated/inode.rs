//! The contents of a simulated file: what programs read, and what is on the disk.

use super::random::Random;
use std::mem;
use std::ops::Range;

/// Bytes of a sector: a disk writes each one by itself.
const SECTOR: usize = 512;

/// A change that is not durable yet.
enum Pending {
    Write { offset: usize, bytes: Vec<u8> },
    Truncate { len: usize },
}

/// The contents of a file.
#[derive(Default)]
pub(super) struct Inode {
    /// What programs read: the kernel's cache.
    cached: Vec<u8>,
    /// What is on the disk.
    durable: Vec<u8>,
    /// What the next sync writes, in order.
    pending: Vec<Pending>,
    /// What a failed sync may not have written. The kernel takes it for written, and may drop it
    /// from the cache at any time.
    dropped_later: Vec<Range<usize>>,
    /// Open handles of the file.
    pub handles: usize,
}

fn write(contents: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if contents.len() < end {
        contents.resize(end, 0);
    }
    contents[offset..end].copy_from_slice(bytes);
}

impl Inode {
    /// Returns the length that programs see.
    pub fn len(&self) -> usize {
        self.cached.len()
    }

    /// Returns what programs read. Before that, the cache may drop what a failed sync has left.
    pub fn read(&mut self, random: &mut Random) -> &[u8] {
        for range in mem::take(&mut self.dropped_later) {
            if random.percent(25) {
                self.read_from_disk(range);
            } else {
                self.dropped_later.push(range);
            }
        }
        &self.cached
    }

    /// Fills a part of the cache with what is on the disk: zeros, where nothing is.
    fn read_from_disk(&mut self, range: Range<usize>) {
        for at in range {
            self.cached[at] = self.durable.get(at).copied().unwrap_or(0);
        }
    }

    pub fn append(&mut self, bytes: &[u8]) {
        let offset = self.cached.len();
        write(&mut self.cached, offset, bytes);
        self.pending.push(Pending::Write { offset, bytes: bytes.to_vec() });
    }

    pub fn truncate(&mut self, len: usize) {
        self.cached.truncate(len);
        for range in &mut self.dropped_later {
            *range = range.start.min(len)..range.end.min(len);
        }
        self.dropped_later.retain(|range| !range.is_empty());
        self.pending.push(Pending::Truncate { len });
    }

    /// Writes all changes.
    pub fn sync(&mut self) {
        for pending in self.pending.drain(..) {
            match pending {
                Pending::Write { offset, bytes } => write(&mut self.durable, offset, &bytes),
                Pending::Truncate { len } => self.durable.truncate(len),
            }
        }
    }

    /// Writes some of the changes and forgets the others, as a sync that fails. Programs still see
    /// the length, and read what they have written until the cache drops it.
    pub fn fail_to_sync(&mut self, random: &mut Random) {
        let end = self.len();
        let written = self.pending.iter().filter_map(|pending| match pending {
            Pending::Write { offset, bytes } => Some(*offset..*offset + bytes.len()),
            Pending::Truncate { .. } => None,
        });
        // What was cut off since is not in the cache.
        let kept = written.map(|range| range.start.min(end)..range.end.min(end));
        self.dropped_later.extend(kept.filter(|range| !range.is_empty()));
        self.write_some(random);
    }

    /// Loses the cache: any of the changes may have been written before, and each in part.
    pub fn lose_power(&mut self, random: &mut Random) {
        self.write_some(random);
        self.cached.clone_from(&self.durable);
        self.dropped_later.clear();
    }

    fn write_some(&mut self, random: &mut Random) {
        // Of most power cuts nothing or all of it is left, as it was written a moment before.
        let kept = [0, 100, 50, 90][random.up_to(3)];
        for pending in mem::take(&mut self.pending) {
            match pending {
                Pending::Write { offset, bytes } => self.write_sectors(offset, &bytes, kept, random),
                Pending::Truncate { len } if random.percent(kept) => self.durable.truncate(len),
                Pending::Truncate { .. } => {}
            }
        }
    }

    fn write_sectors(&mut self, offset: usize, bytes: &[u8], kept: u8, random: &mut Random) {
        let mut at = 0;
        while at < bytes.len() {
            let len = (SECTOR - (offset + at) % SECTOR).min(bytes.len() - at);
            let sector = &bytes[at..at + len];
            if random.percent(kept) {
                // Now and then the sector is torn.
                let written = if random.percent(10) { random.up_to(len) } else { len };
                write(&mut self.durable, offset + at, &sector[..written]);
            } else if random.percent(10) {
                // The length of the file was written, and its contents were not.
                let end = offset + at + len;
                self.durable.resize(self.durable.len().max(end), 0);
            }
            at += len;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_synced_survives_a_power_cut() {
        for seed in 0..100 {
            let (mut inode, mut random) = (Inode::default(), Random::new(seed));
            inode.append(&[1; 1000]);
            inode.sync();
            inode.append(&[2; 1000]);
            inode.lose_power(&mut random);
            assert_eq!(inode.cached[..1000], [1; 1000]);
            assert!(inode.cached[1000..].iter().all(|byte| [0, 2].contains(byte)));
        }
    }

    #[test]
    fn each_part_of_what_was_not_synced_may_survive_alone() {
        let (mut first, mut second, mut none, mut all) = (0, 0, 0, 0);
        for seed in 0..1000 {
            let (mut inode, mut random) = (Inode::default(), Random::new(seed));
            inode.append(&[1; SECTOR]);
            inode.append(&[2; SECTOR]);
            inode.lose_power(&mut random);
            let has = |byte| inode.cached.contains(&byte);
            match (has(1), has(2)) {
                (true, false) => first += 1,
                (false, true) => second += 1,
                (false, false) => none += 1,
                (true, true) => all += 1,
            }
        }
        assert!(
            [first, second, none, all].into_iter().all(|count| count > 50),
            "{first} {second} {none} {all}"
        );
    }

    #[test]
    fn a_sync_after_one_that_failed_does_not_bring_the_data_back() {
        let lost = (0..100).filter(|&seed| {
            let (mut inode, mut random) = (Inode::default(), Random::new(seed));
            inode.append(&[1; 10]);
            inode.fail_to_sync(&mut random);
            inode.sync();
            inode.lose_power(&mut random);
            inode.cached != [1; 10]
        });
        assert!(lost.count() > 20);
    }

    #[test]
    fn the_cache_drops_what_a_failed_sync_has_left_and_keeps_the_length() {
        let (mut before, mut after) = (0, 0);
        for seed in 0..100 {
            let (mut inode, mut random) = (Inode::default(), Random::new(seed));
            inode.append(&[1; 10]);
            inode.fail_to_sync(&mut random);
            assert_eq!((inode.len(), &inode.cached[..]), (10, &[1; 10][..]), "seed {seed}");
            before += usize::from(inode.read(&mut random) == [1; 10]);
            (0..100).for_each(|_| _ = inode.read(&mut random));
            after += usize::from(inode.read(&mut random) == [1; 10]);
            assert_eq!(inode.len(), 10, "seed {seed}");
        }
        assert!(before > after + 10 && after < 90, "{before} {after}");
    }

    #[test]
    fn what_is_written_again_after_a_failed_sync_stays_in_the_cache() {
        for seed in 0..100 {
            let (mut inode, mut random) = (Inode::default(), Random::new(seed));
            inode.append(&[1; 10]);
            inode.fail_to_sync(&mut random);
            inode.truncate(0);
            inode.append(&[2; 10]);
            (0..100).for_each(|_| _ = inode.read(&mut random));
            assert_eq!(inode.cached, [2; 10], "seed {seed}");
        }
    }
}
