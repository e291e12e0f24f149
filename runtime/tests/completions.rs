//! Streams that receive and send by completions: what a program sees of them is the same with
//! `io_uring` and without. Each test runs with both; where there is no `io_uring`, twice without.
#![cfg(feature = "io")]

mod common;

use common::{Dropped, eventually, watchdog};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener as Acceptor, TcpStream as Client};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use xtasking::events::net::{CompletionStream, TcpListener, TcpStream};
use xtasking::events::{Buffered, Event, Filled, Handled, Interest, Ready, Registered};
use xtasking::platform::Threads;
use xtasking::{Context, Runtime};

type Stream = CompletionStream<TcpStream>;

/// Runs a test with `io_uring`, and without.
fn with_and_without(test: impl Fn(Runtime), workers: usize) {
    let _watched = watchdog();
    if let Err(why) = Threads::probe_io_uring() {
        println!("no io_uring: {why}");
    }
    for is_used in [true, false] {
        let threads = Threads::new(workers).io_uring(is_used);
        test(Runtime::builder().platform(threads).workers(workers).build().unwrap());
    }
}

/// Returns a client, and the other end.
fn connect() -> (Client, Stream) {
    let acceptor = Acceptor::bind("127.0.0.1:0").unwrap();
    let client = Client::connect(acceptor.local_addr().unwrap()).unwrap();
    let (stream, _) = acceptor.accept().unwrap();
    stream.set_nonblocking(true).unwrap();
    (client, CompletionStream::new(TcpStream::from_std(stream)))
}

/// Sends back what it gets.
struct Echo {
    io: Buffered<Stream>,
    _dropped: Dropped,
}

/// The output after which nothing more is read.
const MOST_UNSENT: usize = 256 << 10;

impl Echo {
    fn handle(&mut self, event: Event<'_, Self>, _: &mut Context) -> Handled {
        let mut filled = Ok(Filled::Open);
        // A client that does not read is not read, until there is room.
        if self.io.flush().is_ok() && self.io.unsent() < MOST_UNSENT {
            filled = self.io.fill(event.ready());
            let input = self.io.input().to_vec();
            self.io.consume(input.len());
            self.io.output().extend(input);
        }
        if self.io.flush().is_err() || !matches!(filled, Ok(Filled::Open | Filled::More)) {
            self.io.close();
        }
        if matches!(filled, Ok(Filled::More)) { Handled::Partly } else { Handled::Fully }
    }
}

/// Starts a server that spreads its connections over the workers. Each counts its end in `ends`.
fn serve(rt: &Runtime, ends: &Arc<AtomicUsize>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listener.local_addr().unwrap();
    let (listener, events) = rt.register(listener, Interest::Readable).unwrap();
    let (ends, next) = (ends.clone(), AtomicUsize::new(0));
    events.deliver(listener, move |listener: &mut Registered<TcpListener>, _, cx| {
        while let Some(Ok((stream, _))) = listener.get().map(TcpListener::accept) {
            let worker = next.fetch_add(1, SeqCst);
            let stream = CompletionStream::new(stream);
            let (stream, events) = cx.register_on(worker, stream, Interest::Both).unwrap();
            let echo = Echo { io: Buffered::new(stream), _dropped: Dropped(ends.clone()) };
            events.deliver(echo, Echo::handle);
        }
        Handled::Fully
    });
    address
}

/// Sends a message, and requires it back.
fn exchange(client: &mut Client, message: &[u8]) {
    client.write_all(message).unwrap();
    let mut answer = vec![0; message.len()];
    client.read_exact(&mut answer).unwrap();
    assert!(answer == message, "another answer");
}

/// Returns bytes that say where they are.
fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes as u32).map(|at| b'a' + (at.wrapping_mul(at) >> 7) as u8 % 26).collect()
}

#[test]
fn io_uring_is_used_only_where_it_is_asked_for() {
    let can = Threads::probe_io_uring().is_ok();
    let asked = |is_used| (Threads::new(1).io_uring(is_used), is_used);
    // Where the environment forbids it, `can` is false.
    for (platform, is_used) in [(Threads::new(1), false), asked(true), asked(false)] {
        let rt = Runtime::builder().platform(platform).workers(1).build().unwrap();
        let (_client, stream) = connect();
        assert!(!stream.is_completing());
        let (stream, _) = rt.register(stream, Interest::Both).unwrap();
        assert_eq!(stream.get().unwrap().is_completing(), can && is_used);
    }
}

#[test]
fn clients_of_several_workers_get_all_that_they_send() {
    let test = |rt: Runtime| {
        let ends = Arc::default();
        let address = serve(&rt, &ends);
        let clients: Vec<_> = (0..24)
            .map(|number| {
                thread::spawn(move || {
                    let mut client = Client::connect(address).unwrap();
                    let long = pattern(40_000);
                    for round in 0..60 {
                        exchange(&mut client, format!("client {number}, round {round}").as_bytes());
                        exchange(&mut client, &long[number * 100..][..1 + round * 300]);
                    }
                })
            })
            .collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
        eventually("all connections have ended", || ends.load(SeqCst) == 24);
    };
    with_and_without(test, 3);
}

#[test]
fn a_client_that_reads_late_gets_all_and_then_the_end() {
    let test = |rt: Runtime| {
        let ends = Arc::default();
        let address = serve(&rt, &ends);
        let mut client = Client::connect(address).unwrap();
        let mut writer = client.try_clone().unwrap();
        let message = pattern(24 << 20);
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
        eventually("the connection has ended", || ends.load(SeqCst) == 1);
    };
    with_and_without(test, 2);
}

#[test]
fn what_is_not_read_waits_at_its_sender() {
    let test = |rt: Runtime| {
        let (client, stream) = connect();
        let (stream, events) = rt.register(stream, Interest::Both).unwrap();
        let message = pattern(64 << 20);
        let (sent, count) = (message.clone(), Arc::new(AtomicUsize::new(0)));
        let counter = count.clone();
        let mut writer = client;
        let sender = thread::spawn(move || {
            for chunk in sent.chunks(4096) {
                writer.write_all(chunk).unwrap();
                counter.fetch_add(chunk.len(), SeqCst);
            }
            writer
        });
        // The program reads only when it is asked to, as far as it is asked to.
        let (reads, all) = mpsc::channel();
        let object =
            events.deliver((Buffered::new(stream), Vec::new()), |_, _: Event<'_, _>, _| Handled::Fully);
        let mut before = usize::MAX;
        eventually("the sender cannot go on", || {
            thread::sleep(Duration::from_millis(50));
            let now = count.load(SeqCst);
            std::mem::replace(&mut before, now) == now
        });
        assert!(count.load(SeqCst) < message.len(), "all was received although none of it was read");
        for _ in 0..message.len() {
            let reads = reads.clone();
            let read =
                rt.task(object.write()).submit(move |(io, bytes): &mut (Buffered<Stream>, Vec<u8>), _| {
                    io.fill(Ready::READABLE | Ready::CLOSED).unwrap();
                    bytes.extend_from_slice(io.input());
                    io.consume(io.input().len());
                    if bytes.len() == 64 << 20 {
                        reads.send(std::mem::take(bytes)).unwrap();
                        return true;
                    }
                    false
                });
            if read.join().unwrap() {
                break;
            }
        }
        assert!(all.recv().unwrap() == message, "other bytes");
        sender.join().unwrap();
    };
    with_and_without(test, 1);
}

#[test]
fn output_is_sent_before_the_end() {
    let test = |rt: Runtime| {
        for round in 0..100 {
            let (mut client, stream) = connect();
            let (stream, events) = rt.register_on(round, stream, Interest::Both).unwrap();
            events.deliver(Buffered::new(stream), |io: &mut Buffered<Stream>, event: Event<'_, _>, _| {
                _ = io.fill(event.ready());
                let input = io.input().to_vec();
                io.consume(input.len());
                // Twice, so that one of them may be under way.
                for part in input.chunks(5) {
                    io.output().extend(part);
                    assert!(io.flush().unwrap());
                }
                if input.ends_with(b"quit") {
                    io.close();
                }
                Handled::Fully
            });
            client.write_all(b"hello").unwrap();
            client.write_all(b" and quit").unwrap();
            let mut answer = String::new();
            client.read_to_string(&mut answer).unwrap();
            assert_eq!(answer, "hello and quit");
        }
    };
    with_and_without(test, 2);
}

#[test]
fn a_stream_that_is_dropped_ends_and_its_place_is_used_again() {
    let test = |rt: Runtime| {
        let ends = Arc::default();
        let address = serve(&rt, &ends);
        let mut neighbours = [0; 4].map(|_| Client::connect(address).unwrap());
        for round in 0..200 {
            let (mut client, stream) = connect();
            let (stream, _) = rt.register_on(round, stream, Interest::Both).unwrap();
            if round % 2 == 0 {
                // Something may be on its way to the stream that ends.
                client.write_all(b"too late").unwrap();
            }
            if round % 3 == 0 {
                thread::yield_now();
            }
            drop(stream);
            // A reset if something was not read.
            assert!(matches!(client.read(&mut [0; 9]), Ok(0) | Err(_)));
            exchange(&mut neighbours[round % 4], b"nothing of the others");
            if round % 8 == 0 {
                neighbours[round / 8 % 4] = Client::connect(address).unwrap();
            }
        }
        drop(neighbours);
        eventually("all connections have ended", || ends.load(SeqCst) == 29);
    };
    with_and_without(test, 2);
}

#[test]
fn the_end_of_the_runtime_ends_streams() {
    let test = |rt: Runtime| {
        let ends = Arc::default();
        let address = serve(&rt, &ends);
        let mut clients = [0; 12].map(|_| Client::connect(address).unwrap());
        for client in &mut clients {
            exchange(client, b"hello");
        }
        // Much is under way in both directions.
        for client in &mut clients[..6] {
            client.set_nonblocking(true).unwrap();
            let chunk = pattern(1 << 16);
            while client.write(&chunk).is_ok_and(|bytes| bytes > 0) {}
            client.set_nonblocking(false).unwrap();
        }
        drop(rt);
        for client in &mut clients {
            let mut rest = Vec::new();
            _ = client.read_to_end(&mut rest);
        }
        assert_eq!(ends.load(SeqCst), 12);
    };
    with_and_without(test, 2);
}

#[test]
fn streams_may_outlive_their_runtime() {
    let test = |rt: Runtime| {
        let (mut client, stream) = connect();
        let (stream, _) = rt.register(stream, Interest::Both).unwrap();
        client.write_all(b"hello").unwrap();
        drop(rt);
        drop(stream);
        assert!(matches!(client.read(&mut [0; 9]), Ok(0) | Err(_)));
    };
    with_and_without(test, 1);
}

#[test]
fn a_connection_that_is_reset_ends() {
    let test = |rt: Runtime| {
        let ends = Arc::default();
        let address = serve(&rt, &ends);
        for _ in 0..50 {
            let mut client = Client::connect(address).unwrap();
            exchange(&mut client, b"hello");
            // What is not read when a socket is closed resets its connection.
            client.write_all(&pattern(100_000)).unwrap();
            client.peek(&mut [0]).unwrap();
        }
        eventually("all connections have ended", || ends.load(SeqCst) == 50);
    };
    with_and_without(test, 2);
}

#[test]
fn bytes_of_several_threads_are_sent_in_order() {
    let test = |rt: Runtime| {
        let (mut client, stream) = connect();
        let (stream, _) = rt.register_on(0, stream, Interest::Both).unwrap();
        let object = rt.plain((stream, 0)).build();
        // Small ones and large ones, by the worker of the stream and by another one.
        let write = |(stream, sent): &mut (Registered<Stream>, usize)| {
            let next = *sent as u32 / 4;
            let size = if next.is_multiple_of(7) { 6000 } else { 3 };
            let bytes: Vec<u8> = (next..next + size).flat_map(u32::to_le_bytes).collect();
            match stream.get_mut().unwrap().write(&bytes[*sent % 4..]) {
                Ok(written) => *sent += written,
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
            *sent as u32 / 4
        };
        let all = 2_000_000;
        let reader = thread::spawn(move || {
            let mut expected = 0u32;
            let mut number = [0; 4];
            let mut buffered = std::io::BufReader::new(&mut client);
            while expected < all {
                buffered.read_exact(&mut number).unwrap();
                assert_eq!(u32::from_le_bytes(number), expected);
                expected += 1;
            }
            // Open until the writers have ended.
            client
        });
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let writers: Vec<_> = (0..2u16)
                .map(|worker| {
                    let (rt, object, done) = (&rt, &object, &done);
                    scope.spawn(move || {
                        while !done.load(SeqCst) {
                            let next = rt.task(object.write()).core(worker).submit(move |it, _| write(it));
                            done.fetch_or(next.join().unwrap() >= all, SeqCst);
                        }
                    })
                })
                .collect();
            writers.into_iter().for_each(|writer| writer.join().unwrap());
        });
        reader.join().unwrap();
    };
    with_and_without(test, 2);
}

#[test]
fn timers_and_tasks_go_on_beside_many_streams() {
    fn tick(count: Arc<AtomicUsize>, cx: &mut Context) {
        count.fetch_add(1, SeqCst);
        if !cx.is_shutting_down() {
            cx.timer(Duration::from_millis(1), move |cx| tick(count, cx));
        }
    }
    let test = |rt: Runtime| {
        let ends = Arc::default();
        let address = serve(&rt, &ends);
        let ticks = Arc::new(AtomicUsize::new(0));
        let count = ticks.clone();
        rt.timer(Duration::from_millis(1), |cx| tick(count, cx));
        let mut clients: Vec<_> = (0..200).map(|_| Client::connect(address).unwrap()).collect();
        for round in 0..5 {
            let before = ticks.load(SeqCst);
            for client in &mut clients {
                client.write_all(b"all at once").unwrap();
            }
            for client in &mut clients {
                let mut answer = [0; 11];
                client.read_exact(&mut answer).unwrap();
                assert_eq!(&answer, b"all at once");
            }
            // With all of them asleep.
            eventually("timers go on", || ticks.load(SeqCst) > before + 3);
            for worker in 0..2 {
                rt.task(()).core(worker).submit(|(), _| ()).join().unwrap();
            }
            exchange(&mut clients[round], b"one alone");
        }
        drop(clients);
        eventually("all connections have ended", || ends.load(SeqCst) == 200);
    };
    with_and_without(test, 2);
}
