//! The policy by which batches are sent.

use std::time::Duration;

/// The limits of a batch and the deadline of its requests.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a policy has an effect only in a `Batcher`"]
pub struct BatchPolicy {
    pub(super) max_requests: usize,
    pub(super) max_delay: Duration,
    pub(super) deadline: Option<Duration>,
}

impl Default for BatchPolicy {
    /// At most 4096 requests a batch, no delay, no deadline.
    fn default() -> Self {
        Self { max_requests: 4096, max_delay: Duration::ZERO, deadline: None }
    }
}

impl BatchPolicy {
    /// Limits the requests of a batch; at least 1. A full batch is sent at once.
    pub fn max_requests(mut self, requests: usize) -> Self {
        self.max_requests = requests.max(1);
        self
    }

    /// Sets how long the first request of a batch waits for others. With no delay, which is the
    /// default, a batch waits only while two earlier ones are in flight and keep the table busy.
    pub fn max_delay(mut self, max_delay: Duration) -> Self {
        self.max_delay = max_delay;
        self
    }

    /// Sets the deadline of every request, from its submission. A request that is predicted to miss
    /// it is refused at once. The prediction derives from recent batches, so that nearly all
    /// admitted requests meet the deadline, but not each of them.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }
}
