//! What a session that tracks keys notes, and the messages that it gets.

use super::Session;
use crate::command::{Command, Flags};
use crate::resp::{Args, Protocol, Reply};
use crate::server::{Invalidation, Server, TrackingMode};

/// The channel of these messages for clients that speak version 2 of the protocol.
const CHANNEL: &[u8] = b"__redis__:invalidate";

impl Session {
    /// Returns true if the keys that a command reads now are noted.
    #[inline]
    pub(crate) fn notes_reads(&self) -> bool {
        self.tracking.as_ref().is_some_and(|tracker| match tracker.mode() {
            TrackingMode::Reads => true,
            TrackingMode::OptIn => self.has_chosen_caching,
            TrackingMode::OptOut => !self.has_chosen_caching,
            TrackingMode::Broadcast => false,
        })
    }

    /// Notes the keys that a command has read, if it is one that reads. The task still holds their
    /// shards: no change of them comes before they are noted.
    pub(crate) fn note_reads(&self, server: &Server, command: &Command, args: Args<'_>) {
        if command.flags.has(Flags::READONLY) && !command.flags.has(Flags::PUBSUB) {
            for at in command.keys.positions(args) {
                server.note_read(args.at(at), self.id());
            }
        }
    }

    /// Ends a request of a session that tracks keys: the messages about what it has changed itself
    /// come after its reply. CLIENT CACHING is about one command, or one transaction.
    pub(crate) fn end_tracked(&mut self, reply: &mut Reply, command: Option<&Command>) {
        self.write_messages(reply);
        let goes_on = command.is_some_and(|command| command.name.starts_with("client|"));
        self.has_chosen_caching &= goes_on || self.is_in_transaction();
    }

    /// Writes which keys to drop. A session that speaks version 2 of the protocol gets that only in
    /// place of another one, while it listens to channels.
    pub(super) fn write_invalidation(&self, reply: &mut Reply, invalidation: &Invalidation) {
        if self.protocol == Protocol::Three {
            reply.push(2);
            reply.bulk(b"invalidate");
        } else if invalidation.is_redirected && self.is_only_listening() {
            reply.push(3);
            reply.bulk(b"message");
            reply.bulk(CHANNEL);
        } else {
            return;
        }
        let Some(keys) = &invalidation.keys else { return reply.null() };
        reply.array(keys.len());
        keys.iter().for_each(|key| reply.bulk(key));
    }

    /// Writes that the session to which these messages go is gone.
    pub(super) fn write_broken_redirect(&self, reply: &mut Reply, session: u64) {
        if self.protocol == Protocol::Three {
            reply.push(2);
            reply.bulk(b"tracking-redir-broken");
            reply.integer(i64::try_from(session).unwrap_or(i64::MAX));
        }
    }
}
