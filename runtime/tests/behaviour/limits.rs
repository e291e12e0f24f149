//! Bounds on tasks that are not finished: try, wait, block.

use crate::common::{Flag, Setting, eventually, let_others_in, on_all, on_each, silence_tasks, watchdog};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context as PollContext, Poll, Wake, Waker};
use std::thread;
use xtasking::limit::{Limit, LimitError};
use xtasking::primitive::Sequencing;
use xtasking::{JoinError, Runtime, Shutdown};

/// Counts its wake-ups.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A future with a waker of its own.
struct Waiter<F> {
    future: F,
    wakes: Arc<Wakes>,
}

impl<F: Future + Unpin> Waiter<F> {
    fn new(future: F) -> Self {
        Self { future, wakes: Arc::default() }
    }

    fn poll(&mut self) -> Option<F::Output> {
        let waker = Waker::from(self.wakes.clone());
        match Pin::new(&mut self.future).poll(&mut PollContext::from_waker(&waker)) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    fn is_woken(&self) -> bool {
        self.wakes.0.load(SeqCst) != 0
    }
}

/// Tasks that are spawned and not finished, as the test counts them.
#[derive(Clone, Default)]
struct Live(Arc<AtomicUsize>);

impl Live {
    /// Counts a task that has room, and returns how many there are.
    fn begin(&self) -> usize {
        self.0.fetch_add(1, SeqCst) + 1
    }

    fn end(&self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// Keeps the workers of a runtime busy until the flag is set.
fn occupy(rt: &Runtime, workers: usize) -> Flag {
    let go = Flag::default();
    for core in 0..workers {
        let (inside, go) = (Flag::default(), go.clone());
        let entered = inside.clone();
        rt.task(()).core(core as u16).spawn(move |(), _| {
            entered.set();
            go.wait();
        });
        inside.wait();
    }
    go
}

fn is_unused(limit: Option<&Limit>) -> bool {
    limit.is_some_and(|limit| limit.used() == 0 && limit.waiting() == 0)
}

#[test]
fn live_tasks_never_exceed_the_bound_of_a_runtime() {
    const MOST: usize = 16;
    on_all(|setting| {
        let rt = setting.builder().most_tasks(MOST).build().unwrap();
        let live = Live::default();
        for number in 0..500 {
            let task = rt.task(()).reserve_blocking().unwrap();
            assert!(live.begin() <= MOST);
            let ended = live.clone();
            task.spawn(move |(), _| {
                if number % 7 == 0 {
                    let_others_in();
                }
                ended.end();
            });
        }
        let limit = rt.task_limit().unwrap().clone();
        rt.shutdown(Shutdown::Drain);
        assert!(is_unused(Some(&limit)));
    });
}

#[test]
fn live_tasks_never_exceed_the_bounds_of_a_group_and_an_object() {
    on_all(|setting| {
        let rt = setting.build();
        let object = rt.plain(0).most_tasks(3).build();
        let group = rt.group().most_tasks(5);
        let (in_group, at_object) = (Live::default(), Live::default());
        for number in 0..300 {
            let (group_ended, object_ended) = (in_group.clone(), at_object.clone());
            if number % 2 == 0 {
                let task = rt.task(object.write()).of(&group).reserve_blocking().unwrap();
                assert!(at_object.begin() <= 3 && in_group.begin() <= 5);
                task.spawn(move |value, _| {
                    *value += 1;
                    object_ended.end();
                    group_ended.end();
                });
            } else {
                let task = rt.task(()).of(&group).reserve_blocking().unwrap();
                assert!(in_group.begin() <= 5);
                task.spawn(move |(), _| group_ended.end());
            }
        }
        let limit = group.task_limit().cloned();
        group.wait().unwrap();
        assert_eq!(rt.task(object.read()).submit(|value, _| *value).join().unwrap(), 150);
        assert!(is_unused(limit.as_ref()) && is_unused(object.task_limit()));
    });
}

/// The consumer does not run at all while the producer spawns what it can.
#[test]
fn a_producer_that_is_too_fast_keeps_memory_flat() {
    const MOST: usize = 64;
    const MEMORY: u64 = 1 << 20;
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 2 }.builder().counters(true).most_tasks(MOST).build().unwrap();
    let object = rt.plain(0usize).pin(Sequencing).build();
    let page_bytes = || rt.counters().unwrap().allocations.page_bytes;
    let go = occupy(&rt, 2);
    let spawned = |_: &usize| {
        let mut body = Some([1usize; 16]);
        let task = rt.task(object.write());
        match task.try_spawn(move |sum, _| *sum += body.take().map_or(0, |body| body[15])) {
            Ok(()) => true,
            Err(refused) => {
                assert_eq!(refused.error, LimitError::Full);
                false
            }
        }
    };
    assert_eq!((0..50_000).filter(spawned).count(), MOST);
    assert!(page_bytes() <= MEMORY, "{} bytes", page_bytes());
    assert!(rt.unfinished_tasks() >= MOST as u64 + 2);
    go.set();
    for _ in 0..20_000 {
        rt.task(object.write()).reserve_blocking().unwrap().spawn(|sum, _| *sum += 1);
    }
    assert_eq!(rt.task(object.read()).submit(|sum, _| *sum).join().unwrap(), MOST + 20_000);
    assert!(page_bytes() <= MEMORY, "{} bytes", page_bytes());
    eventually("finished", || rt.unfinished_tasks() == 0);
}

#[test]
fn room_comes_back_whatever_the_end_of_the_task() {
    silence_tasks();
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 1 }.builder().most_tasks(1).on_failure(drop).build().unwrap();
    let object = rt.plain(0).most_tasks(1).build();
    let limits = [rt.task_limit().unwrap().clone(), object.task_limit().unwrap().clone()];
    let used = || limits.each_ref().map(Limit::used);
    let task = || rt.task(object.write()).try_reserve().unwrap();
    drop(task());
    assert_eq!(used(), [0, 0], "a builder was dropped");
    task().submit(|_, _| ()).join().unwrap();
    assert_eq!(used(), [0, 0], "a task has run");
    task().spawn(|_, _| panic!("provoked"));
    eventually("a task has panicked", || used() == [0, 0] && object.is_poisoned());
    assert!(matches!(task().submit(|_, _| ()).join(), Err(JoinError::Poisoned)));
    assert_eq!(used(), [0, 0], "a task has met a poisoned object");
    object.clear_poison();
    let go = occupy(&rt, 1);
    let cancelled = task().submit(|_, _| ());
    assert!(cancelled.cancel());
    assert_eq!(used(), [1, 1], "a cancelled task takes memory until its turn");
    go.set();
    assert!(matches!(cancelled.join(), Err(JoinError::Cancelled)));
    assert_eq!(used(), [0, 0], "a task was cancelled");
    let go = occupy(&rt, 1);
    let (handle, last) = (task().submit(|_, _| ()), limits.clone());
    let ender = thread::spawn(move || rt.shutdown(Shutdown::Cancel));
    // The phase is set before waits end.
    eventually("closed", || last[0].try_acquire().err() == Some(LimitError::ShutDown));
    go.set();
    assert!(matches!(handle.join(), Err(JoinError::Cancelled)));
    ender.join().unwrap();
    assert_eq!(used(), [0, 0], "a shutdown has cancelled a task");
}

#[test]
fn room_comes_back_if_there_is_no_memory_for_the_task() {
    let _watched = watchdog();
    let rt = Runtime::builder().workers(1).memory_limit(0).most_tasks(1).build().unwrap();
    let refused = rt.task(()).try_submit(|(), _| ()).unwrap();
    assert!(matches!(refused.join(), Err(JoinError::OutOfMemory)));
    assert!(is_unused(rt.task_limit()));
}

/// The waker of a handle looks whether there is room, in the thread that delivers the result.
#[test]
fn a_result_comes_after_the_room() {
    struct Look(Limit, AtomicUsize);
    impl Wake for Look {
        fn wake(self: Arc<Self>) {
            self.1.store(1 + self.0.used(), SeqCst);
        }
    }
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 1 }.builder().most_tasks(1).build().unwrap();
    let look = Arc::new(Look(rt.task_limit().unwrap().clone(), AtomicUsize::new(0)));
    let waker = Waker::from(look.clone());
    let go = occupy(&rt, 1);
    let mut task = rt.task(()).try_submit(|(), _| ()).unwrap();
    assert!(Pin::new(&mut task).poll(&mut PollContext::from_waker(&waker)).is_pending());
    go.set();
    eventually("delivered", || look.1.load(SeqCst) != 0);
    assert_eq!(look.1.load(SeqCst), 1, "there is room when the result comes");
}

#[test]
fn joined_tasks_leave_room_for_the_next() {
    on_all(|setting| {
        let rt = setting.builder().most_tasks(1).build().unwrap();
        for number in 0..200 {
            assert_eq!(rt.task(()).try_submit(move |(), _| number).unwrap().join().unwrap(), number);
        }
    });
}

#[test]
fn a_refused_task_gives_its_body_back() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 1 }.build();
    let object = rt.plain(Vec::new()).most_tasks(1).build();
    let room = rt.task(object.write()).try_reserve().unwrap();
    let text = String::from("kept");
    let refused = rt.task(object.write()).try_submit(move |texts: &mut Vec<_>, _| texts.push(text));
    let refused = refused.unwrap_err();
    assert_eq!(refused.error, LimitError::Full);
    drop(room);
    rt.task(object.write()).try_submit(refused.body).unwrap().join().unwrap();
    let texts = rt.task(object.read()).submit(|texts, _| texts.clone()).join().unwrap();
    assert_eq!(texts, ["kept"]);
}

#[test]
fn waiters_are_served_in_order_and_each_is_woken_once() {
    let rt = Setting::Threads { workers: 1 }.build();
    let limit = rt.limit(2);
    let (first, second) = (limit.try_acquire().unwrap(), limit.try_acquire().unwrap());
    let mut waiters: Vec<_> = (0..5).map(|_| Waiter::new(limit.acquire())).collect();
    assert!(waiters.iter_mut().all(|waiter| waiter.poll().is_none()));
    let woken = |waiters: &[Waiter<_>]| waiters.iter().map(Waiter::is_woken).collect::<Vec<_>>();
    assert_eq!(limit.waiting(), 5);
    drop(first);
    assert_eq!(woken(&waiters), [true, false, false, false, false]);
    assert_eq!(limit.try_acquire().err(), Some(LimitError::Full), "no newcomer overtakes");
    assert!(waiters[1..].iter_mut().all(|waiter| waiter.poll().is_none()));
    let served = waiters[0].poll().unwrap().unwrap();
    drop(served);
    assert_eq!(woken(&waiters)[..3], [true, true, false]);
    // One that was served and goes away passes its room on; one that waits leaves the queue.
    drop(waiters.remove(2));
    drop(waiters.remove(1));
    assert_eq!(woken(&waiters), [true, true, false], "the one behind both is served");
    drop(second);
    assert_eq!((limit.used(), limit.waiting()), (2, 0));
    assert!(waiters[1..].iter_mut().all(|waiter| waiter.poll().is_some_and(|permit| permit.is_ok())));
    assert_eq!(limit.used(), 0);
    assert!(limit.try_acquire().is_ok());
}

/// The last waiter of the queue goes away unserved: then newcomers may take what is there.
#[test]
fn a_queue_that_was_left_lets_newcomers_in() {
    let rt = Setting::Threads { workers: 1 }.build();
    let limit = rt.limit(1);
    let permit = limit.try_acquire().unwrap();
    let mut waiter = Waiter::new(limit.acquire());
    assert!(waiter.poll().is_none());
    drop(waiter);
    drop(permit);
    assert!(limit.try_acquire().is_ok());
}

#[test]
fn the_last_waker_is_woken() {
    let rt = Setting::Threads { workers: 1 }.build();
    let limit = rt.limit(1);
    let permit = limit.try_acquire().unwrap();
    let mut waiter = Waiter::new(limit.acquire());
    assert!(waiter.poll().is_none());
    let before = std::mem::take(&mut waiter.wakes);
    assert!(waiter.poll().is_none());
    drop(permit);
    assert_eq!((before.0.load(SeqCst), waiter.wakes.0.load(SeqCst)), (0, 1));
    assert!(waiter.poll().is_some());
}

#[test]
fn waits_for_room_move_between_threads() {
    fn is_send<T: Send>(_: &T) {}
    let rt = Setting::Threads { workers: 1 }.build();
    let (object, group) = (rt.plain(0).most_tasks(1).build(), rt.group().most_tasks(1));
    is_send(&rt.task((object.read(), object.read())).of(&group).reserve());
    is_send(&rt.limit(1).acquire());
    is_send(&rt.limit(1).try_acquire());
}

#[test]
fn a_task_takes_its_permits_in_one_order() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 1 }.builder().most_tasks(2).build().unwrap();
    let [a, b] = [0, 1].map(|number| rt.shared_reads(number).most_tasks(1).build());
    // Named twice, it is one task.
    let twice = rt.task((a.read(), a.read())).try_submit(|(one, other), _| one + other);
    assert_eq!(twice.unwrap().join().unwrap(), 0);
    // A task that waits for room at an object takes none of the runtime.
    let inside = rt.task(a.write()).try_reserve().unwrap();
    let mut waiter = Waiter::new(rt.task((b.read(), a.read())).reserve());
    assert!(waiter.poll().is_none());
    rt.task(()).try_submit(|(), _| ()).unwrap().join().unwrap();
    drop(inside);
    assert!(waiter.is_woken());
    let task = waiter.poll().unwrap().unwrap();
    assert_eq!(task.submit(|(b, a), _| a + b).join().unwrap(), 1);
    // A list of objects counts for each.
    let list = rt.task(vec![a.read(), b.read()]).try_reserve().unwrap();
    assert_eq!([&a, &b].map(|object| object.task_limit().unwrap().used()), [1, 1]);
    drop(list);
    assert!(is_unused(rt.task_limit()) && is_unused(a.task_limit()) && is_unused(b.task_limit()));
}

#[test]
fn waiters_for_two_objects_in_opposite_orders_do_not_deadlock() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 2 }.build();
    let [a, b] = [0, 0].map(|number| rt.plain(number).most_tasks(1).build());
    thread::scope(|scope| {
        let threads = [false, true, false, true].map(|turned| {
            let (rt, one, other) = if turned { (&rt, &a, &b) } else { (&rt, &b, &a) };
            scope.spawn(move || {
                for _ in 0..300 {
                    let task = rt.task((one.write(), other.write())).reserve_blocking().unwrap();
                    task.spawn(|(one, other), _| {
                        *one += 1;
                        *other += 1;
                    });
                }
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    let sum = rt.task((a.read(), b.read())).submit(|(a, b), _| a + b);
    assert_eq!(sum.join().unwrap(), 2400);
}

#[test]
fn a_worker_tries_and_does_not_block() {
    on_all(|setting| {
        let rt = setting.builder().most_tasks(2).build().unwrap();
        let limit = rt.limit(1);
        let asked = limit.clone();
        let task = rt.task(()).try_submit(move |(), cx| {
            let blocked = asked.acquire_blocking().err();
            let first = cx.task(()).try_spawn(|(), _| ()).is_ok();
            // Without room: over the bound, and not refused.
            (0..5).for_each(|_| cx.task(()).spawn(|(), _| ()));
            (blocked, first)
        });
        let (blocked, first) = task.unwrap().join().unwrap();
        assert_eq!(blocked, Some(LimitError::WouldBlock));
        assert!(first);
        assert!(is_unused(Some(&limit)));
        let bound = rt.task_limit().cloned();
        rt.shutdown(Shutdown::Drain);
        assert!(is_unused(bound.as_ref()));
    });
}

#[test]
fn a_shutdown_ends_all_waits() {
    for how in [Shutdown::Drain, Shutdown::Cancel] {
        let _watched = watchdog();
        let rt = Setting::Threads { workers: 1 }.builder().most_tasks(1).build().unwrap();
        let object = rt.plain(0).most_tasks(1).build();
        let group = rt.group().most_tasks(1);
        let limits = [
            rt.limit(1),
            rt.task_limit().unwrap().clone(),
            object.task_limit().unwrap().clone(),
            group.task_limit().unwrap().clone(),
        ];
        // Many limits come and go meanwhile.
        (0..1000).for_each(|_| drop(rt.limit(1)));
        let permits = limits.each_ref().map(|limit| limit.try_acquire().unwrap());
        let mut waiters = limits.each_ref().map(|limit| Waiter::new(limit.acquire()));
        assert!(waiters.iter_mut().all(|waiter| waiter.poll().is_none()));
        let limit = limits[0].clone();
        let blocked = thread::spawn(move || limit.acquire_blocking().err());
        eventually("blocked", || limits[0].waiting() == 2);
        rt.shutdown(how);
        assert_eq!(blocked.join().unwrap(), Some(LimitError::ShutDown));
        for waiter in &mut waiters {
            assert!(waiter.is_woken());
            assert_eq!(waiter.poll().unwrap().err(), Some(LimitError::ShutDown));
        }
        drop(permits);
        assert!(limits.iter().all(|limit| is_unused(Some(limit))));
        assert!(limits.iter().all(|limit| limit.try_acquire().err() == Some(LimitError::ShutDown)));
    }
}

#[test]
fn room_is_reserved_for_claims_and_for_tasks_after_a_group() {
    on_each(
        [Setting::Threads { workers: 2 }, Setting::Simulation { cores: 2, seed: 3 }].into_iter(),
        |setting| {
            let rt = setting.builder().most_tasks(2).build().unwrap();
            let granules = rt.granules_of([0u32; 4]);
            for _ in 0..50 {
                let task = rt.task(()).reserve_blocking().unwrap().claim(granules.write(1..3));
                task.spawn_with(|(), mut held, _| *held.get_mut(1) += 1);
                let task = rt.task(()).claim(granules.write(1..3)).reserve_blocking().unwrap();
                task.spawn(|(), _| ());
            }
            let sum = rt.task(()).claim(granules.read(1..2)).submit_with(|(), held, _| *held.get(1));
            assert_eq!(sum.join().unwrap(), 50);
            let group = rt.group();
            rt.task(()).of(&group).reserve_blocking().unwrap().spawn(|(), _| ());
            let after = rt.task(()).after(group).reserve_blocking().unwrap().submit(|(), _| 3);
            assert_eq!(after.join().unwrap(), 3);
            let limit = rt.task_limit().cloned();
            rt.shutdown(Shutdown::Drain);
            assert!(is_unused(limit.as_ref()));
        },
    );
}

#[test]
fn a_request_of_several_tasks_keeps_its_permit() {
    on_all(|setting| {
        let rt = setting.build();
        let (requests, live) = (rt.limit(4), Live::default());
        for _ in 0..100 {
            let permit = requests.acquire_blocking().unwrap();
            assert!(live.begin() <= 4);
            let ended = live.clone();
            rt.task(()).spawn(move |(), cx| {
                cx.task(()).spawn(move |(), cx| {
                    cx.task(()).spawn(move |(), _| {
                        ended.end();
                        drop(permit);
                    });
                });
            });
        }
        rt.shutdown(Shutdown::Drain);
        assert!(is_unused(Some(&requests)));
    });
}

/// Waits for room in tokio, with waits that are given up half-way.
async fn produce(rt: &Runtime, count: usize, done: &Arc<AtomicUsize>, live: &Live) {
    for number in 0..count {
        if number % 5 == 0 {
            let mut wait = std::pin::pin!(rt.task(()).reserve());
            std::future::poll_fn(|context| {
                _ = wait.as_mut().poll(context).map(drop);
                Poll::Ready(())
            })
            .await;
        }
        let task = rt.task(()).reserve().await.unwrap();
        assert!(live.begin() <= 8);
        let (done, ended) = (done.clone(), live.clone());
        task.spawn(move |(), _| {
            done.fetch_add(1, SeqCst);
            ended.end();
        });
    }
}

#[test]
#[cfg_attr(sanitizer = "thread", ignore = "tokio's own locks are in compiled code of std, unseen")]
fn many_producers_wait_as_futures_and_give_up() {
    let _watched = watchdog();
    let rt = Arc::new(Setting::Threads { workers: 2 }.builder().most_tasks(8).build().unwrap());
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let (done, live) = (Arc::<AtomicUsize>::default(), Live::default());
    let producers: Vec<_> = (0..20)
        .map(|_| {
            let (rt, done, live) = (rt.clone(), done.clone(), live.clone());
            tokio.spawn(async move { produce(&rt, 200, &done, &live).await })
        })
        .collect();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let task = rt.task(()).reserve_blocking().unwrap();
                    assert!(live.begin() <= 8);
                    let ended = live.clone();
                    task.spawn(move |(), _| ended.end());
                }
            });
        }
    });
    tokio.block_on(async {
        for producer in producers {
            producer.await.unwrap();
        }
    });
    eventually("all have run", || is_unused(rt.task_limit()));
    assert_eq!(done.load(SeqCst), 4000);
}
