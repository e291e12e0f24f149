//! Run queues that get another owner, beside pushes to them.

use super::model;
use super::platform::running;

#[test]
fn a_run_queue_that_changes_owners_is_woken_by_its_new_owner() {
    model(1, || {
        let runtime = running(2);
        // Both fall asleep, or notice by themselves that one of them has to stop.
        runtime.resize(1).unwrap();
        let handle = runtime.task(()).core(1).submit(|(), _cx| 7);
        assert_eq!(handle.join().unwrap(), 7);
    });
}
