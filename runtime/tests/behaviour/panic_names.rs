//! A task that panics is named by its error: for the handle, the group, the set and the hook.

use crate::common::{Pair, lock, on_all, silence_tasks};
use std::sync::{Arc, Mutex};
use xtasking::arena::{Arena, Link, Modify, Step, Visit, Written};
use xtasking::bundle::{Bundle, Hop, Start, Walk};
use xtasking::managed::SetError;
use xtasking::primitive::{OptimisticLatched, ReaderWriterLatch, Sequencing, SpinLatch};
use xtasking::{Context, JoinError, Shutdown};

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
        // In place and as a task it has the same name: that of what the program wrote.
        let sequenced = rt.plain(0).pin(Sequencing).keep_on_panic().build();
        fn path<F>(_: &F) -> &'static str {
            std::any::type_name::<F>()
        }
        let body = |_: &mut i32| provoke();
        let called = name(rt.task(free.write()).call(body).join());
        assert_eq!((called, is_here(called)), (path(&body), true));
        assert_eq!(name(rt.task(sequenced.write()).call(body).join()), called);
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

/// Panics in one of its methods.
#[derive(Clone, Copy)]
struct Panicking(&'static str);

impl Panicking {
    fn at(self, method: &str) {
        if self.0 == method {
            provoke();
        }
    }
}

impl Visit for Panicking {
    type Target = Pair;
    type Output = ();

    fn read(&self, _: Link<Pair>, _: &Pair) -> Step<Pair, ()> {
        self.at("read");
        Step::End(())
    }

    fn then(self, (): (), _: &mut Context) {
        self.at("then");
    }
}

impl Modify for Panicking {
    type Target = Pair;
    type Output = ();

    fn write(&mut self, _: Link<Pair>, _: Written<'_, Pair>, _: &mut Context) {
        self.at("write");
    }

    fn then(self, (): (), _: &mut Context) {
        self.at("then");
    }
}

#[test]
fn visits_and_writes_of_nodes_are_named() {
    silence_tasks();
    on_all(|setting| {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hear = heard.clone();
        let rt = setting.builder().on_failure(move |failure| lock(&hear).extend(failure.task_name()));
        let rt = rt.build().unwrap();
        let arena = Arena::<Pair>::with_primitive(&rt, OptimisticLatched);
        let node = || arena.alloc_outside(Pair::default());
        for method in ["read", "then"] {
            rt.task(node().read()).visit(Panicking(method));
            rt.task(node().read()).name("own").visit(Panicking(method));
        }
        for method in ["write", "then"] {
            rt.task(node().write()).modify(Panicking(method));
            rt.task(node().write()).name("own").modify(Panicking(method));
        }
        rt.shutdown(Shutdown::Drain);
        let mut heard = std::mem::take(&mut *lock(&heard));
        heard.sort_unstable();
        let path = std::any::type_name::<Panicking>();
        assert_eq!(heard, [[path; 4], ["own"; 4]].concat());
    });
}

/// A bundle of one walk, or one that panics itself.
struct Walks {
    walk: Option<(Start<Pair>, Panicking)>,
    panics: bool,
    outcome: Option<Result<(), JoinError>>,
}

impl Walk for Panicking {
    type Target = Pair;
    type Output = ();

    fn read(&self, at: Link<Pair>, _: &Pair) -> Hop<Pair, ()> {
        self.at("read");
        Hop::Write(at, xtasking::Part::NONE)
    }

    fn write(&mut self, _: Link<Pair>, _: Written<'_, Pair>, _: &mut Context) -> Hop<Pair, ()> {
        self.at("write");
        Hop::End(())
    }
}

impl Bundle for Walks {
    type Walk = Panicking;

    fn next(&mut self, _: &mut Context) -> Option<(Start<Pair>, Panicking)> {
        if self.panics {
            provoke();
        }
        self.walk.take()
    }

    fn done(&mut self, _: Panicking, outcome: Result<(), JoinError>, _: &mut Context) {
        self.outcome = Some(outcome);
    }
}

#[test]
fn bundles_and_their_walks_are_named() {
    silence_tasks();
    on_all(|setting| {
        let rt = setting.build();
        // A walk reads and writes the one node in its lane, the other as an errand.
        let optimistic = Arena::<Pair>::with_primitive(&rt, OptimisticLatched);
        let sequenced = Arena::<Pair>::with_primitive(&rt, Sequencing);
        for arena in [&optimistic, &sequenced] {
            for method in ["read", "write"] {
                let walks = || {
                    let start = arena.alloc_outside(Pair::default()).read().into();
                    Walks { walk: Some((start, Panicking(method))), panics: false, outcome: None }
                };
                let walked = rt.task(()).submit_bundle(walks()).join().unwrap();
                assert_eq!(name(walked.outcome.unwrap()), std::any::type_name::<Panicking>());
                let walked = rt.task(()).name("own").submit_bundle(walks()).join().unwrap();
                assert_eq!(name(walked.outcome.unwrap()), "own");
            }
        }
        let broken = || Walks { walk: None, panics: true, outcome: None };
        assert_eq!(name(rt.task(()).submit_bundle(broken()).join()), std::any::type_name::<Walks>());
        assert_eq!(name(rt.task(()).name("own").submit_bundle(broken()).join()), "own");
    });
}
