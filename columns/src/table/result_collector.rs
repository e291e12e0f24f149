//! The collection of a batch's results from the partitions.

use crate::answers::Answers;
use crate::failure::Failure;
use crate::plan::QueryBatch;
use crate::result::{self, PartialResult};

/// Requests that were not planned, with their numbers in the batch.
#[derive(Default)]
pub(super) struct FailedRequests {
    pub changes: Vec<(usize, Failure)>,
    pub queries: Vec<(usize, Failure)>,
}

/// A continuation that takes the answers.
pub(super) type Continuation = Box<dyn FnOnce(Answers) + Send>;

/// The results of a batch so far.
pub(super) struct ResultCollector {
    rows_affected: Vec<u64>,
    found: Vec<PartialResult>,
    failed: FailedRequests,
    /// Taken by the last result.
    on_answers: Option<Continuation>,
}

impl ResultCollector {
    /// Creates a collector without results.
    pub fn new(failed: FailedRequests, on_answers: Continuation) -> Self {
        Self { rows_affected: Vec::new(), found: Vec::new(), failed, on_answers: Some(on_answers) }
    }

    /// Adds the result of a partition. The last of `partitions` results completes the answers.
    pub fn add(&mut self, partitions: usize, counts: Vec<u64>, found: PartialResult, batch: &QueryBatch) {
        if self.rows_affected.len() < counts.len() {
            self.rows_affected.resize(counts.len(), 0);
        }
        self.rows_affected.iter_mut().zip(counts).for_each(|(all, more)| *all += more);
        self.found.push(found);
        if self.found.len() == partitions
            && let Some(on_answers) = self.on_answers.take()
        {
            let places = batch.queries.iter().map(|query| Ok((query.shape, query.place)));
            let answers = Answers {
                rows_affected: interleave_failures(
                    self.rows_affected.drain(..).map(Ok),
                    std::mem::take(&mut self.failed.changes),
                ),
                results: result::finish(batch, std::mem::take(&mut self.found)),
                places: interleave_failures(places, std::mem::take(&mut self.failed.queries)),
            };
            on_answers(answers);
        }
    }
}

/// Inserts the failures at their numbers among the other results.
fn interleave_failures<T>(
    served: impl Iterator<Item = Result<T, Failure>>,
    failed: Vec<(usize, Failure)>,
) -> Vec<Result<T, Failure>> {
    let mut all: Vec<_> = served.collect();
    // In ascending order, so that each insertion hits its final position.
    failed.into_iter().for_each(|(place, failure)| all.insert(place, Err(failure)));
    all
}
