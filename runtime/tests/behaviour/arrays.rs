//! Arrays: elements found by their index, made in parallel, and appended beside readers.

use crate::common::{Dropped, Pair, Random, Setting, on_all, on_each, side_by_side, silence_tasks, watchdog};
use crate::forks::Impatient;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use xtasking::platform::Threads;
use xtasking::{
    Context, Frequency, JoinError, Part, Plain, Primitive, Runtime, Shutdown, Version, Versioned, Word,
    arena::{Arena, Array, Grower, Link, Links, Step, Visit},
    primitive::{OptimisticLatched, OptimisticSequenced, ReaderWriterLatch, Sequencing, SpinLatch},
    task::LegalFor,
};

/// Elements of 64 bytes that are made by the workers: more than the caller makes itself.
const LARGE: usize = 3000;

/// Six words, which fill a line with the header.
#[derive(Default)]
struct Line([Word; 6]);

impl Version for Line {}

fn line(index: usize) -> Line {
    Line(std::array::from_fn(|_| Word::new(index as u64)))
}

/// Frees an array after its runtime has ended.
fn end<T, C: xtasking::primitive::Class<Target = T>>(rt: Runtime, array: Array<T, C>) {
    rt.shutdown(Shutdown::Drain);
    drop(array);
}

#[test]
fn elements_are_found_by_index_and_links_by_element() {
    assert_eq!((Array::<Line>::STRIDE, Array::<Pair>::STRIDE), (64, 64));
    assert_eq!(Array::<[u64; 7], Plain<[u64; 7]>>::STRIDE, 128);
    on_all(|setting| {
        let rt = setting.build();
        for len in [0, 1, 2, 3, 17, 64, 1000, LARGE] {
            let array = Array::new(&rt, len, line);
            let other = Array::new(&rt, 1, line);
            assert_eq!((array.len(), array.is_empty(), array.links().len()), (len, len == 0, len));
            assert!(array.bytes() >= len * 64 && array.huge_bytes() <= array.bytes());
            for index in 0..len {
                let link = array.link(index);
                assert_eq!(link.to_word(), array.links().link(index).to_word());
                assert_eq!(link.address(), array.link(0).address() + index * 64);
                let disguised = link.with_mark(3).with_frequency(Frequency::High);
                assert_eq!([array.index_of(link), array.links().index_of(disguised)], [Some(index); 2]);
                assert_eq!(other.index_of(link), None);
                assert_eq!(array.peek(index).0.each_ref().map(Word::get), [index as u64; 6]);
            }
            assert_eq!(array.index_of(other.link(0)), None);
            assert!(catch_unwind(AssertUnwindSafe(|| array.link(len))).is_err());
            assert!(catch_unwind(AssertUnwindSafe(|| array.links().link(usize::MAX))).is_err());
        }
    });
}

#[test]
fn homes_are_contiguous_blocks_of_about_one_size() {
    on_all(|setting| {
        let rt = setting.build();
        let workers = rt.workers();
        for len in [1, workers, 2 * workers + 1, 1000, LARGE] {
            let array = Array::new(&rt, len, line);
            let homes: Vec<_> = (0..len).map(|index| array.home(index)).collect();
            assert!(homes.is_sorted() && homes.iter().all(|&home| home < workers), "{homes:?}");
            for worker in 0..workers {
                let block = homes.iter().filter(|&&home| home == worker).count();
                assert!(block.abs_diff(len / workers) <= 1, "{block} of {len} for {workers} workers");
            }
            drop(array);
        }
    });
}

#[test]
fn each_block_is_made_by_its_home() {
    on_each(Setting::threads(), |setting| {
        let rt = setting.build();
        let by = Mutex::new(vec![None; LARGE]);
        // The function borrows from this thread.
        let array = Array::new(&rt, LARGE, |index| {
            let before = crate::common::lock(&by)[index].replace(thread::current().id());
            assert!(before.is_none(), "{index} was made already");
            line(index)
        });
        let by = by.into_inner().unwrap();
        let of_worker: Vec<_> = (0..rt.workers())
            .map(|worker| rt.task(()).core(worker as u16).submit(|(), _| thread::current().id()))
            .collect();
        let of_worker: Vec<_> = of_worker.into_iter().map(|id| id.join().unwrap()).collect();
        for (index, maker) in by.into_iter().enumerate() {
            assert_eq!(maker, Some(of_worker[array.home(index)]));
        }
        end(rt, array);
    });
}

#[test]
fn a_worker_makes_an_array_by_itself() {
    on_all(|setting| {
        let rt = Arc::new(setting.build());
        let inner = rt.clone();
        let made = rt.task(()).submit(move |(), _| {
            let maker = thread::current().id();
            let array = Array::new(&inner, LARGE, |index| {
                assert_eq!(thread::current().id(), maker);
                line(index)
            });
            drop(inner);
            array
        });
        let array = made.join().unwrap();
        assert!((0..LARGE).all(|index| array.peek(index).0[5].get() == index as u64));
        drop(array);
    });
}

#[test]
fn an_array_is_made_without_memory_for_tasks() {
    on_all(|setting| {
        let rt = setting.builder().memory_limit(65_535).build().unwrap();
        assert!(matches!(rt.task(()).submit(|(), _| ()).join(), Err(JoinError::OutOfMemory)));
        let array = Array::new(&rt, LARGE, line);
        assert!((0..LARGE).all(|index| array.peek(index).0[5].get() == index as u64));
        end(rt, array);
    });
}

/// Spawns `rounds` increments of each element, from tasks on all workers, and checks the sums.
fn count_on_all_workers<P: LegalFor<Versioned<Line>>>(
    rt: &Runtime,
    primitive: P,
    rounds: usize,
) -> Array<Line> {
    let len = 40;
    let array = Array::builder(rt).pin(primitive).build(len, |_| Line::default());
    assert_eq!(array.primitive(), P::PRIMITIVE);
    let group = rt.group();
    for round in 0..rounds {
        let links = array.links();
        rt.task(()).core(round as u16).of(&group).spawn(move |(), cx| {
            for index in 0..len {
                cx.task(links.link(index).write()).as_sibling().spawn(|line, _| {
                    for word in &line.0 {
                        word.set(word.get() + 1, line.token());
                    }
                });
            }
        });
    }
    group.wait().unwrap();
    for index in 0..len {
        let link = array.link(index);
        let read = rt.task(link.read()).submit_read(|line| line.0.each_ref().map(Word::get), |sum, _| sum);
        assert_eq!(read.join().unwrap(), [rounds as u64; 6]);
    }
    array
}

#[test]
fn tasks_of_many_workers_write_elements_with_every_primitive() {
    on_all(|setting| {
        let rt = setting.build();
        let rounds = if cfg!(miri) { 3 } else { 25 };
        let arrays = [
            count_on_all_workers(&rt, Sequencing, rounds),
            count_on_all_workers(&rt, SpinLatch, rounds),
            count_on_all_workers(&rt, ReaderWriterLatch, rounds),
            count_on_all_workers(&rt, OptimisticSequenced, rounds),
            count_on_all_workers(&rt, OptimisticLatched, rounds),
        ];
        rt.shutdown(Shutdown::Drain);
        drop(arrays);
    });
}

#[test]
fn sequenced_writers_run_at_home() {
    on_all(|setting| {
        let rt = setting.build();
        let array = Array::builder(&rt).frequency(Frequency::High).build(100, line);
        assert_eq!(array.primitive(), Primitive::OptimisticSequenced);
        for index in 0..100 {
            let at = rt.task(array.link(index).write()).submit(|_, cx| cx.worker());
            assert_eq!(at.join().unwrap(), array.home(index));
            let at = rt.task(array.write(index)).submit(|_, cx| cx.worker());
            assert_eq!(at.join().unwrap(), array.home(index));
        }
        end(rt, array);
    });
}

#[test]
fn elements_of_other_classes_are_accessed_as_objects() {
    on_all(|setting| {
        let rt = setting.build();
        let accounts = Array::plain(&rt).build(10, |_| 100i64);
        let names = Array::shared_reads(&rt).build(10, |index| format!("account {index}"));
        let totals = Array::snapshot(&rt).pin(OptimisticLatched).build(1, |_| [0u64; 3]);
        let mut random = Random::new(setting.seed());
        let group = rt.group();
        for _ in 0..200 {
            let (from, to) = (random.below(10), random.below(10));
            if from == to {
                continue;
            }
            let access = (accounts.write(from), accounts.write(to), names.read(from), totals.write(0));
            rt.task(access).of(&group).spawn(move |(from_account, to_account, name, total), _| {
                assert_eq!(*name, format!("account {from}"));
                (*from_account, *to_account) = (*from_account - 7, *to_account + 7);
                total.iter_mut().for_each(|total| *total += 7);
            });
        }
        group.wait().unwrap();
        let sum: i64 =
            (0..10).map(|at| rt.task(accounts.read(at)).submit(|sum, _| *sum).join().unwrap()).sum();
        let total = rt.task(totals.read(0)).submit(|total, _| *total).join().unwrap();
        assert!(sum == 1000 && total[0] > 0 && total == [total[0]; 3]);
        rt.shutdown(Shutdown::Drain);
    });
}

#[test]
fn tasks_of_another_runtime_are_refused() {
    silence_tasks();
    let (rt, other) = (Setting::Threads { workers: 1 }.build(), Setting::Threads { workers: 1 }.build());
    let array = Array::builder(&rt).pin(Sequencing).build(1, line);
    let foreign = other.task(array.link(0).read()).submit(|_, _| ());
    assert!(matches!(foreign.join(), Err(JoinError::Foreign)));
    let spawn = || other.task(array.read(0)).spawn(|_, _| ());
    assert!(catch_unwind(AssertUnwindSafe(spawn)).is_err());
    let grow = || array.grower().unwrap().grow(&other, 1, line);
    assert!(catch_unwind(AssertUnwindSafe(grow)).is_err());
    assert!(array.len() == 1 && array.grower().is_some());
    end(rt, array);
}

#[test]
fn a_task_that_panics_poisons_its_element_alone() {
    silence_tasks();
    on_all(|setting| {
        let rt = setting.build();
        let array = Array::plain(&rt).build(3, |index| index);
        let failed = rt.task(array.write(1)).submit(|_, _| panic!("provoked"));
        assert!(matches!(failed.join(), Err::<(), _>(JoinError::Panicked(_))));
        let read = |index| rt.task(array.read(index)).submit(|value, _| *value).join();
        assert_eq!([0, 1, 2].map(|index| array.is_poisoned(index)), [false, true, false]);
        assert!(matches!(read(1), Err(JoinError::Poisoned)) && read(2).unwrap() == 2);
        array.clear_poison(1);
        assert_eq!(read(1).unwrap(), 1);
        end(rt, array);
    });
}

/// A walk over all elements, which adds up their first words.
struct Sum {
    links: Links<Line>,
    at: usize,
    sum: Arc<AtomicUsize>,
}

impl Visit for Sum {
    type Target = Line;
    type Output = u64;

    fn read(&self, at: Link<Line>, line: &Line) -> Step<Line, u64> {
        assert_eq!(self.links.index_of(at), Some(self.at));
        Step::End(line.0[0].get())
    }

    fn then(self, value: u64, cx: &mut Context) {
        self.sum.fetch_add(value as usize, SeqCst);
        let next = self.at + 1;
        if next < self.links.len() {
            let link = self.links.link(next);
            cx.task(link.read().part(Part::HEAD)).visit(Self { at: next, ..self });
        }
    }
}

#[test]
fn walks_carry_the_links_in_a_word() {
    assert_eq!(size_of::<Links<Line>>(), 8);
    on_all(|setting| {
        let rt = setting.build();
        let array = Array::new(&rt, 300, line);
        let sum = Arc::new(AtomicUsize::new(0));
        let walk = Sum { links: array.links(), at: 0, sum: sum.clone() };
        rt.task(array.link(0).read()).visit(walk);
        end(rt, array);
        assert_eq!(sum.load(SeqCst), 300 * 299 / 2);
    });
}

#[test]
fn appended_elements_have_the_next_indices_and_move_none() {
    on_all(|setting| {
        let rt = setting.build();
        for first in [0, 1, 100, 1024, 1025] {
            let array = Array::new(&rt, first, line);
            let mut grower = array.grower().unwrap();
            assert!(array.grower().is_none(), "there is one grower at a time");
            let mut links: Vec<_> = (0..first).map(|index| array.link(index)).collect();
            for count in [1, 0, 5, 1020, 3 * LARGE] {
                let begin = array.len();
                assert_eq!(grower.push(line(begin)), begin);
                assert_eq!(grower.grow(&rt, count, line), begin + 1..begin + 1 + count);
                assert_eq!(grower.array().len(), begin + 1 + count);
                links.extend((begin..begin + 1 + count).map(|index| array.link(index)));
                assert!(catch_unwind(AssertUnwindSafe(|| array.link(begin + 1 + count))).is_err());
            }
            for (index, &link) in links.iter().enumerate() {
                assert!(array.link(index).is_same_node(link) && array.index_of(link) == Some(index));
                assert_eq!(array.peek(index).0.each_ref().map(Word::get), [index as u64; 6]);
                assert!(array.home(index) < rt.workers());
            }
            let mut addresses: Vec<_> = links.iter().map(|link| link.address()).collect();
            addresses.sort_unstable();
            assert!(addresses.windows(2).all(|pair| pair[1] - pair[0] >= 64), "elements do not overlap");
            drop(grower);
            assert!(array.grower().is_some());
            drop(array);
        }
    });
}

#[test]
fn reserved_memory_is_used_by_the_next_elements() {
    on_all(|setting| {
        let rt = setting.build();
        for first in [0, 1, 1024, 1025] {
            let array = Array::new(&rt, first, line);
            let mut grower = array.grower().unwrap();
            // (Without elements, that many could be addressed, and memory would be asked for.)
            assert!(first == 0 || grower.try_reserve(usize::MAX).is_none());
            for count in [0, 1, 3000, 5, LARGE] {
                grower.try_reserve(count).unwrap();
                let bytes = array.bytes();
                assert!(bytes >= (array.len() + count) * Array::<Line>::STRIDE);
                for _ in 0..count {
                    let index = array.len();
                    assert_eq!(grower.try_push(line(index)).ok(), Some(index));
                }
                assert_eq!(array.bytes(), bytes, "no further memory was taken");
                // The next grower knows what the last one has reserved.
                drop(grower);
                grower = array.grower().unwrap();
            }
            let len = array.len();
            assert!((0..len).all(|index| array.peek(index).0[5].get() == index as u64));
            drop(grower);
        }
    });
}

#[test]
fn readers_see_whole_elements_while_the_array_grows() {
    on_each(Setting::threads(), |setting| {
        let rt = setting.build();
        let array = Array::new(&rt, 10, line);
        let steps = if cfg!(miri) { 5 } else { 200 };
        let is_over = AtomicBool::new(false);
        let grow = || {
            let mut grower = array.grower().unwrap();
            for step in 0..steps {
                grower.push(line(array.len()));
                grower.grow(&rt, if step % 50 == 49 { LARGE } else { 37 }, line);
            }
            is_over.store(true, SeqCst);
        };
        let read = |seed| {
            let mut random = Random::new(seed);
            let mut last = 0;
            while !is_over.load(SeqCst) {
                let len = array.len();
                assert!(len >= last, "the array shrinks");
                last = len;
                for index in [len - 1, random.below(len)] {
                    let link = array.link(index);
                    assert_eq!(array.peek(index).0.each_ref().map(Word::get), [index as u64; 6]);
                    assert_eq!(array.index_of(link), Some(index));
                    let found = rt.task(link.read()).submit_read(|line| line.0[3].get(), |word, _| word);
                    assert_eq!(found.join().unwrap(), index as u64);
                }
            }
        };
        let bodies: [Box<dyn FnOnce() + Send>; 3] =
            [Box::new(grow), Box::new(|| read(1)), Box::new(|| read(2))];
        side_by_side(bodies);
        end(rt, array);
    });
}

#[test]
fn tasks_append_through_an_object() {
    on_all(|setting| {
        let rt = setting.build();
        let array = Array::new(&rt, 0, line);
        let grower: Grower<_, _> = array.grower().unwrap();
        let grower = rt.plain(grower).build();
        let group = rt.group();
        for task in 0..100 {
            rt.task(grower.write()).core(task).of(&group).spawn(|grower, cx| {
                let index = grower.push(Line::default());
                let link = grower.array().link(index);
                cx.task(link.write()).as_sibling().spawn(move |line, _| {
                    line.0[0].set(index as u64 + 1, line.token());
                });
            });
        }
        group.wait().unwrap();
        assert_eq!(array.len(), 100);
        assert!((0..100).all(|index| array.peek(index).0[0].get() == index as u64 + 1));
        drop(grower);
        end(rt, array);
    });
}

/// An element that counts its drop.
struct Counted {
    word: Word,
    _drops: Dropped,
}

impl Version for Counted {}

fn counted(drops: &Arc<AtomicUsize>) -> Counted {
    Counted { word: Word::new(0), _drops: Dropped(drops.clone()) }
}

#[test]
fn elements_are_dropped_once_with_the_last_owner() {
    on_all(|setting| {
        let drops = Arc::new(AtomicUsize::new(0));
        let rt = setting.build();
        let new = |_| counted(&drops);
        let array = Array::new(&rt, LARGE, new);
        let mut grower = array.grower().unwrap();
        grower.grow(&rt, LARGE, new);
        grower.push(counted(&drops));
        let clone = array.clone();
        rt.task(array.link(7).write()).spawn(|element, _| element.word.set(1, element.token()));
        end(rt, array);
        drop(clone);
        assert_eq!(drops.load(SeqCst), 0);
        assert_eq!(grower.array().peek(7).word.get(), 1);
        drop(grower);
        assert_eq!(drops.load(SeqCst), 2 * LARGE + 1);
    });
}

#[test]
fn a_panic_of_the_maker_drops_what_was_made() {
    silence_tasks();
    on_all(|setting| {
        let rt = setting.build();
        let (made, drops) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
        let new = |index| {
            assert!(index != 1234, "provoked");
            made.fetch_add(1, SeqCst);
            counted(&drops)
        };
        for len in [1235, LARGE] {
            let panic = catch_unwind(AssertUnwindSafe(|| Array::new(&rt, len, new))).unwrap_err();
            assert_eq!(panic.downcast_ref::<&str>(), Some(&"provoked"));
            assert_eq!(made.load(SeqCst), drops.load(SeqCst));
        }
        let array = Array::new(&rt, 1000, new);
        let grow = || array.grower().unwrap().grow(&rt, LARGE, new);
        assert!(catch_unwind(AssertUnwindSafe(grow)).is_err());
        assert_eq!((array.len(), made.load(SeqCst)), (1000, drops.load(SeqCst) + 1000));
        assert_eq!(array.grower().unwrap().push(counted(&drops)), 1000);
        end(rt, array);
        assert_eq!(made.load(SeqCst) + 1, drops.load(SeqCst));
    });
}

#[test]
fn elements_are_dropped_though_the_platform_panics_while_they_are_made() {
    let _watched = watchdog();
    silence_tasks();
    let asked = Arc::new(AtomicBool::new(false));
    let platform = Impatient { below: Threads::new(2), asked: asked.clone() };
    let rt = Runtime::builder().workers(2).platform(platform).build().unwrap();
    let (made, drops) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let new = |index| {
        if index == 0 {
            asked.store(true, SeqCst);
            while asked.load(SeqCst) {
                thread::yield_now();
            }
            // The waiting thread has panicked, and is unwinding meanwhile.
            thread::sleep(Duration::from_millis(10));
        }
        made.fetch_add(1, SeqCst);
        counted(&drops)
    };
    for _ in 0..5 {
        assert!(catch_unwind(AssertUnwindSafe(|| Array::new(&rt, LARGE, new))).is_err());
        assert!(made.load(SeqCst) > 0 && made.load(SeqCst) == drops.load(SeqCst));
    }
}

#[test]
fn arrays_and_arenas_share_links() {
    let rt = Setting::Simulation { cores: 2, seed: 1 }.build();
    let (array, arena) = (Array::new(&rt, 10, line), Arena::new(&rt));
    let node = arena.alloc_outside(line(7));
    assert_eq!(array.index_of(node), None);
    for link in [node, array.link(7)] {
        let read = rt.task(link.read()).submit_read(|line| line.0[0].get(), |word, _| word);
        assert_eq!(read.join().unwrap(), 7);
    }
    end(rt, array);
    drop(arena);
}
