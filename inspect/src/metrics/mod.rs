//! The numbers of an inspection as OpenMetrics 1.0.
//!
//! Labels are bounded: workers, the names of at most 128 kinds of task and one for all others, and
//! the names of at most 64 objects at a time. Objects without a name have no label that lasts, and
//! are left out.
//!
//! | file | what is in it |
//! |---|---|
//! | `exposition` | the text format |
//! | `own` | metrics that a program adds |
//! | `series` | what one text must know of those before |

mod exposition;
mod own;
mod series;

use exposition::{Exposition, Family};
use std::collections::BTreeMap;
use std::time::Duration;
use xtasking::metrics::{Activity, Counters, Inspection, ObjectUse, TaskKind, WorkerInspection};

pub(crate) use exposition::CONTENT_TYPE;
pub use own::Metric;
pub(crate) use series::Series;

/// What a worker may do.
const ACTIVITIES: [Activity; 5] =
    [Activity::Running, Activity::Blocked, Activity::Searching, Activity::Asleep, Activity::Parked];

/// Reads a number from a part of an inspection.
type Read<T> = fn(&T) -> f64;

/// Returns all numbers of an inspection, then those of the program. The texts of one runtime have
/// the same series.
pub(crate) fn text(inspection: &Inspection, series: &mut Series, own: &[Metric]) -> String {
    let kinds = series.kinds(&inspection.kinds);
    let mut out = Exposition::new(series);
    runtime(&mut out, inspection);
    workers(&mut out, inspection);
    self::kinds(&mut out, &kinds);
    objects(&mut out, inspection);
    if let Some(counters) = &inspection.counters {
        counted(&mut out, counters);
    }
    own.iter().for_each(|metric| metric.write(&mut out));
    out.end()
}

fn runtime(out: &mut Exposition<'_>, inspection: &Inspection) {
    let Inspection { memory, epochs, claims, .. } = inspection;
    let longest = claims.iter().filter_map(|claim| claim.waiting).max().unwrap_or_default();
    for (name, unit, help, value) in [
        ("xtasking_age_seconds", "seconds", "Age of the runtime.", seconds(inspection.elapsed)),
        ("xtasking_workers", "", "Workers that are to run.", inspection.size as f64),
        ("xtasking_tasks_unfinished", "", "Tasks that wait or run.", inspection.occupancy() as f64),
        ("xtasking_recording", "", "1 while tasks are recorded, else 0.", f64::from(inspection.is_recording)),
        ("xtasking_memory_bytes", "bytes", "Pages taken for tasks and objects.", memory.page_bytes as f64),
        (
            "xtasking_memory_huge_bytes",
            "bytes",
            "Those of them on huge pages.",
            memory.huge_page_bytes as f64,
        ),
        ("xtasking_epoch_newest", "", "The newest epoch.", epochs.newest as f64),
        ("xtasking_epoch_oldest", "", "The oldest epoch that may be in use.", epochs.oldest as f64),
        ("xtasking_retired_objects", "", "Retired objects that wait to be freed.", epochs.retired as f64),
        ("xtasking_claims_waiting", "", "Claims that wait; at most 64 are counted.", claims.len() as f64),
        ("xtasking_claim_wait_longest_seconds", "seconds", "The longest wait of a claim.", seconds(longest)),
    ] {
        out.family(Family::gauge(name, unit, help)).sample("", &[], value);
    }
    if let Some(limit) = memory.page_limit {
        let family = Family::gauge("xtasking_memory_limit_bytes", "bytes", "The limit of pages.");
        out.family(family).sample("", &[], limit as f64);
    }
    for (name, unit, help, value) in [
        ("xtasking_tasks_spawned", "", "Tasks spawned, with messages.", inspection.spawned as f64),
        ("xtasking_tasks_finished", "", "Tasks run, cancelled or failed.", inspection.finished as f64),
        ("xtasking_memory_refused", "", "Spawns refused for lack of memory.", memory.refused as f64),
        ("xtasking_recorded_seconds", "seconds", "Time recorded.", seconds(inspection.recorded)),
    ] {
        out.family(Family::counter(name, unit, help)).sample("_total", &[], value);
    }
}

fn workers(out: &mut Exposition<'_>, inspection: &Inspection) {
    let workers = || inspection.workers.iter().map(|worker| (worker.worker.to_string(), worker));
    let mut loads = out.family(Family::gauge(
        "xtasking_worker_load",
        "",
        "Load of the run queue and the inbox: the cost of their tasks, one unit a task at least.",
    ));
    for (index, worker) in workers() {
        loads.sample("", &[("worker", &index)], (worker.queue + worker.inbox) as f64);
    }
    let mut activity = out.family(Family::state_set("xtasking_worker_activity", "What the worker does."));
    for (index, worker) in workers() {
        for state in ACTIVITIES {
            let labels = [("worker", &*index), ("xtasking_worker_activity", &*state.to_string())];
            activity.sample("", &labels, f64::from(worker.activity == state));
        }
    }
    let counters: [(_, _, _, Read<WorkerInspection>); 5] = [
        ("xtasking_worker_busy_seconds", "seconds", "Time at work, as recorded.", |w| seconds(w.busy)),
        ("xtasking_worker_asleep_seconds", "seconds", "Time asleep, as recorded.", |w| seconds(w.asleep)),
        ("xtasking_worker_runs", "", "Runs of tasks, as recorded.", |w| w.tasks as f64),
        ("xtasking_worker_steals", "", "Halves of joins and run queues taken.", |w| w.steals as f64),
        ("xtasking_worker_sleeps", "", "Times that the worker went to sleep.", |w| w.sleeps as f64),
    ];
    for (name, unit, help, read) in counters {
        let mut family = out.family(Family::counter(name, unit, help));
        for (index, worker) in workers() {
            family.sample("_total", &[("worker", &index)], read(worker));
        }
    }
}

fn kinds(out: &mut Exposition<'_>, kinds: &[TaskKind]) {
    let kinds = || kinds.iter().filter(|kind| kind.runs + kind.finished > 0);
    let counters: [(_, _, Read<TaskKind>); 3] = [
        ("xtasking_task_runs", "Runs of tasks of this name, as recorded.", |kind| kind.runs as f64),
        ("xtasking_task_ends", "Ends of tasks of this name, as recorded.", |kind| kind.finished as f64),
        ("xtasking_task_panics", "Tasks of this name that panicked, as recorded.", |kind| kind.panics as f64),
    ];
    for (name, help, read) in counters {
        let mut family = out.family(Family::counter(name, "", help));
        for kind in kinds() {
            family.sample("_total", &[("task", &kind.name)], read(kind));
        }
    }
    let help = "From spawn to start, as recorded.";
    let mut family = out.family(Family::histogram("xtasking_task_wait_seconds", "seconds", help));
    for kind in kinds() {
        family.histogram(&[("task", &kind.name)], &kind.waiting);
    }
    let help = "From the start of a run to its end, as recorded.";
    let mut family = out.family(Family::histogram("xtasking_task_run_seconds", "seconds", help));
    for kind in kinds() {
        family.histogram(&[("task", &kind.name)], &kind.running);
    }
}

/// Writes the objects that have a name; those of one name together.
fn objects(out: &mut Exposition<'_>, inspection: &Inspection) {
    let mut named: BTreeMap<&str, Vec<&ObjectUse>> = BTreeMap::new();
    for object in &inspection.objects {
        if let Some(name) = &object.object.name {
            named.entry(name).or_default().push(object);
        }
    }
    let gauges: [(_, _, _, Read<ObjectUse>); 4] = [
        ("xtasking_object_queued", "", "Tasks that wait for it now; an upper bound.", |o| o.queued as f64),
        ("xtasking_object_accesses", "", "Runs with it while this recording lasts.", |o| o.accesses as f64),
        ("xtasking_object_waits", "", "Tasks that found it held, in this recording.", |o| o.waits as f64),
        (
            "xtasking_object_wait_seconds",
            "seconds",
            "Time that tasks waited with it while this recording lasts.",
            |o| seconds(o.waited),
        ),
    ];
    for (name, unit, help, read) in gauges {
        let mut family = out.family(Family::gauge(name, unit, help));
        for (name, objects) in &named {
            family.sample("", &[("object", name)], objects.iter().map(|object| read(object)).sum());
        }
    }
}

/// Writes the counters that a runtime has on request.
fn counted(out: &mut Exposition<'_>, counters: &Counters) {
    for (name, help, value) in [
        ("xtasking_local_spawns", "Tasks spawned into the own run queue.", counters.local_spawns),
        ("xtasking_remote_spawns", "Tasks sent to another worker.", counters.remote_spawns),
        ("xtasking_external_spawns", "Tasks spawned from outside.", counters.external_spawns),
        ("xtasking_snapshot_retries", "Failed optimistic reads of snapshots.", counters.snapshot_retries),
        ("xtasking_versioned_retries", "Failed optimistic reads of versions.", counters.versioned_retries),
        ("xtasking_latch_waits", "Waits at latches.", counters.latch_waits),
        ("xtasking_walk_steps", "Steps of the walks in bundles.", counters.walk_steps),
        ("xtasking_prefetches", "Cache lines prefetched.", counters.prefetches),
        ("xtasking_retirements", "Objects retired.", counters.retired),
        ("xtasking_reclamations", "Retired objects freed.", counters.reclaimed),
    ] {
        out.family(Family::counter(name, "", help)).sample("_total", &[], value as f64);
    }
}

fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}

#[cfg(test)]
mod tests;
