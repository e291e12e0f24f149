//! The load between two looks at counters that the tests write.

mod support;

use support::Machine;
use xtasking_knowledge::facts::{CpuLoad, Load};
use xtasking_knowledge::system::Sample;

/// A thread: number, start, ticks as a user, ticks in the system, priority, CPU.
type Thread = (u32, u64, u64, u64, i32, u32);

/// Counters of CPUs, and threads of which the first tells of the whole process.
fn look(machine: &Machine, cpus: &str, threads: &[Thread]) -> Sample {
    let stat = |&(id, started, user, system, nice, cpu): &Thread| {
        let ticks = format!("{user} {system} 0 0 20 {nice} 1 0 {started}");
        format!("{id} (a (b) c) R 1 1 1 0 -1 64 0 0 0 0 {ticks} 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 {cpu} 0 0\n")
    };
    machine.write("/proc/stat", format!("cpu 0 0 0 0 0 0 0 0 0 0\n{cpus}intr 1 2 3\n"));
    machine.write("/proc/self/task/none/stat", "");
    machine.remove("/proc/self/task");
    machine.write("/proc/self/stat", stat(&threads[0]));
    for thread in &threads[1..] {
        machine.write(&format!("/proc/self/task/{}/stat", thread.0), stat(thread));
    }
    machine.system().sample().unwrap()
}

/// The load between two looks.
fn between(before: (&str, &[Thread]), after: (&str, &[Thread])) -> Vec<CpuLoad> {
    let machine = Machine::empty();
    let before = look(&machine, before.0, before.1);
    let after = look(&machine, after.0, after.1);
    Load::between(&before, &after).cpus
}

fn load(cpu: u32, own: f64, others: f64, nice: f64, steal: f64) -> CpuLoad {
    CpuLoad { cpu, own, others, nice, steal }
}

/// A process that does nothing.
const IDLE: &[Thread] = &[(1, 5, 0, 0, 0, 0), (1, 5, 0, 0, 0, 0)];

#[test]
fn whose_time_it_was() {
    // User, nice, system, idle, waiting, interrupts of two kinds, stolen, guests of two kinds.
    let before = "cpu0 100 100 100 100 100 100 100 100 100 100\ncpu1 0 0 0 0\n";
    let after = "cpu0 150 110 120 110 110 105 105 110 150 110\ncpu1 0 0 0 120\n";
    let threads: &[Thread] = &[(1, 5, 30, 10, 0, 0), (1, 5, 30, 10, 0, 0)];
    // 120 ticks: 80 of the common kind, of which 40 are our own; guests are among the users.
    let expected =
        [load(0, 40.0 / 120.0, 40.0 / 120.0, 10.0 / 120.0, 10.0 / 120.0), load(1, 0.0, 0.0, 0.0, 0.0)];
    assert_eq!(between((before, IDLE), (after, threads)), expected);
}

#[test]
fn own_threads_that_give_way() {
    let threads: &[Thread] = &[(1, 5, 30, 10, 0, 0), (1, 5, 30, 10, 19, 0)];
    let loads = between(("cpu0 0 0 0 0\n", IDLE), ("cpu0 20 50 30 0\n", threads));
    assert_eq!(loads, [load(0, 0.4, 0.4, 0.2, 0.0)]);
}

#[test]
fn threads_that_move() {
    let before: &[Thread] = &[(1, 5, 0, 0, 0, 0), (1, 5, 0, 0, 0, 0)];
    let after: &[Thread] = &[(1, 5, 60, 0, 0, 0), (1, 5, 60, 0, 0, 1)];
    let still = "cpu0 0 0 0 0\ncpu1 0 0 0 0\n";
    let loads = between((still, before), ("cpu0 30 0 0 70\ncpu1 50 0 0 50\n", after));
    assert_eq!(loads, [load(0, 0.3, 0.0, 0.0, 0.0), load(1, 0.3, 0.2, 0.0, 0.0)]);
    // CPU 0 was not busy enough for half of it.
    let loads = between((still, before), ("cpu0 10 0 0 90\ncpu1 50 0 0 50\n", after));
    assert_eq!(loads, [load(0, 0.1, 0.0, 0.0, 0.0), load(1, 0.5, 0.0, 0.0, 0.0)]);
}

#[test]
fn threads_that_begin_and_end() {
    let before: &[Thread] = &[(1, 5, 40, 0, 0, 0), (1, 5, 10, 0, 0, 0), (2, 6, 30, 0, 0, 1)];
    // Number 2 ended after 20 further ticks, and its number went to another thread, which has run for 5.
    let after: &[Thread] = &[(1, 5, 75, 0, 0, 0), (1, 5, 20, 0, 0, 0), (2, 90, 5, 0, 0, 0)];
    let loads =
        between(("cpu0 0 0 0 0\ncpu1 0 0 0 0\n", before), ("cpu0 50 0 0 50\ncpu1 50 0 0 50\n", after));
    assert_eq!(loads, [load(0, 0.15, 0.35, 0.0, 0.0), load(1, 0.2, 0.3, 0.0, 0.0)]);
}

#[test]
fn more_than_all_is_not_believed() {
    let threads: &[Thread] = &[(1, 5, 500, 0, 0, 0), (1, 5, 500, 0, 0, 0)];
    let loads = between(("cpu0 0 0 0 0\n", IDLE), ("cpu0 80 10 0 10\n", threads));
    assert_eq!(loads, [load(0, 0.8, 0.0, 0.1, 0.0)]);
}

#[test]
fn counters_that_go_backwards() {
    // What was called waiting may be called idle later.
    let loads = between(("cpu0 100 0 0 500 50\n", IDLE), ("cpu0 130 0 0 600 20\n", IDLE));
    assert_eq!(loads, [load(0, 0.0, 0.3, 0.0, 0.0)]);
    let loads = between(("cpu0 100 50 0 500\n", IDLE), ("cpu0 130 0 0 570\n", IDLE));
    assert_eq!(loads, [load(0, 0.0, 0.3, 0.0, 0.0)]);
}

#[test]
fn cpus_that_come_or_go_or_stand_still() {
    let before = "cpu0 0 0 0 0\ncpu1 5 5 5 5\ncpu2 7 7 7 7\n";
    let after = "cpu0 50 0 0 50\ncpu2 7 7 7 7\ncpu3 9 9 9 9\n";
    let loads = between((before, IDLE), (after, IDLE));
    assert_eq!(loads, [load(0, 0.0, 0.5, 0.0, 0.0)]);
}

#[test]
fn a_watch_goes_on_from_its_last_look() {
    let machine = Machine::empty();
    look(&machine, "cpu0 0 0 0 0\n", IDLE);
    let mut watch = machine.system().watch().unwrap();
    look(&machine, "cpu0 50 0 0 50\n", IDLE);
    assert_eq!(watch.load().unwrap().cpus, [load(0, 0.0, 0.5, 0.0, 0.0)]);
    look(&machine, "cpu0 50 0 0 150\n", IDLE);
    assert_eq!(watch.load().unwrap().cpus, [load(0, 0.0, 0.0, 0.0, 0.0)]);
}

#[test]
fn without_threads_there_is_no_telling_whose_work_it_is() {
    let machine = Machine::empty();
    assert_eq!(machine.system().sample().unwrap_err().to_string(), "`/proc/self/task` tells of no thread");
    look(&machine, "cpu0 0 0 0 0\n", IDLE);
    machine.write("/proc/stat", "intr 5\n");
    assert_eq!(machine.system().sample().unwrap_err().to_string(), "`/proc/stat` tells of no CPU");
    machine.remove("/proc/stat");
    assert_eq!(machine.system().watch().unwrap_err().to_string(), "`/proc/stat` is missing");
}
