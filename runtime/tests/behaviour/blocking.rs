//! Tasks that block in place: those behind them run meanwhile. Most tests here would not end
//! otherwise.

use crate::common::{Dropped, Flag, Setting, eventually, on_each, silence_tasks, watchdog};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;
use xtasking::{
    Context, JoinError, Priority, Promise, Runtime, Shutdown, Version, Word,
    arena::{Arena, Link, Modify, Written},
    primitive::{OptimisticSequenced, Sequencing, SpinLatch},
};

/// Runs the body with some numbers of workers.
fn on_threads(body: impl Fn(&Runtime)) {
    let _watched = watchdog();
    for workers in [1, 2, 4] {
        body(&Setting::Threads { workers }.build());
    }
}

/// Blocks until this many messages have come.
fn receive(cx: &mut Context, receiver: &Receiver<&'static str>, count: usize) -> Vec<&'static str> {
    cx.block_in_place(|| (0..count).map(|_| message(receiver)).collect())
}

/// Waits for a message. It asks again and again, as the precompiled standard library wakes a waiter
/// in ways that ThreadSanitizer does not see.
fn message<T>(receiver: &Receiver<T>) -> T {
    let mut message = None;
    eventually("a message", || {
        message = receiver.try_recv().ok();
        message.is_some()
    });
    message.unwrap()
}

#[test]
fn the_tasks_that_a_blocked_one_has_spawned_run() {
    on_threads(|rt| {
        let object = rt.plain(0).pin(Sequencing).core(0).build();
        for _ in 0..20 {
            let object = object.clone();
            let blocked = rt.task(()).core(0).submit(move |(), cx| {
                let (sender, receiver) = channel();
                let sends = |name| {
                    let sender = sender.clone();
                    move || sender.send(name).unwrap()
                };
                let (unbound, bound, low, at_home) =
                    (sends("unbound"), sends("bound"), sends("low"), sends("at home"));
                cx.task(()).spawn(move |(), _| unbound());
                cx.task(()).core(0).spawn(move |(), _| bound());
                cx.task(()).core(0).priority(Priority::Low).spawn(move |(), _| low());
                cx.task(object.write()).spawn(move |_, _| at_home());
                let mut names = receive(cx, &receiver, 4);
                names.sort_unstable();
                (names, cx.worker())
            });
            assert_eq!(blocked.join().unwrap(), (vec!["at home", "bound", "low", "unbound"], 0));
        }
    });
}

#[test]
fn tasks_from_outside_reach_the_worker_of_a_blocked_one() {
    on_threads(|rt| {
        for _ in 0..20 {
            let (is_blocked, (sender, receiver)) = (Flag::default(), channel());
            let blocks = is_blocked.clone();
            let blocked = rt.task(()).core(0).submit(move |(), cx| {
                cx.block_in_place(|| {
                    blocks.set();
                    message(&receiver)
                })
            });
            is_blocked.wait();
            let other = rt.task(()).core(0).submit(move |(), cx| {
                sender.send(5).unwrap();
                cx.worker()
            });
            assert_eq!((blocked.join().unwrap(), other.join().unwrap()), (5, 0));
        }
    });
}

/// The object has no mark while its tasks run one after another, so it gets one.
#[test]
fn no_task_enters_the_sequenced_object_of_a_blocked_one() {
    on_threads(|rt| {
        let object = rt.plain(Vec::new()).pin(Sequencing).core(0).build();
        let other = rt.plain(0).pin(Sequencing).core(0).build();
        let words = rt.snapshot(0u64).pin(OptimisticSequenced).core(0).build();
        for round in 0..20 {
            let ((again, other), (sender, receiver)) = ((object.clone(), other.clone()), channel());
            let blocked = rt.task(object.write()).submit(move |order, cx| {
                order.clear();
                for number in 1..4 {
                    cx.task(again.write()).spawn(move |order: &mut Vec<_>, _| order.push(number));
                }
                // It comes behind the others, and says that their turn would have been before.
                cx.task(other.write()).spawn(move |_, _| sender.send("other").unwrap());
                receive(cx, &receiver, 1);
                order.push(0);
                cx.task(again.read()).submit(|order: &Vec<_>, _| order.clone())
            });
            assert_eq!(blocked.join().unwrap().join().unwrap(), [0, 1, 2, 3]);
            let (sender, receiver) = channel();
            let again = words.clone();
            let blocked = rt.task(words.write()).submit(move |words, cx| {
                let before = *words;
                cx.task(again.write()).spawn(|words: &mut u64, _| *words += 1);
                let reader = cx.task(again.read()).submit(|words: &u64, _| *words);
                cx.task(()).core(0).spawn(move |(), _| sender.send("other").unwrap());
                receive(cx, &receiver, 1);
                *words = before + 1;
                reader
            });
            // A reader may overtake the other writer, but not the blocked one.
            assert!(blocked.join().unwrap().join().unwrap() > 2 * round);
            let last = rt.task(words.write()).submit(|words, _| *words);
            assert_eq!(last.join().unwrap(), 2 * round + 2);
        }
    });
}

struct Number(Word);

impl Version for Number {}

/// Writes a node, and waits for another task at it when it has left it.
struct WriteTwice {
    node: Link<Number>,
    blocks_inside: bool,
    done: Promise<u64>,
}

impl Modify for WriteTwice {
    type Target = Number;
    type Output = ();

    fn write(&mut self, _: Link<Number>, node: Written<'_, Number>, cx: &mut Context) {
        if self.blocks_inside {
            cx.block_in_place(|| ());
        }
        node.0.set(1, node.token());
    }

    fn then(self, (): (), cx: &mut Context) {
        let next = cx.task(self.node.write()).submit(|node, _| {
            let before = node.0.get();
            node.0.set(2, node.token());
            before
        });
        let before = cx.block_in_place(|| {
            eventually("the node is free", || next.is_finished());
            next.join().unwrap()
        });
        self.done.fulfil(before);
    }
}

#[test]
fn a_change_of_a_node_has_left_it_when_its_follow_up_blocks() {
    on_threads(|rt| {
        let nodes = [
            Arena::with_primitive(rt, Sequencing),
            Arena::with_primitive(rt, OptimisticSequenced),
            Arena::with_primitive(rt, SpinLatch),
        ];
        for (arena, blocks_inside) in nodes.iter().flat_map(|arena| [(arena, false), (arena, true)]) {
            let node = arena.alloc_outside(Number(Word::new(0)));
            let (done, before) = rt.promise();
            rt.task(node.write()).modify(WriteTwice { node, blocks_inside, done });
            assert_eq!(before.join().unwrap(), 1);
            let last = rt.task(node.read()).submit(|node, _| node.0.get());
            assert_eq!(last.join().unwrap(), 2);
        }
    });
}

/// The stand-in spins for the latch of the blocked task, which waits for the stand-in.
#[test]
fn a_task_that_spins_for_the_latch_of_a_blocked_one_gives_way() {
    on_threads(|rt| {
        let object = rt.plain(0).pin(SpinLatch).core(0).build();
        for round in 1..10 {
            let (begun, again, (sender, receiver)) = (Flag::default(), object.clone(), channel());
            let blocks = begun.clone();
            let blocked = rt.task(object.write()).core(0).submit(move |value, cx| {
                blocks.set();
                receive(cx, &receiver, 1);
                // Most often the next task spins by now.
                cx.block_in_place(|| thread::sleep(Duration::from_millis(2)));
                *value += 1;
            });
            begun.wait();
            rt.task(()).core(0).spawn(move |(), _| sender.send("marker").unwrap());
            let spins = rt.task((again.write(),)).core(0).submit(|(value,), _| {
                *value += 1;
                *value
            });
            blocked.join().unwrap();
            assert_eq!(spins.join().unwrap(), 2 * round);
        }
    });
}

#[test]
fn many_blocked_tasks_wait_for_one_another() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 2 }.build();
    for _ in 0..3 {
        let barrier = Arc::new(Barrier::new(64));
        let tasks: Vec<_> = (0..64)
            .map(|task| {
                let barrier = barrier.clone();
                rt.task(()).core(task % 2).submit(move |(), cx| {
                    cx.block_in_place(|| _ = barrier.wait());
                    cx.block_in_place(|| _ = barrier.wait());
                    let follow_up = cx.task(()).core(task % 2).submit(|(), cx| cx.worker());
                    (cx.worker(), follow_up)
                })
            })
            .collect();
        for (task, handle) in tasks.into_iter().enumerate() {
            let (worker, follow_up) = handle.join().unwrap();
            assert_eq!((worker, follow_up.join().unwrap()), (task % 2, task % 2));
        }
    }
}

/// A task that blocks until a follow-up has run, which does the same.
fn nested(cx: &mut Context, depth: usize) -> usize {
    if depth == 0 {
        return 0;
    }
    let follow_up = cx.task(()).core(0).submit(move |(), cx| nested(cx, depth - 1));
    1 + cx.block_in_place(|| follow_up.join().unwrap())
}

#[test]
fn a_blocked_task_joins_a_task_of_its_own_runtime_which_blocks_too() {
    on_threads(|rt| {
        for depth in [1, 2, 10, 1] {
            assert_eq!(rt.task(()).core(0).submit(move |(), cx| nested(cx, depth)).join().unwrap(), depth);
        }
    });
}

/// The burst of the blocked task has counted tasks that others run meanwhile.
#[test]
fn a_burst_goes_on_behind_a_blocked_task() {
    on_threads(|rt| {
        for count in [1, 8, 40, 100] {
            let ran = Arc::new(AtomicUsize::new(0));
            let spawner = rt.task(()).core(0).submit(move |(), cx| {
                let seen = ran.clone();
                let blocked = cx.task(()).core(0).submit(move |(), cx| {
                    cx.block_in_place(|| eventually("others ran", || seen.load(SeqCst) == count));
                });
                for _ in 0..count {
                    let ran = ran.clone();
                    cx.task(()).core(0).spawn(move |(), _| _ = ran.fetch_add(1, SeqCst));
                }
                blocked
            });
            spawner.join().unwrap().join().unwrap();
        }
    });
}

#[test]
fn a_panic_in_the_function_is_the_tasks_own() {
    silence_tasks();
    on_threads(|rt| {
        let object = rt.plain(0).pin(Sequencing).core(0).build();
        let again = object.clone();
        let (sender, receiver) = channel();
        let blocked = rt.task(object.write()).submit(move |_, cx| {
            let follow_up = cx.task(again.write()).submit(|_, _| ());
            cx.task(()).core(0).spawn(move |(), _| sender.send("other").unwrap());
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                cx.block_in_place(|| panic!("provoked"));
            }));
            assert!(outcome.is_err());
            receive(cx, &receiver, 1);
            cx.task(()).core(0).spawn(move |(), _| drop(follow_up));
            cx.block_in_place(|| panic!("provoked"))
        });
        assert!(matches!(blocked.join(), Err::<(), _>(JoinError::Panicked(_))));
        assert!(matches!(rt.task(object.read()).submit(|_, _| ()).join(), Err(JoinError::Poisoned)));
        assert_eq!(rt.task(()).core(0).submit(|(), cx| cx.worker()).join().unwrap(), 0);
    });
}

#[test]
fn a_group_waits_for_its_blocked_member() {
    on_threads(|rt| {
        let (drops, (sender, receiver)) = (Arc::new(AtomicUsize::new(0)), channel());
        let (dropped, ran) = (drops.clone(), Arc::new(AtomicUsize::new(0)));
        let follow_ups = ran.clone();
        let group = rt.group();
        rt.task(()).core(0).of(&group).spawn(move |(), cx| {
            cx.task(()).core(0).spawn(move |(), _| sender.send("other").unwrap());
            receive(cx, &receiver, 1);
            cx.drop_later(Dropped(dropped));
            for _ in 0..10 {
                let ran = follow_ups.clone();
                cx.task(()).begin_operation().as_sibling().spawn(move |(), _| _ = ran.fetch_add(1, SeqCst));
            }
        });
        group.wait().unwrap();
        assert_eq!(ran.load(SeqCst), 10);
        eventually("the value is dropped", || drops.load(SeqCst) == 1);
    });
}

/// A runtime with a task that blocks until the sender has sent something, and how it went on.
fn with_blocked_task(workers: usize) -> (Runtime, std::sync::mpsc::Sender<()>, xtasking::Handle<bool>) {
    let (rt, begun, (sender, receiver)) =
        (Setting::Threads { workers }.build(), Flag::default(), channel::<()>());
    let begins = begun.clone();
    let blocked = rt.task(()).core(0).submit(move |(), cx| {
        cx.block_in_place(|| {
            begins.set();
            message(&receiver);
        });
        cx.task(()).core(0).spawn(|(), _| ());
        cx.is_shutting_down()
    });
    begun.wait();
    (rt, sender, blocked)
}

#[test]
fn a_shutdown_waits_for_a_blocked_task() {
    let _watched = watchdog();
    for (workers, how) in [1, 2, 4].into_iter().flat_map(|n| [(n, Shutdown::Drain), (n, Shutdown::Cancel)]) {
        let (rt, sender, blocked) = with_blocked_task(workers);
        let behind = rt.task(()).core(0).submit(|(), _| ());
        thread::scope(|scope| {
            let ending = scope.spawn(|| rt.shutdown(how));
            // Meanwhile the tasks behind it end, one way or the other.
            let ended = behind.join();
            assert!(ended.is_ok() || matches!(ended, Err(JoinError::Cancelled)) && how == Shutdown::Cancel);
            sender.send(()).unwrap();
            ending.join().unwrap();
        });
        assert!(blocked.join().is_ok());
    }
}

#[test]
fn a_blocked_task_drops_its_runtime() {
    let _watched = watchdog();
    for workers in [1, 2] {
        let rt = Arc::new(Setting::Threads { workers }.build());
        let (own, begun, last) = (rt.clone(), Flag::default(), Flag::default());
        let (begins, waits) = (begun.clone(), last.clone());
        let blocked = rt.task(()).core(0).submit(move |(), cx| {
            cx.block_in_place(|| {
                begins.set();
                waits.wait();
                drop(own);
            });
            cx.is_shutting_down()
        });
        begun.wait();
        drop(rt);
        last.set();
        assert!(blocked.join().unwrap());
    }
}

#[test]
fn workers_are_resized_while_tasks_block() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 4 }.build();
    for (during, after) in [(1, 4), (2, 1), (3, 2), (1, 1), (4, 4)] {
        rt.resize(4).unwrap();
        let (senders, blocked): (Vec<_>, Vec<_>) = (0..12)
            .map(|task| {
                let (sender, receiver) = channel();
                let blocked = rt.task(()).core(task % 4).submit(move |(), cx| {
                    receive(cx, &receiver, 1);
                    cx.task(()).core(task % 4).spawn(|(), _| ());
                    receive(cx, &receiver, 1);
                    cx.worker()
                });
                (sender, blocked)
            })
            .unzip();
        let runs = || {
            let tasks: Vec<_> = (0..4).map(|core| rt.task(()).core(core).submit(|(), _| ())).collect();
            tasks.into_iter().for_each(|task| task.join().unwrap());
        };
        runs();
        rt.resize(during).unwrap();
        runs();
        senders.iter().for_each(|sender| sender.send("on").unwrap());
        runs();
        rt.resize(after).unwrap();
        runs();
        senders.iter().for_each(|sender| sender.send("on").unwrap());
        for (task, blocked) in blocked.into_iter().enumerate() {
            assert_eq!(blocked.join().unwrap(), task % 4);
        }
        eventually("the others have ended", || rt.running_workers() == after);
    }
}

#[test]
fn in_a_simulation_the_function_only_runs() {
    on_each(Setting::simulations(&[1, 2]), |setting| {
        let rt = setting.build();
        assert_eq!(rt.task(()).submit(|(), cx| cx.block_in_place(|| 5)).join().unwrap(), 5);
    });
}
