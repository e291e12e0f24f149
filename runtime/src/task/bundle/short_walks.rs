//! Turns of a bundle whose walks mostly end at their first node.
//!
//! Such a walk has one step, so what surrounds the step counts. A lane prefetches its next node as
//! soon as it is [directed](Lanes::go_to) there. There are no groups of lanes, which would take
//! nodes in the cache together: a test of what the lanes of a group have done costs a branch that
//! the processor cannot predict.

use super::Bundle;
use super::lanes::{ALL_LANES, Lanes, WIDTH};
use crate::scheduler::Worker;

impl<B: Bundle> Lanes<B> {
    /// Makes some steps with all lanes, like [`turn`](Self::turn). Returns how many.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn turn_of_short_walks(&mut self, cx: &mut Worker) -> usize {
        let mut steps = 0;
        while steps < self.turn_steps {
            if self.occupied != ALL_LANES {
                self.fill_lanes(cx);
                if self.occupied == 0 {
                    break;
                }
            }
            let end = self.end_of_occupied();
            for index in 0..end {
                self.step(index, cx);
            }
            steps += end;
        }
        steps
    }

    /// Takes up walks that have returned, and begins one in each vacant lane.
    #[cold]
    #[inline(never)]
    fn fill_lanes(&mut self, cx: &mut Worker) {
        self.take_back_returned(cx);
        for index in 0..WIDTH {
            if self.occupied & 1 << index == 0 && self.takes_more() && self.has_free_lane() {
                self.begin(index, cx);
            }
        }
    }
}
