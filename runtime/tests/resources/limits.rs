//! Exhausted memory: single spawns fail, and nothing else does.

use crate::common::{Dropped, PATIENCE, Random, Setting, lock, on_all, on_each, watchdog};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use xtasking::platform::{Platform, Simulation, Threads};
use xtasking::{
    Builder, Context, Handle, JoinError, Object, Plain, Promise, Runtime, Shutdown, Version, Versioned, Word,
    arena::{Arena, Array, Link, Modify, Step, Visit, Written},
    platform::{GlobalPages, PageSource, Pages},
    primitive::{Sequencing, SpinLatch},
};

const MIB: u64 = 1 << 20;

/// A runtime with a limit, and the number of times that its hook reported exhausted memory.
fn limited(setting: Setting, limit: u64) -> (Runtime, Arc<AtomicUsize>) {
    counted(setting.builder().memory_limit(limit))
}

fn counted(builder: Builder) -> (Runtime, Arc<AtomicUsize>) {
    let refused = Arc::new(AtomicUsize::new(0));
    let heard = refused.clone();
    let rt = builder.counters(true).on_failure(move |failure| {
        assert!(matches!(failure.error, JoinError::OutOfMemory), "{failure}");
        heard.fetch_add(1, SeqCst);
    });
    (rt.build().unwrap(), refused)
}

/// Returns true if a task was refused; it can have no other failure.
fn is_refused<R: std::fmt::Debug>(outcome: &Result<R, JoinError>) -> bool {
    match outcome {
        Ok(_) => false,
        Err(JoinError::OutOfMemory) => true,
        Err(other) => panic!("{other}"),
    }
}

/// Fulfils a promise when the last clone is dropped.
struct Last(Option<Promise<()>>);

impl Drop for Last {
    fn drop(&mut self) {
        self.0.take().expect("dropped once").fulfil(());
    }
}

/// Tasks that spawn two of their kind each, until the flag is set.
struct Flood {
    stop: AtomicBool,
    attempts: AtomicUsize,
    ran: AtomicUsize,
    dropped: Arc<AtomicUsize>,
}

impl Flood {
    fn new() -> Arc<Self> {
        let (attempts, ran, dropped) = Default::default();
        Arc::new(Self { stop: AtomicBool::new(false), attempts, ran, dropped })
    }

    /// A capture of each task of the flood, dropped whether the task runs or not.
    fn attempt(self: &Arc<Self>) -> (Arc<Self>, Dropped) {
        self.attempts.fetch_add(1, SeqCst);
        (self.clone(), Dropped(self.dropped.clone()))
    }

    fn run(self: Arc<Self>, cx: &mut Context, last: Arc<Last>) {
        self.ran.fetch_add(1, SeqCst);
        for _ in 0..2 {
            if !self.stop.load(SeqCst) && !cx.is_shutting_down() {
                let ((flood, load), last) = (self.attempt(), last.clone());
                cx.task(()).spawn(move |(), cx| {
                    drop(load);
                    flood.run(cx, last);
                });
            }
        }
    }

    /// Starts the flood. The handle waits for its end.
    fn start(self: &Arc<Self>, rt: &Runtime) -> Handle<()> {
        let (promise, end) = rt.promise();
        let (flood, load) = self.attempt();
        let last = Arc::new(Last(Some(promise)));
        rt.task(()).spawn(move |(), cx| {
            drop(load);
            flood.run(cx, last);
        });
        end
    }

    /// Asserts that every body was run or refused, and dropped.
    fn check(&self, refused: usize) {
        let attempts = self.attempts.load(SeqCst);
        assert_eq!((self.ran.load(SeqCst) + refused, self.dropped.load(SeqCst)), (attempts, attempts));
    }
}

/// Tasks with large bodies are spawned and run once all workers have returned their free memory.
fn spawn_all<const BYTES: usize>(rt: &Runtime, count: usize) {
    for _ in 0..10_000 {
        let tasks = (0..count).map(|number| {
            let load = [number as u8; BYTES];
            rt.task(()).submit(move |(), _| load.iter().map(|byte| u64::from(*byte)).sum::<u64>())
        });
        let outcomes: Vec<_> = tasks.collect::<Vec<_>>().into_iter().map(Handle::join).collect();
        if outcomes.iter().filter(|outcome| is_refused(outcome)).count() == 0 {
            return;
        }
        pass_time(rt);
    }
    panic!("{count} tasks of {BYTES} bytes are refused for ever");
}

/// Returns settings of both platforms, for tests that take long to fill their memory.
fn with_one_seed() -> impl Iterator<Item = Setting> {
    Setting::threads().chain(Setting::simulations(&[7]))
}

#[test]
fn an_endless_spawner_meets_the_limit() {
    on_each(with_one_seed(), |setting| {
        const LIMIT: u64 = 2 * MIB;
        const REFUSED: usize = 1000;
        let flood = Flood::new();
        let (stop, refused) = (flood.clone(), Arc::new(AtomicUsize::new(0)));
        let heard = refused.clone();
        let rt = setting.builder().memory_limit(LIMIT).counters(true).on_failure(move |failure| {
            assert!(matches!(failure.error, JoinError::OutOfMemory), "{failure}");
            if heard.fetch_add(1, SeqCst) == REFUSED {
                stop.stop.store(true, SeqCst);
            }
        });
        let rt = rt.build().unwrap();
        let sum = rt.plain(0u64).build();
        for _ in 0..2 {
            refused.store(0, SeqCst);
            let end = flood.start(&rt);
            // Meanwhile other tasks spawn, too, with and without success.
            let mut added = 0;
            for number in 0..100 {
                let task = rt.task(sum.write()).submit(move |sum, _| *sum += number);
                added += if is_refused(&task.join()) { 0 } else { number };
            }
            end.join().unwrap();
            assert!(refused.load(SeqCst) > REFUSED);
            flood.check(refused.load(SeqCst));
            // The same amount of memory serves tasks of all sizes again.
            spawn_all::<8>(&rt, 1000);
            spawn_all::<60>(&rt, 1000);
            spawn_all::<200>(&rt, 1000);
            spawn_all::<400>(&rt, 1000);
            let total = rt.task(sum.write()).submit(|sum, _| std::mem::take(sum)).join().unwrap();
            assert_eq!(total, added);
            let counters = rt.counters().unwrap();
            assert_eq!(counters.allocations.page_limit, Some(LIMIT));
            assert!(counters.allocations.page_bytes <= LIMIT, "{counters:?}");
            assert!(counters.allocations.refused >= REFUSED as u64);
            for counter in [&flood.attempts, &flood.ran, &flood.dropped] {
                counter.store(0, SeqCst);
            }
            flood.stop.store(false, SeqCst);
        }
    });
}

#[test]
fn a_flood_that_is_cancelled_ends() {
    on_each(with_one_seed(), |setting| {
        for how in [Shutdown::Cancel, Shutdown::Drain] {
            let flood = Flood::new();
            let (rt, refused) = limited(setting, MIB);
            let end = flood.start(&rt);
            while rt.counters().unwrap().allocations.refused < 100 {
                pass_time(&rt);
            }
            let waiting = rt.task(()).submit(|(), _| ());
            rt.shutdown(how);
            end.join().unwrap();
            match waiting.join() {
                Ok(()) | Err(JoinError::OutOfMemory) => {}
                Err(JoinError::Cancelled) => assert_eq!(how, Shutdown::Cancel),
                Err(other) => panic!("{other}"),
            }
            let attempts = flood.attempts.load(SeqCst);
            assert_eq!(flood.dropped.load(SeqCst), attempts);
            if how == Shutdown::Drain {
                flood.check(refused.load(SeqCst));
            }
        }
    });
}

/// Tasks that add one to each of several objects, spawned by other tasks, and far more than there
/// is memory for.
struct Adders {
    objects: Vec<Object<Plain<u64>>>,
    /// The number of additions to each object.
    added: Arc<[AtomicU64; 6]>,
    /// Resolves when all of these tasks have ended.
    _last: Last,
}

impl Adders {
    /// Spawns a task with one to four objects.
    fn spawn(self: &Arc<Self>, random: &mut Random, cx: &mut Context) {
        let first = random.below(self.objects.len());
        let number = move |step: usize| (first + step) % 6;
        let object = |step: usize| self.objects[number(step)].write();
        let adders = self.clone();
        let added = move |steps: std::ops::Range<usize>| {
            steps.for_each(|step| _ = adders.added[number(step)].fetch_add(1, SeqCst));
        };
        match random.below(4) {
            0 => cx.task(object(0)).spawn(move |a, _| {
                *a += 1;
                added(0..1);
            }),
            1 => cx.task((object(0), object(1))).spawn(move |(a, b), _| {
                (*a, *b) = (*a + 1, *b + 1);
                added(0..2);
            }),
            2 => cx.task((object(2), object(0), object(1))).spawn(move |(a, b, c), _| {
                (*a, *b, *c) = (*a + 1, *b + 1, *c + 1);
                added(0..3);
            }),
            _ => cx.task((object(1), object(0), object(3), object(2))).spawn(move |(a, b, c, d), _| {
                (*a, *b, *c, *d) = (*a + 1, *b + 1, *c + 1, *d + 1);
                added(0..4);
            }),
        }
    }
}

/// Lets time pass for all workers.
fn pass_time(rt: &Runtime) {
    for core in 0..rt.workers() {
        let _ = rt.task(()).core(core as u16).submit(|(), _| ()).join();
    }
}

/// Runs floods of tasks with several objects. In the end each object has been incremented by all of
/// them, and none is held for ever.
fn add_to_several(rt: &Runtime, rounds: usize, each: usize) {
    let objects: Vec<_> = (0..6)
        .map(|number| match number % 3 {
            2 => rt.plain(0u64).pin(SpinLatch).build(),
            _ => rt.plain(0u64).pin(Sequencing).build(),
        })
        .collect();
    let added: Arc<[AtomicU64; 6]> = Arc::default();
    for round in 0..rounds {
        let (promise, end) = rt.promise();
        let _last = Last(Some(promise));
        let adders = Arc::new(Adders { objects: objects.clone(), added: added.clone(), _last });
        for spawner in 0..rt.workers().max(2) {
            // A source that fails at random serves a spawner that asks often, but another spawner
            // may have taken all memory.
            for _ in 0..1000 {
                let adders = adders.clone();
                let task = rt.task(()).core(spawner as u16).submit(move |(), cx| {
                    let mut random = Random::new((round * 100 + spawner) as u64);
                    (0..each).for_each(|_| adders.spawn(&mut random, cx));
                });
                match task.join() {
                    Ok(()) => break,
                    outcome => assert!(is_refused(&outcome)),
                }
                pass_time(rt);
            }
        }
        drop(adders);
        end.join().unwrap();
        for (object, added) in objects.iter().zip(&*added) {
            loop {
                match rt.task(object.read()).submit(|value, _| *value).join() {
                    Ok(value) => break assert_eq!(value, added.load(SeqCst)),
                    outcome => assert!(is_refused(&outcome)),
                }
                pass_time(rt);
            }
        }
    }
    assert!(added.iter().all(|added| added.load(SeqCst) > 0), "nothing was spawned: {added:?}");
}

#[test]
fn objects_are_handed_on_however_little_memory_there_is() {
    on_each(with_one_seed(), |setting| {
        let (rt, refused) = limited(setting, 2 * MIB);
        add_to_several(&rt, 2, 8000);
        assert!(refused.load(SeqCst) > 0, "there was memory enough");
        rt.shutdown(Shutdown::Drain);
    });
}

/// A node with a word.
struct Node(Word);

impl Version for Node {}

struct Look(Arc<AtomicUsize>, #[expect(dead_code, reason = "dropped")] Dropped);

impl Visit for Look {
    type Target = Node;
    type Output = u64;
    fn read(&self, _: Link<Node>, node: &Node) -> Step<Node, u64> {
        Step::End(node.0.get())
    }
    fn then(self, _: u64, _: &mut Context) {
        self.0.fetch_add(1, SeqCst);
    }
}

struct Add(Arc<AtomicUsize>, #[expect(dead_code, reason = "dropped")] Dropped);

impl Modify for Add {
    type Target = Node;
    type Output = ();
    fn write(&mut self, _: Link<Node>, node: Written<'_, Node>, _: &mut Context) {
        node.0.set(node.0.get() + 1, node.token());
    }
    fn then(self, (): (), _: &mut Context) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// The objects and counters of tasks of every kind.
#[derive(Clone)]
struct Kinds {
    link: Link<Node>,
    object: Object<Versioned<Node>>,
    ran: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
    handles: Arc<Mutex<Vec<Handle<()>>>>,
}

impl Kinds {
    fn body(&self) -> (Arc<AtomicUsize>, Dropped) {
        (self.ran.clone(), Dropped(self.dropped.clone()))
    }
}

/// Spawns one task of each kind.
macro_rules! spawn_kinds {
    ($spawner:expr, $kinds:expr) => {{
        let (spawner, kinds): (_, &Kinds) = ($spawner, $kinds);
        let (ran, load) = kinds.body();
        spawner.task(kinds.link.read()).visit(Look(ran, load));
        let (ran, load) = kinds.body();
        spawner.task(kinds.link.write()).modify(Add(ran, load));
        let (ran, load) = kinds.body();
        spawner.task(kinds.object.read()).read_then(
            |node| node.0.get(),
            move |_, _| {
                drop(load);
                ran.fetch_add(1, SeqCst);
            },
        );
        let (ran, load) = kinds.body();
        // Too large for a descriptor.
        let ones = [1u8; 600];
        let handle = spawner.task(kinds.object.write()).submit(move |node, _| {
            drop(load);
            node.0.set(node.0.get() + u64::from(ones[17]), node.token());
            ran.fetch_add(1, SeqCst);
        });
        lock(&kinds.handles).push(handle);
    }};
}

#[test]
fn every_kind_of_spawn_is_refused_alike() {
    const EACH: usize = 10_000;
    on_each(with_one_seed(), |setting| {
        for inside in [false, true] {
            let (rt, refused) = limited(setting, 2 * MIB);
            let arena = Arena::new(&rt);
            let link = arena.alloc_outside(Node(Word::new(0)));
            let object = rt.versioned(Node(Word::new(0))).build();
            let (ran, dropped, handles) = Default::default();
            let kinds = Kinds { link, object, ran, dropped, handles };
            if inside {
                let kinds = kinds.clone();
                let spawner = rt.task(()).submit(move |(), cx| {
                    for _ in 0..EACH {
                        spawn_kinds!(&mut *cx, &kinds);
                    }
                });
                spawner.join().unwrap();
            } else {
                for _ in 0..EACH {
                    spawn_kinds!(&rt, &kinds);
                }
            }
            let handles = std::mem::take(&mut *lock(&kinds.handles));
            let unwritten = handles.into_iter().map(Handle::join).filter(is_refused).count();
            let written = loop {
                match rt.task(kinds.object.read()).submit(|node, _| node.0.get()).join() {
                    Ok(value) => break value as usize,
                    outcome => assert!(is_refused(&outcome)),
                }
                pass_time(&rt);
            };
            rt.shutdown(Shutdown::Drain);
            let refused = refused.load(SeqCst);
            // On threads, tasks from outside may run as fast as they are spawned.
            let some = inside || matches!(setting, Setting::Simulation { .. });
            assert!(!some || refused > 0 && unwritten > 0, "there was memory enough");
            assert_eq!(written, EACH - unwritten);
            assert_eq!(kinds.ran.load(SeqCst) + refused + unwritten, 4 * EACH);
            assert_eq!(kinds.dropped.load(SeqCst), 4 * EACH);
            drop(arena);
        }
    });
}

/// A platform whose pages run out at random, and permanently after a certain amount.
struct Poor<P> {
    below: P,
    pages: Arc<PoorPages>,
}

struct PoorPages {
    random: Mutex<Random>,
    /// Refused requests in percent.
    share: usize,
    left: AtomicUsize,
}

// SAFETY: `GlobalPages` provides and releases all pages, and it upholds the contract.
unsafe impl PageSource for PoorPages {
    fn pages(&self, bytes: usize, align: usize, node: Option<u16>, huge: bool) -> Option<Pages> {
        if lock(&self.random).below(100) < self.share {
            return None;
        }
        self.left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(bytes)).ok()?;
        GlobalPages.pages(bytes, align, node, huge)
    }

    unsafe fn release(&self, pages: Pages) {
        // SAFETY: the caller passes pages of `self.pages`, which come from `GlobalPages`.
        unsafe { GlobalPages.release(pages) };
    }
}

impl<P: Platform> Platform for Poor<P> {
    xtasking_testing::forward_platform!(below: topology start park wake join block now virtual_time);

    fn pages(&self) -> Arc<dyn PageSource> {
        self.pages.clone()
    }
}

#[test]
fn a_source_that_fails_now_and_then_fails_spawns_alone() {
    for seed in 0..if PATIENCE == 1 { 6 } else { 2 } {
        let _watched = watchdog();
        let random = Mutex::new(Random::new(seed));
        let left = AtomicUsize::new((1 + seed as usize % 2) << 20);
        let pages = Arc::new(PoorPages { random, share: [0, 50, 90][seed as usize % 3], left });
        let workers = 1 + seed as usize % 4;
        let builder = Runtime::builder().workers(workers);
        let (rt, refused) = counted(match seed % 2 {
            0 => builder.platform(Poor { below: Simulation::with_nodes(workers, 2, seed), pages }),
            _ => builder.platform(Poor { below: Threads::new(workers), pages }),
        });
        add_to_several(&rt, 3, 8000);
        spawn_all::<400>(&rt, 200);
        assert!(refused.load(SeqCst) > 0, "there was memory enough");
        let allocations = rt.counters().unwrap().allocations;
        assert!(allocations.page_bytes <= 2 * MIB && allocations.refused >= refused.load(SeqCst) as u64);
        rt.shutdown(Shutdown::Drain);
    }
}

#[test]
fn an_arena_says_that_there_are_no_pages() {
    let (random, left) = (Mutex::new(Random::new(1)), AtomicUsize::new(3 << 20));
    let pages = Arc::new(PoorPages { random, share: 0, left });
    let rt = Runtime::builder().platform(Poor { below: Simulation::new(2, 1), pages }).build().unwrap();
    let arena = Arena::new(&rt);
    let inner = arena.clone();
    let filled = rt.task(()).submit(move |(), cx| {
        std::iter::from_fn(|| Some(inner.try_reserve(cx)?.fill(Node(Word::new(1))))).count()
    });
    let filled = filled.join().unwrap();
    assert!(arena.try_reserve_outside().is_none());
    let stats = arena.stats();
    assert!(stats.live == filled && filled > 1000 && filled * stats.node_bytes <= stats.bytes);
    drop(rt);
    drop(arena);
}

#[test]
fn an_array_says_that_there_are_no_pages() {
    let (random, left) = (Mutex::new(Random::new(1)), AtomicUsize::new(3 << 20));
    let pages = Arc::new(PoorPages { random, share: 0, left });
    let rt = Runtime::builder().platform(Poor { below: Simulation::new(2, 1), pages }).build().unwrap();
    let node = |index| Node(Word::new(index as u64));
    for len in [1 << 16, 1 << 42, usize::MAX / 64, usize::MAX] {
        assert!(Array::try_new(&rt, len, node).is_none());
    }
    let array = Array::try_new(&rt, 10_000, node).unwrap();
    let mut grower = array.grower().unwrap();
    for count in [1 << 16, 1 << 42, usize::MAX / 64, usize::MAX] {
        assert!(grower.try_grow(&rt, count, node).is_none());
    }
    let pushed = (0..).map_while(|index| grower.try_push(node(10_000 + index)).ok()).count();
    assert!(pushed > 1000 && array.len() == 10_000 + pushed);
    assert!((0..array.len()).all(|index| array.peek(index).0.get() == index as u64));
    drop((grower, rt));
    drop(array);
}

#[test]
fn without_room_for_a_single_page_every_spawn_is_refused() {
    on_all(|setting| {
        let (rt, refused) = limited(setting, 65_535);
        rt.task(()).spawn(|(), _| unreachable!("there is no memory"));
        assert!(is_refused(&rt.task(()).submit(|(), _| ()).join()));
        let object = rt.plain(0).build();
        assert!(is_refused(&rt.task((object.write(), rt.plain(1).build().read())).submit(|_, _| ()).join()));
        assert_eq!(refused.load(SeqCst), 1);
        rt.shutdown(Shutdown::Drain);
    });
}

/// There is memory for 127 descriptors of the largest size, and each worker may keep 32 free ones.
#[test]
fn private_free_memory_returns_when_other_workers_lack_it() {
    for seed in 0..10 {
        let _watched = watchdog();
        let (rt, _) = limited(Setting::Simulation { cores: 8, seed }, 128 << 10);
        // One of the two chunks is used for small tasks.
        pass_time(&rt);
        for number in 0..600 {
            let spawned = (0..50).any(|_| {
                let load = [number as u8; 400];
                let task = rt.task(()).core(number).submit(move |(), _| assert_eq!(load[7], number as u8));
                let refused = is_refused(&task.join());
                if refused {
                    pass_time(&rt);
                }
                !refused
            });
            assert!(spawned, "all descriptors are kept by workers that have nothing to do");
        }
    }
}

#[test]
fn a_limit_follows_from_what_the_process_may_use() {
    let rt = Setting::Threads { workers: 1 }.builder().counters(true).build().unwrap();
    let limit = rt.counters().unwrap().allocations.page_limit;
    assert_eq!(limit, Threads::new(1).memory().map(|bytes| bytes / 2));
    let rt = Setting::Simulation { cores: 1, seed: 1 }.builder().counters(true).build().unwrap();
    assert_eq!(rt.counters().unwrap().allocations.page_limit, None);
}
