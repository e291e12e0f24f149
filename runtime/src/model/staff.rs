//! Pools that get another keeper, beside those who push to them.

use super::model;
use super::platform::running;

#[test]
fn a_pool_that_is_handed_on_is_woken_by_its_new_keeper() {
    model(1, || {
        let runtime = running(2);
        // Both fall asleep, or notice by themselves that one of them has to go.
        runtime.resize(1).unwrap();
        let handle = runtime.task(()).core(1).submit(|(), _cx| 7);
        assert_eq!(handle.join().unwrap(), 7);
    });
}
