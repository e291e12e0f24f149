//! A plan carried out by bundles: each worker has one task, which takes the operations of the
//! worker's trace one after another and keeps many in flight.

use std::time::{Duration, Instant};
use xtasking::{JoinError, Runtime};
use xtasking_harness::failure::Wrong;
use xtasking_index::{Layout, Request, Response, Tree, Words, WriteMode, WriteOutcome};
use xtasking_ycsb::plan::{self, Plan};

/// Carries out a plan without scans, whose operations do not depend on each other. Returns the time
/// from the first operation to the last result.
pub(super) fn run<L: Layout<Keys = Words>>(
    rt: &Runtime,
    tree: &Tree<u64, u64, L>,
    plan: &Plan,
) -> Result<Duration, Wrong> {
    let mut failures: Vec<Option<Wrong>> = (0..plan.workers()).map(|_| None).collect();
    let is_read_only: Vec<bool> =
        (0..plan.workers()).map(|worker| trace(plan, worker).all(|(request, _)| is_read(request))).collect();
    let begin = Instant::now();
    rt.task_scope(|scope| {
        for (worker, failure) in failures.iter_mut().enumerate() {
            let mut report = move |index, wrong: Wrong| _ = failure.get_or_insert(wrong.at(worker, index));
            let task = scope.task(()).core(worker as u16);
            if is_read_only[worker] {
                let keys =
                    trace(plan, worker).map(|(request, index)| (key_of(request), (key_of(request), index)));
                task.bundle(tree.gets(keys, move |(key, index), found, _| {
                    let checked = found.map_err(failed).and_then(|found| plan.check_read(key, found));
                    checked.unwrap_or_else(|wrong| report(index, wrong));
                }));
            } else {
                let requests =
                    trace(plan, worker).map(|(request, index)| (translate(request), (request, index)));
                task.bundle(tree.requests(requests, move |(request, index), response, _| {
                    let checked =
                        response.map_err(failed).and_then(|response| check(plan, request, response));
                    checked.unwrap_or_else(|wrong| report(index, wrong));
                }));
            }
        }
    })
    .map_err(failed)?;
    let time = begin.elapsed();
    failures.into_iter().flatten().next().map_or(Ok(time), Err)
}

fn failed(error: JoinError) -> Wrong {
    Wrong::new(error.to_string())
}

/// Returns the requests of a worker, and their indices.
fn trace(plan: &Plan, worker: usize) -> impl Iterator<Item = (plan::Request, usize)> {
    (0..plan.length(worker)).map(move |index| (plan.request(worker, index), index))
}

fn is_read(request: plan::Request) -> bool {
    matches!(request, plan::Request::Read { .. })
}

/// Returns the key of a request.
fn key_of(request: plan::Request) -> u64 {
    match request {
        plan::Request::Read { key }
        | plan::Request::Update { key, .. }
        | plan::Request::Insert { key, .. }
        | plan::Request::ReadModifyWrite { key, .. }
        | plan::Request::Scan { from: key, .. } => key,
    }
}

/// Returns the request to the tree. A write that follows a read is one request, whose response has
/// the value that was there.
fn translate(request: plan::Request) -> Request<u64, u64> {
    match request {
        plan::Request::Read { key } => Request::Get(key),
        plan::Request::Update { key, value } | plan::Request::ReadModifyWrite { key, value } => {
            Request::Write(key, value, WriteMode::Update)
        }
        plan::Request::Insert { key, value } => Request::Write(key, value, WriteMode::Insert),
        plan::Request::Scan { .. } => unreachable!("workloads with scans are refused"),
    }
}

fn check(plan: &Plan, request: plan::Request, response: Response<u64>) -> Result<(), Wrong> {
    match (request, response) {
        (plan::Request::Read { key }, Response::Get(found)) => plan.check_read(key, found),
        (plan::Request::Update { key, .. }, Response::Write(wrote)) => {
            plan.check_update(key, matches!(wrote, WriteOutcome::Replaced(_)))
        }
        (plan::Request::ReadModifyWrite { key, .. }, Response::Write(wrote)) => {
            plan.check_read(key, wrote.replaced())
        }
        (plan::Request::Insert { key, .. }, Response::Write(wrote)) => {
            plan.check_insert(key, wrote.is_inserted())
        }
        (_, response) => Err(Wrong::new(format!("{response:?} is no response to {request:?}"))),
    }
}
