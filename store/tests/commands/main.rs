//! One script of commands, with the replies of Redis, run by tasks. The kernel runs it, too.

mod play;

use xtasking::Runtime;
use xtasking_store::Engine;

#[test]
fn the_script_has_the_replies_of_redis() {
    for workers in [1, 4] {
        let rt = Runtime::builder().workers(workers).build().unwrap();
        let mut told = 0;
        play::play(&rt, Engine::builder(), |_| told += 1).unwrap();
        assert_eq!(told, 16, "each family is told");
    }
}
