//! What the partitions have made of a batch so far.

use crate::answer::{Answers, Failure};
use crate::found::{self, Found};
use crate::plan::Questions;

/// Requests that were left out, by their places in the batch.
#[derive(Default)]
pub(super) struct Failed {
    pub changes: Vec<(usize, Failure)>,
    pub queries: Vec<(usize, Failure)>,
}

/// What is done with answers.
pub(super) type Then = Box<dyn FnOnce(Answers) + Send>;

/// See the module's documentation.
pub(super) struct Gathered {
    changed: Vec<u64>,
    found: Vec<Found>,
    failed: Failed,
    /// What is to be done with all of it.
    then: Option<Then>,
}

impl Gathered {
    /// Of nothing as yet.
    pub fn new(failed: Failed, then: Then) -> Self {
        Self { changed: Vec::new(), found: Vec::new(), failed, then: Some(then) }
    }

    /// Adds what a partition has made of the batch; that of the last of so many completes it.
    pub fn add(&mut self, partitions: usize, counts: Vec<u64>, found: Found, questions: &Questions) {
        if self.changed.len() < counts.len() {
            self.changed.resize(counts.len(), 0);
        }
        self.changed.iter_mut().zip(counts).for_each(|(all, more)| *all += more);
        self.found.push(found);
        if self.found.len() == partitions
            && let Some(then) = self.then.take()
        {
            let places = questions.all.iter().map(|asked| Ok((asked.shape, asked.place)));
            let answers = Answers {
                changed: put_back(self.changed.drain(..).map(Ok), std::mem::take(&mut self.failed.changes)),
                given: found::finish(questions, std::mem::take(&mut self.found)),
                places: put_back(places, std::mem::take(&mut self.failed.queries)),
            };
            then(answers);
        }
    }
}

/// Puts failures back to their places among the others.
fn put_back<T>(
    served: impl Iterator<Item = Result<T, Failure>>,
    failed: Vec<(usize, Failure)>,
) -> Vec<Result<T, Failure>> {
    let mut all: Vec<_> = served.collect();
    // By place, so that each comes to where it was.
    failed.into_iter().for_each(|(place, failure)| all.insert(place, Err(failure)));
    all
}
