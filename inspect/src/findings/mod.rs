//! What stands out, said in sentences.

use crate::view::{Epochs, View, Worker, quoted, time};
use serde::Serialize;
use std::time::Duration;

/// The most sentences at a time.
const MAX_FINDINGS: usize = 5;

/// A task that runs longer than this keeps its worker from others.
const LONG_RUN: Duration = Duration::from_secs(1);

/// Tasks that wait at a time, on average. Below, waiting is no matter.
const FEW_WAITING: f64 = 0.05;

/// The share of the waiting from which one object stands out.
const ONE_OBJECT: f64 = 0.4;

/// A claim that waits longer than this stands out.
const LONG_CLAIM: Duration = Duration::from_millis(100);

/// An epoch that stays the oldest for longer than this is held.
const LONG_EPOCH: Duration = Duration::from_secs(1);

/// The share of their time from which workers count as busy.
const BUSY: f64 = 0.95;

/// The load of one run queue from which it stands out.
const HEAVY_LOAD: u64 = 100;

/// The share of a memory limit from which it is near.
const NEAR_LIMIT: f64 = 0.9;

/// A sentence about the runtime.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Finding {
    pub level: Level,
    pub text: String,
}

/// How much a sentence matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    Alarm,
    Watch,
    Calm,
}

/// Returns what stands out in a view, the most important first.
pub(crate) fn findings(view: &View) -> Vec<Finding> {
    let mut all = Vec::new();
    let mut say = |level, text| all.push(Finding { level, text });
    memory(view, &mut say);
    panics(view, &mut say);
    long_tasks(view, &mut say);
    claims(view, &mut say);
    epochs(view, &mut say);
    objects(view, &mut say);
    queues(view, &mut say);
    all.sort_by_key(|finding| finding.level);
    all.extend(calm(view));
    all.truncate(MAX_FINDINGS);
    all
}

fn memory(view: &View, say: &mut impl FnMut(Level, String)) {
    let memory = &view.memory;
    if memory.newly_refused > 0 {
        let window = time(Duration::from_nanos(view.window));
        say(
            Level::Alarm,
            format!("{} spawns were refused for lack of memory in {window}.", memory.newly_refused),
        );
    }
    let Some(limit) = memory.limit else { return };
    let share = memory.pages as f64 / limit.max(1) as f64;
    if share >= NEAR_LIMIT {
        say(Level::Watch, format!("{:.0}% of the memory limit is taken.", 100.0 * share));
    }
}

fn panics(view: &View, say: &mut impl FnMut(Level, String)) {
    for kind in view.kinds.iter().filter(|kind| kind.new_panics > 0) {
        let (name, window) = (quoted(&kind.name), time(Duration::from_nanos(view.window)));
        let runs = if kind.new_panics == 1 { "run" } else { "runs" };
        say(Level::Alarm, format!("{} {runs} of task {name} panicked in {window}.", kind.new_panics));
    }
}

/// Returns the task of a worker, its time, and the objects that it accesses.
fn task(worker: &Worker) -> Option<(String, Duration, String)> {
    let (task, since) = (worker.task.as_ref()?, worker.since?);
    let objects: Vec<_> = worker.objects.iter().map(|object| quoted(object)).collect();
    let on = if objects.is_empty() { String::new() } else { format!(" on {}", objects.join(", ")) };
    Some((quoted(task), Duration::from_nanos(since), on))
}

fn long_tasks(view: &View, say: &mut impl FnMut(Level, String)) {
    for worker in &view.workers {
        let Some((task, since, on)) = task(worker).filter(|&(_, since, _)| since >= LONG_RUN) else {
            continue;
        };
        let (index, since) = (worker.index, time(since));
        if worker.state == "blocked" {
            say(
                Level::Watch,
                format!("Task {task}{on} has blocked in place for {since}, at worker {index}."),
            );
        } else {
            say(Level::Alarm, format!("Worker {index} has been in task {task}{on} for {since}."));
        }
    }
}

fn claims(view: &View, say: &mut impl FnMut(Level, String)) {
    let Some(longest) = view.claims.first() else { return };
    let since = Duration::from_nanos(longest.since);
    if since < LONG_CLAIM {
        return;
    }
    let holder = match &*longest.holder {
        "" => String::new(),
        holder => format!(", held by {}", quoted(holder)),
    };
    let others = match view.claims.len() - 1 {
        0 => String::new(),
        1 => "; another one waits".to_owned(),
        others => format!("; {others} others wait"),
    };
    let (task, wants, since) = (quoted(&longest.task), &longest.wants, time(since));
    say(Level::Watch, format!("The claim of task {task} has waited {since} to {wants}{holder}{others}."));
}

fn epochs(view: &View, say: &mut impl FnMut(Level, String)) {
    let epochs = &view.epochs;
    if !is_held(epochs, view.totals.open) {
        return;
    }
    let held = Duration::from_nanos(epochs.held);
    let longest = view.workers.iter().filter_map(task).max_by_key(|&(_, since, _)| since);
    let by = match longest.filter(|&(_, since, _)| since >= held) {
        Some((task, ..)) => format!(" by task {task}"),
        None => " by a task that waits or a reader".to_owned(),
    };
    let (oldest, held) = (epochs.oldest, time(held));
    let so = match epochs.retired {
        1 => "; 1 retired object is kept".to_owned(),
        retired => format!("; {retired} retired objects are kept"),
    };
    say(Level::Watch, format!("Epoch {oldest} has been held for {held}{by}{so}."));
}

/// Returns true if objects are not freed because of an epoch. Without garbage no worker has a
/// reason to end one.
fn is_held(epochs: &Epochs, open: u64) -> bool {
    epochs.retired > 0 && open > 0 && Duration::from_nanos(epochs.held) >= LONG_EPOCH
}

fn objects(view: &View, say: &mut impl FnMut(Level, String)) {
    if view.totals.waiting < FEW_WAITING {
        return;
    }
    let Some(first) = view.objects.first().filter(|object| object.share >= ONE_OBJECT) else { return };
    let queue = match first.queue {
        0 => String::new(),
        1 => "; 1 task waits for it now".to_owned(),
        queue => format!("; {queue} tasks wait for it now"),
    };
    let (share, name) = (100.0 * first.share, quoted(&first.name));
    say(Level::Watch, format!("{share:.0}% of the waiting is for object {name}{queue}."));
}

fn queues(view: &View, say: &mut impl FnMut(Level, String)) {
    let totals = &view.totals;
    if totals.busy >= BUSY && totals.load > totals.workers as u64 {
        let (workers, load) = (totals.workers, totals.load);
        let all =
            if workers == 1 { "The worker is".to_owned() } else { format!("All {workers} workers are") };
        say(Level::Watch, format!("{all} busy, and a load of {load} waits in run queues."));
    }
    let Some(heaviest) = view.workers.iter().max_by_key(|worker| worker.load) else { return };
    let asleep = view.workers.iter().filter(|worker| worker.state == "asleep").count();
    if heaviest.load >= HEAVY_LOAD && heaviest.load * 10 >= totals.load * 9 && asleep > 0 {
        let (index, load) = (heaviest.index, heaviest.load);
        let others =
            if asleep == 1 { "1 worker sleeps".to_owned() } else { format!("{asleep} workers sleep") };
        say(Level::Watch, format!("Worker {index} has a load of {load} in its run queue while {others}."));
    }
}

/// Says what is as it should be.
fn calm(view: &View) -> impl Iterator<Item = Finding> {
    let View { totals, claims, epochs, .. } = view;
    let (busy, open) = (100.0 * totals.busy, totals.open);
    let tasks = match open {
        0 => "No task waits or runs.".to_owned(),
        1 => format!("1 task waits or runs; the workers are busy for {busy:.0}% of their time."),
        _ => format!("{open} tasks wait or run; the workers are busy for {busy:.0}% of their time."),
    };
    let waiting = (totals.waiting < FEW_WAITING).then(|| "Nothing waits for long.".to_owned());
    let claims = claims.is_empty().then(|| "No claim waits.".to_owned());
    let epochs = (!is_held(epochs, open)).then(|| match epochs.retired {
        0 => "No epoch lags.".to_owned(),
        1 => "No epoch lags; 1 retired object is to be freed.".to_owned(),
        retired => format!("No epoch lags; {retired} retired objects are to be freed."),
    });
    let all = [Some(tasks), waiting, claims, epochs].into_iter().flatten();
    all.map(|text| Finding { level: Level::Calm, text })
}

#[cfg(test)]
mod tests;
