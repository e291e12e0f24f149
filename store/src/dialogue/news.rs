//! What comes to a dialogue from elsewhere.

use super::parts::LastReplies;
use std::fmt;
use xtasking::task::Spawner;

/// What comes to a dialogue from elsewhere: replies, messages of channels, or its end. It is passed
/// to [`Dialogue::take`](super::Dialogue::take).
pub struct News(pub(super) Kind);

/// The kinds of news.
pub(super) enum Kind {
    /// The part of this number of the replies to the requests under way.
    Part(u64, Vec<u8>),
    /// The last of them, with the session. In a box, as all others are small and so are the tasks
    /// that bring them; what says that the session is lost must need little memory.
    End(Box<LastReplies>),
    /// The session is lost, as its task found no memory.
    Lost,
    /// Messages wait for the session.
    Messages,
    /// Another client ends this one.
    Kill,
    /// It ends if its client has sent nothing since then, in ms since 1970.
    EndIfIdle(u64),
    /// It ends once its requests are done.
    Finish,
    /// It ends if its client cannot send requests yet.
    #[cfg(feature = "tls")]
    EndHandshake,
}

/// Where a dialogue is: it brings news to its object.
pub trait Host: Clone + Send + 'static {
    /// Spawns a task of normal priority on the object that passes the news to
    /// [`Dialogue::take`](super::Dialogue::take). The runtime may have begun to end.
    fn bring<S: Spawner>(&self, spawner: S, news: News);
}

impl News {
    /// Returns true if it is about a handshake that takes too long.
    #[cfg(feature = "tls")]
    pub(crate) fn is_end_of_handshake(&self) -> bool {
        matches!(self.0, Kind::EndHandshake)
    }
}

impl fmt::Debug for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Part(..) => "Part",
            Kind::End(_) => "End",
            Kind::Lost => "Lost",
            Kind::Messages => "Messages",
            Kind::Kill => "Kill",
            Kind::EndIfIdle(_) => "EndIfIdle",
            Kind::Finish => "Finish",
            #[cfg(feature = "tls")]
            Kind::EndHandshake => "EndHandshake",
        })
    }
}
