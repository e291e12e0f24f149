//! The messages to sessions that track keys.

use super::super::channels::Message;
use super::super::inbox::Receipt;
use super::super::{ClientInfo, Server, Setting};
use super::table::Readers;
use super::tracker::Tracker;
use crate::keyspace::ChangedKey;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The keys that are dropped from the table at once, if it has more than it may.
const MOST_DROPPED: usize = 1000;

/// What a session, or the one that gets its messages, is to drop from its cache.
#[derive(Clone, Debug)]
pub(crate) struct Invalidation {
    /// `None` for all.
    pub(crate) keys: Option<Arc<[Box<[u8]>]>>,
    /// Whether it is about what another session has read.
    pub(crate) is_redirected: bool,
}

impl Invalidation {
    /// Returns the number of bytes that its keys take.
    pub(in super::super) fn bytes(&self) -> usize {
        let keys = self.keys.iter().flat_map(|keys| keys.iter());
        keys.map(|key| size_of_val(key) + key.len()).sum()
    }
}

/// A key that was changed, and the session that has changed it; none if its time was over.
pub(crate) type BroadcastChange = (Box<[u8]>, Option<u64>);

/// Sessions that have got a message.
type Recipients = Vec<(Arc<ClientInfo>, Receipt)>;

impl Server {
    /// Notes that a session has read a key. Its task holds the key's shard.
    pub(crate) fn note_read(&self, key: &[u8], session: u64) {
        self.tracking.note_read(key, session);
        self.bound_tracking();
    }

    /// Tells the sessions that have read these keys that they have changed. `own` is the session
    /// that has changed them; it takes its messages itself, after its reply.
    pub(crate) fn invalidate(&self, keys: &[ChangedKey], own: Option<u64>) {
        let mut recipients = Vec::new();
        for ChangedKey { key, .. } in keys {
            let readers = self.tracking.table.take(key);
            if !readers.is_empty() {
                self.send_to_readers(key, &readers, own, &mut recipients);
            }
        }
        self.channels.hand_over(&self.clients, recipients);
    }

    fn send_to_readers(&self, key: &[u8], readers: &Readers, own: Option<u64>, recipients: &mut Recipients) {
        let keys: Arc<[Box<[u8]>]> = [key.into()].into();
        let trackers = self.tracking.read();
        for tracker in readers.iter().filter_map(|session| trackers.by_session.get(session)) {
            let is_skipped = tracker.is_noloop() && own == Some(tracker.session());
            if !tracker.is_broadcast() && !is_skipped {
                self.send(tracker, Some(keys.clone()), own, recipients);
            }
        }
    }

    /// Tells all sessions that track that any key may have changed. The task holds all shards.
    pub(crate) fn invalidate_all(&self, own: Option<u64>) {
        let notes = self.tracking.table.clear();
        let mut recipients = Vec::new();
        for tracker in self.tracking.read().by_session.values() {
            self.send(tracker, None, own, &mut recipients);
        }
        self.channels.hand_over(&self.clients, recipients);
        drop(notes);
    }

    /// Returns true if sessions get all changes of keys with a prefix.
    pub(crate) fn broadcasts(&self) -> bool {
        !self.tracking.read().by_prefix.is_empty()
    }

    /// Tells the sessions with prefixes what one command or transaction has changed: one message
    /// for each prefix. Of several changes of a key the last one counts.
    pub(crate) fn broadcast(&self, changes: &[BroadcastChange]) {
        let sorted: BTreeMap<&[u8], Option<u64>> = changes.iter().map(|(key, by)| (&**key, *by)).collect();
        let mut recipients = Vec::new();
        let trackers = self.tracking.read();
        for (prefix, trackers) in &trackers.by_prefix {
            let of_prefix = || sorted.range(&**prefix..).take_while(|(key, _)| key.starts_with(prefix));
            if of_prefix().next().is_none() {
                continue;
            }
            let all: Arc<[Box<[u8]>]> = of_prefix().map(|(key, _)| Box::from(*key)).collect();
            for tracker in trackers.values() {
                let is_own = |by: &Option<u64>| tracker.is_noloop() && *by == Some(tracker.session());
                let keys = if of_prefix().any(|(_, by)| is_own(by)) {
                    let others = of_prefix().filter(|(_, by)| !is_own(by));
                    others.map(|(key, _)| Box::from(*key)).collect()
                } else {
                    all.clone()
                };
                if !keys.is_empty() {
                    self.send(tracker, Some(keys), None, &mut recipients);
                }
            }
        }
        drop(trackers);
        self.channels.hand_over(&self.clients, recipients);
    }

    /// Drops keys from the table if it has more than it may. Their readers are told that they have
    /// changed.
    pub(crate) fn bound_tracking(&self) {
        let most = usize::try_from(self.settings.number(Setting::TrackingTableMaxKeys)).unwrap_or(usize::MAX);
        if most == 0 || self.tracking.table.keys() <= most {
            return;
        }
        let mut recipients = Vec::new();
        for _ in 0..MOST_DROPPED {
            let Some((key, readers)) = self.tracking.table.take_above(most) else { break };
            self.send_to_readers(&key, &readers, None, &mut recipients);
        }
        self.channels.hand_over(&self.clients, recipients);
    }

    /// Sends a message for a session, to it or the one that gets its messages.
    fn send(
        &self,
        tracker: &Tracker,
        keys: Option<Arc<[Box<[u8]>]>>,
        own: Option<u64>,
        recipients: &mut Recipients,
    ) {
        let (client, message) = match tracker.redirect() {
            None => {
                (tracker.client.clone(), Message::Invalidation(Invalidation { keys, is_redirected: false }))
            }
            Some(redirect) => match self.clients.get(redirect) {
                Some(client) => (client, Message::Invalidation(Invalidation { keys, is_redirected: true })),
                None => {
                    tracker.set_broken();
                    (tracker.client.clone(), Message::BrokenRedirect(redirect))
                }
            },
        };
        let mut receipt = client.receive(message);
        // The session whose command this is takes it after its reply.
        receipt.was_empty &= !(own == Some(tracker.session()) && own == Some(client.id()));
        recipients.push((client, receipt));
    }
}
