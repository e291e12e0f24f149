//! Groups changes that can be applied together.

use std::collections::HashMap;
use xtasking_experiments::scan::requests::Change;

/// Splits changes into waves with at most one change of any booking: as a change concerns one
/// booking only, the order within a wave does not matter.
pub fn waves(changes: &[Change]) -> Vec<Vec<&Change>> {
    let mut next_wave: HashMap<i64, usize> = HashMap::new();
    let mut waves: Vec<Vec<&Change>> = Vec::new();
    for change in changes {
        let wave = next_wave.entry(change.pnr()).or_default();
        if *wave == waves.len() {
            waves.push(Vec::new());
        }
        waves[*wave].push(change);
        *wave += 1;
    }
    waves
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_one_booking_come_one_after_another() {
        let change = |(pnr, status)| Change::Status { pnr, status };
        let changes = [(1, 0), (2, 1), (1, 2), (3, 3), (1, 4), (2, 5)].map(change);
        let waves = waves(&changes);
        let of = |places: &[usize]| places.iter().map(|&place| &changes[place]).collect::<Vec<_>>();
        assert_eq!(waves, [of(&[0, 1, 3]), of(&[2, 5]), of(&[4])]);
    }
}
