//! The contents of a simulated file: what programs read, and what is on the disk.

use super::random::Random;

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
}

fn write(contents: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if contents.len() < end {
        contents.resize(end, 0);
    }
    contents[offset..end].copy_from_slice(bytes);
}

impl Inode {
    /// Returns what programs read.
    pub fn contents(&self) -> &[u8] {
        &self.cached
    }

    pub fn append(&mut self, bytes: &[u8]) {
        let offset = self.cached.len();
        write(&mut self.cached, offset, bytes);
        self.pending.push(Pending::Write { offset, bytes: bytes.to_vec() });
    }

    pub fn truncate(&mut self, len: usize) {
        self.cached.truncate(len);
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

    /// Writes some of the changes and forgets the others, as a sync that fails. Programs read what
    /// they have written until the cache drops it.
    pub fn fail_to_sync(&mut self, random: &mut Random) {
        self.write_some(random);
        if random.flip() {
            self.cached.clone_from(&self.durable);
        }
    }

    /// Loses the cache: any of the changes may have been written before, and each in part.
    pub fn lose_power(&mut self, random: &mut Random) {
        self.write_some(random);
        self.cached.clone_from(&self.durable);
    }

    fn write_some(&mut self, random: &mut Random) {
        // Of most power cuts nothing or all of it is left, as it was written a moment before.
        let kept = [0, 100, 50, 90][random.up_to(3)];
        for pending in std::mem::take(&mut self.pending) {
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
            assert_eq!(inode.contents()[..1000], [1; 1000]);
            assert!(inode.contents()[1000..].iter().all(|byte| [0, 2].contains(byte)));
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
            let has = |byte| inode.contents().contains(&byte);
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
            inode.contents() != [1; 10]
        });
        assert!(lost.count() > 20);
    }
}
