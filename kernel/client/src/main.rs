//! Talks to the images `echo` and `store` from outside, and checks what comes back. It runs on the
//! host.
//!
//! | file | contents |
//! |---|---|
//! | `resp` | commands for `store` |

#![forbid(unsafe_code)]

mod resp;

use std::error::Error;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::time::Duration;
use std::{env, io, process, thread};

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

/// Bytes of a write, and of a read.
const PIECE: usize = 16 << 10;
/// Bytes that each of many connections sends.
const EACH: u64 = 20_000;
/// An image that says nothing for this time hangs.
const LIMIT: Duration = Duration::from_secs(300);

/// The time after which a write that goes on means that no more is taken now.
const PATIENCE: Duration = Duration::from_secs(2);

const USAGE: &str = "usage: xkernel-client PORT (quit | many CONNECTIONS | transfer MEBIBYTES | \
                     slow MEBIBYTES | broken CONNECTIONS | resp CONNECTIONS MEBIBYTES | \
                     resp-broken CONNECTIONS MEBIBYTES | shutdown)";

fn main() {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    if let Err(error) = run(&arguments) {
        eprintln!("xkernel-client {}: {error}", arguments.join(" "));
        process::exit(1);
    }
}

fn run(arguments: &[&str]) -> Outcome {
    match arguments {
        [port, "quit"] => quit(port.parse()?),
        [port, "many", count] => many(port.parse()?, count.parse()?),
        [port, "transfer", mebibytes] => transfer(port.parse()?, mebibytes.parse()?),
        [port, "slow", mebibytes] => slow(port.parse()?, mebibytes.parse()?),
        [port, "broken", count] => broken(port.parse()?, count.parse()?),
        [port, "resp", count, mebibytes] => resp::talk(port.parse()?, count.parse()?, mebibytes.parse()?),
        [port, "resp-broken", count, mebibytes] => {
            resp::break_off(port.parse()?, count.parse()?, mebibytes.parse()?)
        }
        [port, "shutdown"] => resp::shut_down(port.parse()?),
        _ => Err(USAGE.into()),
    }
}

fn connect(port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.set_write_timeout(Some(LIMIT))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// The bytes of a stream: each says where it is, so that none can be lost, doubled or moved.
struct Pattern(u64);

impl Pattern {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Writes the next bytes.
    fn fill(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            // xorshift64
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            *byte = self.0 as u8;
        }
    }
}

/// The first bytes of a stream, as far as they are not sent yet.
struct Sender {
    pattern: Pattern,
    /// Bytes behind `piece`.
    left: u64,
    piece: Vec<u8>,
}

impl Sender {
    fn new(seed: u64, bytes: u64) -> Self {
        Self { pattern: Pattern::new(seed), left: bytes, piece: Vec::new() }
    }

    /// Sends all, and ends the stream. After an error it can go on.
    fn send(&mut self, mut to: &TcpStream) -> io::Result<()> {
        while self.left > 0 || !self.piece.is_empty() {
            if self.piece.is_empty() {
                self.piece.resize(self.left.min(PIECE as u64) as usize, 0);
                self.pattern.fill(&mut self.piece);
                self.left -= self.piece.len() as u64;
            }
            let sent = to.write(&self.piece)?;
            self.piece.drain(..sent);
        }
        to.shutdown(Shutdown::Write)
    }
}

/// Receives the first `bytes` of a stream, and its end.
fn receive(mut from: &TcpStream, seed: u64, bytes: u64) -> Outcome {
    let (mut pattern, mut expected, mut piece) = (Pattern::new(seed), [0; PIECE], [0; PIECE]);
    let mut received = 0;
    loop {
        let next = from.read(&mut piece)?;
        pattern.fill(&mut expected[..next]);
        if piece[..next] != expected[..next] {
            return Err(format!("wrong bytes behind the first {received}").into());
        }
        received += next as u64;
        if next == 0 || received > bytes {
            break;
        }
    }
    if received == bytes { Ok(()) } else { Err(format!("{received} bytes came back, of {bytes}").into()) }
}

/// Sends and receives at the same time.
fn exchange(stream: &TcpStream, seed: u64, bytes: u64) -> Outcome {
    receive_while_sending(stream, Sender::new(seed, bytes), seed, bytes)
}

fn receive_while_sending(stream: &TcpStream, mut sender: Sender, seed: u64, bytes: u64) -> Outcome {
    thread::scope(|scope| {
        let sent = scope.spawn(move || sender.send(stream));
        let received = receive(stream, seed, bytes);
        // If both fail, what was received says more.
        received.and(sent.join().expect("it does not panic").map_err(Into::into))
    })
}

/// Ends the image.
fn quit(port: u16) -> Outcome {
    let mut stream = connect(port)?;
    stream.write_all(b"quit")?;
    stream.shutdown(Shutdown::Write)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    if answer == b"quit" { Ok(()) } else { Err(format!("{answer:?} instead of what was sent").into()) }
}

/// Opens many connections, and exchanges bytes on all of them at once.
///
/// They are opened one after the other: QEMU lets two wait at a port, and the host makes others try
/// again after a second or more.
fn many(port: u16, count: usize) -> Outcome {
    let open = |_| {
        let mut stream = connect(port)?;
        // A byte has to come back: the image has this connection now.
        stream.write_all(b"0")?;
        stream.read_exact(&mut [0])?;
        Ok(stream)
    };
    let streams = (0..count).map(open).collect::<io::Result<Vec<_>>>()?;
    thread::scope(|scope| {
        let exchange = |(seed, stream)| scope.spawn(move || exchange(stream, seed, EACH));
        let threads: Vec<_> = (0..).zip(&streams).map(exchange).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("it does not panic"))
    })
}

/// Exchanges many bytes on one connection.
fn transfer(port: u16, mebibytes: u64) -> Outcome {
    exchange(&connect(port)?, 1, mebibytes << 20)
}

/// Sends as much as the other side takes, before it receives anything: the image has to stop
/// reading, and to go on when its answers are taken.
fn slow(port: u16, mebibytes: u64) -> Outcome {
    let (stream, bytes) = (connect(port)?, mebibytes << 20);
    let mut sender = Sender::new(2, bytes);
    stream.set_write_timeout(Some(PATIENCE))?;
    if sender.send(&stream).is_ok() {
        return Err(format!("{mebibytes} MiB are taken without a limit").into());
    }
    stream.set_write_timeout(Some(LIMIT))?;
    receive_while_sending(&stream, sender, 2, bytes)
}

/// Opens connections, and breaks each in the midst of an answer.
fn broken(port: u16, count: usize) -> Outcome {
    for seed in 0..count as u64 {
        let stream = connect(port)?;
        thread::scope(|scope| {
            // It fails when the other end of the connection is gone.
            scope.spawn(|| _ = Sender::new(seed, 4 << 20).send(&stream));
            let read = (&stream).read(&mut [0; 1000]);
            stream.shutdown(Shutdown::Both).and(read)
        })?;
    }
    Ok(())
}
