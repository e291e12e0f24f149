//! Requests that wait for room.

use crate::resp::{ProtocolError, Requests};

/// Requests of a batch that has ended early, as its replies were many.
pub(super) struct Rest {
    pub(super) requests: Requests,
    /// What was wrong with the bytes after the requests.
    pub(super) error: Option<ProtocolError>,
}
