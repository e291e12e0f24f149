//! Which replies a client wants: CLIENT REPLY.

use crate::resp::Reply;

/// Which replies a client wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Replies {
    /// All.
    #[default]
    On,
    /// None.
    Off,
    /// All but that of the running command and the next one.
    SkipNext,
    /// All but that of the running command.
    Skip,
}

impl Replies {
    /// Returns true if the client wants all replies.
    pub(crate) fn are_wanted(self) -> bool {
        self == Self::On
    }

    /// Removes the reply to a command, from `before` on, if the client does not want it. A message
    /// stays.
    pub(crate) fn apply(&mut self, reply: &mut Reply, before: usize, is_message: bool) {
        if *self != Self::On && !is_message {
            reply.truncate(before);
        }
        *self = match *self {
            Self::SkipNext => Self::Skip,
            Self::Skip | Self::On => Self::On,
            Self::Off => Self::Off,
        };
    }
}
