//! A server on this machine, and how tests talk with it.

use super::{Dropped, eventually};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener as Acceptor, TcpStream as Client};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;
use xtasking::events::net::{TcpListener, TcpStream};
use xtasking::events::{Handled, Interest, Registered};
use xtasking::{Context, Runtime};

/// A server that spreads its connections over the workers, and counts those that have ended.
pub struct Server {
    pub address: SocketAddr,
    ends: Arc<AtomicUsize>,
}

impl Server {
    /// Starts a server. Each connection is passed to `accept`, with the number of the worker that
    /// shall have it, and what counts its end when it is dropped.
    pub fn start(
        rt: &Runtime,
        accept: impl Fn(TcpStream, usize, Dropped, &mut Context) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        let (listener, events) = rt.register(listener, Interest::Readable).unwrap();
        let ends = Arc::<AtomicUsize>::default();
        let (counted, next) = (ends.clone(), AtomicUsize::new(0));
        events.deliver(listener, move |listener: &mut Registered<TcpListener>, _, cx| {
            while let Some(Ok((stream, _))) = listener.get().map(TcpListener::accept) {
                accept(stream, next.fetch_add(1, SeqCst), Dropped(counted.clone()), cx);
            }
            Handled::Fully
        });
        Self { address, ends }
    }

    /// Connects a client.
    pub fn client(&self) -> Client {
        Client::connect(self.address).unwrap()
    }

    /// Returns how many connections have ended.
    pub fn ends(&self) -> usize {
        self.ends.load(SeqCst)
    }

    /// Waits until this many connections have ended.
    pub fn wait_for_ends(&self, ends: usize) {
        eventually("all these connections have ended", || self.ends() == ends);
    }
}

/// Returns a client, and the other end.
pub fn connect() -> (Client, TcpStream) {
    let acceptor = Acceptor::bind("127.0.0.1:0").unwrap();
    let client = Client::connect(acceptor.local_addr().unwrap()).unwrap();
    let (stream, _) = acceptor.accept().unwrap();
    stream.set_nonblocking(true).unwrap();
    (client, TcpStream::from_std(stream))
}

/// Sends a message, and requires it back.
pub fn exchange(client: &mut (impl Read + Write), message: &[u8]) {
    client.write_all(message).unwrap();
    let mut answer = vec![0; message.len()];
    client.read_exact(&mut answer).unwrap();
    assert!(answer == message, "another answer");
}

/// Requires a long message back from a server, of which the client reads nothing at first. Then
/// the client ends, just after its last bytes, and must still get these.
pub fn exchange_late(mut client: Client, bytes: usize) {
    let mut writer = client.try_clone().unwrap();
    let message = pattern(bytes);
    let sent = message.clone();
    let sender = thread::spawn(move || writer.write_all(&sent).unwrap());
    thread::sleep(Duration::from_millis(20));
    let mut answer = vec![0; message.len()];
    client.read_exact(&mut answer).unwrap();
    assert!(answer == message, "another answer");
    sender.join().unwrap();
    client.write_all(b"the end").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut rest = String::new();
    client.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "the end");
}

/// Returns bytes that say where they are.
pub fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes as u32).map(|at| b'a' + (at.wrapping_mul(at) >> 7) as u8 % 26).collect()
}
