//! The stack and its peers on a cable of the test's own, in virtual time: all that happens is
//! decided by a seed.

use super::listening::new_socket;
use super::*;
use crate::network::faults::Faulty;
use crate::network::{Faults, INPUT_LIMIT};
use smoltcp::phy::{self, DeviceCapabilities, Medium};
use std::cell::RefCell;
use std::rc::Rc;
use std::vec;

const PORT: u16 = 7;
const SERVER: [u8; 4] = [10, 0, 2, 15];
const CLIENT: [u8; 4] = [10, 0, 2, 2];
/// Steps, of a millisecond each, in which everything is over.
const STEPS: usize = 4_000_000;

/// An end of a cable that loses nothing.
struct Plug {
    from: Rc<RefCell<VecDeque<Vec<u8>>>>,
    to: Rc<RefCell<VecDeque<Vec<u8>>>>,
}

fn cable() -> (Plug, Plug) {
    let (up, down) = <(Rc<RefCell<VecDeque<_>>>, Rc<RefCell<VecDeque<_>>>)>::default();
    (Plug { from: up.clone(), to: down.clone() }, Plug { from: down, to: up })
}

struct Packet(Vec<u8>);

impl phy::RxToken for Packet {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, handle: F) -> R {
        handle(&self.0)
    }
}

struct Room<'a>(&'a RefCell<VecDeque<Vec<u8>>>);

impl phy::TxToken for Room<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut packet = vec![0; length];
        let result = write(&mut packet);
        self.0.borrow_mut().push_back(packet);
        result
    }
}

impl Device for Plug {
    type RxToken<'a> = Packet;
    type TxToken<'a> = Room<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Packet, Room<'_>)> {
        let packet = self.from.borrow_mut().pop_front()?;
        Some((Packet(packet), Room(&self.to)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Room<'_>> {
        Some(Room(&self.to))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = 1514;
        capabilities
    }
}

/// The stack with a program that sends back what it gets, and closes when its peer does.
struct Server {
    sockets: Sockets<Faulty<Plug>, usize>,
    programs: Vec<Program>,
    /// The bytes that a program stores before it sends back the first.
    stored: usize,
    /// The calls for connections that were closed.
    closed: usize,
    now: Instant,
}

struct Program {
    id: ConnectionId,
    pipe: Arc<Pipe>,
    received: usize,
    unsent: Vec<u8>,
}

impl Server {
    fn new(plug: Plug, most: usize, faults: Option<Faults>) -> Self {
        let settings = Settings { address: SERVER, prefix: 24, gateway: None, faults };
        let mut sockets =
            Sockets::new(Faulty::new(plug, faults), [2, 0, 0, 0, 0, 1], &settings, 1, Instant::ZERO);
        assert!(sockets.listen(PORT, most) && !sockets.listen(PORT, most) && !sockets.listen(0, most));
        Self { sockets, programs: Vec::new(), stored: 0, closed: 0, now: Instant::ZERO }
    }

    fn step(&mut self, now: Instant) {
        self.sockets.receive(now, usize::MAX);
        let mut calls = Vec::new();
        self.sockets.look_at_all(now, &mut |call| calls.push(call));
        self.run(calls, now);
        assert!(self.sockets.send(now, usize::MAX));
        self.sockets.device.flush(now);
    }

    fn run(&mut self, mut calls: Vec<Call<usize>>, now: Instant) {
        while let Some(call) = calls.pop() {
            match call {
                Call::Accept { port, id, peer, pipe } => {
                    assert_eq!((port, peer.address), (PORT, CLIENT));
                    self.programs.push(Program { id, pipe, received: 0, unsent: Vec::new() });
                    let program = self.programs.len() - 1;
                    self.sockets.accept(id, program, now, &mut |call| calls.push(call));
                }
                Call::Serve(program) => {
                    if let Some(id) = self.serve(program) {
                        self.sockets.look_at(id, now, &mut |call| calls.push(call));
                    }
                }
            }
        }
    }

    /// Returns the connection if its program calls the stack.
    fn serve(&mut self, program: usize) -> Option<ConnectionId> {
        let Program { id, pipe, received, unsent } = &mut self.programs[program];
        let before = unsent.len();
        let status = pipe.take_arrived(unsent);
        let arrived = unsent.len() - before;
        assert!(arrived <= INPUT_LIMIT);
        *received += arrived;
        self.closed += usize::from(status.is_closed);
        let (sent, was_written) = if *received >= self.stored { pipe.write(unsent) } else { (0, false) };
        unsent.drain(..sent);
        // What is stored counts as consumed. Otherwise that is what was sent back.
        let was_consumed = pipe.consumed(if self.stored > 0 { arrived } else { sent });
        let was_closed = status.has_ended && unsent.is_empty() && pipe.close();
        (was_written || was_consumed || was_closed).then_some(*id)
    }
}

/// Peers that connect at once; each sends some bytes, and wants them back.
struct Clients {
    plug: Plug,
    interface: Interface,
    sockets: SocketSet<'static>,
    peers: Vec<(SocketHandle, usize, usize)>,
    bytes: usize,
    /// The bytes that each waits for before it ends its side.
    wanted: usize,
}

/// The byte at a place in the stream of a peer.
fn byte(peer: usize, at: usize) -> u8 {
    (at ^ at >> 8 ^ at >> 16 ^ peer * 31) as u8
}

impl Clients {
    fn new(mut plug: Plug, count: usize, bytes: usize) -> Self {
        let config = Config::new(EthernetAddress([2, 0, 0, 0, 0, 2]).into());
        let mut interface = Interface::new(config, &mut plug, Instant::ZERO);
        let own = IpCidr::new(IpAddress::Ipv4(CLIENT.into()), 24);
        interface.update_ip_addrs(|addresses| addresses.push(own).unwrap());
        let sockets = SocketSet::new(Vec::new());
        let mut clients = Self { plug, interface, sockets, peers: Vec::new(), bytes, wanted: bytes };
        (0..count).for_each(|_| clients.connect());
        clients
    }

    /// Connects one more.
    fn connect(&mut self) {
        let mut socket = new_socket().unwrap();
        let server = (IpAddress::Ipv4(SERVER.into()), PORT);
        socket.connect(self.interface.context(), server, 1000 + self.peers.len() as u16).unwrap();
        self.peers.push((self.sockets.add(socket), 0, 0));
    }

    fn step(&mut self, now: Instant) {
        self.interface.poll(now, &mut self.plug, &mut self.sockets);
        for (peer, (socket, sent, received)) in self.peers.iter_mut().enumerate() {
            let socket = self.sockets.get_mut::<Socket<'_>>(*socket);
            while socket.can_send() && *sent < self.bytes {
                let fill = |room: &mut [u8]| {
                    let count = room.len().min(self.bytes - *sent);
                    (0..count).for_each(|at| room[at] = byte(peer, *sent + at));
                    (count, count)
                };
                *sent += socket.send(fill).unwrap();
            }
            while socket.can_recv() {
                let check = |bytes: &mut [u8]| {
                    let is_right = |(at, &read): (usize, &u8)| read == byte(peer, *received + at);
                    assert!(bytes.iter().enumerate().all(is_right), "peer {peer} at {received}");
                    (bytes.len(), bytes.len())
                };
                *received += socket.recv(check).unwrap();
            }
            if *received == self.wanted && socket.may_send() {
                socket.close();
            }
        }
        self.interface.poll(now, &mut self.plug, &mut self.sockets);
    }

    fn states(&self) -> impl Iterator<Item = State> {
        self.peers.iter().map(|peer| self.sockets.get::<Socket<'_>>(peer.0).state())
    }

    fn are_done(&self) -> bool {
        self.peers.iter().all(|peer| peer.2 == self.bytes)
            && self.states().all(|state| matches!(state, State::Closed | State::TimeWait))
    }
}

/// Runs until `is_over` returns true.
fn run(server: &mut Server, clients: &mut Clients, is_over: impl Fn(&Server, &Clients) -> bool) {
    for _ in 0..STEPS {
        server.now += Duration::from_millis(1);
        clients.step(server.now);
        server.step(server.now);
        if is_over(server, clients) {
            return;
        }
    }
    panic!("it does not end: {:?}", clients.states().collect::<Vec<_>>());
}

fn all_come_back(peers: usize, bytes: usize, faults: Option<Faults>) {
    let (a, b) = cable();
    let (mut server, mut clients) = (Server::new(a, peers, faults), Clients::new(b, peers, bytes));
    run(&mut server, &mut clients, |server, clients| clients.are_done() && server.sockets.is_idle());
    assert_eq!((server.programs.len(), server.closed), (peers, peers));
}

#[test]
fn all_that_come_at_once_are_served() {
    all_come_back(300, 1000, None);
}

#[test]
fn a_long_stream_comes_back() {
    all_come_back(1, 10 << 20, None);
}

/// Streams go one way at a time. In both ways at once, with such delays, two ends of smoltcp 0.14
/// may stop each other: after a timeout each acknowledges in packets that the other takes for old
/// ones. Other ends do not.
#[test]
fn packets_may_be_lost_doubled_and_out_of_order() {
    for seed in 1..4 {
        let (a, b) = cable();
        let faults = Some(Faults { lost: 5, doubled: 5, delay: 20, seed });
        let (mut server, mut clients) = (Server::new(a, 3, faults), Clients::new(b, 3, 100_000));
        server.stored = 100_000;
        run(&mut server, &mut clients, |server, clients| clients.are_done() && server.sockets.is_idle());
        assert_eq!((server.programs.len(), server.closed), (3, 3));
    }
}

#[test]
fn packets_may_be_lost_and_doubled() {
    for seed in 1..4 {
        all_come_back(3, 100_000, Some(Faults { lost: 5, doubled: 5, delay: 0, seed }));
    }
}

#[test]
fn connections_beyond_the_most_are_refused() {
    let (a, b) = cable();
    let (mut server, mut clients) = (Server::new(a, 3, None), Clients::new(b, 3, 5000));
    clients.wanted = usize::MAX;
    run(&mut server, &mut clients, |_, clients| clients.peers.iter().all(|peer| peer.2 == 5000));
    (0..2).for_each(|_| clients.connect());
    run(&mut server, &mut clients, |_, clients| clients.states().skip(3).all(|state| state == State::Closed));
    clients.wanted = 5000;
    run(&mut server, &mut clients, |server, _| server.sockets.is_idle());
    assert_eq!((server.programs.len(), server.closed), (3, 3));
    // All three have ended, so there is room again.
    clients = Clients::new(clients.plug, 3, 100);
    run(&mut server, &mut clients, |server, clients| clients.are_done() && server.sockets.is_idle());
}

/// All come at once, and the later ones take the places of those that have not confirmed: these
/// come again.
#[test]
fn more_than_the_most_are_served_in_turn() {
    let (a, b) = cable();
    let (mut server, mut clients) = (Server::new(a, 3, None), Clients::new(b, 5, 100));
    run(&mut server, &mut clients, |server, clients| clients.are_done() && server.sockets.is_idle());
    assert_eq!((server.programs.len(), server.closed), (5, 5));
}

#[test]
fn a_peer_that_does_not_end_its_side_is_cut_off() {
    let (a, b) = cable();
    let (mut server, mut clients) = (Server::new(a, 1, None), Clients::new(b, 1, 100));
    // It waits for more than it sends, for ever.
    clients.wanted = 101;
    run(&mut server, &mut clients, |_, clients| clients.peers[0].2 == 100);
    server.sockets.stop_listening();
    server.sockets.close_all(server.now, &mut |_| {});
    run(&mut server, &mut clients, |server, _| server.sockets.is_idle());
    assert_eq!(server.closed, 1);
    // And it learns of that.
    clients.step(server.now);
    assert!(clients.states().all(|state| state == State::Closed));
}

#[test]
fn connections_that_begin_do_not_hold_up_the_end() {
    let (a, b) = cable();
    let (mut server, mut clients) = (Server::new(a, 2, None), Clients::new(b, 2, 100));
    // No peer has confirmed when the server ends.
    run(&mut server, &mut clients, |server, _| !server.sockets.is_idle());
    server.sockets.stop_listening();
    server.sockets.close_all(server.now, &mut |_| panic!("nothing was accepted"));
    assert!(server.sockets.is_idle());
}

mod endings;
mod hostile;
