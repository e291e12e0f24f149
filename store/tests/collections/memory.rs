//! What the keys are counted to take.

use super::generator::Generator;
use super::{builder, runtime};

/// A count that follows each change is the same as one of what is there.
#[test]
fn the_count_of_changes_is_that_of_a_walk() {
    let rt = runtime();
    for seed in 0..20 {
        let mut generator = Generator::new(seed);
        let limits = [("hash-max-listpack-entries", "4"), ("set-max-listpack-entries", "3")];
        let limits =
            limits.into_iter().chain([("zset-max-listpack-entries", "4"), ("list-max-listpack-size", "3")]);
        let build = |limit: &str| {
            let builder = builder().clock(|| 1_000_000).process_memory(|| None).setting("maxmemory", limit);
            limits.clone().fold(builder, |builder, (name, value)| builder.setting(name, value)).build(&rt)
        };
        let (counted, walked) = (build("1gb"), build("0"));
        let (mut one, mut two) = (counted.client(), walked.client());
        let commands: Vec<_> = (0..300).map(|_| generator.command()).collect();
        for command in &commands {
            // Nothing waits in a transaction.
            one.run(["MULTI"]).unwrap();
            two.run(["MULTI"]).unwrap();
            assert_eq!(one.run(command).unwrap(), two.run(command).unwrap());
            assert_eq!(one.run(["EXEC"]).unwrap(), two.run(["EXEC"]).unwrap());
        }
        assert_eq!(walked.server().memory.counted(), 0);
        two.run(["CONFIG", "SET", "maxmemory", "1gb"]).unwrap();
        let memory = &counted.server().memory;
        assert_eq!(memory.counted(), walked.server().memory.counted(), "seed {seed}");
        assert!(memory.counted() > 0);
        one.run(["FLUSHALL"]).unwrap();
        assert_eq!(memory.counted(), 0, "seed {seed}");
    }
}
