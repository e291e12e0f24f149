//! Tasks from outside for any worker: none is missed by workers that fall asleep or are busy.

use super::model;
use super::platform::running_with;
use crate::QueuePolicy;

#[test]
fn a_task_injected_beside_a_worker_that_falls_asleep_is_run() {
    model(1, || {
        let runtime = running_with(2, QueuePolicy::WorkStealing);
        // If the push were missed, both threads would wait for ever, which loom reports.
        let handle = runtime.task(()).submit(|(), _cx| 7);
        assert_eq!(handle.join().unwrap(), 7);
    });
}
