//! How a session tracks keys.

use super::super::ClientInfo;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Which keys a session tracks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TrackingMode {
    /// Those that it reads.
    #[default]
    Reads,
    /// Those that it reads right after CLIENT CACHING YES.
    OptIn,
    /// Those that it reads, but not right after CLIENT CACHING NO.
    OptOut,
    /// Those with one of its prefixes.
    Broadcast,
}

/// How a session tracks keys, as it has last said.
#[derive(Debug)]
pub(crate) struct Tracker {
    pub(super) client: Arc<ClientInfo>,
    mode: TrackingMode,
    /// Whether it gets no messages about its own changes.
    is_noloop: bool,
    /// The session that gets its messages, if it is another one.
    redirect: Option<u64>,
    prefixes: BTreeSet<Box<[u8]>>,
    /// Set once that session was not there.
    is_broken: AtomicBool,
}

impl Tracker {
    pub(crate) fn new(
        client: Arc<ClientInfo>,
        mode: TrackingMode,
        is_noloop: bool,
        redirect: Option<u64>,
        prefixes: BTreeSet<Box<[u8]>>,
    ) -> Self {
        Self { client, mode, is_noloop, redirect, prefixes, is_broken: AtomicBool::new(false) }
    }

    /// Returns the number of the session.
    pub(crate) fn session(&self) -> u64 {
        self.client.id()
    }

    pub(crate) fn mode(&self) -> TrackingMode {
        self.mode
    }

    pub(crate) fn is_broadcast(&self) -> bool {
        self.mode == TrackingMode::Broadcast
    }

    pub(crate) fn is_noloop(&self) -> bool {
        self.is_noloop
    }

    /// Returns the session that gets its messages, if it is another one.
    pub(crate) fn redirect(&self) -> Option<u64> {
        self.redirect
    }

    /// Returns its prefixes, in ascending order.
    pub(crate) fn prefixes(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.prefixes.iter().map(|prefix| &**prefix)
    }

    /// Returns true if a message was lost, as the session that gets them is gone.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Relaxed)
    }

    pub(super) fn set_broken(&self) {
        // Relaxed: it is shown only.
        self.is_broken.store(true, Ordering::Relaxed);
    }
}
