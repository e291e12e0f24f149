//! What else of the program the runtime holds and calls: continuations, promises, walks, objects,
//! halves of joins, sets of functions, and hooks.

use super::{Bomb, Tally, quietly, settings};
use crate::common::{Pair, Setting, eventually, on_each, silence_tasks};
use std::panic::{panic_any, resume_unwind};
use std::sync::Arc;
use std::task::{Context as Poller, Wake, Waker};
use std::{future::Future, pin::pin};
use xtasking::arena::{Arena, Link, Modify, Step, Visit, Written};
use xtasking::bundle::{Bundle, Hop, Start, Walk};
use xtasking::primitive::{OptimisticLatched, OptimisticSequenced, Sequencing};
use xtasking::{Context, Handle, JoinError, Part, Runtime, Shutdown, Version};

/// A value of the program, a path, and what is to be seen. The runtime is shut down afterwards, and
/// all values are counted.
type Row = (&'static str, fn(&Runtime, &Tally));

const ROWS: [Row; 21] = [
    ("a promise whose task panics", |rt, _| {
        // The promise is dropped while the body unwinds, and calls the waker there.
        let (promise, mut handle) = rt.promise::<Bomb>();
        wait_with_panicking_waker(rt, &mut handle, |rt| {
            rt.task(()).spawn(move |(), _| {
                let _promise = promise;
                resume_unwind(Box::new("provoked"));
            });
        });
        assert!(matches!(handle.join(), Err(JoinError::Abandoned)));
    }),
    ("a promise, fulfilled", |rt, tally| {
        let (promise, mut handle) = rt.promise();
        let value = tally.bomb();
        wait_with_panicking_waker(rt, &mut handle, |rt| {
            rt.task(()).submit(move |(), _| promise.fulfil(value)).join().unwrap();
        });
        handle.join().unwrap().defuse();
    }),
    ("a promise without a handle", |rt, tally| {
        let (promise, handle) = rt.promise();
        drop(handle);
        let value = tally.bomb();
        rt.task(()).submit(move |(), _| promise.fulfil(value)).join().unwrap();
        let (promise, handle) = rt.promise();
        drop(handle);
        promise.fulfil(tally.bomb());
    }),
    ("a continuation and its failure", |rt, tally| {
        let group = failing_group(rt, tally);
        let (promise, handle) = rt.promise();
        let captured = tally.bomb();
        group.then(rt, move |outcome, _| {
            assert!(matches!(outcome, Err(JoinError::Panicked(_))));
            promise.fulfil(());
            drop(captured);
        });
        handle.join().unwrap();
    }),
    ("a continuation that is cancelled", |rt, tally| {
        let (group, captured) = (failing_group(rt, tally), tally.bomb());
        group.then(rt, move |_, _| drop(captured));
        // The shutdown that follows may find it waiting.
    }),
    ("a group that is waited for", |rt, tally| {
        assert!(matches!(failing_group(rt, tally).wait(), Err(JoinError::Panicked(_))));
    }),
    ("a group that is dropped", |rt, tally| drop(failing_group(rt, tally))),
    ("a group's handle that is dropped", |rt, tally| drop(failing_group(rt, tally).handle())),
    ("the halves of a join", |rt, tally| {
        for (first, second) in [(true, false), (false, true), (true, true)] {
            let bombs = [(); 4].map(|()| tally.bomb());
            let outcome = rt.run(|mut cx| {
                let [one, two, three, four] = bombs;
                let half = |captured: Bomb, payload: Bomb, panics: bool| {
                    captured.defuse();
                    if panics { resume_unwind(Box::new(payload)) } else { payload.defuse() }
                };
                cx.join(move |_| half(one, two, first), move |_| half(three, four, second));
            });
            assert!(matches!(outcome, Err(JoinError::Panicked(_))));
        }
    }),
    ("the result of a call", |rt, tally| {
        rt.run(|_| tally.bomb()).unwrap().defuse();
        let captured = tally.bomb();
        assert!(matches!(rt.run(move |_| drop(captured)), Err(JoinError::Panicked(_))));
    }),
    ("the pieces of a scope", |rt, tally| {
        let outcome =
            rt.scope(|scope| {
                for number in 0..8 {
                    let captured = tally.bomb();
                    scope.spawn(move |_| {
                        if number % 2 == 0 { resume_unwind(Box::new(captured)) } else { drop(captured) }
                    });
                }
            });
        assert!(matches!(outcome, Err(JoinError::Panicked(_))));
        // Pieces that have not begun are dropped with the function that panics.
        let outcome = rt.scope(|scope| -> () {
            for _ in 0..8 {
                let captured = tally.bomb();
                scope.spawn(move |_| drop(captured));
            }
            resume_unwind(Box::new(tally.bomb()));
        });
        assert!(matches!(outcome, Err(JoinError::Panicked(_))));
    }),
    ("the tasks of a scope", |rt, tally| {
        let object = rt.plain(0).build();
        quietly(|| {
            let _ = rt.task_scope(|scope| -> () {
                for _ in 0..4 {
                    let payload = tally.bomb();
                    scope.task(object.write()).spawn(move |_, _| resume_unwind(Box::new(payload)));
                }
                panic_any("provoked: by the function of a scope");
            });
        });
    }),
    ("functions of sets", |rt, tally| {
        let pool = rt.managed();
        let (one, two) = (tally.bomb(), tally.bomb());
        let dropped = pool.enqueue(move || drop(one));
        let panicked = pool.enqueue(move || resume_unwind(Box::new(two)));
        assert!(pool.wait(dropped).is_err() && pool.wait(panicked).is_err());
        let many = |tally: &Tally| {
            let bombs: Vec<_> = (0..9).map(|_| tally.bomb()).collect();
            bombs.into_iter().map(|bomb| move || resume_unwind(Box::new(bomb)))
        };
        assert!(pool.enqueue_and_wait(many(tally)).is_err());
        let forgotten = pool.enqueue_many(many(tally));
        _ = pool.forget(forgotten);
        _ = pool.enqueue_many(many(tally));
        // An iterator that panics leaves no set behind.
        quietly(|| {
            let functions = (0..9).map(|number| {
                assert!(number < 5, "provoked: by an iterator");
                let captured = tally.bomb();
                move || drop(captured)
            });
            pool.enqueue_many(functions);
        });
        drop(pool.wait_all());
    }),
    ("a visit", |rt, tally| {
        let arena = Arena::<Pair>::with_primitive(rt, OptimisticLatched);
        for panics in ["locate", "read", "then", "nowhere"] {
            let start = arena.alloc_outside(Pair::default());
            for _ in 0..40 {
                rt.task(start.read()).visit(Touchy { panics, owned: tally.bomb() });
            }
        }
        rt.task(()).submit(|(), _| ()).join().unwrap();
    }),
    ("a write to a node", |rt, tally| {
        for panics in ["locate", "write", "then", "nowhere"] {
            let arena = Arena::<Pair>::with_primitive(rt, OptimisticSequenced);
            let start = arena.alloc_outside(Pair::default());
            for _ in 0..40 {
                rt.task(start.write()).modify(Touchy { panics, owned: tally.bomb() });
            }
        }
    }),
    ("a bundle and its walks", |rt, tally| {
        for panics in ["next", "done", "locate", "read", "write", "nowhere"] {
            for primitive in [true, false] {
                let arena = if primitive {
                    Arena::with_primitive(rt, OptimisticLatched)
                } else {
                    Arena::with_primitive(rt, Sequencing)
                };
                let start = arena.alloc_outside(Pair::default());
                let bundle = TouchyBundle { left: 40, start, panics, owned: tally.bomb() };
                match rt.task(()).submit_bundle(bundle).join() {
                    Ok(bundle) => bundle.owned.defuse(),
                    Err(error) => assert!(matches!(error, JoinError::Panicked(_)), "{error}"),
                }
            }
        }
    }),
    ("the value of an object", |rt, tally| {
        let object = rt.plain(tally.bomb()).build();
        rt.task(object.write()).submit(|_, _| ()).join().unwrap();
        drop(object);
        // The handle is gone before the task is.
        let object = rt.plain(tally.bomb()).pin(Sequencing).build();
        rt.task(object.write()).spawn(|_, _| ());
    }),
    ("nodes of an arena", |rt, tally| {
        let arena = Arena::<Owner>::new(rt);
        let links = [(); 4].map(|()| arena.alloc_outside(Owner { _owned: tally.bomb() }));
        let handle = arena.clone();
        // SAFETY: only this function knows the link, and no task uses it.
        rt.task(()).submit(move |(), cx| unsafe { handle.retire(links[0], cx) }).join().unwrap();
    }),
    ("elements of an array", |rt, tally| {
        drop(xtasking::arena::Array::<Owner>::new(rt, 9, |_| Owner { _owned: tally.bomb() }));
        quietly(|| {
            let value = |index| {
                assert!(index < 5, "provoked: by an element");
                Owner { _owned: tally.bomb() }
            };
            drop(xtasking::arena::Array::<Owner>::new(rt, 9, value));
        });
    }),
    ("a value that is dropped later", |rt, tally| {
        let value = tally.bomb();
        rt.task(()).submit(move |(), cx| cx.drop_later(value)).join().unwrap();
    }),
    ("a runtime that a task drops", |_, tally| {
        let rt = tally.builder(Setting::Threads { workers: 2 }).build().unwrap();
        let (promise, handle) = rt.promise();
        let value = tally.bomb();
        let inner = Arc::new(rt);
        let own = inner.clone();
        inner.task(()).spawn(move |(), _| {
            promise.fulfil(());
            drop(own);
            drop(value);
        });
        drop(inner);
        handle.join().unwrap();
        // The task's value, whose panic reaches the hook later, and the hook's.
        eventually("all values are dropped", || tally.dropped() == 2);
    }),
];

/// Polls a handle once with a waker that panics, lets the task be done, and waits for it.
fn wait_with_panicking_waker(rt: &Runtime, handle: &mut Handle<Bomb>, run: impl FnOnce(&Runtime)) {
    struct Panicking;
    impl Wake for Panicking {
        fn wake(self: Arc<Self>) {
            panic!("provoked: by a waker");
        }
    }
    let waker = Waker::from(Arc::new(Panicking));
    assert!(pin!(&mut *handle).poll(&mut Poller::from_waker(&waker)).is_pending());
    run(rt);
    while !handle.is_finished() {
        rt.task(()).submit(|(), _| ()).join().unwrap();
    }
}

/// Makes a group of members that panic, each with a value.
fn failing_group(rt: &Runtime, tally: &Tally) -> xtasking::Group {
    let group = rt.group();
    for _ in 0..3 {
        let payload = tally.bomb();
        rt.task(()).of(&group).spawn(move |(), _| resume_unwind(Box::new(payload)));
    }
    group
}

/// A node that owns a value.
struct Owner {
    _owned: Bomb,
}

impl Version for Owner {}

/// A walk or write that panics in one of its methods.
struct Touchy {
    panics: &'static str,
    owned: Bomb,
}

impl Touchy {
    fn at(&self, method: &str) {
        if self.panics == method {
            resume_unwind(Box::new(self.owned.tally.bomb()));
        }
    }

    fn locate_part(&self) -> Part {
        self.at("locate");
        Part::HEAD
    }

    fn end(self, output: Bomb) {
        output.defuse();
        self.at("then");
    }
}

impl Visit for Touchy {
    type Target = Pair;
    type Output = Bomb;
    const LOCATES: bool = true;

    fn locate(&self, _: Link<Pair>, _: &Pair) -> Part {
        self.locate_part()
    }

    fn read(&self, _: Link<Pair>, _: &Pair) -> Step<Pair, Bomb> {
        self.at("read");
        Step::End(self.owned.tally.bomb())
    }

    fn then(self, output: Bomb, _: &mut Context) {
        self.end(output);
    }
}

impl Modify for Touchy {
    type Target = Pair;
    type Output = Bomb;
    const LOCATES: bool = true;

    fn locate(&self, _: Link<Pair>, _: &Pair) -> Part {
        self.locate_part()
    }

    fn write(&mut self, _: Link<Pair>, _: Written<'_, Pair>, _: &mut Context) -> Bomb {
        self.at("write");
        self.owned.tally.bomb()
    }

    fn then(self, output: Bomb, _: &mut Context) {
        self.end(output);
    }
}

impl Walk for Touchy {
    type Target = Pair;
    type Output = Bomb;
    const LOCATES: bool = true;

    fn locate(&mut self, _: Link<Pair>, _: &Pair) -> Part {
        self.locate_part()
    }

    fn read(&self, _: Link<Pair>, _: &Pair) -> Hop<Pair, Bomb> {
        self.at("read");
        Hop::End(self.owned.tally.bomb())
    }

    fn write(&mut self, _: Link<Pair>, _: Written<'_, Pair>, _: &mut Context) -> Hop<Pair, Bomb> {
        self.at("write");
        Hop::End(self.owned.tally.bomb())
    }
}

/// Walks of which some read and others write, in a bundle that panics in one of its methods.
struct TouchyBundle {
    left: usize,
    start: Link<Pair>,
    panics: &'static str,
    owned: Bomb,
}

impl Bundle for TouchyBundle {
    type Walk = Touchy;

    fn next(&mut self, _: &mut Context) -> Option<(Start<Pair>, Touchy)> {
        self.left = self.left.checked_sub(1)?;
        if self.panics == "next" && self.left == 20 {
            resume_unwind(Box::new(self.owned.tally.bomb()));
        }
        let walk = Touchy { panics: self.panics, owned: self.owned.tally.bomb() };
        let start =
            if self.left.is_multiple_of(3) { self.start.write().into() } else { self.start.read().into() };
        Some((start, walk))
    }

    fn done(&mut self, walk: Touchy, outcome: Result<Bomb, JoinError>, _: &mut Context) {
        walk.owned.defuse();
        if let Ok(output) = outcome {
            output.defuse();
        }
        if self.panics == "done" && self.left == 0 {
            resume_unwind(Box::new(self.owned.tally.bomb()));
        }
    }
}

#[test]
fn each_value_is_dropped_once_whatever_panics() {
    silence_tasks();
    on_each(settings(), |setting| {
        for (what, run) in ROWS {
            for how in [Shutdown::Drain, Shutdown::Cancel] {
                let tally = Tally::default();
                let rt = tally.builder(setting).build().unwrap();
                run(&rt, &tally);
                rt.shutdown(how);
                tally.check(what);
            }
        }
    });
}
