//! What a simulation does in the midst of a step: it runs other cores, and charges the running one.

use super::Simulation;
use crate::platform::VirtualTime;

impl VirtualTime for Simulation {
    fn yield_to_others(&self, is_waiting: bool) -> bool {
        match &self.timeline {
            None => (is_waiting || self.state.lock().random.next().is_multiple_of(2)) && self.step(),
            Some(timeline) => self.catch_up(timeline) || is_waiting && self.step(),
        }
    }

    fn may_steal_from(&self, victim: usize) -> bool {
        self.timeline.as_ref().is_none_or(|timeline| timeline.lock().may_steal_from(victim))
    }

    fn record_fork(&self, job: usize) {
        if let Some(timeline) = &self.timeline {
            timeline.lock().job_made(job);
        }
    }

    fn record_steal(&self, job: usize) {
        if let Some(timeline) = &self.timeline {
            timeline.lock().job_done(job);
        }
    }

    fn record_join(&self, job: usize) {
        if let Some(timeline) = &self.timeline {
            timeline.lock().job_back(job);
        }
    }

    fn record_task(&self, cost: u64) {
        if let Some(timeline) = &self.timeline {
            timeline.lock().record_task(cost);
        }
    }

    fn record_call(&self, objects: &[(usize, bool)], cost: u64) -> bool {
        self.call(objects, cost)
    }

    fn record_push(&self, heap: usize) {
        if let Some(timeline) = &self.timeline {
            timeline.lock().hold_queue_lock(heap);
        }
    }

    fn record_pop(&self, heap: usize) {
        if let Some(timeline) = &self.timeline {
            timeline.lock().take_from_queue(heap);
        }
    }
}
