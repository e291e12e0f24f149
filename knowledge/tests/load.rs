//! The load between two samples of counters that the tests write.

mod support;

use support::Machine;
use xtasking_knowledge::facts::{CpuLoad, Load};
use xtasking_knowledge::system::Sample;

/// A thread: number, start, user ticks, system ticks, nice value, CPU.
type Thread = (u32, u64, u64, u64, i32, u32);

/// Writes counters of CPUs and threads and takes a sample. The first thread stands for the whole
/// process.
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

/// Returns the load between two samples.
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
fn time_is_attributed_to_its_process() {
    // User, nice, system, idle, I/O wait, hard and soft interrupts, steal, guest, niced guest.
    let before = "cpu0 100 100 100 100 100 100 100 100 100 100\ncpu1 0 0 0 0\n";
    let after = "cpu0 150 110 120 110 110 105 105 110 150 110\ncpu1 0 0 0 120\n";
    let threads: &[Thread] = &[(1, 5, 30, 10, 0, 0), (1, 5, 30, 10, 0, 0)];
    // 120 ticks: 80 at normal priority, 40 of them of this process; guests are part of user time.
    let expected =
        [load(0, 40.0 / 120.0, 40.0 / 120.0, 10.0 / 120.0, 10.0 / 120.0), load(1, 0.0, 0.0, 0.0, 0.0)];
    assert_eq!(between((before, IDLE), (after, threads)), expected);
}

#[test]
fn niced_threads_of_this_process() {
    let threads: &[Thread] = &[(1, 5, 30, 10, 0, 0), (1, 5, 30, 10, 19, 0)];
    let loads = between(("cpu0 0 0 0 0\n", IDLE), ("cpu0 20 50 30 0\n", threads));
    assert_eq!(loads, [load(0, 0.4, 0.4, 0.2, 0.0)]);
}

#[test]
fn threads_that_migrate_between_cpus() {
    let before: &[Thread] = &[(1, 5, 0, 0, 0, 0), (1, 5, 0, 0, 0, 0)];
    let after: &[Thread] = &[(1, 5, 60, 0, 0, 0), (1, 5, 60, 0, 0, 1)];
    let still = "cpu0 0 0 0 0\ncpu1 0 0 0 0\n";
    let loads = between((still, before), ("cpu0 30 0 0 70\ncpu1 50 0 0 50\n", after));
    assert_eq!(loads, [load(0, 0.3, 0.0, 0.0, 0.0), load(1, 0.3, 0.2, 0.0, 0.0)]);
    // CPU 0 was not busy enough for half of the time.
    let loads = between((still, before), ("cpu0 10 0 0 90\ncpu1 50 0 0 50\n", after));
    assert_eq!(loads, [load(0, 0.1, 0.0, 0.0, 0.0), load(1, 0.5, 0.0, 0.0, 0.0)]);
}

#[test]
fn threads_that_start_and_end() {
    let before: &[Thread] = &[(1, 5, 40, 0, 0, 0), (1, 5, 10, 0, 0, 0), (2, 6, 30, 0, 0, 1)];
    // Thread 2 ended after 20 more ticks; a new thread with its number has run for 5.
    let after: &[Thread] = &[(1, 5, 75, 0, 0, 0), (1, 5, 20, 0, 0, 0), (2, 90, 5, 0, 0, 0)];
    let loads =
        between(("cpu0 0 0 0 0\ncpu1 0 0 0 0\n", before), ("cpu0 50 0 0 50\ncpu1 50 0 0 50\n", after));
    assert_eq!(loads, [load(0, 0.15, 0.35, 0.0, 0.0), load(1, 0.2, 0.3, 0.0, 0.0)]);
}

#[test]
fn own_time_is_capped_by_busy_time() {
    let threads: &[Thread] = &[(1, 5, 500, 0, 0, 0), (1, 5, 500, 0, 0, 0)];
    let loads = between(("cpu0 0 0 0 0\n", IDLE), ("cpu0 80 10 0 10\n", threads));
    assert_eq!(loads, [load(0, 0.8, 0.0, 0.1, 0.0)]);
}

#[test]
fn counters_that_go_backwards_count_as_unchanged() {
    // The kernel may count waiting time as idle time later.
    let loads = between(("cpu0 100 0 0 500 50\n", IDLE), ("cpu0 130 0 0 600 20\n", IDLE));
    assert_eq!(loads, [load(0, 0.0, 0.3, 0.0, 0.0)]);
    let loads = between(("cpu0 100 50 0 500\n", IDLE), ("cpu0 130 0 0 570\n", IDLE));
    assert_eq!(loads, [load(0, 0.0, 0.3, 0.0, 0.0)]);
}

#[test]
fn cpus_that_appear_disappear_or_have_no_ticks_are_left_out() {
    let before = "cpu0 0 0 0 0\ncpu1 5 5 5 5\ncpu2 7 7 7 7\n";
    let after = "cpu0 50 0 0 50\ncpu2 7 7 7 7\ncpu3 9 9 9 9\n";
    let loads = between((before, IDLE), (after, IDLE));
    assert_eq!(loads, [load(0, 0.0, 0.5, 0.0, 0.0)]);
}

#[test]
fn a_watch_continues_from_its_last_sample() {
    let machine = Machine::empty();
    look(&machine, "cpu0 0 0 0 0\n", IDLE);
    let mut watch = machine.system().watch().unwrap();
    look(&machine, "cpu0 50 0 0 50\n", IDLE);
    assert_eq!(watch.load().unwrap().cpus, [load(0, 0.0, 0.5, 0.0, 0.0)]);
    look(&machine, "cpu0 50 0 0 150\n", IDLE);
    assert_eq!(watch.load().unwrap().cpus, [load(0, 0.0, 0.0, 0.0, 0.0)]);
}

#[test]
fn a_sample_needs_threads_and_cpus() {
    let machine = Machine::empty();
    assert_eq!(machine.system().sample().unwrap_err().to_string(), "`/proc/self/task` lists no thread");
    look(&machine, "cpu0 0 0 0 0\n", IDLE);
    machine.write("/proc/stat", "intr 5\n");
    assert_eq!(machine.system().sample().unwrap_err().to_string(), "`/proc/stat` lists no CPU");
    machine.remove("/proc/stat");
    assert_eq!(machine.system().watch().unwrap_err().to_string(), "`/proc/stat` is missing");
}
