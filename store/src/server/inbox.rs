//! Messages that a session has not taken yet.

use super::Invalidation;
use super::channels::Message;

/// The most bytes of messages that wait for a session.
const MOST_WAITING: usize = 32 << 20;

/// Messages that wait, in the order in which they are to be sent.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    waiting: Vec<Message>,
    bytes: usize,
}

/// How a message was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Receipt {
    /// It is the first that waits.
    pub(super) was_empty: bool,
    /// More waits than may.
    pub(super) is_full: bool,
}

impl Inbox {
    /// Adds a message, unless more wait than may. If there is no room for one about keys, one to
    /// drop all keys takes its place and that of those that wait: a session cannot take them while
    /// one command changes very many keys.
    pub(super) fn push(&mut self, message: Message) -> Receipt {
        let has_room = self.bytes + bytes_of(&message) <= MOST_WAITING;
        if !has_room && is_about_keys(&message) && !planted!("changes-fill-inbox") {
            return self.shorten(&message);
        }
        if self.bytes > MOST_WAITING {
            return Receipt { was_empty: false, is_full: true };
        }
        let was_empty = self.waiting.is_empty();
        self.bytes += bytes_of(&message);
        self.waiting.push(message);
        Receipt { was_empty, is_full: self.bytes > MOST_WAITING }
    }

    /// Puts one message to drop all keys in the place of those about keys, and of a new one.
    fn shorten(&mut self, message: &Message) -> Receipt {
        let receipt = Receipt { was_empty: self.waiting.is_empty(), is_full: false };
        if self.covers(message) {
            return receipt;
        }
        let (mut is_redirected, mut broken) = (None, None);
        let mut absorb = |message: &Message| match message {
            Message::Invalidation(invalidation) => {
                // A session of version 2 of the protocol only gets those that are redirected.
                is_redirected = Some(is_redirected.unwrap_or_default() | invalidation.is_redirected);
                true
            }
            Message::BrokenRedirect(session) => {
                broken = Some(*session);
                true
            }
            Message::Published(_) | Message::Line(_) => false,
        };
        self.waiting.retain(|waiting| !absorb(waiting));
        absorb(message);
        self.waiting.extend(broken.map(Message::BrokenRedirect));
        let all = is_redirected.map(|is_redirected| Invalidation { keys: None, is_redirected });
        self.waiting.extend(all.map(Message::Invalidation));
        self.bytes = self.waiting.iter().map(bytes_of).sum();
        receipt
    }

    /// Returns true if the last messages say what this one does. So changes in a row look through
    /// all that waits only once.
    fn covers(&mut self, message: &Message) -> bool {
        match (message, self.waiting.last_mut()) {
            (Message::Invalidation(new), Some(Message::Invalidation(last))) if last.keys.is_none() => {
                last.is_redirected |= new.is_redirected;
                true
            }
            (Message::BrokenRedirect(session), _) => {
                let mut last = self.waiting.iter().rev().take(2);
                last.any(|message| matches!(message, Message::BrokenRedirect(other) if other == session))
            }
            _ => false,
        }
    }

    /// Returns how many wait, and their bytes.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.waiting.len(), self.bytes)
    }

    pub(super) fn take(&mut self) -> Vec<Message> {
        self.bytes = 0;
        std::mem::take(&mut self.waiting)
    }
}

fn bytes_of(message: &Message) -> usize {
    size_of::<Message>() + message.len()
}

/// Returns true if a message is for a session that tracks keys.
fn is_about_keys(message: &Message) -> bool {
    matches!(message, Message::Invalidation(_) | Message::BrokenRedirect(_))
}

#[cfg(test)]
mod tests {
    use super::super::channels::Published;
    use super::{Inbox, Invalidation, MOST_WAITING, Message};

    fn changed(keys: &[usize], is_redirected: bool) -> Message {
        let keys = Some(keys.iter().map(|len| vec![0; *len].into()).collect());
        Message::Invalidation(Invalidation { keys, is_redirected })
    }

    #[test]
    fn changes_that_do_not_fit_become_one_message_to_drop_all() {
        let mut inbox = Inbox::default();
        let published = Published { pattern: None, channel: b"c"[..].into(), payload: b"p"[..].into() };
        assert!(!inbox.push(changed(&[MOST_WAITING / 2], true)).is_full);
        assert!(!inbox.push(Message::Published(published)).is_full);
        let receipt = inbox.push(changed(&[MOST_WAITING / 2], false));
        assert!(!receipt.was_empty && !receipt.is_full);
        // Keys without bytes take room as well.
        assert!(!inbox.push(changed(&vec![0; MOST_WAITING / 8], false)).is_full);
        let (count, bytes) = inbox.size();
        assert!(count == 2 && bytes < 200, "{count} {bytes}");
        let taken = inbox.take();
        assert!(
            matches!(
                &*taken,
                [
                    Message::Published(_),
                    Message::Invalidation(Invalidation { keys: None, is_redirected: true })
                ]
            ),
            "{taken:?}"
        );
        // One that is too long by itself.
        let receipt = inbox.push(changed(&[MOST_WAITING + 1], false));
        assert!(receipt.was_empty && !receipt.is_full);
        assert!(matches!(&*inbox.take(), [Message::Invalidation(Invalidation { keys: None, .. })]));
    }

    #[test]
    fn an_inbox_full_of_other_messages_gets_one_to_drop_all() {
        let mut inbox = Inbox::default();
        let payload = vec![0; MOST_WAITING - 200].into();
        let published = Published { pattern: None, channel: b"c"[..].into(), payload };
        assert!(!inbox.push(Message::Published(published)).is_full);
        for number in 0..10 {
            assert!(!inbox.push(Message::BrokenRedirect(5)).is_full);
            assert!(!inbox.push(changed(&[100], number == 5)).is_full);
        }
        let taken = inbox.take();
        let [Message::Published(_), Message::BrokenRedirect(5), Message::Invalidation(all)] = &*taken else {
            panic!("{:?}", &taken[1..]);
        };
        assert!(all.keys.is_none() && all.is_redirected);
    }

    #[test]
    fn a_session_that_takes_nothing_is_noticed() {
        let mut inbox = Inbox::default();
        let payload = vec![0; MOST_WAITING / 2].into();
        let published = Published { pattern: None, channel: b"c"[..].into(), payload };
        let message = Message::Published(published);
        let first = inbox.push(message.clone());
        assert!(first.was_empty && !first.is_full);
        let second = inbox.push(message.clone());
        assert!(!second.was_empty && second.is_full);
        assert!(inbox.push(message.clone()).is_full);
        assert_eq!(inbox.take().len(), 2);
        assert!(!inbox.push(message).is_full);
    }
}
