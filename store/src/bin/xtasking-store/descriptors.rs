//! Descriptors: each client takes one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors that are kept for the log, snapshots, the workers and clients that are refused.
const RESERVED: u64 = 128;

/// Raises the limit of this process to what this many clients need, as far as the system allows
/// that. Returns for how many there is room then, if these are fewer.
pub fn reserve(clients: u64) -> Option<u64> {
    let needed = clients.saturating_add(RESERVED);
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return None;
    }
    let current = limit.maximum.map_or(needed, |most| most.min(needed));
    // What it allows is read again.
    _ = setrlimit(Resource::Nofile, Rlimit { current: Some(current), ..limit });
    let current = getrlimit(Resource::Nofile).current.unwrap_or(needed);
    (current < needed).then(|| current.saturating_sub(RESERVED).max(1))
}
