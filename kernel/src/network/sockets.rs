//! The TCP stack over a device: its sockets, which ports listen, which connections there are.
//!
//! It knows no tasks: what is to be called is returned to [`Stack`](super::stack::Stack).
//!
//! smoltcp has no queue of connections that begin: a socket that listens becomes the connection of
//! the next peer. Packets are handled one by one, and a socket that has become a connection is
//! replaced before the next packet. So one socket that listens is enough, however many peers come
//! at once.

use super::pipe::Pipe;
use super::{Peer, Settings};
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use smoltcp::iface::{Config, Interface, PollIngressSingleResult, PollResult, SocketHandle, SocketSet};
use smoltcp::phy::Device;
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{EthernetAddress, IpAddress, IpCidr, Ipv4Address};

/// Bytes of each buffer of a socket.
const SOCKET_BUFFER: usize = 32 << 10;
/// A peer that says nothing for this time is gone.
const TIMEOUT: Duration = Duration::from_secs(300);
/// A peer that says nothing is asked after this time.
const KEEP_ALIVE: Duration = Duration::from_secs(60);
/// The time that a peer has to end a connection which the program has closed.
const LINGER: Duration = Duration::from_secs(20);
/// Connections that wait for late packets, after both sides have closed. Older ones are forgotten.
const MOST_WAITING: usize = 64;

/// The number of a connection. It is used once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConnectionId {
    slot: usize,
    generation: u64,
}

/// What is to be done for a connection.
pub(super) enum Call<P> {
    /// It is new: the port's program makes the object of it, which [`Sockets::accept`] then gets.
    Accept { port: u16, id: ConnectionId, peer: Peer, pipe: Arc<Pipe> },
    /// Its program is to be called.
    Serve(P),
}

/// A port that listens.
struct Listener {
    port: u16,
    /// The socket that the next peer gets; `None` while there are too many connections.
    socket: Option<SocketHandle>,
    most: usize,
    /// Connections and sockets that are becoming one.
    count: usize,
}

/// A connection, or a socket that is becoming one.
struct Slot<P> {
    id: ConnectionId,
    port: u16,
    socket: SocketHandle,
    stage: Stage<P>,
}

enum Stage<P> {
    /// The peer has not confirmed.
    Beginning,
    /// The program is being called to make an object of it.
    Accepted(Arc<Pipe>),
    Open {
        pipe: Arc<Pipe>,
        program: P,
    },
    /// The program has closed it.
    Closing {
        pipe: Arc<Pipe>,
        program: P,
        limit: Instant,
    },
}

/// The stack over a device. `P` calls the program of a connection.
pub(super) struct Sockets<D, P> {
    pub device: D,
    interface: Interface,
    sockets: SocketSet<'static>,
    listeners: Vec<Listener>,
    slots: Vec<Option<Slot<P>>>,
    free: Vec<usize>,
    generation: u64,
    /// Sockets that wait for late packets, the oldest first.
    waiting: VecDeque<SocketHandle>,
}

/// Returns a socket with buffers of its own.
fn new_socket() -> Socket<'static> {
    let buffer = || SocketBuffer::new(vec![0; SOCKET_BUFFER]);
    let mut socket = Socket::new(buffer(), buffer());
    socket.set_congestion_control(CongestionControl::Reno);
    socket.set_timeout(Some(TIMEOUT));
    socket.set_keep_alive(Some(KEEP_ALIVE));
    // Replies are written whole; a small one is not held back for others.
    socket.set_nagle_enabled(false);
    socket
}

impl ConnectionId {
    /// Returns a number that few open connections share with it.
    pub fn number(self) -> usize {
        self.slot
    }
}

impl<D: Device, P: Clone> Sockets<D, P> {
    /// Makes the stack. `seed` should differ from one run to the next: it hides the numbers of
    /// bytes from others.
    pub fn new(mut device: D, address: [u8; 6], settings: &Settings, seed: u64, now: Instant) -> Self {
        let mut config = Config::new(EthernetAddress(address).into());
        config.random_seed = seed;
        let mut interface = Interface::new(config, &mut device, now);
        let own = IpCidr::new(IpAddress::Ipv4(settings.address.into()), settings.prefix);
        interface.update_ip_addrs(|addresses| addresses.push(own).expect("room for one address"));
        if let Some(gateway) = settings.gateway {
            let routes = interface.routes_mut();
            routes.add_default_ipv4_route(Ipv4Address::from(gateway)).expect("room for one route");
        }
        Self {
            device,
            interface,
            sockets: SocketSet::new(Vec::new()),
            listeners: Vec::new(),
            slots: Vec::new(),
            free: Vec::new(),
            generation: 0,
            waiting: VecDeque::new(),
        }
    }

    /// Lets a port take up to `most` connections at a time. Returns false if it does already, or if
    /// it is 0.
    pub fn listen(&mut self, port: u16, most: usize) -> bool {
        if port == 0 || self.listeners.iter().any(|listener| listener.port == port) {
            return false;
        }
        self.listeners.push(Listener { port, socket: None, most, count: 0 });
        self.replace_listening();
        true
    }

    /// Lets no port take further connections.
    pub fn stop_listening(&mut self) {
        for listener in &mut self.listeners {
            listener.most = 0;
            listener.socket.take().into_iter().for_each(|socket| drop(self.sockets.remove(socket)));
        }
    }

    /// Closes all connections, as their programs would, and drops those that no peer has confirmed.
    pub fn close_all(&mut self, now: Instant, call: &mut dyn FnMut(Call<P>)) {
        for slot in self.slots.iter().flatten() {
            match &slot.stage {
                Stage::Beginning => self.sockets.get_mut::<Socket<'_>>(slot.socket).abort(),
                Stage::Open { pipe, .. } => _ = pipe.close(),
                Stage::Accepted(_) | Stage::Closing { .. } => {}
            }
        }
        self.look_at_all(now, call);
    }

    /// Returns true if there are no connections, aside from those that wait for late packets.
    pub fn is_idle(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// Handles up to `budget` packets that have arrived. Returns false if there may be more.
    pub fn receive(&mut self, now: Instant, budget: usize) -> bool {
        for _ in 0..budget {
            match self.interface.poll_ingress_single(now, &mut self.device, &mut self.sockets) {
                PollIngressSingleResult::None => return true,
                PollIngressSingleResult::PacketProcessed => {}
                PollIngressSingleResult::SocketStateChanged => self.replace_listening(),
            }
        }
        false
    }

    /// Sends packets, up to `rounds` of each connection. Returns false if there may be more.
    pub fn send(&mut self, now: Instant, rounds: usize) -> bool {
        (0..rounds).any(|_| {
            let sent = self.interface.poll_egress(now, &mut self.device, &mut self.sockets);
            matches!(sent, PollResult::None)
        })
    }

    /// Returns when there is something to do, even if no packet arrives.
    pub fn next_time(&mut self, now: Instant) -> Option<Instant> {
        let limit = |slot: &Slot<P>| match slot.stage {
            Stage::Closing { limit, .. } => Some(limit),
            _ => None,
        };
        let limits = self.slots.iter().flatten().filter_map(limit);
        self.interface.poll_at(now, &self.sockets).into_iter().chain(limits).min()
    }

    /// Turns sockets that listened and have a peer now into beginning connections, and lets others
    /// listen.
    fn replace_listening(&mut self) {
        for index in 0..self.listeners.len() {
            let Listener { port, socket, most, count } = self.listeners[index];
            if let Some(socket) = socket {
                if self.sockets.get::<Socket<'_>>(socket).state() == State::Listen {
                    continue;
                }
                self.begin(port, socket);
            }
            let has_room = count + usize::from(socket.is_some()) < most;
            let listener = &mut self.listeners[index];
            listener.count += usize::from(socket.is_some());
            listener.socket = has_room.then(|| {
                let mut socket = new_socket();
                socket.listen(port).expect("a new socket, and a port");
                self.sockets.add(socket)
            });
        }
    }

    fn begin(&mut self, port: u16, socket: SocketHandle) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.generation += 1;
        let id = ConnectionId { slot, generation: self.generation };
        self.slots[slot] = Some(Slot { id, port, socket, stage: Stage::Beginning });
    }

    /// Looks after all connections. Calls `call` with what is to be done for their programs.
    pub fn look_at_all(&mut self, now: Instant, call: &mut dyn FnMut(Call<P>)) {
        for index in 0..self.slots.len() {
            self.look_at_slot(index, now, call);
        }
        self.replace_listening();
    }

    /// Looks after one connection, as its program has written, consumed or closed.
    pub fn look_at(&mut self, id: ConnectionId, now: Instant, call: &mut dyn FnMut(Call<P>)) {
        if let Some(Some(slot)) = self.slots.get(id.slot)
            && slot.id == id
        {
            if let Stage::Open { pipe, .. } | Stage::Closing { pipe, .. } = &slot.stage {
                pipe.begin_stack_task();
            }
            self.look_at_slot(id.slot, now, call);
        }
    }

    /// Opens a connection, and calls its program: from now on that is called if there is news.
    pub fn accept(&mut self, id: ConnectionId, program: P, now: Instant, call: &mut dyn FnMut(Call<P>)) {
        if let Some(Some(slot)) = self.slots.get_mut(id.slot)
            && let Stage::Accepted(pipe) = &slot.stage
        {
            slot.stage = Stage::Open { pipe: pipe.clone(), program };
            self.look_at_slot(id.slot, now, call);
        }
    }

    fn look_at_slot(&mut self, index: usize, now: Instant, call: &mut dyn FnMut(Call<P>)) {
        let Some(slot) = &mut self.slots[index] else { return };
        let socket = self.sockets.get_mut::<Socket<'_>>(slot.socket);
        if let Stage::Beginning = slot.stage {
            slot.begin_program(socket, call);
        }
        slot.exchange(socket, now, call);
        let is_over = match socket.state() {
            // A peer that has not confirmed has gone.
            State::Listen | State::Closed | State::TimeWait => true,
            _ => false,
        };
        if is_over {
            self.end_slot(index, call);
        }
    }

    /// Forgets a connection whose socket is closed, or waits for late packets.
    fn end_slot(&mut self, index: usize, call: &mut dyn FnMut(Call<P>)) {
        let Some(slot) = self.slots[index].take() else { return };
        self.free.push(index);
        let listener = self.listeners.iter_mut().find(|listener| listener.port == slot.port);
        listener.into_iter().for_each(|listener| listener.count -= 1);
        if let Stage::Open { pipe, program } | Stage::Closing { pipe, program, .. } = slot.stage
            && pipe.end()
        {
            call(Call::Serve(program));
        }
        if self.sockets.get::<Socket<'_>>(slot.socket).state() == State::TimeWait {
            self.waiting.push_back(slot.socket);
        } else {
            self.sockets.remove(slot.socket);
        }
        self.forget_waiting();
    }

    /// Removes sockets that have waited for late packets, and the oldest if there are too many.
    fn forget_waiting(&mut self) {
        while let Some(&socket) = self.waiting.front()
            && (self.waiting.len() > MOST_WAITING
                || self.sockets.get::<Socket<'_>>(socket).state() == State::Closed)
        {
            self.waiting.pop_front();
            self.sockets.remove(socket);
        }
    }
}

impl<P: Clone> Slot<P> {
    /// Calls the program of the port once the peer has confirmed.
    fn begin_program(&mut self, socket: &Socket<'_>, call: &mut dyn FnMut(Call<P>)) {
        let is_confirmed = !matches!(socket.state(), State::Listen | State::SynReceived | State::Closed);
        let Some(remote) = socket.remote_endpoint().filter(|_| is_confirmed) else { return };
        let IpAddress::Ipv4(address) = remote.addr;
        let peer = Peer { address: address.octets(), port: remote.port };
        let pipe = Arc::new(Pipe::new());
        self.stage = Stage::Accepted(pipe.clone());
        call(Call::Accept { port: self.port, id: self.id, peer, pipe });
    }

    /// Moves bytes between socket and program, and closes the socket if the program wants that.
    fn exchange(&mut self, socket: &mut Socket<'_>, now: Instant, call: &mut dyn FnMut(Call<P>)) {
        match &self.stage {
            Stage::Open { pipe, program } | Stage::Closing { pipe, program, .. } => {
                if pipe.exchange(socket) {
                    call(Call::Serve(program.clone()));
                }
            }
            Stage::Beginning | Stage::Accepted(_) => return,
        }
        if let Stage::Open { pipe, program } = &self.stage
            && pipe.is_closing()
        {
            let (pipe, program) = (pipe.clone(), program.clone());
            self.stage = Stage::Closing { pipe, program, limit: now + LINGER };
        }
        match &self.stage {
            Stage::Closing { limit, .. } if *limit <= now => socket.abort(),
            Stage::Closing { pipe, .. } if pipe.is_drained() => socket.close(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
