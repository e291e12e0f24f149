//! All connections, to be closed from elsewhere.

use super::connection::Connection;
use super::socket::Socket;
use crate::dialogue::Dialogues;
use xtasking::{Object, Plain, Runtime};
#[cfg(feature = "tls")]
use {
    crate::engine::Engine,
    std::collections::VecDeque,
    std::sync::{Arc, Mutex, PoisonError},
    std::time::Duration,
};

/// How long a handshake may take, in ms.
#[cfg(feature = "tls")]
const LONGEST_HANDSHAKE: u64 = 10_000;

/// The time between two looks for handshakes that take too long.
#[cfg(feature = "tls")]
const HANDSHAKE_PERIOD: Duration = Duration::from_millis(100);

/// The open connections.
#[derive(Default)]
pub(super) struct Connections {
    pub dialogues: Dialogues,
    /// Those whose handshakes are to be looked at, each with the time when it began, in ms since
    /// 1970.
    #[cfg(feature = "tls")]
    handshakes: Mutex<VecDeque<(u64, u64)>>,
}

impl Connections {
    /// Adds a connection that begins `now`, in ms since 1970.
    pub fn insert<S: Socket>(
        &self,
        rt: &Runtime,
        session: u64,
        connection: Object<Plain<Connection<S>>>,
        now: u64,
    ) {
        #[cfg(feature = "tls")]
        if S::HAS_HANDSHAKE {
            self.handshakes.lock().unwrap_or_else(PoisonError::into_inner).push_back((session, now));
        }
        #[cfg(not(feature = "tls"))]
        let _ = now;
        self.dialogues.insert(rt, session, connection);
    }

    /// Closes connections whose handshakes take too long, until the runtime ends.
    #[cfg(feature = "tls")]
    pub fn watch_handshakes(self: Arc<Self>, engine: Engine, rt: &Runtime) {
        rt.timer(HANDSHAKE_PERIOD, move |cx| {
            let rt = cx.handle();
            self.close_slow_handshakes(&rt, engine.now());
            self.watch_handshakes(engine, &rt);
        });
    }

    /// Closes the connections whose handshakes take too long. Each is looked at once.
    #[cfg(feature = "tls")]
    fn close_slow_handshakes(&self, rt: &Runtime, now: u64) {
        let is_due = |&mut (_, began): &mut (u64, u64)| now.saturating_sub(began) > LONGEST_HANDSHAKE;
        // Nothing panics inside.
        let handshakes = || self.handshakes.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((session, _)) = { handshakes().pop_front_if(is_due) } {
            self.dialogues.end_handshake(rt, session);
        }
    }
}
