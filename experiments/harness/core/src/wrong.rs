//! A wrong result, as every check reports it.

use std::fmt;

/// A wrong result of a contender.
///
/// One pointer in size, so that a `Result` stays cheap in timed loops.
#[derive(Debug)]
pub struct Wrong(Box<WrongResult>);

#[derive(Debug)]
struct WrongResult {
    message: String,
    /// Worker and index of the operation, if the result belongs to one.
    operation: Option<(usize, usize)>,
}

impl Wrong {
    /// Creates an error from a description.
    #[cold]
    pub fn new(message: impl Into<String>) -> Self {
        Self(Box::new(WrongResult { message: message.into(), operation: None }))
    }

    /// Adds the worker and the index of the operation that gave the result.
    #[must_use]
    pub fn at(mut self, worker: usize, index: usize) -> Self {
        self.0.operation = Some((worker, index));
        self
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((worker, index)) = self.0.operation {
            write!(f, "operation {index} of worker {worker}: ")?;
        }
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Wrong {}
