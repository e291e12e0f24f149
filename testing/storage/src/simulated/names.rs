//! The directory of a simulated disk.

use super::random::Random;
use std::collections::BTreeMap;

/// The number of a file's contents.
pub(super) type Number = usize;

/// Names and what they stand for; `None` if the name is gone. The name that a file gets is its
/// only one.
type Change = Vec<(String, Option<Number>)>;

/// The names of files, as programs see them and as they are on the disk.
#[derive(Default)]
pub(super) struct Names {
    cached: BTreeMap<String, Number>,
    durable: BTreeMap<String, Number>,
    /// What the next sync writes, in order. The parts of a change are written together.
    pending: Vec<Change>,
}

fn apply(names: &mut BTreeMap<String, Number>, change: &Change) {
    for (name, number) in change {
        match number {
            Some(number) => {
                // An earlier renaming of this file may be lost, as after a sync that failed.
                names.retain(|_, named| named != number);
                names.insert(name.clone(), *number);
            }
            None => _ = names.remove(name),
        }
    }
}

impl Names {
    pub fn get(&self, name: &str) -> Option<Number> {
        self.cached.get(name).copied()
    }

    pub fn list(&self) -> Vec<String> {
        self.cached.keys().cloned().collect()
    }

    /// Returns true if a file has a name for programs.
    pub fn lead_to(&self, number: Number) -> bool {
        self.cached.values().any(|&named| named == number)
    }

    /// Returns true if a file has a name, or may have it after a power cut.
    pub fn mention(&self, number: Number) -> bool {
        let changed = self.pending.iter().flatten().filter_map(|(_, number)| *number);
        self.cached.values().chain(self.durable.values()).copied().chain(changed).any(|named| named == number)
    }

    /// Changes some names at once.
    pub fn change(&mut self, change: Change) {
        apply(&mut self.cached, &change);
        self.pending.push(change);
    }

    /// Writes all changes.
    pub fn sync(&mut self) {
        self.pending.drain(..).for_each(|change| apply(&mut self.durable, &change));
    }

    /// Writes some of the changes and forgets the others. Programs see all of them.
    pub fn fail_to_sync(&mut self, random: &mut Random) {
        for change in std::mem::take(&mut self.pending) {
            if random.flip() {
                apply(&mut self.durable, &change);
            }
        }
    }

    /// Loses the cache: any of the changes may have been written before.
    pub fn lose_power(&mut self, random: &mut Random) {
        self.fail_to_sync(random);
        self.cached.clone_from(&self.durable);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_one_name_also_if_some_of_its_renamings_are_lost() {
        let rename =
            |from: &str, to: &str, number| vec![(from.to_owned(), None), (to.to_owned(), Some(number))];
        for seed in 0..100 {
            let (mut names, mut random) = (Names::default(), Random::new(seed));
            names.change(vec![("a".to_owned(), Some(1))]);
            names.sync();
            names.change(rename("a", "b", 1));
            names.fail_to_sync(&mut random);
            names.change(rename("b", "c", 1));
            names.lose_power(&mut random);
            assert_eq!(names.list().len(), 1, "seed {seed}: {:?}", names.list());
        }
    }
}
