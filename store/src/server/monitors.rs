//! Sessions that follow all requests: MONITOR.

use super::channels::Message;
use super::{ClientInfo, Reason, Server};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The sessions that follow all requests.
#[derive(Debug, Default)]
pub(crate) struct Monitors(Mutex<Vec<Arc<ClientInfo>>>);

impl Monitors {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<ClientInfo>>> {
        // Nothing panics inside.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server {
    /// Lets a session follow all requests.
    pub(crate) fn begin_monitor(&self, client: &Arc<ClientInfo>) {
        let mut all = self.monitors.lock();
        all.push(client.clone());
        // Inside of the lock, as in `end_monitor`: so the last change counts.
        self.attention.set(Reason::MONITORED, true);
    }

    /// Lets a session follow no more.
    pub(crate) fn end_monitor(&self, session: u64) {
        let mut all = self.monitors.lock();
        all.retain(|client| client.id() != session);
        self.attention.set(Reason::MONITORED, !all.is_empty());
    }

    /// Sends a line to the sessions that follow. One that does not take what it was sent
    /// follows no more, and is closed.
    pub(crate) fn tell_monitors(&self, line: Vec<u8>) {
        let (message, mut met) = (Message::Line(line.into()), Vec::new());
        let mut all = self.monitors.lock();
        all.retain(|client| {
            let received = client.receive(message.clone());
            met.push((client.clone(), received));
            !received.is_full
        });
        if all.is_empty() {
            self.attention.set(Reason::MONITORED, false);
        }
        drop(all);
        self.channels.hand_over(&self.clients, met);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Reason;
    use crate::Engine;
    use xtasking::Runtime;

    #[test]
    fn a_session_that_takes_nothing_follows_no_more() {
        let rt = Runtime::builder().workers(1).build().unwrap();
        let engine = Engine::builder().shards(1).build(&rt);
        let (server, mut client) = (engine.server(), engine.client());
        client.run(["MONITOR"]).unwrap();
        server.tell_monitors(vec![0; 33 << 20]);
        assert!(!server.attention.has(Reason::MONITORED));
        assert!(client.session().unwrap().client.is_gone());
    }
}
