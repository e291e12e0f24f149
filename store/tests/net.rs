//! The store on the network: pipelines in any pieces, clients that go, and limits.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use xtasking::Runtime;
use xtasking_store::Engine;
use xtasking_store::net::Service;
use xtasking_testing::{eventually, watchdog};

/// Starts a store at a free port.
fn start(workers: usize) -> (Runtime, Service, SocketAddr) {
    let rt = Runtime::builder().workers(workers).build().unwrap();
    let mut service = Service::start(Engine::builder().shards(64), &rt);
    let address = service.listen("127.0.0.1:0").unwrap()[0];
    (rt, service, address)
}

/// Sends bytes, and requires these replies.
fn exchange(client: &mut TcpStream, bytes: &[u8], replies: &[u8]) {
    client.write_all(bytes).unwrap();
    let mut got = vec![0; replies.len()];
    client.read_exact(&mut got).unwrap();
    assert_eq!(String::from_utf8_lossy(&got), String::from_utf8_lossy(replies));
}

#[test]
fn replies_come_in_order_however_the_requests_are_cut() {
    let _watched = watchdog();
    let (_rt, _service, address) = start(2);
    let requests =
        b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$2\r\n\r\n\r\n*2\r\n$3\r\nGET\r\n$1\r\na\r\nINCR n\r\nPING\r\n";
    let replies = b"+OK\r\n$2\r\n\r\n\r\n:1\r\n+PONG\r\n";
    let mut client = TcpStream::connect(address).unwrap();
    client.set_nodelay(true).unwrap();
    for cut in 0..requests.len() {
        exchange(&mut client, b"DEL n\r\n", if cut == 0 { b":0\r\n" } else { b":1\r\n" });
        client.write_all(&requests[..cut]).unwrap();
        thread::yield_now();
        exchange(&mut client, &requests[cut..], replies);
    }
}

#[test]
fn many_clients_count_without_a_loss() {
    let _watched = watchdog();
    let (_rt, _service, address) = start(3);
    let clients: Vec<_> = (0..6)
        .map(|number| {
            thread::spawn(move || {
                let mut client = TcpStream::connect(address).unwrap();
                for round in 0..100 {
                    let own = format!("INCR own:{number}\r\n").repeat(10);
                    let replies: String =
                        (1..=10).map(|count| format!(":{}\r\n", 10 * round + count)).collect();
                    exchange(&mut client, own.as_bytes(), replies.as_bytes());
                    client.write_all("INCR all\r\n".repeat(10).as_bytes()).unwrap();
                    let mut lines = 0;
                    let mut got = [0; 256];
                    while lines < 10 {
                        let bytes = client.read(&mut got).unwrap();
                        lines += got[..bytes].iter().filter(|&&byte| byte == b'\n').count();
                    }
                }
            })
        })
        .collect();
    clients.into_iter().for_each(|client| client.join().unwrap());
    let mut client = TcpStream::connect(address).unwrap();
    exchange(&mut client, b"GET all\r\n", b"$4\r\n6000\r\n");
}

#[test]
fn large_values_and_replies_pass() {
    let _watched = watchdog();
    let (_rt, _service, address) = start(2);
    let mut client = TcpStream::connect(address).unwrap();
    let value = "x".repeat(5 << 20);
    exchange(
        &mut client,
        format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${}\r\n{value}\r\n", value.len()).as_bytes(),
        b"+OK\r\n",
    );
    // The client reads only once it has sent all: replies wait, and nothing is lost.
    client.write_all("GET k\r\n".repeat(8).as_bytes()).unwrap();
    let reply = format!("${}\r\n{value}\r\n", value.len());
    let mut got = vec![0; reply.len()];
    for _ in 0..8 {
        client.read_exact(&mut got).unwrap();
        assert!(got == reply.as_bytes());
    }
}

/// A client asks for far more than it reads: the server keeps a part of the replies alone.
#[test]
fn replies_that_are_not_read_are_not_made() {
    const GETS: usize = 200;
    let _watched = watchdog();
    let (_rt, service, address) = start(2);
    let mut client = TcpStream::connect(address).unwrap();
    let value = "x".repeat(1 << 20);
    let reply = format!("${}\r\n{value}\r\n", value.len());
    let set = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${}\r\n{value}\r\n", value.len());
    exchange(&mut client, set.as_bytes(), b"+OK\r\n");
    client.write_all("GET k\r\n".repeat(GETS).as_bytes()).unwrap();
    client.write_all(b"*x\r\n").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let memory = &service.engine().server().memory;
    eventually("replies wait", || memory.buffers() >= 1 << 20);
    let mut got = vec![0; reply.len()];
    for _ in 0..GETS {
        assert!(memory.buffers() < 16 << 20, "{} bytes", memory.buffers());
        client.read_exact(&mut got).unwrap();
        assert!(got == reply.as_bytes());
    }
    let mut last = String::new();
    client.read_to_string(&mut last).unwrap();
    assert_eq!(last, "-ERR Protocol error: invalid multibulk length\r\n");
    eventually("the client is gone", || service.engine().server().clients.is_empty());
}

#[test]
fn a_client_that_sends_nothing_more_gets_its_replies() {
    let _watched = watchdog();
    let (_rt, service, address) = start(2);
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(b"SET a 1\r\nGET a\r\n").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut replies = String::new();
    client.read_to_string(&mut replies).unwrap();
    assert_eq!(replies, "+OK\r\n$1\r\n1\r\n");
    eventually("the client is gone", || service.engine().server().clients.is_empty());
}

#[test]
fn replies_before_a_wait_are_sent_at_once() {
    let _watched = watchdog();
    let (_rt, _service, address) = start(2);
    let mut client = TcpStream::connect(address).unwrap();
    let mut other = TcpStream::connect(address).unwrap();
    for _ in 0..100 {
        let requests = b"SET a 1\r\nGET a\r\nBLPOP b c 0\r\nPING\r\nBLPOP d 0\r\nECHO x\r\n";
        exchange(&mut client, requests, b"+OK\r\n$1\r\n1\r\n");
        exchange(&mut other, b"LPUSH c v\r\n", b":1\r\n");
        exchange(&mut client, b"", b"*2\r\n$1\r\nc\r\n$1\r\nv\r\n+PONG\r\n");
        exchange(&mut other, b"LPUSH d w\r\n", b":1\r\n");
        exchange(&mut client, b"", b"*2\r\n$1\r\nd\r\n$1\r\nw\r\n$1\r\nx\r\n");
    }
}

#[test]
fn replies_before_a_held_request_are_sent_at_once() {
    let _watched = watchdog();
    let (_rt, _service, address) = start(2);
    let mut client = TcpStream::connect(address).unwrap();
    let mut other = TcpStream::connect(address).unwrap();
    for _ in 0..20 {
        let requests = b"CLIENT PAUSE 100000000 WRITE\r\nGET a\r\nSET b 1\r\nPING\r\n";
        exchange(&mut client, requests, b"+OK\r\n$-1\r\n");
        exchange(&mut other, b"CLIENT UNPAUSE\r\n", b"+OK\r\n");
        exchange(&mut client, b"", b"+OK\r\n+PONG\r\n");
    }
}

#[test]
fn an_error_of_the_protocol_ends_the_connection_after_its_replies() {
    let _watched = watchdog();
    let (_rt, _service, address) = start(2);
    for (bytes, replies) in [
        ("SET a 1\r\n*1\r\n+OK\r\n", "+OK\r\n-ERR Protocol error: expected '$', got '+'\r\n"),
        ("*x\r\n", "-ERR Protocol error: invalid multibulk length\r\n"),
        ("GET 'a\r\n", "-ERR Protocol error: unbalanced quotes in request\r\n"),
        ("SET a 2\r\nQUIT\r\nSET a 3\r\n", "+OK\r\n+OK\r\n"),
        ("QUIT\r\n*x\r\n", "+OK\r\n"),
        ("CLIENT REPLY OFF\r\n*x\r\n", ""),
    ] {
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(bytes.as_bytes()).unwrap();
        let mut got = String::new();
        client.read_to_string(&mut got).unwrap();
        assert_eq!(got, replies);
    }
    let mut client = TcpStream::connect(address).unwrap();
    exchange(&mut client, b"GET a\r\n", b"$1\r\n2\r\n");
}

#[test]
fn clients_beyond_the_limit_are_told() {
    let _watched = watchdog();
    let (_rt, service, address) = start(2);
    service.engine().server().settings.set("maxclients", "2").unwrap();
    let mut clients: Vec<_> = (0..2).map(|_| TcpStream::connect(address).unwrap()).collect();
    clients.iter_mut().for_each(|client| exchange(client, b"PING\r\n", b"+PONG\r\n"));
    let mut refused = String::new();
    TcpStream::connect(address).unwrap().read_to_string(&mut refused).unwrap();
    assert_eq!(refused, "-ERR max number of clients reached\r\n");
    drop(clients.pop());
    eventually("a client has gone", || service.engine().server().clients.len() == 1);
    exchange(&mut TcpStream::connect(address).unwrap(), b"PING\r\n", b"+PONG\r\n");
}

#[test]
fn a_killed_client_is_closed() {
    let _watched = watchdog();
    let (_rt, service, address) = start(2);
    let mut killed = TcpStream::connect(address).unwrap();
    exchange(&mut killed, b"CLIENT ID\r\n", b":1\r\n");
    let mut other = TcpStream::connect(address).unwrap();
    exchange(&mut other, b"CLIENT KILL ID 1\r\n", b":1\r\n");
    assert!(matches!(killed.read(&mut [0; 9]), Ok(0) | Err(_)));
    eventually("the client is gone", || service.engine().server().clients.len() == 1);
    exchange(&mut other, b"PING\r\n", b"+PONG\r\n");
}

#[test]
fn a_large_pipeline_of_a_client_that_sends_nothing_more_is_served_and_ended() {
    let _watched = watchdog();
    let (_rt, service, address) = start(2);
    let mut client = TcpStream::connect(address).unwrap();
    let requests = 50_000;
    let mut reader = client.try_clone().unwrap();
    let replies = thread::spawn(move || {
        let mut replies = Vec::new();
        reader.read_to_end(&mut replies).unwrap();
        replies
    });
    client.write_all("INCR n\r\n".repeat(requests).as_bytes()).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let replies = replies.join().unwrap();
    assert!(replies.ends_with(format!(":{requests}\r\n").as_bytes()));
    assert_eq!(replies.iter().filter(|&&byte| byte == b'\n').count(), requests);
    eventually("the client is gone", || service.engine().server().clients.is_empty());
}

#[test]
fn a_client_that_sends_nothing_more_and_reads_late_gets_its_replies_and_the_end() {
    let _watched = watchdog();
    let (_rt, service, address) = start(1);
    let mut client = TcpStream::connect(address).unwrap();
    let value = "x".repeat(1000);
    exchange(&mut client, format!("SET v {value}\r\n").as_bytes(), b"+OK\r\n");
    // More short replies than there is room for, as far as the requests are taken; then the end.
    client.set_nonblocking(true).unwrap();
    let requests = "GET v\r\n".repeat(100);
    let mut sent = 0;
    for _ in 0..250 {
        sent += client.write(&requests.as_bytes()[sent % 7..]).unwrap_or(0);
        thread::yield_now();
    }
    client.set_nonblocking(false).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut replies = Vec::new();
    client.read_to_end(&mut replies).unwrap();
    let reply = format!("$1000\r\n{value}\r\n");
    assert_eq!(replies.len(), sent / 7 * reply.len());
    assert!(replies.chunks(reply.len()).all(|part| part == reply.as_bytes()));
    eventually("the client is gone", || service.engine().server().clients.is_empty());
}

#[test]
fn a_client_that_has_gone_takes_nothing_from_a_list() {
    let _watched = watchdog();
    let (_rt, service, address) = start(2);
    for round in 0..50 {
        let mut gone = TcpStream::connect(address).unwrap();
        gone.write_all(b"BLPOP list 0\r\n").unwrap();
        if round % 2 == 0 {
            gone.shutdown(Shutdown::Write).unwrap();
        }
        drop(gone);
    }
    let server = service.engine().server();
    // Some may not have been accepted yet.
    eventually("all have come and ended", || {
        server.statistics.connections() == 50 && server.clients.is_empty()
    });
    let mut client = TcpStream::connect(address).unwrap();
    exchange(&mut client, b"RPUSH list a b\r\nLLEN list\r\n", b":2\r\n:2\r\n");
}

#[test]
fn the_end_of_the_runtime_closes_connections_and_waits() {
    let _watched = watchdog();
    let (rt, service, address) = start(2);
    let mut idle = TcpStream::connect(address).unwrap();
    exchange(&mut idle, b"PING\r\n", b"+PONG\r\n");
    let mut waiting = TcpStream::connect(address).unwrap();
    waiting.write_all(b"BLPOP list 0\r\n").unwrap();
    let is_waiting = || service.engine().server().clients.all().iter().any(|client| client.is_blocked());
    eventually("a client waits", is_waiting);
    drop(rt);
    drop(service);
    for client in [&mut idle, &mut waiting] {
        assert!(matches!(client.read(&mut [0; 9]), Ok(0) | Err(_)));
    }
}

#[cfg(unix)]
#[test]
fn a_socket_in_the_file_system_serves_and_is_removed() {
    use std::os::unix::net::UnixStream;
    let _watched = watchdog();
    let (_rt, mut service, _) = start(1);
    let path = std::env::temp_dir().join(format!("xtasking-store-{}.sock", std::process::id()));
    service.listen_unix(&path).unwrap();
    let mut client = UnixStream::connect(&path).unwrap();
    client.write_all(b"PING\r\n").unwrap();
    let mut reply = [0; 7];
    client.read_exact(&mut reply).unwrap();
    assert_eq!(&reply, b"+PONG\r\n");
    let error = service.listen_unix(&path).unwrap_err();
    assert!(error.to_string().contains("in use"), "{error}");
    drop(service);
    assert!(!path.exists());
}

#[test]
fn messages_come_in_order_beside_replies() {
    let _watched = watchdog();
    let (_rt, service, address) = start(2);
    let mut listener = TcpStream::connect(address).unwrap();
    let mut speaker = TcpStream::connect(address).unwrap();
    let count = 500;
    exchange(&mut listener, b"SUBSCRIBE a\r\n", b"*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n");
    let (requests, replies): (Vec<_>, Vec<_>) =
        (0..count).map(|number| (format!("PUBLISH a {number:03}\r\n"), ":1\r\n")).unzip();
    exchange(&mut speaker, requests.concat().as_bytes(), replies.concat().as_bytes());
    let messages =
        (0..count).map(|number| format!("*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$3\r\n{number:03}\r\n"));
    exchange(&mut listener, b"", messages.collect::<String>().as_bytes());
    exchange(&mut listener, b"PING\r\n", b"*2\r\n$4\r\npong\r\n$0\r\n\r\n");
    drop(listener);
    eventually("the client that listened is gone", || service.engine().server().channels.channels() == 0);
    exchange(&mut speaker, b"PUBLISH a 1\r\n", b":0\r\n");
}

#[test]
fn client_list_has_the_addresses_and_the_memory_of_a_connection() {
    let _watched = watchdog();
    let (_rt, _service, address) = start(1);
    let mut client = TcpStream::connect(address).unwrap();
    exchange(&mut client, b"MULTI\r\nSET k 1\r\n", b"+OK\r\n+QUEUED\r\n");
    let mut other = TcpStream::connect(address).unwrap();
    other.write_all(b"*2\r\n$6\r\nclient\r\n$4\r\nlist\r\n").unwrap();
    let mut list = String::new();
    while !list.ends_with("\n\r\n") {
        let mut bytes = [0; 4096];
        let read = other.read(&mut bytes).unwrap();
        list.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
    }
    let own = client.local_addr().unwrap();
    let line =
        |address: SocketAddr| list.lines().find(|line| line.contains(&format!(" addr={address} "))).unwrap();
    for part in
        [&format!(" laddr={address} "), " flags=x ", " multi=1 qbuf=0 ", " multi-mem=5 ", " argv-mem=0 "]
    {
        assert!(line(own).contains(part), "{part} is not in {list}");
    }
    let second = line(other.local_addr().unwrap());
    for part in [
        " qbuf=26 ",
        " argv-mem=10 multi-mem=0 ",
        " obl=0 oll=0 omem=0 tot-mem=",
        " events=r cmd=client|list ",
    ] {
        assert!(second.contains(part), "{part} is not in {list}");
    }
    exchange(&mut other, format!("CLIENT KILL LADDR {address} SKIPME yes\r\n").as_bytes(), b":1\r\n");
}
