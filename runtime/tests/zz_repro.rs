//! Minimal reproductions.
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::Arc;
use std::time::{Duration, Instant};
use xtasking::platform::{Simulation, Threads};
use xtasking::*;

fn watchdog(seconds: u64, what: &'static str) {
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(seconds));
        eprintln!("WATCHDOG: {what} hangs");
        std::process::abort();
    });
}

struct Pair(Word, Word);
unsafe impl Version for Pair {}

/// The baton of an optimistic read that waited for a held object is lost.
#[test]
fn baton() {
    watchdog(10, "baton");
    let rt = Runtime::builder().workers(2).counters(true).build().unwrap();
    let a = rt.versioned(Pair(Word::new(0), Word::new(0))).pin(OptimisticSequenced).build();
    let b = rt.plain(0u64).pin(Sequencing).build();
    assert_eq!(a.home(), 0);
    let (inside, go) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (i, g) = (inside.clone(), go.clone());
    let many = rt.task((a.write(), b.write())).core(1).submit(move |(a, b), _| {
        a.0.set(1, a.token());
        i.store(true, SeqCst);
        while !g.load(SeqCst) {
            std::hint::spin_loop();
        }
        a.1.set(1, a.token());
        *b += 1;
    });
    while !inside.load(SeqCst) {}
    let read = rt.task(a.read()).core(0).submit_read(|p| (p.0.get(), p.1.get()), |pair, _| pair);
    while rt.counters().unwrap().versioned_retries < 3 {}
    std::thread::sleep(Duration::from_millis(50));
    go.store(true, SeqCst);
    many.join().unwrap();
    assert_eq!(read.join().unwrap(), (1, 1));
    eprintln!("the read is done");
    // The object stays held for ever.
    rt.task(a.write()).submit(|a, _| a.0.set(2, a.token())).join().unwrap();
    eprintln!("the write is done");
}

struct Counted(Arc<AtomicUsize>);
impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// An object that outlives its runtime is never dropped.
#[test]
fn outlives() {
    let drops = Arc::new(AtomicUsize::new(0));
    let rt = Runtime::builder().workers(1).build().unwrap();
    let a = rt.plain(Counted(drops.clone())).build();
    drop(rt);
    drop(a);
    assert_eq!(drops.load(SeqCst), 1);
}

/// An object that is dropped shortly before its runtime is never dropped.
#[test]
fn dropped_before_shutdown() {
    for workers in [1, 2] {
        let drops = Arc::new(AtomicUsize::new(0));
        let rt = Runtime::builder().workers(workers).build().unwrap();
        for _ in 0..1000 {
            let a = rt.plain(Counted(drops.clone())).build();
            rt.task(a.write()).spawn(|_, _| ());
        }
        drop(rt);
        assert_eq!(drops.load(SeqCst), 1000, "{workers}");
    }
}

/// An object that is dropped while the runtime sleeps stays until something else happens.
#[test]
fn dropped_asleep() {
    let drops = Arc::new(AtomicUsize::new(0));
    let rt = Runtime::builder().workers(2).build().unwrap();
    let a = rt.plain(Counted(drops.clone())).build();
    std::thread::sleep(Duration::from_millis(100));
    drop(a);
    std::thread::sleep(Duration::from_millis(1000));
    assert_eq!(drops.load(SeqCst), 1);
}

/// Safe code, two runtimes, one object.
#[test]
fn two_runtimes_one_object() {
    let (one, two) = (Runtime::builder().workers(1).build().unwrap(), Runtime::builder().workers(1).platform(Threads::new(1).unpinned()).build().unwrap());
    let a = one.plain(0u64).build();
    let body = |a: &mut u64, _: &mut Context| for _ in 0..1000 { *a = std::hint::black_box(*a + 1) };
    for _ in 0..10000 {
        one.task(a.write()).spawn(body);
        two.task(a.write()).spawn(body);
    }
    two.shutdown(Shutdown::Drain);
    let total = one.task(a.read()).submit(|a, _| *a).join().unwrap();
    assert_eq!(total, 20_000_000);
}

/// A platform for fewer workers.
#[test]
fn too_few() {
    watchdog(10, "too_few");
    let error = Runtime::builder().platform(Threads::new(2)).workers(3).build().unwrap_err();
    assert!(matches!(error, BuildError::Platform(_)));
}

struct PanicsInDrop;
impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("in drop");
        }
    }
}

#[test]
fn drop_panics_in_result() {
    watchdog(10, "drop_panics_in_result");
    let rt = Runtime::builder().workers(1).build().unwrap();
    drop(rt.task(()).submit(|(), _| PanicsInDrop));
    rt.task(()).submit(|(), _| 1).join().unwrap();
}

#[test]
fn drop_panics_in_object() {
    watchdog(10, "drop_panics_in_object");
    let rt = Runtime::builder().workers(1).build().unwrap();
    drop(rt.plain(PanicsInDrop).build());
    for _ in 0..10000 {
        rt.task(()).submit(|(), _| 1).join().unwrap();
    }
}

#[test]
fn drop_panics_in_cancel() {
    watchdog(10, "drop_panics_in_cancel");
    let rt = Runtime::builder().workers(1).build().unwrap();
    let go = Arc::new(AtomicBool::new(false));
    let g = go.clone();
    rt.task(()).spawn(move |(), _| while !g.load(SeqCst) {});
    let bomb = PanicsInDrop;
    let h = rt.task(()).submit(move |(), _| {
        let _b = &bomb;
    });
    let last = rt.task(()).submit(|(), _| ());
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        go.store(true, SeqCst)
    });
    rt.shutdown(Shutdown::Cancel);
    assert!(h.join().is_err());
    assert!(last.join().is_err());
}

/// Order at equal priority, single and multi.
#[test]
fn order_high() {
    for priority in [Priority::Normal, Priority::High, Priority::Low] {
        let rt = Runtime::builder().platform(Simulation::new(2, 1)).build().unwrap();
        let a = rt.plain(Vec::new()).build();
        let b = rt.plain(()).build();
        for i in 0..30 {
            if i % 3 == 1 {
                rt.task((a.write(), b.write())).priority(priority).spawn(move |(a, _), _| a.push(i));
            } else {
                rt.task(a.write()).priority(priority).spawn(move |a, _| a.push(i));
            }
        }
        let v = loop {
            let v = rt.task(a.read()).submit(|a, _| a.clone()).join().unwrap();
            if v.len() == 30 { break v }
        };
        assert_eq!(v, (0..30).collect::<Vec<_>>(), "{priority:?}");
    }
}

/// Every task retires one node: does memory stay bounded while busy?
#[test]
fn busy_retire() {
    struct Node(#[allow(dead_code)] [Word; 16]);
    unsafe impl Version for Node {}
    let rt = Runtime::builder().workers(1).counters(true).build().unwrap();
    let arena = Arena::<Node>::new(&rt);
    fn go(left: u32, arena: Arena<Node>, cx: &mut Context) {
        let link = arena.alloc(Node(Default::default()), cx);
        unsafe { arena.retire(link, cx) };
        if left > 0 {
            cx.task(()).begin_operation().spawn(move |(), cx| go(left - 1, arena, cx));
        }
    }
    let mut most = 0;
    for _ in 0..64 {
        let arena = arena.clone();
        rt.task(()).spawn(move |(), cx| go(20_000, arena, cx));
    }
    let end = Instant::now() + Duration::from_secs(3);
    while Instant::now() < end {
        most = most.max(arena.stats().live);
    }
    eprintln!("{:?} {:?} most {most}", rt.counters(), arena.stats());
    assert!(most < 10_000);
}

/// A wake-up is lost when the worker meets a push in its middle just before it sleeps.
#[test]
fn lost_wake() {
    let rt = Runtime::builder().workers(3).build().unwrap();
    let rounds = std::env::var("ROUNDS").map_or(300_000, |r| r.parse().unwrap());
    let at = AtomicU64::new(0);
    std::thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                for i in 0..rounds {
                    rt.task(()).core(0).submit(|(), _| ()).join().unwrap();
                    at.fetch_max(i, Relaxed);
                }
            });
        }
        s.spawn(|| {
            let mut last = u64::MAX;
            loop {
                std::thread::sleep(Duration::from_secs(3));
                let now = at.load(Relaxed);
                if now + 1 >= rounds {
                    return;
                }
                if now == last {
                    eprintln!("HANG after {now} rounds");
                    std::process::abort();
                }
                last = now;
            }
        });
    });
}
