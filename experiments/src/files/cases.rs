//! The mixes of operations, and the cases.

use super::operation::Way;
use xtasking_harness::failure::Failure;

/// How frequent each kind of operation is.
#[derive(Debug)]
pub(super) struct Mix {
    pub name: &'static str,
    /// Percentages of the [`Kind`]s, in their order.
    pub shares: [u64; Kind::ALL.len()],
}

/// A kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write,
    /// Sums up a lowest directory.
    SumDirectory,
    /// Sums up a top directory.
    SumTop,
    /// Adds to a top directory with all below it.
    AddTop,
    Move,
}

impl Kind {
    pub const ALL: [Self; 6] =
        [Self::Read, Self::Write, Self::SumDirectory, Self::SumTop, Self::AddTop, Self::Move];
}

/// The mixes that are measured. None has moves beside operations on top directories, so that the
/// sizes of these are known.
pub(super) static MIXES: &[Mix] = &[
    Mix { name: "small reads", shares: [80, 10, 10, 0, 0, 0] },
    Mix { name: "small writes", shares: [20, 60, 10, 0, 0, 10] },
    Mix { name: "large reads", shares: [80, 10, 0, 10, 0, 0] },
    Mix { name: "large writes", shares: [20, 60, 0, 10, 10, 0] },
];

/// The moves before a turn.
pub(super) static MOVES: Mix = Mix { name: "moves", shares: [0, 0, 0, 0, 0, 100] };

/// A workload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub mix: &'static Mix,
    pub way: Way,
    /// Nanoseconds of computation in each operation.
    pub body: u64,
    /// Moves before the turn.
    pub moves: u64,
}

impl Mix {
    /// Selects mixes by words in their names; without words, all.
    ///
    /// # Errors
    ///
    /// If a word is in no name.
    pub fn select(words: &[String]) -> Result<Vec<&'static Self>, Failure> {
        let names: Vec<_> = MIXES.iter().map(|mix| mix.name).collect();
        if words.is_empty() {
            return Ok(MIXES.iter().collect());
        }
        let selected = xtasking_harness::suggestion::matching_cases(words, &names).map_err(Failure::Usage)?;
        Ok(selected.into_iter().map(|index| &MIXES[index]).collect())
    }
}

impl Case {
    /// Returns the name of the case.
    pub fn name(&self) -> String {
        let way = match self.way {
            Way::Path => "by path",
            Way::Handle => "by handle",
        };
        let mut name = format!("{} {way}", self.mix.name);
        if self.body > 0 {
            name += &format!(", {} µs", self.body as f64 / 1e3);
        }
        if self.moves > 0 {
            name += &format!(", after {} moves", self.moves);
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_no_mix_has_moves_beside_large_operations() {
        for mix in MIXES.iter().chain([&MOVES]) {
            assert_eq!(mix.shares.iter().sum::<u64>(), 100, "{}", mix.name);
            let of = |kind: Kind| mix.shares[kind as usize];
            assert!(of(Kind::Move) == 0 || of(Kind::SumTop) + of(Kind::AddTop) == 0, "{}", mix.name);
        }
        assert!(Kind::ALL.iter().enumerate().all(|(index, &kind)| index == kind as usize));
    }

    #[test]
    fn a_case_says_what_it_is() {
        let case = Case { mix: &MIXES[1], way: Way::Handle, body: 1500, moves: 300 };
        assert_eq!(case.name(), "small writes by handle, 1.5 µs, after 300 moves");
        assert_eq!(Case { body: 0, moves: 0, way: Way::Path, ..case }.name(), "small writes by path");
        let large = Mix::select(&["large".to_string()]).unwrap();
        assert_eq!(large.iter().map(|mix| mix.name).collect::<Vec<_>>(), ["large reads", "large writes"]);
        assert!(Mix::select(&["middle".to_string()]).is_err());
    }
}
