//! Listening sockets.

use super::connection::Connection;
use super::connections::Connections;
use super::socket::Socket;
use crate::dialogue::{DENIED, TOO_MANY, has_protected_mode};
use crate::engine::Engine;
use crate::server::Setting;
use socket2::{SockRef, TcpKeepalive};
use std::io::{self, ErrorKind, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use xtasking::events::net::{BatchedStream, TcpListener, TcpStream};
#[cfg(unix)]
use xtasking::events::net::{UnixListener, UnixStream};
use xtasking::events::{Event, Handled, Interest, Registered, Source};
use xtasking::platform::{PlatformError, SimulatedListener, SimulatedStream};
use xtasking::{Context, Object, Plain};

/// Connections that a listener accepts before other tasks have their turn.
const MOST_AT_ONCE: usize = 64;
/// The pause after an error that is not the client's: no descriptor is left, for example.
const PAUSE: Duration = Duration::from_millis(50);

/// The probes without an answer after which a client counts as gone.
const PROBES: u32 = 3;

/// Which clients are accepted, and how.
pub(super) struct Terms {
    /// Those from elsewhere are served too.
    is_open: bool,
    /// The time without a sign of life after which a client is probed, if it is.
    keep_alive: Option<Duration>,
}

/// A socket that accepts streams.
pub(super) trait Listen: Source + Send + 'static {
    /// The type of its streams.
    type Stream: Socket;

    /// Accepts a client, and returns its address and the own one; `None` if it must not be served,
    /// as it is elsewhere and there is no password.
    fn accept(&mut self, terms: &Terms) -> io::Result<Option<(Self::Stream, [String; 2])>>;
}

impl Listen for TcpListener {
    type Stream = BatchedStream<TcpStream>;

    fn accept(&mut self, terms: &Terms) -> io::Result<Option<(Self::Stream, [String; 2])>> {
        let (mut stream, peer) = TcpListener::accept(self)?;
        if !terms.is_open && !is_loopback(peer) {
            _ = stream.write(DENIED);
            return Ok(None);
        }
        // Replies are sent as a whole, so nothing is gained by waiting for more. It fails if the
        // client has gone.
        _ = stream.set_nodelay(true);
        if let Some(after) = terms.keep_alive.filter(|_| !planted!("lost-client-kept")) {
            _ = keep_alive(&stream, after);
        }
        let local = stream.local_addr().map(|address| address.to_string()).unwrap_or_default();
        Ok(Some((BatchedStream::new(stream), [peer.to_string(), local])))
    }
}

/// Lets the system probe a client that gives no sign of life, and end its connection: its machine
/// may have lost power, or its network.
fn keep_alive(stream: &TcpStream, after: Duration) -> io::Result<()> {
    let interval = (after / PROBES).max(Duration::from_secs(1));
    let probes = TcpKeepalive::new().with_time(after).with_interval(interval).with_retries(PROBES);
    SockRef::from(stream).set_tcp_keepalive(&probes)
}

fn is_loopback(peer: SocketAddr) -> bool {
    peer.ip().to_canonical().is_loopback()
}

#[cfg(unix)]
impl Listen for UnixListener {
    type Stream = BatchedStream<UnixStream>;

    fn accept(&mut self, _: &Terms) -> io::Result<Option<(Self::Stream, [String; 2])>> {
        let (stream, _) = UnixListener::accept(self)?;
        let address = self.local_addr().ok();
        let path = address.as_ref().and_then(|address| address.as_pathname());
        let own = path.map_or_else(|| ":0".to_owned(), |path| format!("{}:0", path.display()));
        Ok(Some((BatchedStream::new(stream), [own.clone(), own])))
    }
}

impl Listen for SimulatedListener {
    type Stream = SimulatedStream;

    fn accept(&mut self, _: &Terms) -> io::Result<Option<(SimulatedStream, [String; 2])>> {
        let stream = SimulatedListener::accept(self)?;
        Ok(Some((stream, ["simulated:0".to_owned(), "simulated:0".to_owned()])))
    }
}

/// A listening socket with what its connections need.
pub(super) struct Listener<L: Listen> {
    socket: Registered<L>,
    engine: Engine,
    connections: Arc<Connections>,
    /// The worker of the next connection.
    next: Arc<AtomicUsize>,
    /// A timer will let it accept again.
    is_paused: bool,
}

impl<L: Listen> Listener<L> {
    /// Accepts clients of a socket from now on.
    pub fn start(
        socket: L,
        engine: &Engine,
        connections: &Arc<Connections>,
        next: &Arc<AtomicUsize>,
    ) -> Result<(), PlatformError> {
        let (socket, events) = engine.runtime().register(socket, Interest::Readable)?;
        let (engine, connections, next) = (engine.clone(), connections.clone(), next.clone());
        events.deliver(Self { socket, engine, connections, next, is_paused: false }, Self::handle);
        Ok(())
    }

    fn handle(&mut self, event: Event<'_, Self>, cx: &mut Context) -> Handled {
        if self.is_paused { Handled::Fully } else { self.accept_some(event.object(), cx) }
    }

    /// Accepts the clients that wait, but not too many at once.
    fn accept_some(&mut self, this: &Object<Plain<Self>>, cx: &mut Context) -> Handled {
        for _ in 0..MOST_AT_ONCE {
            match self.accept(cx) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Handled::Fully,
                Err(error) if is_of_client(error.kind()) => {}
                Err(_) => {
                    // Another event would come with another client only.
                    self.is_paused = true;
                    let this = this.clone();
                    cx.timer(PAUSE, move |cx| Self::go_on(this, cx));
                    return Handled::Fully;
                }
            }
        }
        Handled::Partly
    }

    /// Accepts clients again, by tasks.
    fn go_on(this: Object<Plain<Self>>, cx: &mut Context) {
        let again = this.clone();
        cx.task(this.write()).spawn(move |listener, cx| {
            listener.is_paused = false;
            if listener.accept_some(&again, cx) == Handled::Partly {
                Self::go_on(again, cx);
            }
        });
    }

    /// Accepts a client.
    fn accept(&mut self, cx: &mut Context) -> io::Result<()> {
        let Some(socket) = self.socket.get_mut() else { return Err(ErrorKind::WouldBlock.into()) };
        let seconds = self.engine.server().settings.number(Setting::TcpKeepalive) as u64;
        let keep_alive = (seconds > 0).then(|| Duration::from_secs(seconds));
        let terms = Terms { is_open: !has_protected_mode(&self.engine), keep_alive };
        let Some((mut stream, [address, own])) = socket.accept(&terms)? else { return Ok(()) };
        let Some(mut dialogue) = self.connections.dialogues.open(&self.engine, &address, &own) else {
            // If there is no room for it, the client sees the end alone.
            _ = stream.write(TOO_MANY);
            return Ok(());
        };
        let id = dialogue.id();
        // Relaxed: the number alone counts.
        let worker = self.next.fetch_add(1, Ordering::Relaxed);
        let (stream, events) = match cx.register_on(worker, stream, Interest::Both) {
            Ok(registered) => registered,
            Err(error) => {
                self.connections.dialogues.remove(id);
                dialogue.close(cx);
                return Err(io::Error::other(error));
            }
        };
        let connection = Connection::new(stream, dialogue, self.connections.clone());
        // Known before its first event, which may close it.
        let worker = events.worker();
        // A panic closes the connection by a task on it.
        let object = self.engine.runtime().plain(connection).core(worker).keep_on_panic().build();
        self.connections.insert(self.engine.runtime(), id, object.clone(), self.engine.now());
        events.deliver_to(&object, Connection::handle);
        Ok(())
    }
}

/// Returns true for errors of one client: it has gone before it was accepted.
fn is_of_client(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_probed_as_often_as_the_terms_say() {
        let mut listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        let mut accept = |keep_alive| {
            let client = std::net::TcpStream::connect(address).unwrap();
            let terms = Terms { is_open: false, keep_alive };
            let accepted = loop {
                match Listen::accept(&mut listener, &terms) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
                    accepted => break accepted.unwrap().unwrap().0,
                }
            };
            drop(client);
            let socket = SockRef::from(&*accepted);
            socket.keepalive().unwrap().then(|| socket.tcp_keepalive_time().unwrap())
        };
        let after = Some(Duration::from_secs(40));
        assert_eq!(accept(after), after);
        assert_eq!(accept(None), None);
    }
}
