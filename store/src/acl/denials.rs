//! Requests that were refused, for ACL LOG.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many of the last entries are compared with a new one.
const MOST_COMPARED: usize = 10;
/// An entry that is older, in ms, is not the same.
const LONGEST_AGE: u64 = 60_000;
/// The most bytes of a name that are kept.
const LONGEST_NAME: usize = 128;
/// The most bytes of the line of a client that are kept: it has names too.
const LONGEST_CLIENT: usize = 1024;

/// Returns the beginning of a key, channel or name, as an entry keeps it: clients choose how long
/// those are.
pub(crate) fn shortened(name: &[u8]) -> Vec<u8> {
    name[..name.len().min(LONGEST_NAME)].to_vec()
}

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DenialReason {
    /// The user may not run the command.
    Command,
    /// It may not access a key.
    Key,
    /// It may not publish or listen to a channel.
    Channel,
    /// The password was wrong.
    Auth,
}

/// A request that was refused, perhaps several times.
#[derive(Clone, Debug)]
pub(crate) struct DeniedRequest {
    pub(crate) reason: DenialReason,
    /// Where it came: by itself, or in a transaction.
    pub(crate) context: &'static str,
    /// The command, key or channel, [shortened].
    pub(crate) object: Vec<u8>,
    /// Its name, [shortened].
    pub(crate) user: Vec<u8>,
    /// The client, as CLIENT LIST shows it.
    pub(crate) client: String,
    /// When it came last, in ms since 1970.
    pub(crate) at: u64,
    /// How often.
    pub(crate) count: u64,
}

/// The last requests that were refused, the last one first, and how many there were for each
/// reason.
#[derive(Debug, Default)]
pub(crate) struct Denials {
    kept: Mutex<VecDeque<DeniedRequest>>,
    counts: [AtomicU64; 4],
}

impl DenialReason {
    /// Returns the word of ACL LOG.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Key => "key",
            Self::Channel => "channel",
            Self::Auth => "auth",
        }
    }
}

impl DeniedRequest {
    fn is_like(&self, other: &Self) -> bool {
        self.reason == other.reason
            && self.context == other.context
            && self.at.abs_diff(other.at) <= LONGEST_AGE
            && self.object == other.object
            && self.user == other.user
    }
}

impl Denials {
    fn lock(&self) -> MutexGuard<'_, VecDeque<DeniedRequest>> {
        // Nothing panics inside.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a request, or counts it with one like it. Forgets the oldest beyond `most`.
    pub(crate) fn push(&self, mut denied: DeniedRequest, most: usize) {
        // Relaxed: statistics order nothing.
        self.counts[denied.reason as usize].fetch_add(1, Ordering::Relaxed);
        let end = denied.client.floor_char_boundary(LONGEST_CLIENT);
        denied.client.truncate(end);
        let mut kept = self.lock();
        let known = kept.iter().take(MOST_COMPARED).position(|known| known.is_like(&denied));
        if let Some(known) = known.and_then(|at| kept.remove(at)) {
            denied.count += known.count;
        }
        kept.push_front(denied);
        kept.truncate(most);
    }

    /// Returns the last requests, at most `most`.
    pub(crate) fn last(&self, most: usize) -> Vec<DeniedRequest> {
        self.lock().iter().take(most).cloned().collect()
    }

    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    /// Returns how many requests were refused for a reason.
    pub(crate) fn count(&self, reason: DenialReason) -> u64 {
        self.counts[reason as usize].load(Ordering::Relaxed)
    }

    /// Sets the counts to zero.
    pub(crate) fn reset_counts(&self) {
        self.counts.iter().for_each(|count| count.store(0, Ordering::Relaxed));
    }
}
