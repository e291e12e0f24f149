//! Packets that no good peer sends, or that come again.

use super::super::listening::CONFIRMATION;
use super::*;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetFrame, EthernetProtocol, EthernetRepr, IpProtocol, Ipv4Packet,
    Ipv4Repr, TcpControl, TcpPacket, TcpRepr, TcpSeqNumber,
};

const SERVER_CARD: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 1]);
const PEER_CARD: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 3]);
const PEER: [u8; 4] = [10, 0, 2, 99];

/// A peer that makes its packets by hand.
struct Peer<'a>(&'a Plug);

impl Peer<'_> {
    fn send(&self, protocol: EthernetProtocol, length: usize, write: impl FnOnce(&mut [u8])) {
        let repr = EthernetRepr { src_addr: PEER_CARD, dst_addr: SERVER_CARD, ethertype: protocol };
        let mut frame = EthernetFrame::new_unchecked(vec![0; repr.buffer_len() + length]);
        repr.emit(&mut frame);
        write(frame.payload_mut());
        self.0.to.borrow_mut().push_back(frame.into_inner());
    }

    /// Asks for the server, which learns where the peer is.
    fn introduce(&self) {
        let repr = ArpRepr::EthernetIpv4 {
            operation: ArpOperation::Request,
            source_hardware_addr: PEER_CARD,
            source_protocol_addr: PEER.into(),
            target_hardware_addr: SERVER_CARD,
            target_protocol_addr: SERVER.into(),
        };
        self.send(EthernetProtocol::Arp, repr.buffer_len(), |bytes| {
            repr.emit(&mut ArpPacket::new_unchecked(bytes));
        });
    }

    fn send_tcp(&self, port: u16, control: TcpControl, number: u32) {
        let tcp = TcpRepr {
            src_port: port,
            dst_port: PORT,
            control,
            seq_number: TcpSeqNumber(number as i32),
            ack_number: None,
            window_len: 1000,
            window_scale: None,
            max_seg_size: None,
            sack_permitted: false,
            sack_ranges: [None; 3],
            timestamp: None,
            payload: &[],
        };
        let ip = Ipv4Repr {
            src_addr: PEER.into(),
            dst_addr: SERVER.into(),
            next_header: IpProtocol::Tcp,
            payload_len: tcp.buffer_len(),
            hop_limit: 64,
        };
        let checks = ChecksumCapabilities::default();
        self.send(EthernetProtocol::Ipv4, ip.buffer_len() + tcp.buffer_len(), |bytes| {
            let mut packet = Ipv4Packet::new_unchecked(bytes);
            ip.emit(&mut packet, &checks);
            let mut segment = TcpPacket::new_unchecked(packet.payload_mut());
            let ends = (IpAddress::Ipv4(PEER.into()), IpAddress::Ipv4(SERVER.into()));
            tcp.emit(&mut segment, &ends.0, &ends.1, &checks);
        });
    }
}

/// Returns true for a packet by which a peer asks to connect.
fn is_request(packet: &[u8]) -> bool {
    let ip = EthernetFrame::new_unchecked(packet);
    let is_ip = ip.ethertype() == EthernetProtocol::Ipv4;
    let tcp = is_ip.then(|| Ipv4Packet::new_unchecked(ip.payload()));
    tcp.is_some_and(|ip| TcpPacket::new_unchecked(ip.payload()).syn())
}

#[test]
fn a_request_that_comes_again_does_not_break_its_connection() {
    let (a, b) = cable();
    let (mut server, mut clients) = (Server::new(a, 9, None), Clients::new(b, 2, 100));
    // Two connections, of which the first ends: so its place is free.
    clients.wanted = usize::MAX;
    run(&mut server, &mut clients, |_, clients| clients.peers.iter().all(|peer| peer.2 == 100));
    let first = clients.peers[0].0;
    clients.sockets.get_mut::<Socket<'_>>(first).close();
    run(&mut server, &mut clients, |server, _| server.closed == 1);

    clients.connect();
    clients.step(server.now);
    let request = clients.plug.to.borrow().iter().find(|packet| is_request(packet)).cloned();
    let request = request.expect("the new peer asks");
    let mut copies = 0;
    for _ in 0..10 {
        server.now += Duration::from_millis(1);
        server.step(server.now);
        clients.plug.to.borrow_mut().push_back(request.clone());
        copies += 1;
        clients.step(server.now);
    }
    assert_eq!((copies, server.programs.len()), (10, 3));
    assert!(server.sockets.beginning.is_empty());
    assert!(clients.states().skip(1).all(|state| state == State::Established));
    assert_eq!(clients.peers[2].2, 100);
}

#[test]
fn peers_that_never_confirm_keep_no_others_out() {
    let (a, b) = cable();
    let (mut server, mut clients) = (Server::new(a, 3, None), Clients::new(b, 2, 1000));
    (0..1000).for_each(|port| Peer(&clients.plug).send_tcp(2000 + port, TcpControl::Syn, 1));
    server.step(server.now);
    assert_eq!(server.sockets.beginning.len(), 3);
    run(&mut server, &mut clients, |_, clients| clients.are_done());
    assert!(server.now < Instant::ZERO + CONFIRMATION);
    assert_eq!(server.programs.len(), 2);
}

#[test]
fn peers_that_never_confirm_are_forgotten() {
    let (a, b) = cable();
    let mut server = Server::new(a, 3, None);
    (0..2).for_each(|port| Peer(&b).send_tcp(2000 + port, TcpControl::Syn, 1));
    server.step(server.now);
    let mut looks = 0;
    while !server.sockets.is_idle() {
        let next = server.sockets.next_time(server.now).expect("they have a limit");
        server.now = next.max(server.now);
        server.step(server.now);
        looks += 1;
        assert!(looks < 1000, "they are kept");
    }
    assert!(server.now == Instant::ZERO + CONFIRMATION && server.programs.is_empty());
}

/// The numbers of the second request lie half of all numbers before those of the first, whose
/// socket takes no further peer.
#[test]
fn a_socket_whose_peer_has_taken_its_request_back_takes_no_other() {
    let (a, b) = cable();
    let (mut server, peer) = (Server::new(a, 3, None), Peer(&b));
    peer.introduce();
    let second: u32 = 1000;
    let first = second + (1 << 31) - 32768;
    peer.send_tcp(2000, TcpControl::Syn, first);
    server.step(server.now);
    assert!(b.from.borrow().iter().any(|packet| is_request(packet)), "it is answered");
    peer.send_tcp(2000, TcpControl::Rst, first + 1);
    peer.send_tcp(2000, TcpControl::Syn, second);
    peer.send_tcp(2000, TcpControl::Rst, second + 1);
    server.step(server.now);
    assert!(server.sockets.is_idle() && server.programs.is_empty());
}
