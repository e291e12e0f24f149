//! Channels, and the sessions that listen to them.

use super::inbox::Receipt;
use super::{ClientInfo, Clients, Invalidation};
use crate::glob;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A message on its way to a session.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    /// To those that listen.
    Published(Published),
    /// A request, as MONITOR shows it.
    Line(Arc<[u8]>),
    /// Keys that are to be dropped from a cache.
    Invalidation(Invalidation),
    /// The session that was to get messages about keys, this one, is gone.
    BrokenRedirect(u64),
}

/// A message of a channel.
#[derive(Clone, Debug)]
pub(crate) struct Published {
    /// The pattern by which the session listens; `None` if it listens to the channel.
    pub(crate) pattern: Option<Arc<[u8]>>,
    pub(crate) channel: Arc<[u8]>,
    pub(crate) payload: Arc<[u8]>,
}

impl Message {
    /// Returns the number of its bytes, but for those of its names.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Published(published) => published.channel.len() + published.payload.len(),
            Self::Line(line) => line.len(),
            Self::Invalidation(invalidation) => invalidation.bytes(),
            Self::BrokenRedirect(_) => 0,
        }
    }
}

/// What a session listens to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    Channel,
    Pattern,
}

/// Is told that there are messages for a session that had none.
pub(crate) type MessageHook = Box<dyn Fn(u64) + Send + Sync>;

/// The listeners of each channel or pattern, by the number of their session.
type Listeners = BTreeMap<Arc<[u8]>, BTreeMap<u64, Arc<ClientInfo>>>;

/// The channels and patterns to which sessions listen.
#[derive(Default)]
pub struct Channels {
    open: Mutex<[Listeners; 2]>,
    on_message: Option<MessageHook>,
}

impl Channels {
    pub(crate) fn new(on_message: Option<MessageHook>) -> Self {
        Self { on_message, ..Self::default() }
    }

    fn lock(&self) -> MutexGuard<'_, [Listeners; 2]> {
        // Nothing panics inside.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn subscribe(&self, topic: Topic, name: &[u8], client: &Arc<ClientInfo>) {
        let mut open = self.lock();
        open[topic as usize].entry(name.into()).or_default().insert(client.id(), client.clone());
    }

    pub(crate) fn unsubscribe(&self, topic: Topic, name: &[u8], session: u64) {
        let mut open = self.lock();
        let Some(listeners) = open[topic as usize].get_mut(name) else { return };
        listeners.remove(&session);
        if listeners.is_empty() {
            open[topic as usize].remove(name);
        }
    }

    /// Ends all that a session listens to which was lost, or has lost its user.
    pub(crate) fn forget(&self, session: u64) {
        for topic in &mut *self.lock() {
            topic.retain(|_, listeners| {
                listeners.remove(&session);
                !listeners.is_empty()
            });
        }
    }

    /// Sends a message to all that listen, and returns to how many. A session that does not take
    /// what it was sent is closed.
    pub(crate) fn publish(&self, clients: &Clients, channel: &[u8], payload: &[u8]) -> usize {
        let mut met = Vec::new();
        // All messages are handed over under the lock, so each session gets them in one order.
        let open = self.lock();
        let [channels, patterns] = &*open;
        let exact = channels.get(channel).into_iter().map(|listeners| (None, listeners));
        let matching = patterns.iter().filter(|(pattern, _)| glob::matches(pattern, channel));
        let (channel, payload) = (Arc::from(channel), Arc::from(payload));
        let message = Published { pattern: None, channel, payload };
        for (pattern, listeners) in exact.chain(matching.map(|(name, all)| (Some(name), all))) {
            let message = Message::Published(Published { pattern: pattern.cloned(), ..message.clone() });
            for client in listeners.values() {
                met.push((client.clone(), client.receive(message.clone())));
            }
        }
        drop(open);
        let count = met.len();
        self.hand_over(clients, met);
        count
    }

    /// Tells the sessions that had no message that they have one, and closes those that have too
    /// many.
    pub(super) fn hand_over(&self, clients: &Clients, met: Vec<(Arc<ClientInfo>, Receipt)>) {
        for (client, met) in met {
            if let Some(tell) = self.on_message.as_ref().filter(|_| met.was_empty) {
                tell(client.id());
            }
            if met.is_full {
                clients.kill(&client);
            }
        }
    }

    /// Returns the channels with listeners that match a pattern.
    pub(crate) fn matching(&self, pattern: Option<&[u8]>) -> Vec<Arc<[u8]>> {
        let open = self.lock();
        let names = open[Topic::Channel as usize].keys();
        names.filter(|name| pattern.is_none_or(|pattern| glob::matches(pattern, name))).cloned().collect()
    }

    /// Returns how many sessions listen to a channel.
    pub(crate) fn listeners(&self, channel: &[u8]) -> usize {
        self.lock()[Topic::Channel as usize].get(channel).map_or(0, BTreeMap::len)
    }

    /// Returns the sessions that listen to a channel or by a pattern for which `is_meant` is true.
    pub(crate) fn listeners_where(
        &self,
        is_meant: impl Fn(Topic, &[u8], &ClientInfo) -> bool,
    ) -> Vec<Arc<ClientInfo>> {
        let open = self.lock();
        let mut found = BTreeMap::new();
        for topic in [Topic::Channel, Topic::Pattern] {
            for (name, listeners) in &open[topic as usize] {
                let meant = listeners.iter().filter(|(_, client)| is_meant(topic, name, client));
                found.extend(meant.map(|(id, client)| (*id, client.clone())));
            }
        }
        found.into_values().collect()
    }

    /// Returns the number of channels with listeners.
    pub fn channels(&self) -> usize {
        self.lock()[Topic::Channel as usize].len()
    }

    /// Returns the number of patterns with listeners.
    pub fn patterns(&self) -> usize {
        self.lock()[Topic::Pattern as usize].len()
    }
}

impl fmt::Debug for Channels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channels").field("channels", &self.channels()).finish_non_exhaustive()
    }
}
