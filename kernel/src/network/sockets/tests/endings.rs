//! Peers that take their time, or are gone, when a connection ends.

use super::*;
use crate::network::OUTPUT_LIMIT;

/// Bytes that a program leaves to the stack when it closes.
const LEFT: usize = SOCKET_BYTES + OUTPUT_LIMIT;
/// Bytes of output that a socket takes.
const SOCKET_BYTES: usize = 32 << 10;

/// A connection whose program has written a lot.
fn written() -> (Server, Clients) {
    let (a, b) = cable();
    let (mut server, mut clients) = (Server::new(a, 1, None), Clients::new(b, 1, 0));
    clients.wanted = usize::MAX;
    run(&mut server, &mut clients, |server, _| server.programs.len() == 1);
    for bytes in [SOCKET_BYTES, OUTPUT_LIMIT] {
        let Program { id, pipe, .. } = &server.programs[0];
        assert_eq!(pipe.write(&vec![7; bytes]).0, bytes);
        server.sockets.look_at(*id, server.now, &mut |_| {});
    }
    (server, clients)
}

/// Lets a second pass, in which the peer takes this number of bytes. Returns how many there were.
fn take(server: &mut Server, clients: &mut Clients, most: usize) -> usize {
    let mut taken = 0;
    for _ in 0..100 {
        server.now += Duration::from_millis(10);
        clients.interface.poll(server.now, &mut clients.plug, &mut clients.sockets);
        let socket = clients.sockets.get_mut::<Socket<'_>>(clients.peers[0].0);
        while taken < most && socket.can_recv() {
            taken +=
                socket.recv(|bytes| (bytes.len().min(most - taken), bytes.len().min(most - taken))).unwrap();
        }
        clients.interface.poll(server.now, &mut clients.plug, &mut clients.sockets);
        server.step(server.now);
    }
    taken
}

#[test]
fn a_peer_that_takes_output_slowly_gets_all_of_a_closed_connection() {
    let (mut server, mut clients) = written();
    let Program { id, pipe, .. } = &server.programs[0];
    assert!(pipe.close());
    server.sockets.look_at(*id, server.now, &mut |_| {});
    // A minute, three times what a peer has that takes nothing.
    let taken: usize = (0..64).map(|_| take(&mut server, &mut clients, LEFT / 64)).sum();
    assert_eq!(taken, LEFT);
    let closed_at = server.now;
    run(&mut server, &mut clients, |server, _| server.sockets.is_idle());
    assert!(server.now <= closed_at + LINGER);
}

#[test]
fn such_a_peer_does_not_hold_up_the_end_of_the_network() {
    let (mut server, mut clients) = written();
    server.sockets.stop_listening();
    server.sockets.close_all(server.now, &mut |_| {});
    let limit = server.now + LINGER;
    while !server.sockets.is_idle() {
        assert!(server.now <= limit, "it does not end");
        take(&mut server, &mut clients, 1024);
    }
    assert_eq!(server.closed, 1);
}

#[test]
fn the_program_learns_that_a_peer_has_gone_when_nothing_else_happens() {
    let (mut server, mut clients) = written();
    let mut looks = 0;
    while let Some(next) = server.sockets.next_time(server.now) {
        server.now = next.max(server.now);
        server.step(server.now);
        // Its machine still says where it is, but no more.
        clients.plug.from.borrow_mut().retain(|packet| packet[12..14] == [8, 6]);
        clients.interface.poll(server.now, &mut clients.plug, &mut SocketSet::new(Vec::new()));
        server.sockets.receive(server.now, usize::MAX);
        looks += 1;
        assert!(looks < 100_000, "it does not end");
    }
    assert!(server.sockets.is_idle() && server.closed == 1);
}
