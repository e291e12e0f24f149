//! The TCP stack over a device: its sockets, which ports listen, which connections there are.
//!
//! It knows no tasks: what is to be called is returned to [`Stack`](super::stack::Stack).
//!
//! | file | what is in it |
//! |---|---|
//! | `listening` | ports that listen, and sockets that become connections |
//! | `slot` | a connection: its socket, pipe and program |

mod listening;
mod slot;

use super::pipe::Pipe;
use super::{Peer, Settings};
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use listening::Listener;
use slot::{Slot, Stage};
use smoltcp::iface::{Config, Interface, PollIngressSingleResult, PollResult, SocketHandle, SocketSet};
use smoltcp::phy::Device;
use smoltcp::socket::tcp::{Socket, State};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{EthernetAddress, IpAddress, IpCidr, Ipv4Address};

/// The time that a peer has to take output of a connection which the program has closed, or some of
/// it, and then to end the connection.
const LINGER: Duration = Duration::from_secs(20);
/// Sockets of connections that have ended are kept for this time at most.
const LATE: Duration = Duration::from_secs(20);
/// And this many of them. Older ones are forgotten.
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

/// The socket of a connection that has ended: it waits for late packets, after both sides have
/// closed, or for its turn to tell the peer that the connection is broken.
struct Waiting {
    socket: SocketHandle,
    until: Instant,
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
    /// The slots whose peers have not confirmed, the oldest first.
    beginning: VecDeque<usize>,
    /// The oldest first.
    waiting: VecDeque<Waiting>,
    /// When all connections are to be over, if they are.
    end: Option<Instant>,
}

/// Returns true if a connection with this socket is over: nothing is sent or received any more.
fn is_over(socket: &Socket<'_>) -> bool {
    // A socket listens again if its peer has gone before it has confirmed.
    matches!(socket.state(), State::Listen | State::Closed | State::TimeWait)
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
            beginning: VecDeque::new(),
            waiting: VecDeque::new(),
            end: None,
        }
    }

    /// Closes all connections, as their programs would, and drops those that no peer has confirmed.
    /// From now on a peer that takes output gets no further time for it.
    pub fn close_all(&mut self, now: Instant, call: &mut dyn FnMut(Call<P>)) {
        self.end = Some(now + LINGER);
        for slot in self.slots.iter().flatten() {
            match &slot.stage {
                Stage::Beginning { .. } => self.sockets.get_mut::<Socket<'_>>(slot.socket).abort(),
                Stage::Open { pipe, .. } => _ = pipe.close(),
                Stage::Accepted(_) | Stage::Closing { .. } => {}
            }
        }
        self.look_at_all(now, call);
    }

    /// Returns true if there are no connections, aside from sockets that are kept after the end.
    pub fn is_idle(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// Handles up to `budget` packets that have arrived. Returns false if there may be more.
    pub fn receive(&mut self, now: Instant, budget: usize) -> bool {
        for _ in 0..budget {
            match self.interface.poll_ingress_single(now, &mut self.device, &mut self.sockets) {
                PollIngressSingleResult::None => return true,
                PollIngressSingleResult::PacketProcessed => {}
                PollIngressSingleResult::SocketStateChanged => self.update_listeners(now),
            }
        }
        false
    }

    /// Sends packets, up to `rounds` of each connection. Returns false if there may be more.
    pub fn send(&mut self, now: Instant, rounds: usize) -> bool {
        let is_sent = (0..rounds).any(|_| {
            let sent = self.interface.poll_egress(now, &mut self.device, &mut self.sockets);
            matches!(sent, PollResult::None)
        });
        self.forget_waiting(now);
        is_sent
    }

    /// Returns when there is something to do, even if no packet arrives.
    pub fn next_time(&mut self, now: Instant) -> Option<Instant> {
        let limit = |slot: &Slot<P>| {
            // It has timed out when packets were sent.
            let is_over = is_over(self.sockets.get(slot.socket));
            if is_over { Some(now) } else { slot.limit() }
        };
        let limits = self.slots.iter().flatten().filter_map(limit);
        let limit = limits.min();
        self.interface.poll_at(now, &self.sockets).into_iter().chain(limit).min()
    }

    /// Looks after all connections. Calls `call` with what is to be done for their programs.
    pub fn look_at_all(&mut self, now: Instant, call: &mut dyn FnMut(Call<P>)) {
        for index in 0..self.slots.len() {
            self.look_at_slot(index, now, call);
        }
        self.update_listeners(now);
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
        let linger = self.end.unwrap_or(now + LINGER).min(now + LINGER);
        let Some(slot) = &mut self.slots[index] else { return };
        let socket = self.sockets.get_mut::<Socket<'_>>(slot.socket);
        let mut is_late = false;
        if let Stage::Beginning { limit } = slot.stage {
            if slot.begin_program(socket, call) {
                self.beginning.retain(|&other| other != index);
            } else {
                is_late = limit <= now;
            }
        }
        slot.exchange(socket, now, linger, call);
        if is_late || is_over(socket) {
            self.end_slot(index, now, call);
        }
    }

    /// Forgets a connection that is over, or that no peer has confirmed.
    fn end_slot(&mut self, index: usize, now: Instant, call: &mut dyn FnMut(Call<P>)) {
        let Some(slot) = self.slots[index].take() else { return };
        self.free.push(index);
        self.beginning.retain(|&other| other != index);
        let listener = self.listeners.iter_mut().find(|listener| listener.port == slot.port);
        listener.into_iter().for_each(|listener| listener.count -= 1);
        self.keep_or_remove(slot.socket, now);
        if slot.end()
            && let Some(program) = slot.stage.into_program()
        {
            call(Call::Serve(program));
        }
    }

    /// Keeps the socket of a connection that has ended while it has something to do.
    fn keep_or_remove(&mut self, socket: SocketHandle, now: Instant) {
        let ended = self.sockets.get::<Socket<'_>>(socket);
        if matches!(ended.state(), State::Closed | State::TimeWait) && ended.remote_endpoint().is_some() {
            self.waiting.push_back(Waiting { socket, until: now + LATE });
        } else {
            self.sockets.remove(socket);
        }
        self.forget_waiting(now);
    }

    /// Removes sockets that have waited long enough, and the oldest if there are too many.
    fn forget_waiting(&mut self, now: Instant) {
        let sockets = &mut self.sockets;
        self.waiting.retain(|waiting| {
            // One without a peer has told it, or has waited for late packets.
            let has_peer = sockets.get::<Socket<'_>>(waiting.socket).remote_endpoint().is_some();
            let is_kept = has_peer && now < waiting.until;
            if !is_kept {
                sockets.remove(waiting.socket);
            }
            is_kept
        });
        while self.waiting.len() > MOST_WAITING {
            self.waiting.pop_front().into_iter().for_each(|waiting| drop(sockets.remove(waiting.socket)));
        }
    }
}

#[cfg(test)]
mod tests;
