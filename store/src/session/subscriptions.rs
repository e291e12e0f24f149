//! What a session listens to.

use super::Session;
use crate::resp::{Protocol, Reply};
use crate::server::{Channels, Message, Published, Topic};
use std::collections::BTreeSet;

/// The channels and the patterns to which a session listens.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions([BTreeSet<Box<[u8]>>; 2]);

impl Subscriptions {
    /// Returns the number of channels and patterns.
    pub(crate) fn len(&self) -> usize {
        self.count(Topic::Channel) + self.count(Topic::Pattern)
    }

    /// Returns the number of channels, or of patterns.
    pub(crate) fn count(&self, topic: Topic) -> usize {
        self.0[topic as usize].len()
    }

    /// Returns the names of the channels, or the patterns.
    pub(crate) fn names(&self, topic: Topic) -> Vec<Box<[u8]>> {
        self.0[topic as usize].iter().cloned().collect()
    }
}

impl Session {
    /// Begins to listen.
    pub(crate) fn subscribe(&mut self, channels: &Channels, topic: Topic, name: &[u8]) {
        self.subscriptions.0[topic as usize].insert(name.into());
        // Also if it is known: it may have been ended since, with rights of the user.
        channels.subscribe(topic, name, &self.client);
    }

    /// Ends to listen.
    pub(crate) fn unsubscribe(&mut self, channels: &Channels, topic: Topic, name: &[u8]) {
        if self.subscriptions.0[topic as usize].remove(name) {
            channels.unsubscribe(topic, name, self.id());
        }
    }

    /// Ends to listen to anything.
    pub(crate) fn unsubscribe_all(&mut self, channels: &Channels) {
        for topic in [Topic::Channel, Topic::Pattern] {
            for name in self.subscriptions.names(topic) {
                self.unsubscribe(channels, topic, &name);
            }
        }
    }

    /// Returns true if it speaks version 2 of the protocol and listens: then it may only run
    /// commands that have to do with that.
    pub(crate) fn is_only_listening(&self) -> bool {
        self.protocol == Protocol::Two && self.subscriptions.len() > 0
    }

    /// Takes the messages that have arrived for the session, as bytes to be sent.
    pub fn take_messages(&mut self) -> Vec<u8> {
        let mut reply = Reply::new(self.protocol);
        self.write_messages(&mut reply);
        reply.into_bytes()
    }

    /// Writes the messages that have arrived.
    pub(crate) fn write_messages(&self, reply: &mut Reply) {
        for message in self.client.take_messages() {
            match &message {
                Message::Published(published) => write_published(reply, published),
                Message::Line(line) => reply.simple_bytes(line),
                Message::Invalidation(invalidation) => self.write_invalidation(reply, invalidation),
                Message::BrokenRedirect(session) => self.write_broken_redirect(reply, *session),
            }
        }
    }
}

fn write_published(reply: &mut Reply, published: &Published) {
    reply.push(if published.pattern.is_some() { 4 } else { 3 });
    match &published.pattern {
        Some(pattern) => {
            reply.bulk(b"pmessage");
            reply.bulk(pattern);
        }
        None => reply.bulk(b"message"),
    }
    reply.bulk(&published.channel);
    reply.bulk(&published.payload);
}
