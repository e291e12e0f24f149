//! Visits and modifications of nodes that fail, or that do not fit into a task's descriptor.

use crate::common::{Gate, Pair, Setting, lock, on_all, silence_tasks};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use xtasking::{
    Context, Handle, JoinError, Part, Runtime, Shutdown,
    arena::{Arena, Link, Modify, Step, Visit, Written},
    primitive::{OptimisticLatched, OptimisticSequenced, SpinLatch},
};

/// A runtime, and the failures reported to its hook.
fn overheard(setting: Setting) -> (Runtime, Arc<Mutex<Vec<String>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hear = heard.clone();
    let hook = move |failure: xtasking::Failure| lock(&hear).push(failure.error.to_string());
    (setting.builder().on_failure(hook).build().unwrap(), heard)
}

/// Sets a node's first word, and afterwards panics on request.
struct Set {
    fails: bool,
}

impl Modify for Set {
    type Target = Pair;
    type Output = ();

    fn write(&mut self, _: Link<Pair>, node: Written<'_, Pair>, _: &mut Context) {
        node.0.set(1, node.token());
    }

    fn then(self, (): (), _: &mut Context) {
        assert!(!self.fails, "provoked");
    }
}

/// Finds a node's first word.
struct Get(Arc<AtomicUsize>);

impl Visit for Get {
    type Target = Pair;
    type Output = u64;

    fn read(&self, _: Link<Pair>, node: &Pair) -> Step<Pair, u64> {
        Step::End(node.0.get())
    }

    fn then(self, found: u64, _: &mut Context) {
        self.0.fetch_add(found as usize, SeqCst);
    }
}

#[test]
fn a_change_that_panics_afterwards_leaves_a_sound_node() {
    silence_tasks();
    on_all(|setting| {
        let (rt, heard) = overheard(setting);
        let arena = Arena::new(&rt);
        let node = arena.alloc_outside(Pair::default());
        rt.task(node.write()).modify(Set { fails: true });
        let found = rt.task(node.write()).submit(|node, _| node.0.get());
        assert!(found.join().is_ok_and(|word| word <= 1), "nothing is poisoned");
        rt.shutdown(Shutdown::Drain);
        let heard = lock(&heard);
        assert!(heard.len() == 1 && heard[0].contains("provoked"), "{heard:?}");
        drop(arena);
    });
}

#[test]
fn a_half_written_node_refuses_all_tasks() {
    silence_tasks();
    on_all(|setting| {
        let (rt, heard) = overheard(setting);
        let arenas = [
            Arena::with_primitive(&rt, OptimisticLatched),
            Arena::with_primitive(&rt, OptimisticSequenced),
            Arena::with_primitive(&rt, SpinLatch),
        ];
        for node in arenas.each_ref().map(|arena| arena.alloc_outside(Pair::default())) {
            let failed: Handle<()> = rt.task(node.write()).submit(|node, _| {
                node.0.set(9, node.token());
                panic!("provoked");
            });
            assert!(matches!(failed.join(), Err(JoinError::Panicked(_))));
            let found = Arc::new(AtomicUsize::new(0));
            rt.task(node.write()).modify(Set { fails: false });
            rt.task(node.read()).visit(Get(found.clone()));
            let read = rt.task(node.read()).submit_read(|node| node.0.get(), |word, _| word);
            assert!(matches!(read.join(), Err(JoinError::Poisoned)));
            assert!(matches!(rt.task(node.read()).submit(|_, _| ()).join(), Err(JoinError::Poisoned)));
            assert_eq!(found.load(SeqCst), 0);
        }
        rt.shutdown(Shutdown::Drain);
        let heard = lock(&heard);
        assert_eq!(heard.len(), 6, "{heard:?}");
        assert!(heard.iter().all(|text| text.contains("poisoned")), "{heard:?}");
        drop(arenas);
    });
}

/// A visit to which a node never looks valid.
struct Lost {
    readings: Arc<AtomicUsize>,
}

impl Visit for Lost {
    type Target = Pair;
    type Output = ();

    fn read(&self, _: Link<Pair>, _: &Pair) -> Step<Pair, ()> {
        self.readings.fetch_add(1, SeqCst);
        Step::Again
    }

    fn then(self, (): (), _: &mut Context) {
        unreachable!("nothing was found");
    }
}

#[test]
fn a_walk_that_finds_no_sense_without_a_writer_is_given_up() {
    on_all(|setting| {
        let (rt, heard) = overheard(setting);
        let arena = Arena::new(&rt);
        let node = arena.alloc_outside(Pair::default());
        let readings = Arc::new(AtomicUsize::new(0));
        rt.task(node.read()).visit(Lost { readings: readings.clone() });
        rt.shutdown(Shutdown::Drain);
        assert!(readings.load(SeqCst) > 1, "it was tried again");
        assert_eq!(*lock(&heard), ["the task's result was never delivered"]);
        drop(arena);
    });
}

/// Counts the calls of `locate`; as large as its ballast.
struct Asked<B> {
    asked: Arc<AtomicUsize>,
    gate: Gate,
    _ballast: B,
}

/// What a visit and a modification have in common here.
macro_rules! count_and_pass {
    () => {
        type Target = Pair;
        type Output = ();
        const LOCATES: bool = true;

        fn locate(&self, _: Link<Pair>, _: &Pair) -> Part {
            self.asked.fetch_add(1, SeqCst);
            Part::NONE
        }

        fn then(self, (): (), _: &mut Context) {
            self.gate.pass();
        }
    };
}

impl<B: Send + 'static> Visit for Asked<B> {
    count_and_pass!();

    fn read(&self, _: Link<Pair>, _: &Pair) -> Step<Pair, ()> {
        Step::End(())
    }
}

impl<B: Send + 'static> Modify for Asked<B> {
    count_and_pass!();

    fn write(&mut self, _: Link<Pair>, _: Written<'_, Pair>, _: &mut Context) {}
}

/// Returns the number of calls of `locate` by this many visits and modifications, spawned at once.
fn asked<B: Copy + Send + 'static>(setting: Setting, ballast: B) -> [usize; 2] {
    const EACH: usize = 50;
    let rt = setting.build();
    let arena = Arena::with_primitive(&rt, SpinLatch);
    let node = arena.alloc_outside(Pair::default());
    let (gate, all) = Gate::new(&rt, 2 * EACH);
    let (walks, changes) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (asked_walks, asked_changes) = (walks.clone(), changes.clone());
    rt.task(()).spawn(move |(), cx| {
        for _ in 0..EACH {
            let body = |asked: &Arc<AtomicUsize>| Asked {
                asked: asked.clone(),
                gate: gate.clone(),
                _ballast: ballast,
            };
            cx.task(node.read()).visit(body(&asked_walks));
            cx.task(node.write()).modify(body(&asked_changes));
        }
    });
    all.join().unwrap();
    drop(rt);
    drop(arena);
    [walks, changes].map(|count| count.load(SeqCst))
}

#[test]
fn large_visits_and_modifications_locate_as_small_ones_do() {
    let setting = Setting::Simulation { cores: 1, seed: 1 };
    let small = asked(setting, ());
    assert!(small.iter().all(|&count| count > 0), "{small:?}");
    assert_eq!(asked(setting, [0u64; 100]), small);
}
