//! Workers are placed as requested, or an error says why not.

use crate::common::{eventually, watchdog, watchdog_of};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;
use xtasking::platform::{CoreInfo, CpuTopology, Platform, Simulation, Threads};
use xtasking::{
    BuildError, Context, Runtime, Shutdown,
    platform::{Driver, Misplaced, Placement, Site},
};

/// The CPUs that this process may run on, the last one first.
fn usable() -> Vec<u32> {
    Threads::new(1).topology().cores.iter().rev().map(|core| core.os_id as u32).collect()
}

/// Returns the CPU that each worker reports.
fn bound(rt: &Runtime) -> Vec<Vec<u32>> {
    let look = |worker| {
        let look = move |(), cx: &mut Context| {
            assert_eq!(cx.worker(), worker);
            // A bound thread sees a single core.
            usable()
        };
        rt.task(()).core(worker as u16).submit(look).join().unwrap()
    };
    (0..rt.workers()).map(look).collect()
}

#[test]
fn workers_run_where_they_are_placed() {
    let _watched = watchdog();
    let cpus = usable();
    let placement = Placement::new(cpus.clone(), "the last one first");
    let rt = Runtime::builder().placement(placement.clone()).build().unwrap();
    assert_eq!(rt.workers(), cpus.len());
    assert_eq!(rt.placement(), Some(placement));
    let cores: Vec<_> = rt.topology().cores.iter().map(|core| core.os_id as u32).collect();
    assert_eq!(cores, cpus);
    assert_eq!(bound(&rt), cpus.iter().map(|&cpu| vec![cpu]).collect::<Vec<_>>());
    // Ordinary tasks run.
    let sums: Vec<_> = (0..8).map(|_| rt.plain(0u64).build()).collect();
    for number in 0..8000u64 {
        rt.task(sums[number as usize % 8].write()).spawn(move |sum, _| *sum += number);
    }
    let total: u64 = sums.iter().map(|sum| rt.task(sum.read()).submit(|sum, _| *sum).join().unwrap()).sum();
    assert_eq!(total, 8000 * 7999 / 2);
    rt.shutdown(Shutdown::Drain);
}

#[test]
fn a_platform_without_placement_follows_a_given_one() {
    let cpu = usable()[0];
    let builder = Runtime::builder().platform(Threads::new(1).unpinned());
    assert_eq!(bound(&builder.placement(Placement::new([cpu], "told")).build().unwrap()), [[cpu]]);
}

#[test]
fn fewer_workers_take_the_first_places_and_more_come_later() {
    let _watched = watchdog();
    let cpus = usable();
    let placement = Placement::new(cpus.clone(), "told");
    let builder = Runtime::builder().placement(placement.clone()).workers(1);
    let rt = builder.most_workers(cpus.len()).build().unwrap();
    assert_eq!((rt.workers(), rt.running_workers()), (cpus.len(), 1));
    rt.resize(cpus.len()).unwrap();
    eventually("each runs in its place", || {
        (0..cpus.len()).all(|worker| {
            let place = move |(), cx: &mut Context| (cx.worker() == worker).then(usable);
            rt.task(())
                .core(worker as u16)
                .submit(place)
                .join()
                .unwrap()
                .is_some_and(|at| at == [cpus[worker]])
        })
    });
    assert_eq!(rt.resize(cpus.len() + 1), Err(BuildError::TooManyWorkers(cpus.len() + 1)));
    drop(rt);
    let rt = Runtime::builder().placement(placement).workers(1).build().unwrap();
    assert_eq!((rt.workers(), bound(&rt)), (1, vec![vec![cpus[0]]]));
    assert_eq!(rt.placement(), Some(Placement::new([cpus[0]], "told")));
    assert_eq!(rt.topology().cores.len(), 1);
}

#[test]
fn an_impossible_placement_is_an_error() {
    let cpu = usable()[0];
    let build = |placement| Runtime::builder().placement(placement).build().unwrap_err();
    let on = |cpus: &[u32]| build(Placement::new(cpus.iter().copied(), "told"));
    assert_eq!(on(&[]), BuildError::NoWorkers);
    assert_eq!(on(&[cpu, 60_000]), BuildError::Misplaced(Misplaced::NotUsable { cpu: 60_000 }));
    assert_eq!(on(&[cpu, cpu]), BuildError::Misplaced(Misplaced::Twice { cpu }));
    let far = Placement::at([Site { cpu, node: Some(900) }], "told");
    assert_eq!(build(far), BuildError::Misplaced(Misplaced::NoSuchNode { node: 900 }));
    let text = on(&[60_000]).to_string();
    let wanted = "invalid placement: CPU 60000 does not exist, or this process may not run on it;";
    assert!(text.starts_with(wanted), "{text}");
    let one = || Runtime::builder().placement(Placement::new([cpu], "told"));
    let too_few = |workers| BuildError::Misplaced(Misplaced::TooFew { workers, places: 1 });
    assert_eq!(one().workers(2).build().unwrap_err(), too_few(2));
    assert_eq!(one().most_workers(3).build().unwrap_err(), too_few(3));
    assert_eq!(one().follow_advice(Duration::ZERO, 1..=4).build().unwrap_err(), too_few(4));
    assert!(too_few(2).to_string().contains("the placement has CPUs for 1 of 2 workers;"));
    let empty = Runtime::builder().placement(Placement::new([], "told")).workers(2).build().unwrap_err();
    assert_eq!(empty, BuildError::Misplaced(Misplaced::TooFew { workers: 2, places: 0 }));
}

/// Without reading the affinity mask, the runtime would bind a worker to a forbidden CPU.
#[test]
fn the_affinity_of_the_building_thread_counts() {
    let cpus = usable();
    let (Some(&allowed), Some(&forbidden)) = (cpus.first(), cpus.get(1)) else { return };
    let rt = Runtime::builder().placement(Placement::new([allowed], "told")).build().unwrap();
    let built = rt.task(()).submit(move |(), _| {
        assert_eq!(Placement::of_this_process().sites(), [Site { cpu: allowed, node: None }]);
        Runtime::builder().placement(Placement::new([forbidden], "told")).build().map(drop)
    });
    let error = BuildError::Misplaced(Misplaced::NotUsable { cpu: forbidden });
    assert_eq!(built.join().unwrap().unwrap_err(), error);
}

#[test]
fn workers_without_a_placement_report_where_they_are() {
    let habit = Placement::of_this_process();
    assert_eq!(habit.workers(), Threads::suggested_workers());
    assert!(habit.to_string().starts_with("CPU") && habit.why().contains("CPU"), "{habit}");
    let unbound = Runtime::builder().platform(Threads::new(1).unpinned()).workers(1).build().unwrap();
    assert_eq!(unbound.placement(), None);
    assert_eq!(Runtime::builder().platform(Simulation::new(2, 1)).build().unwrap().placement(), None);
    let more = Runtime::builder().workers(usable().len() + 1).build().unwrap();
    assert_eq!(more.placement(), None, "more workers than cores are not bound");
    assert_eq!(Runtime::new().unwrap().placement(), Some(habit));
}

/// On virtual cores: tasks and objects go to the nodes that the places name.
#[test]
fn nodes_follow_the_placement() {
    let cores = || Simulation::with_nodes(4, 2, 3);
    let workers_of = |rt: &Runtime, node| {
        let tasks: Vec<_> = (0..20).map(|_| rt.task(()).node(node).submit(|(), cx| cx.worker())).collect();
        let mut workers: Vec<_> = tasks.into_iter().map(|task| task.join().unwrap()).collect();
        workers.extend((0..20).map(|_| rt.plain(0).node(node).build().home()));
        workers.sort_unstable();
        workers.dedup();
        workers
    };
    let nodes = |rt: &Runtime| rt.topology().cores.iter().map(|core| core.node).collect::<Vec<_>>();
    // Cores 2 and 3 are on node 1.
    let rt =
        Runtime::builder().platform(cores()).placement(Placement::new([3, 0, 2], "told")).build().unwrap();
    assert_eq!((nodes(&rt), rt.topology().nodes), (vec![1, 0, 1], 2));
    assert_eq!([workers_of(&rt, 0), workers_of(&rt, 1)], [vec![1], vec![0, 2]]);
    // With explicit nodes.
    let sites = [(3, Some(0)), (0, None), (2, Some(1))].map(|(cpu, node)| Site { cpu, node });
    let rt = Runtime::builder().platform(cores()).placement(Placement::at(sites, "told")).build().unwrap();
    assert_eq!(nodes(&rt), [0, 0, 1]);
    assert_eq!([workers_of(&rt, 0), workers_of(&rt, 1)], [vec![0, 1], vec![2]]);
    for (wrong, why) in [
        (Site { cpu: 4, node: None }, Misplaced::NotUsable { cpu: 4 }),
        (Site { cpu: 0, node: Some(2) }, Misplaced::NoSuchNode { node: 2 }),
    ] {
        let builder = Runtime::builder().platform(cores()).placement(Placement::at([wrong], "told"));
        assert_eq!(builder.build().unwrap_err(), BuildError::Misplaced(why));
    }
}

#[test]
fn runs_of_cpus_are_written_short() {
    let text = |cpus: &[u32]| Placement::new(cpus.iter().copied(), "so").to_string();
    assert_eq!(text(&[3]), "CPU 3: so");
    assert_eq!(text(&[0, 1, 2, 8, 5, 6]), "CPUs 0-2,8,5-6: so");
    assert_eq!(text(&[4, 3]), "CPUs 4,3: so");
}

/// Like [`Threads`], but with a CPU that no longer exists.
struct Outdated {
    below: Threads,
    starts: Arc<AtomicUsize>,
}

/// A CPU that no machine has.
const LOST: u32 = 60_000;

impl Platform for Outdated {
    xtasking_testing::forward_platform!(below: park wake join block pages now);

    fn topology(&self) -> CpuTopology {
        let mut topology = self.below.topology();
        topology.cores.push(CoreInfo { os_id: LOST as usize, node: 0 });
        topology
    }

    fn start(&self, worker: Driver) -> Result<(), xtasking::platform::PlatformError> {
        self.starts.fetch_add(1, SeqCst);
        self.below.start(worker)
    }
}

/// A worker that cannot be bound is not started, and the other workers serve its run queue.
#[test]
fn a_worker_that_cannot_be_bound_is_not_started() {
    let _watched = watchdog_of(Duration::from_secs(60));
    for round in 0..20 {
        let starts = Arc::new(AtomicUsize::new(0));
        let platform = Outdated { below: Threads::new(2), starts: starts.clone() };
        let placement = Placement::new([usable()[0], LOST], "told");
        let builder = Runtime::builder().platform(platform).placement(placement);
        if round == 0 {
            let error = builder.build().unwrap_err();
            let BuildError::Platform(why) = &error else { panic!("{error}") };
            assert_eq!(
                why.what(),
                "cannot pin worker 1 to CPU 60000; choose another CPU in `Builder::placement`"
            );
            // The text has the message of the system.
            let cause = why.io_error().expect("the system refuses to pin").to_string();
            assert!(!cause.is_empty() && error.to_string().ends_with(&format!(": {cause}")), "{error}");
            continue;
        }
        let rt = builder.workers(1).most_workers(2).build().unwrap();
        let on_each = || {
            let tasks = [0, 1].map(|core| rt.task(()).core(core).submit(|(), cx| cx.worker()));
            tasks.map(|task| task.join().unwrap())
        };
        assert_eq!(on_each(), [0, 1]);
        assert!(matches!(rt.resize(2), Err(BuildError::Platform(_))));
        assert_eq!((rt.running_workers(), starts.load(SeqCst)), (1, 2));
        assert_eq!(on_each(), [0, 1]);
        rt.shutdown(Shutdown::Drain);
    }
}
