//! How a view is made of two inspections.

use super::{Claim, Epochs, Kind, Memory, Object, Spread, Totals, View, Worker, label, ranges, shares, span};
use std::collections::HashMap;
use std::time::Duration;
use xtasking::metrics::{
    Activity, Histogram, Inspection, ObjectUse, RunningInspection, TaskKind, WorkerInspection,
};

/// Makes a view of an inspection and an older one: without strips and findings, which need more.
pub(crate) fn build(newer: &Inspection, older: Option<&Inspection>) -> View {
    let window = newer.elapsed.saturating_sub(older.map_or(newer.elapsed, |older| older.elapsed));
    let (kinds, waiting, running) = kinds(newer, older, window);
    let mut objects = objects(newer, older, window);
    // A task waits for all of its objects, and counts for each: shares are of the tasks' waiting.
    let longest = objects.iter().map(|object| object.waited).max().unwrap_or(0) as f64 / 1e9;
    let waited = (waiting.sum() as f64 / 1e9).max(longest);
    for object in &mut objects {
        object.share = object.waited as f64 / 1e9 / waited.max(f64::MIN_POSITIVE);
    }
    let workers: Vec<_> = workers(newer, older, window);
    let busy = workers.iter().map(|worker| worker.busy).sum::<f64>() / newer.size.max(1) as f64;
    let finished = finished(newer, older);
    let refused = |inspection: &Inspection| inspection.memory.refused;
    View {
        elapsed: nanoseconds(newer.elapsed),
        window: nanoseconds(window),
        totals: Totals {
            workers: newer.size,
            asleep: newer.workers.iter().filter(|worker| worker.activity == Activity::Asleep).count(),
            finished: newer.finished,
            open: newer.occupancy(),
            load: workers.iter().map(|worker| worker.load).sum(),
            rate: rate(finished, window),
            busy: busy.min(1.0),
            waiting: waited / window.as_secs_f64().max(1e-9),
        },
        memory: Memory {
            pages: newer.memory.page_bytes,
            huge: newer.memory.huge_page_bytes,
            limit: newer.memory.page_limit,
            refused: refused(newer),
            newly_refused: older.map_or(0, |older| refused(newer).saturating_sub(refused(older))),
        },
        epochs: Epochs {
            newest: newer.epochs.newest,
            oldest: newer.epochs.oldest,
            retired: newer.epochs.retired,
            held: 0,
        },
        workers,
        waiting: Spread::of(&waiting),
        running: Spread::of(&running),
        objects,
        kinds,
        claims: claims(newer),
        ..View::default()
    }
}

/// Returns how many tasks have finished in between, as far as recorded: without messages of the
/// runtime, which the other count of finished tasks contains.
pub(crate) fn finished(newer: &Inspection, older: Option<&Inspection>) -> u64 {
    let count = |inspection: &Inspection| inspection.kinds.iter().map(|kind| kind.finished).sum::<u64>();
    older.map_or(0, |older| count(newer).saturating_sub(count(older)))
}

fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos() as u64
}

/// Returns how often something happened in a second.
fn rate(count: u64, window: Duration) -> f64 {
    if window.is_zero() { 0.0 } else { count as f64 / window.as_secs_f64() }
}

/// Returns the workers that are to run, and run queues of others that are not empty.
fn workers(newer: &Inspection, older: Option<&Inspection>, window: Duration) -> Vec<Worker> {
    let is_shown = |(index, worker): &(usize, &WorkerInspection)| {
        *index < newer.size || worker.queue + worker.inbox > 0 || !worker.running.is_empty()
    };
    let worker = |(index, worker): (usize, &WorkerInspection)| {
        let before = older.and_then(|older| older.workers.get(index)).unwrap_or(worker);
        // The task that runs, rather than one that it has put aside to block.
        let task = worker.running.iter().min_by_key(|task| (task.is_blocked, task.running));
        Worker {
            index: worker.worker,
            state: match task {
                // The task is read after the activity, and may have begun in between.
                Some(task) if !task.is_blocked => Activity::Running,
                _ => worker.activity,
            }
            .to_string(),
            task: task.map(|task| task.task.clone()),
            objects: task.map(objects_of).unwrap_or_default(),
            since: task.map(|task| nanoseconds(task.running)),
            load: worker.queue + worker.inbox,
            busy: shares::of(worker, before, window).busy(),
            rate: rate(worker.tasks.saturating_sub(before.tasks), window),
            steals: rate(worker.steals.saturating_sub(before.steals), window),
            strip: Vec::new(),
        }
    };
    newer.workers.iter().enumerate().filter(is_shown).map(worker).collect()
}

fn objects_of(task: &RunningInspection) -> Vec<String> {
    task.objects.iter().map(label).collect()
}

/// Returns the objects that were used in the window, those that tasks waited for longest first.
fn objects(newer: &Inspection, older: Option<&Inspection>, window: Duration) -> Vec<Object> {
    // What an object has done is counted anew in each session.
    let same_session = older.filter(|older| older.is_recording && older.session <= newer.session);
    let before: HashMap<usize, &ObjectUse> = same_session
        .into_iter()
        .flat_map(|older| older.objects.iter().map(|object| (object.object.address, object)))
        .collect();
    let mut objects: Vec<_> = newer
        .objects
        .iter()
        .map(|object| {
            let before = before.get(&object.object.address);
            let waited = object.waited.saturating_sub(before.map_or(Duration::ZERO, |before| before.waited));
            let accesses = object.accesses.saturating_sub(before.map_or(0, |before| before.accesses));
            let waits = object.waits.saturating_sub(before.map_or(0, |before| before.waits));
            Object {
                name: label(&object.object),
                data: object.object.data.clone(),
                primitive: format!("{:?}", object.object.primitive),
                share: 0.0,
                waited: nanoseconds(waited),
                wait: nanoseconds(waited) / accesses.max(1),
                queue: object.queued,
                rate: rate(accesses, window),
                waits: rate(waits, window),
            }
        })
        .filter(|object| object.rate > 0.0 || object.queue > 0)
        .collect();
    objects.sort_by_key(|object| std::cmp::Reverse((object.waited, object.queue)));
    objects
}

/// Returns the kinds that ran or ended in the window, those that ran longest first, and the
/// histograms of all together.
fn kinds(
    newer: &Inspection,
    older: Option<&Inspection>,
    window: Duration,
) -> (Vec<Kind>, Histogram, Histogram) {
    let before: HashMap<&str, &TaskKind> =
        older.into_iter().flat_map(|older| older.kinds.iter().map(|kind| (&*kind.name, kind))).collect();
    let (mut all_waiting, mut all_running) = (Histogram::default(), Histogram::default());
    let mut kinds = Vec::new();
    for kind in &newer.kinds {
        let before = before.get(&*kind.name);
        let waiting = span::since(&kind.waiting, before.map(|before| &before.waiting));
        let running = span::since(&kind.running, before.map(|before| &before.running));
        all_waiting.merge(&waiting);
        all_running.merge(&running);
        let since = |count: fn(&TaskKind) -> u64| {
            count(kind).saturating_sub(before.map_or(0, |before| count(before)))
        };
        let (runs, new_panics) = (since(|kind| kind.runs), since(|kind| kind.panics));
        if runs + new_panics + since(|kind| kind.finished) == 0 {
            continue;
        }
        let percentile = |histogram: &Histogram, percent| nanoseconds(histogram.percentile(percent));
        kinds.push(Kind {
            name: kind.name.clone(),
            share: running.sum() as f64,
            rate: rate(runs, window),
            wait50: percentile(&waiting, 50.0),
            wait99: percentile(&waiting, 99.0),
            run50: percentile(&running, 50.0),
            run99: percentile(&running, 99.0),
            panics: kind.panics,
            new_panics,
        });
    }
    let all: f64 = kinds.iter().map(|kind| kind.share).sum();
    for kind in &mut kinds {
        kind.share /= all.max(f64::MIN_POSITIVE);
    }
    kinds.sort_by(|a, b| b.share.total_cmp(&a.share).then(b.rate.total_cmp(&a.rate)));
    (kinds, all_waiting, all_running)
}

/// Returns the claims that wait, those that wait longest first.
fn claims(newer: &Inspection) -> Vec<Claim> {
    let mut claims: Vec<_> = newer
        .claims
        .iter()
        .map(|claim| Claim {
            task: claim.task.clone(),
            wants: format!("{} {}", if claim.is_write { "write" } else { "read" }, ranges(claim)),
            holder: claim.holders.join(", "),
            since: claim.waiting.map_or(0, nanoseconds),
        })
        .collect();
    claims.sort_by_key(|claim| std::cmp::Reverse(claim.since));
    claims
}
