//! A task that panics is named by its error: for the handle, the group, the set and the hook.

use crate::common::{Pair, lock, on_all, silence_tasks};
use std::sync::{Arc, Mutex};
use xtasking::arena::{Arena, Step};
use xtasking::managed::SetError;
use xtasking::primitive::{OptimisticLatched, ReaderWriterLatch, Sequencing, SpinLatch};
use xtasking::{JoinError, Shutdown};

fn provoke() {
    panic!("provoked");
}

/// Returns the name that the error has, and that it says.
fn name<R>(result: Result<R, JoinError>) -> &'static str {
    let Err(error) = result else { panic!("the task has not panicked") };
    let name = error.task_name().unwrap_or_else(|| panic!("the error has no name: {error}"));
    assert_eq!(error.to_string(), format!("the task `{name}` panicked: provoked"));
    name
}

/// Returns true if a path is that of a closure in this file.
fn is_here(path: &str) -> bool {
    path.contains("panic_names::") && path.contains("{{closure}}")
}

/// Spawns a task as it is, and with a name of its own.
macro_rules! is_named {
    ($task:expr; $($submit:tt)+) => {{
        let path = name($task $($submit)+.join());
        assert!(is_here(path), "{path}");
        assert_eq!(name($task.name("own") $($submit)+.join()), "own");
    }};
}

#[test]
fn each_kind_of_task_is_named_by_its_error() {
    silence_tasks();
    on_all(|setting| {
        let rt = setting.build();
        let sequenced = rt.plain(0).pin(Sequencing).keep_on_panic().build();
        let latched = rt.shared_reads(0).pin(ReaderWriterLatch).keep_on_panic().build();
        let snapshot = rt.snapshot(0u64).pin(OptimisticLatched).build();
        let versioned = rt.versioned(Pair::default()).pin(OptimisticLatched).keep_on_panic().build();
        is_named!(rt.task(()); .submit(|(), _| provoke()));
        is_named!(rt.task(()); .submit(|(), cx| {
            _ = cx.task(()).submit(|(), _| ());
            provoke();
        }));
        is_named!(rt.task(sequenced.write()); .submit(|_, _| provoke()));
        is_named!(rt.task(latched.read()); .submit(|_, _| provoke()));
        is_named!(rt.task(snapshot.read()); .submit(|_, _| provoke()));
        is_named!(rt.task(snapshot.write()); .submit(|_, _| provoke()));
        is_named!(rt.task((sequenced.write(), latched.write())); .submit(|_, _| provoke()));
        is_named!(rt.task(vec![latched.read()]); .submit(|_, _| provoke()));
        is_named!(rt.task(versioned.read()); .submit_read(|_| provoke(), |(), _| ()));
        is_named!(rt.task(versioned.read()); .submit_read(|_| (), |(), _| provoke()));
        let large = [1u8; 2000];
        is_named!(rt.task(()); .submit(move |(), _| {
            provoke();
            large
        }));
    });
}

#[test]
fn follow_ups_and_calls_are_named() {
    silence_tasks();
    on_all(|setting| {
        let rt = setting.build();
        // Under some queue policies it runs within its spawn.
        let follow_up = rt.task(()).submit(|(), cx| cx.task(()).submit(|(), _| provoke()));
        assert!(is_here(name(follow_up.join().unwrap().join())));
        let free = rt.plain(0).pin(SpinLatch).keep_on_panic().build();
        assert!(name(rt.task(free.write()).call(|_| provoke()).join()).contains("panic_names::"));
        let arena = Arena::with_primitive(&rt, Sequencing);
        let link = arena.alloc_outside(Pair::default());
        let walk = rt.reader().walk(link, |_, _: &Pair| -> Step<Pair, ()> {
            provoke();
            Step::End(())
        });
        let Err(error) = walk else { panic!("it panicked") };
        assert!(error.task_name().is_none_or(is_here), "only a task is named");
    });
}

#[test]
fn groups_sets_and_the_hook_hear_the_name() {
    silence_tasks();
    on_all(|setting| {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hear = heard.clone();
        let rt = setting
            .builder()
            .on_failure(move |failure| lock(&hear).push((failure.task_name(), failure.to_string())))
            .build()
            .unwrap();
        let group = rt.group();
        rt.task(()).of(&group).name("member").spawn(|(), _| provoke());
        assert_eq!(name(group.wait()), "member");
        let pool = rt.managed();
        let one = pool.enqueue(provoke);
        let Err(SetError::Failed(error)) = pool.wait(one) else { panic!("the function panicked") };
        assert!(name::<()>(Err(error)).contains("panic_names::provoke"));
        let many = pool.enqueue_many([provoke as fn()]);
        let Err(SetError::Failed(error)) = pool.wait(many) else { panic!("the function panicked") };
        assert_eq!(name::<()>(Err(error)), "fn()");
        rt.task(()).name("nightly audit").spawn(|(), _| provoke());
        rt.shutdown(Shutdown::Drain);
        let heard = lock(&heard);
        let [(name, text)] = &heard[..] else { panic!("one failure: {heard:?}") };
        assert_eq!(*name, Some("nightly audit"));
        assert!(text.ends_with(": the task `nightly audit` panicked: provoked"), "{text}");
    });
}
