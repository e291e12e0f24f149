//! What all connections share.

/// What all connections share: settings, statistics, the list of clients.
#[derive(Debug)]
pub struct Server {}
