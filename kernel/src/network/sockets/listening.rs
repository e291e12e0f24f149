//! Ports that listen, and sockets that become connections.
//!
//! smoltcp has no queue of connections that begin: a socket that listens becomes the connection of
//! the next peer. Packets are handled one by one, and a socket that has become a connection is
//! replaced before the next packet. So one socket that listens is enough, however many peers come
//! at once.
//!
//! smoltcp gives a packet to the first socket that accepts it. So all connections of a port are in
//! places before that of the socket that listens: a request to connect that comes again finds its
//! own connection, and does not begin another one.

use super::slot::{Slot, Stage};
use super::{ConnectionId, Sockets, is_over};
use alloc::vec::Vec;
use core::mem;
use smoltcp::iface::SocketHandle;
use smoltcp::phy::Device;
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State};
use smoltcp::time::{Duration, Instant};

/// Bytes of each buffer of a socket.
const SOCKET_BUFFER: usize = 32 << 10;
/// A peer that says nothing for this time is gone.
const TIMEOUT: Duration = Duration::from_secs(300);
/// A peer that says nothing is asked after this time.
const KEEP_ALIVE: Duration = Duration::from_secs(60);
/// The time that a peer has to confirm a connection.
pub(super) const CONFIRMATION: Duration = Duration::from_secs(10);

/// A port that listens.
#[derive(Clone, Copy)]
pub(super) struct Listener {
    pub port: u16,
    /// The socket that the next peer gets. It is closed while there is no room for another peer.
    socket: SocketHandle,
    most: usize,
    /// Connections and sockets that are becoming one.
    pub count: usize,
}

/// Returns a socket with buffers of its own; `None` if there is no memory.
pub(super) fn new_socket() -> Option<Socket<'static>> {
    let buffer = || {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(SOCKET_BUFFER).ok()?;
        bytes.resize(SOCKET_BUFFER, 0);
        Some(SocketBuffer::new(bytes))
    };
    let mut socket = Socket::new(buffer()?, buffer()?);
    socket.set_congestion_control(CongestionControl::Reno);
    socket.set_timeout(Some(TIMEOUT));
    socket.set_keep_alive(Some(KEEP_ALIVE));
    // Replies are written whole; a small one is not held back for others.
    socket.set_nagle_enabled(false);
    Some(socket)
}

/// Returns a socket that takes no peer, and no memory.
fn closed_socket() -> Socket<'static> {
    let buffer = || SocketBuffer::new(Vec::new());
    Socket::new(buffer(), buffer())
}

impl<D: Device, P: Clone> Sockets<D, P> {
    /// Lets a port take up to `most` connections at a time. Returns false if it does already, or if
    /// it is 0.
    pub fn listen(&mut self, port: u16, most: usize) -> bool {
        if port == 0 || self.listeners.iter().any(|listener| listener.port == port) {
            return false;
        }
        let socket = self.sockets.add(closed_socket());
        self.listeners.push(Listener { port, socket, most, count: 0 });
        self.listen_if_room(self.listeners.len() - 1);
        true
    }

    /// Lets no port take further connections.
    pub fn stop_listening(&mut self) {
        for index in 0..self.listeners.len() {
            self.listeners[index].most = 0;
            self.listen_if_room(index);
        }
    }

    /// Turns sockets that listened and have a peer now into beginning connections, and lets others
    /// listen. It is called after each packet.
    pub(super) fn update_listeners(&mut self, now: Instant) {
        self.end_refused(now);
        for index in 0..self.listeners.len() {
            let socket = self.sockets.get::<Socket<'_>>(self.listeners[index].socket);
            if !is_over(socket) {
                self.begin(index, now);
            }
            self.listen_if_room(index);
        }
    }

    /// Ends beginning connections that their peers have taken back. Their sockets listen again, and
    /// would take the next peer with numbers that the last one has left.
    fn end_refused(&mut self, now: Instant) {
        while let Some(index) = self.find_beginning(|_, socket| is_over(socket)) {
            self.end_slot(index, now, &mut |_| {});
        }
    }

    /// Returns the oldest slot whose peer had not confirmed, and for which this is true.
    fn find_beginning(&self, is_wanted: impl Fn(&Slot<P>, &Socket<'_>) -> bool) -> Option<usize> {
        let is_wanted = |&index: &usize| {
            let slot = self.slots[index].as_ref();
            slot.is_some_and(|slot| is_wanted(slot, self.sockets.get(slot.socket)))
        };
        self.beginning.iter().copied().find(is_wanted)
    }

    /// Returns the oldest connection of a port that its peer has not confirmed.
    fn find_unconfirmed(&self, port: u16) -> Option<usize> {
        self.find_beginning(|slot, socket| slot.port == port && socket.state() == State::SynReceived)
    }

    /// Makes a beginning connection of a listener's socket.
    fn begin(&mut self, index: usize, now: Instant) {
        let Listener { port, most, count, .. } = self.listeners[index];
        // Peers that never confirm do not keep others out.
        if count >= most
            && let Some(oldest) = self.find_unconfirmed(port)
        {
            self.end_slot(oldest, now, &mut |_| {});
        }
        self.listeners[index].count += 1;
        let socket = self.separate(index);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.generation += 1;
        let id = ConnectionId { slot, generation: self.generation };
        let stage = Stage::Beginning { limit: now + CONFIRMATION };
        self.slots[slot] = Some(Slot { id, port, socket, stage });
        self.beginning.push_back(slot);
    }

    /// Moves the connection that a listener's socket has become to a place before the listener's,
    /// which has a closed socket then. Returns that place.
    fn separate(&mut self, index: usize) -> SocketHandle {
        let place = self.listeners[index].socket;
        let connection = mem::replace(self.sockets.get_mut::<Socket<'_>>(place), closed_socket());
        let free = self.sockets.add(connection);
        if free < place {
            return free;
        }
        // The first free place is behind the listener: that is the listener's from now on.
        let connection = mem::replace(self.sockets.get_mut::<Socket<'_>>(free), closed_socket());
        *self.sockets.get_mut::<Socket<'_>>(place) = connection;
        self.listeners[index].socket = free;
        place
    }

    /// Lets a listener's socket listen if there is room for another peer, and closes it otherwise.
    fn listen_if_room(&mut self, index: usize) {
        let Listener { port, socket, most, count } = self.listeners[index];
        let has_room = count < most || most > 0 && self.find_unconfirmed(port).is_some();
        let socket = self.sockets.get_mut::<Socket<'_>>(socket);
        if !has_room && socket.is_listening() {
            *socket = closed_socket();
        } else if has_room && !socket.is_listening()
            // Without memory the next peer is refused; this is tried again after each packet.
            && let Some(mut listening) = new_socket()
        {
            listening.listen(port).expect("a new socket, and a port");
            *socket = listening;
        }
    }
}
