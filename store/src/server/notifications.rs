//! Keyspace events as messages: the setting `notify-keyspace-events`.

use super::{Server, Setting};
use crate::command::{Event, EventClass};

/// `K`: to a channel of the key.
const BY_KEY: i64 = 1;
/// `E`: to a channel of the event.
const BY_EVENT: i64 = 2;

/// The letters of kinds of events, in the order in which CONFIG GET shows them. The store has none
/// of `d`.
const CLASSES: &[u8] = b"g$lshzxetdnm";
/// The letters that `A` stands for.
const ALL: &[u8] = b"g$lshzxetd";

/// Returns the bit of a letter.
fn bit(letter: u8) -> Option<i64> {
    match letter {
        b'K' => Some(BY_KEY),
        b'E' => Some(BY_EVENT),
        b'A' => ALL.iter().map(|letter| bit(*letter)).sum(),
        _ => CLASSES.iter().position(|class| *class == letter).map(|at| 4 << at),
    }
}

/// Reads the letters; `None` if one is not known.
pub(super) fn parse(text: &str) -> Option<i64> {
    text.bytes().try_fold(0, |flags, letter| Some(flags | bit(letter)?))
}

/// Returns the letters.
pub(super) fn show(flags: i64) -> String {
    let has = |letter: u8| bit(letter).is_some_and(|bits| flags & bits == bits);
    let classes: &[u8] = if has(b'A') { b"An" } else { &CLASSES[..11] };
    let order = classes.iter().chain(b"KEm").filter(|letter| has(**letter));
    order.map(|letter| char::from(*letter)).collect()
}

impl EventClass {
    const fn letter(self) -> u8 {
        match self {
            Self::Generic => b'g',
            Self::String => b'$',
            Self::List => b'l',
            Self::Set => b's',
            Self::Hash => b'h',
            Self::SortedSet => b'z',
            Self::Stream => b't',
            Self::Expired => b'x',
            Self::Evicted => b'e',
            Self::New => b'n',
            Self::Missed => b'm',
        }
    }
}

impl Server {
    /// Returns true if sessions may listen to keyspace events.
    pub(crate) fn notifies(&self) -> bool {
        self.settings.number(Setting::NotifyKeyspaceEvents) != 0
    }

    /// Returns true if sessions may listen to events of new keys.
    pub(crate) fn notifies_of_new_keys(&self) -> bool {
        self.notifies_of(EventClass::New)
    }

    /// Returns true if sessions may listen to events of missing keys.
    pub(crate) fn notifies_of_missing_keys(&self) -> bool {
        self.notifies_of(EventClass::Missed)
    }

    fn notifies_of(&self, class: EventClass) -> bool {
        let flags = self.settings.number(Setting::NotifyKeyspaceEvents);
        bit(class.letter()).is_some_and(|bit| flags & bit != 0)
    }

    /// Publishes a keyspace event, if the setting says so.
    pub(crate) fn notify(&self, event: &Event) {
        let flags = self.settings.number(Setting::NotifyKeyspaceEvents);
        if !self.notifies_of(event.class) {
            return;
        }
        let channel = |kind: &str, name: &[u8]| {
            [kind.as_bytes(), b"@", event.database.to_string().as_bytes(), b"__:", name].concat()
        };
        if flags & BY_KEY != 0 {
            let channel = channel("__keyspace", &event.key);
            self.channels.publish(&self.clients, &channel, event.name.as_bytes());
        }
        if flags & BY_EVENT != 0 {
            let channel = channel("__keyevent", event.name.as_bytes());
            self.channels.publish(&self.clients, &channel, &event.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{parse, show};

    #[test]
    fn letters_are_shown_as_redis_does() {
        for (set, shown) in [
            ("", ""),
            ("gKE", "gKE"),
            ("$lshzxeKE", "$lshzxeKE"),
            ("KA", "AK"),
            ("EA", "AE"),
            ("mnE", "nEm"),
            ("g$lshzxetdK", "AK"),
        ] {
            assert_eq!(show(parse(set).unwrap()), shown, "{set}");
        }
        assert_eq!(parse("Kq"), None);
    }
}
