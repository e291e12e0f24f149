//! Streams whose output is sent together with that of others: nothing is lost, nothing overtakes,
//! and `flush` means that the system has it.
#![cfg(all(feature = "io", unix))]

mod common;

use common::net::{self, Server, exchange, exchange_late, pattern};
use common::{Dropped, eventually, holds_in_child, side_by_side, watchdog};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream as Client};
use std::os::unix::net::UnixStream as UnixClient;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use xtasking::events::net::{Batchable, BatchedStream, TcpStream, UnixStream};
use xtasking::events::{Buffered, Event, Filled, Handled, Interest, Registered};
use xtasking::primitive::SpinLatch;
use xtasking::{Context, Priority, Runtime, Shutdown as End};

type Stream = BatchedStream<TcpStream>;
type LocalIo = Buffered<BatchedStream<UnixStream>>;

fn runtime(workers: usize) -> Runtime {
    Runtime::builder().workers(workers).build().unwrap()
}

/// Returns a client, and the other end.
fn connect() -> (Client, Stream) {
    let (client, stream) = net::connect();
    (client, BatchedStream::new(stream))
}

/// Sends back what it gets. Once its client has ended, it closes when the system has all of it.
struct Echo {
    io: Buffered<Stream>,
    is_ending: bool,
    _dropped: Dropped,
}

/// The output after which nothing more is read.
const MOST_UNSENT: usize = 256 << 10;

impl Echo {
    fn new(stream: Registered<Stream>, dropped: Dropped) -> Self {
        Self { io: Buffered::new(stream), is_ending: false, _dropped: dropped }
    }

    fn handle(&mut self, event: Event<'_, Self>, cx: &mut Context) -> Handled {
        let mut filled = Ok(Filled::Open);
        // A client that does not read is not read, until there is room.
        if self.io.flush_soon(cx).is_ok() && self.io.unsent() < MOST_UNSENT {
            filled = self.io.fill(event.ready());
            let input = self.io.input().to_vec();
            self.io.consume(input.len());
            self.io.output().extend(input);
        }
        self.is_ending |= matches!(filled, Ok(Filled::Ended));
        let sent = if self.is_ending { self.io.flush() } else { self.io.flush_soon(cx).map(|_| false) };
        if filled.is_err() || sent.unwrap_or(true) {
            self.io.close();
        }
        if matches!(filled, Ok(Filled::More)) { Handled::Partly } else { Handled::Fully }
    }
}

/// Starts a server that echoes.
fn serve(rt: &Runtime) -> Server {
    Server::start(rt, |stream, worker, dropped, cx| {
        let stream = BatchedStream::new(stream);
        let (stream, events) = cx.register_on(worker, stream, Interest::Both).unwrap();
        events.deliver(Echo::new(stream, dropped), Echo::handle);
    })
}

/// Returns a client, and the other end. What the one sends, the other has at once.
fn connect_here() -> (UnixClient, BatchedStream<UnixStream>) {
    let (client, stream) = UnixClient::pair().unwrap();
    client.set_nonblocking(true).unwrap();
    stream.set_nonblocking(true).unwrap();
    (client, BatchedStream::new(UnixStream::from_std(stream)))
}

/// Returns many clients, and their other ends at the first worker.
fn connect_many(rt: &Runtime, many: usize) -> (Vec<UnixClient>, Vec<LocalIo>) {
    let register = |stream| Buffered::new(rt.register_on(0, stream, Interest::Both).unwrap().0);
    let connect = |_| {
        let (client, stream) = connect_here();
        (client, register(stream))
    };
    (0..many).map(connect).unzip()
}

/// Runs a task at the only worker of a runtime, with a client and its other end there.
fn at_worker<C: Send + 'static, S: Batchable>(
    (client, stream): (C, BatchedStream<S>),
    interest: Interest,
    body: impl FnOnce(C, Buffered<BatchedStream<S>>, &mut Context) + Send + 'static,
) {
    let _watched = watchdog();
    let rt = runtime(1);
    let (stream, _) = rt.register_on(0, stream, interest).unwrap();
    let task = rt.task(()).core(0).submit(move |(), cx| body(client, Buffered::new(stream), cx));
    task.join().unwrap();
}

/// Leaves output to a task.
fn send_soon<S: Batchable>(io: &mut Buffered<BatchedStream<S>>, output: &[u8], cx: &mut Context) {
    io.output().extend(output);
    assert!(io.flush_soon(cx).unwrap());
}

/// Returns what has come for a client that does not block.
fn received(mut client: &UnixClient) -> String {
    let mut all = Vec::new();
    let end = client.read_to_end(&mut all).map_err(|error| error.kind());
    assert!(matches!(end, Ok(_) | Err(ErrorKind::WouldBlock)), "{end:?}");
    String::from_utf8(all).unwrap()
}

/// Fills a socket to its last byte. Returns how many bytes it has taken.
fn fill(mut socket: &UnixStream) -> usize {
    let mut filled = 0;
    for size in [1 << 12, 1] {
        loop {
            match socket.write(&[b'.'; 1 << 12][..size]) {
                Ok(bytes) => filled += bytes,
                Err(error) => break assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
        }
    }
    filled
}

#[test]
fn short_output_leaves_after_the_tasks_that_the_worker_has() {
    let _watched = watchdog();
    let rt = runtime(1);
    let (clients, mut streams) = connect_many(&rt, 3);
    let clients = Arc::new(clients);
    let (seen, here) = (clients.clone(), clients.clone());
    let all = rt.task(()).core(0).submit(move |(), cx| {
        // As handlers do that run one after the other.
        for (number, io) in streams.iter_mut().enumerate() {
            send_soon(io, format!("reply {number}").as_bytes(), cx);
            assert_eq!(io.unsent(), 7);
        }
        // A task that comes later does not delay them.
        let later = cx.task(()).core(0).submit(move |(), _| {
            let all: Vec<_> = seen.iter().map(received).collect();
            assert_eq!(all, ["", "reply 1", "reply 2"]);
        });
        assert!(here.iter().all(|client| received(client).is_empty()), "a reply has left alone");
        // Longer output is sent at once, after what waits.
        send_soon(&mut streams[0], &[b'!'; 5000], cx);
        assert_eq!(streams[0].unsent(), 0);
        let first = received(&here[0]);
        assert!(first.len() == 5007 && first.starts_with("reply 0!"));
        (streams, later)
    });
    let (streams, later) = all.join().unwrap();
    later.join().unwrap();
    assert!(streams.iter().all(|io| io.unsent() == 0));
}

#[test]
fn after_a_flush_the_system_has_all_output() {
    at_worker(connect_here(), Interest::Both, |client, mut io, cx| {
        send_soon(&mut io, b"hello", cx);
        assert_eq!((io.unsent(), received(&client).as_str()), (5, ""));
        assert!(io.flush().unwrap());
        assert_eq!((io.unsent(), received(&client).as_str()), (0, "hello"));
        // Output that is flushed comes after what waits.
        send_soon(&mut io, b"and ", cx);
        io.output().extend(b"goodbye");
        assert!(io.flush().unwrap());
        assert_eq!((io.unsent(), received(&client).as_str()), (0, "and goodbye"));
    });
}

#[test]
fn what_waits_is_sent_when_its_stream_is_closed() {
    at_worker(connect_here(), Interest::Both, |client, mut io, cx| {
        send_soon(&mut io, b"the last words", cx);
        io.close();
        // And the other side sees the end, although a task is still going to send.
        client.set_nonblocking(false).unwrap();
        assert_eq!(received(&client), "the last words");
    });
}

#[test]
fn output_without_room_waits_for_it() {
    let _watched = watchdog();
    let rt = runtime(1);
    let (mut client, stream) = connect_here();
    client.set_nonblocking(false).unwrap();
    let (stream, events) = rt.register_on(0, stream, Interest::Both).unwrap();
    let (sent, was_sent) = mpsc::channel();
    let object = events.deliver(Buffered::new(stream), move |io: &mut LocalIo, event: Event<'_, _>, cx| {
        if event.ready().is_writable() && io.unsent() > 0 {
            io.flush_soon(cx).unwrap();
            // The event of the registration may come while it still waits for the task.
            if io.unsent() == 0 {
                sent.send(()).unwrap();
            }
        }
        Handled::Fully
    });
    // Past the buffers, until the socket is full: so the task that sends finds no room.
    let full = rt.task(object.write()).submit(|io: &mut LocalIo, cx| {
        let filled = fill(io.stream().get().unwrap());
        send_soon(io, b"the end", cx);
        filled
    });
    let filled = full.join().unwrap();
    // The task that sends has run before this one.
    let waits = rt.task(object.write()).submit(|io: &mut LocalIo, cx| {
        let before = io.unsent();
        io.output().extend(b"!");
        (before, io.flush_soon(cx).unwrap(), io.unsent())
    });
    assert_eq!(waits.join().unwrap(), (7, false, 8));
    let mut all = vec![0; filled + 8];
    client.read_exact(&mut all).unwrap();
    assert!(all.ends_with(b".the end!"));
    was_sent.recv().unwrap();
}

#[test]
fn output_that_has_found_no_room_is_left_to_the_handler() {
    let _watched = watchdog();
    let rt = runtime(1);
    let (client, stream) = connect_here();
    let (stream, events) = rt.register_on(0, stream, Interest::Both).unwrap();
    let (room, has_room) = mpsc::channel();
    let handler = move |io: &mut LocalIo, event: Event<'_, _>, _: &mut Context| {
        // It closes once all is sent, and can do so only here.
        if event.ready().is_writable() && io.unsent() > 0 && io.flush().unwrap() {
            io.close();
        }
        _ = room.send(());
        Handled::Fully
    };
    let object = events.deliver(Buffered::new(stream), handler);
    // The event of the registration.
    has_room.recv().unwrap();
    let task = rt.task(object.write()).submit(move |io: &mut LocalIo, cx| {
        let filled = fill(io.stream().get().unwrap());
        send_soon(io, b"x", cx);
        assert!(!io.flush().unwrap());
        // Now there is room, before the task that was going to send.
        assert_eq!(received(&client).len(), filled);
        client
    });
    let client = task.join().unwrap();
    // That task has run before this one.
    let left = rt.task(object.write()).submit(|io: &mut LocalIo, _| io.is_closed() || io.unsent() == 1);
    assert!(left.join().unwrap(), "nothing is left for the handler");
    client.set_nonblocking(false).unwrap();
    assert_eq!(received(&client), "x");
}

#[test]
fn an_error_that_the_task_finds_is_an_event() {
    let _watched = watchdog();
    let rt = runtime(1);
    let (client, stream) = connect_here();
    let (stream, events) = rt.register_on(0, stream, Interest::Both).unwrap();
    let (end, ended) = mpsc::channel();
    let handler = move |io: &mut LocalIo, event: Event<'_, _>, _: &mut Context| {
        if event.ready().is_closed() && !io.is_closed() {
            end.send(io.flush().map_err(|error| error.kind())).unwrap();
            io.close();
        }
        Handled::Fully
    };
    let object = events.deliver(Buffered::new(stream), handler);
    let task = rt.task(object.write()).submit(move |io: &mut LocalIo, cx| {
        send_soon(io, b"too late", cx);
        // It says nothing more, and may still write: this end sees neither an end nor an error.
        client.shutdown(Shutdown::Read).unwrap();
        client
    });
    let _client = task.join().unwrap();
    // The program calls nothing meanwhile.
    assert_eq!(ended.recv().unwrap(), Err(ErrorKind::BrokenPipe));
}

#[test]
fn events_are_handled_between_batches_of_many_streams() {
    let _watched = watchdog();
    let rt = runtime(1);
    let (clients, mut streams) = connect_many(&rt, 200);
    // Returns how many clients have something.
    let clients = Arc::new(clients);
    let served = move || {
        let peek = |client: &UnixClient| (&mut &*client).read(&mut [0; 5]).is_ok();
        clients.iter().filter(|client| peek(client)).count()
    };
    let (other, stream) = connect_here();
    let (stream, events) = rt.register_on(0, stream, Interest::Readable).unwrap();
    let (handled, is_handled) = mpsc::channel();
    let seen = served.clone();
    events.deliver(stream, move |_, event: Event<'_, _>, _| {
        if event.ready().is_readable() {
            _ = handled.send(seen());
        }
        Handled::Fully
    });
    let task = rt.task(()).core(0).submit(move |(), cx| {
        streams.iter_mut().for_each(|io| send_soon(io, b"reply", cx));
        (&mut &other).write_all(b"an event").unwrap();
        let later = cx.task(()).core(0).submit(move |(), _| served());
        (other, streams, later)
    });
    let (_other, streams, later) = task.join().unwrap();
    let first = later.join().unwrap();
    assert!(first > 0 && first < 200, "one task has sent {first} replies");
    let second = is_handled.recv().unwrap();
    assert!(first + second < 200, "{second} more replies were sent before the event was handled");
    let sent = rt.plain(streams).core(0).build();
    eventually("all are sent", || {
        let unsent =
            rt.task(sent.read()).submit(|streams, _| streams.iter().map(Buffered::unsent).sum::<usize>());
        unsent.join().unwrap() == 0
    });
}

#[test]
fn urgent_output_does_not_wait_for_other_tasks() {
    let _watched = watchdog();
    let rt = runtime(1);
    let (client, stream) = connect_here();
    let (stream, _) = rt.register_on(0, stream, Interest::Both).unwrap();
    let task = rt.task(()).core(0).priority(Priority::High).submit(move |(), cx| {
        let mut io = Buffered::new(stream);
        let normal = cx.task(()).core(0).priority(Priority::Normal).submit(move |(), _| received(&client));
        send_soon(&mut io, b"urgent", cx);
        (io, normal)
    });
    let (_io, normal) = task.join().unwrap();
    assert_eq!(normal.join().unwrap(), "urgent");
}

#[test]
fn what_waits_is_sent_at_the_end_of_the_runtime() {
    let _watched = watchdog();
    for how in [End::Drain, End::Cancel] {
        let rt = runtime(1);
        let (clients, mut streams) = connect_many(&rt, 100);
        let (begin, begun) = mpsc::channel();
        let task = rt.task(()).core(0).submit(move |(), cx| {
            // A worker learns only after some tasks that it is to cancel the others.
            for _ in 0..10_000 {
                cx.task(()).core(0).spawn(|(), _| ());
            }
            streams.iter_mut().for_each(|io| send_soon(io, b"the last words", cx));
            begin.send(()).unwrap();
            while !cx.is_shutting_down() {
                thread::yield_now();
            }
            streams
        });
        begun.recv().unwrap();
        rt.shutdown(how);
        // Not by dropping a stream: none is dropped yet.
        let streams = task.join().unwrap();
        assert!(clients.iter().all(|client| received(client) == "the last words"), "{how:?}");
        drop(streams);
    }
}

#[test]
fn a_failed_task_leaves_its_error_to_the_next_call() {
    let _watched = watchdog();
    let rt = runtime(1);
    let (client, stream) = connect_here();
    let (stream, _) = rt.register_on(0, stream, Interest::Both).unwrap();
    let object = rt.plain(Buffered::new(stream)).core(0).build();
    let leave = rt.task(object.write()).submit(move |io, cx| {
        send_soon(io, b"too late", cx);
        drop(client);
    });
    leave.join().unwrap();
    let failed = rt.task(object.write()).submit(|io, cx| io.flush_soon(cx).map_err(|error| error.kind()));
    assert_eq!(failed.join().unwrap(), Err(ErrorKind::BrokenPipe));
}

#[test]
fn what_waits_is_sent_while_its_task_blocks() {
    at_worker(connect(), Interest::Both, |mut client, mut io, cx| {
        send_soon(&mut io, b"hello", cx);
        let mut answer = [0; 5];
        cx.block_in_place(|| client.read_exact(&mut answer)).unwrap();
        assert_eq!((&answer, io.unsent()), (b"hello", 0));
    });
}

#[test]
fn a_forked_process_sends_nothing_of_its_parent() {
    let _watched = watchdog();
    let (mut client, stream) = connect();
    at_worker(((), stream), Interest::Both, |(), mut io, cx| {
        send_soon(&mut io, b"once", cx);
        let mut io = Some(io);
        let holds = holds_in_child(|| {
            let io = io.take().unwrap();
            let unsent = io.unsent();
            drop(io);
            unsent == 0
        });
        assert!(holds, "the child has output");
        drop(io);
    });
    let mut all = String::new();
    client.read_to_string(&mut all).unwrap();
    assert_eq!(all, "once");
}

#[test]
fn a_stream_that_is_not_registered_for_room_keeps_nothing() {
    at_worker(connect_here(), Interest::Readable, |client, mut io, cx| {
        send_soon(&mut io, b"hello", cx);
        assert_eq!((io.unsent(), received(&client).as_str()), (0, "hello"));
    });
}

#[test]
fn a_client_that_ends_first_and_reads_slowly_gets_all() {
    let _watched = watchdog();
    let rt = runtime(1);
    let (mut client, stream) = connect();
    let (stream, events) = rt.register(stream, Interest::Both).unwrap();
    let message = pattern(8 << 20);
    type Output = (Buffered<Stream>, Vec<u8>);
    let handler = |(io, left): &mut Output, event: Event<'_, Output>, _: &mut Context| {
        if io.fill(event.ready()).unwrap() == Filled::Ended {
            io.output().append(left);
            if io.flush().unwrap() {
                io.close();
            }
        }
        Handled::Fully
    };
    events.deliver((Buffered::new(stream), message.clone()), handler);
    client.shutdown(Shutdown::Write).unwrap();
    let (mut all, mut piece) = (Vec::new(), [0u8; 999]);
    loop {
        match client.read(&mut piece).unwrap() {
            0 => break,
            bytes => all.extend_from_slice(&piece[..bytes]),
        }
    }
    assert!(all == message, "{} bytes of {} came", all.len(), message.len());
}

#[test]
fn streams_that_are_not_read_keep_no_other_from_being_served() {
    let _watched = watchdog();
    let rt = runtime(1);
    let server = serve(&rt);
    let calls: Arc<Vec<AtomicUsize>> = Arc::new((0..30).map(|_| AtomicUsize::new(0)).collect());
    let mut unread = Vec::new();
    let (closed, was_closed) = mpsc::channel();
    for number in 0..30 {
        let (client, stream) = connect();
        let (stream, events) = rt.register(stream, Interest::Both).unwrap();
        let (calls, closed) = (calls.clone(), closed.clone());
        // It sends whenever there is room, and its client reads nothing.
        events.deliver(Buffered::new(stream), move |io: &mut Buffered<Stream>, event: Event<'_, _>, cx| {
            calls[number].fetch_add(1, SeqCst);
            if event.ready().is_closed() && !io.is_closed() {
                io.close();
                closed.send(()).unwrap();
            }
            while !io.is_closed() {
                io.output().extend([b'!'; 3000]);
                if !io.flush_soon(cx).unwrap_or(false) {
                    break;
                }
            }
            Handled::Fully
        });
        unread.push(client);
    }
    let mut client = server.client();
    for round in 0..100 {
        exchange(&mut client, format!("round {round}").as_bytes());
    }
    let mut before = Vec::new();
    eventually("no events are left", || {
        thread::sleep(Duration::from_millis(20));
        let now: Vec<_> = calls.iter().map(|calls| calls.load(SeqCst)).collect();
        let is_same = now == before && now.iter().all(|&calls| calls > 0);
        before = now;
        is_same
    });
    // Each end is reported, although there is no room.
    drop(unread);
    for _ in 0..30 {
        was_closed.recv().unwrap();
    }
}

#[test]
fn clients_of_several_workers_get_all_that_they_send() {
    let _watched = watchdog();
    let rt = runtime(3);
    let server = serve(&rt);
    side_by_side((0..24).map(|number| {
        let server = &server;
        move || {
            let mut client = server.client();
            let long = pattern(40_000);
            for round in 0..60 {
                exchange(&mut client, format!("client {number}, round {round}").as_bytes());
                exchange(&mut client, &long[number * 100..][..1 + round * 300]);
            }
        }
    }));
    server.wait_for_ends(24);
}

#[test]
fn a_client_that_reads_late_gets_all_and_then_the_end() {
    let _watched = watchdog();
    let rt = runtime(2);
    let server = serve(&rt);
    exchange_late(server.client(), 24 << 20);
    server.wait_for_ends(1);
}

#[test]
fn output_is_sent_before_the_end() {
    let _watched = watchdog();
    let rt = runtime(2);
    for round in 0..100 {
        let (mut client, stream) = connect();
        let (stream, events) = rt.register_on(round, stream, Interest::Both).unwrap();
        events.deliver(Buffered::new(stream), |io: &mut Buffered<Stream>, event: Event<'_, _>, cx| {
            _ = io.fill(event.ready());
            let input = io.input().to_vec();
            io.consume(input.len());
            // Twice, so that the second part comes while the first one waits.
            input.chunks(5).for_each(|part| send_soon(io, part, cx));
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
}

#[test]
fn a_stream_that_is_dropped_ends_and_its_place_is_used_again() {
    let _watched = watchdog();
    let rt = runtime(2);
    let server = serve(&rt);
    let mut neighbours = [0; 4].map(|_| server.client());
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
            neighbours[round / 8 % 4] = server.client();
        }
    }
    drop(neighbours);
    server.wait_for_ends(29);
}

#[test]
fn the_end_of_the_runtime_ends_streams() {
    let _watched = watchdog();
    let rt = runtime(2);
    let server = serve(&rt);
    let mut clients = [0; 12].map(|_| server.client());
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
    assert_eq!(server.ends(), 12);
}

#[test]
fn streams_may_outlive_their_runtime() {
    let _watched = watchdog();
    let rt = runtime(1);
    let (mut client, stream) = connect();
    let (stream, _) = rt.register(stream, Interest::Both).unwrap();
    client.write_all(b"hello").unwrap();
    drop(rt);
    drop(stream);
    assert!(matches!(client.read(&mut [0; 9]), Ok(0) | Err(_)));
}

#[test]
fn a_connection_that_is_reset_ends() {
    let _watched = watchdog();
    let rt = runtime(2);
    let server = serve(&rt);
    for _ in 0..50 {
        let mut client = server.client();
        exchange(&mut client, b"hello");
        // What is not read when a socket is closed resets its connection.
        client.write_all(&pattern(100_000)).unwrap();
        client.peek(&mut [0]).unwrap();
    }
    server.wait_for_ends(50);
}

#[test]
fn bytes_of_several_threads_are_sent_in_order() {
    let _watched = watchdog();
    let rt = runtime(2);
    let (mut client, stream) = connect();
    let (stream, _) = rt.register_on(0, stream, Interest::Both).unwrap();
    // Its tasks run on both workers: a sequenced object's would all run on one.
    let object = rt.plain((Buffered::new(stream), 0)).pin(SpinLatch).build();
    // The worker of the stream leaves small pieces to a task, which may be sending them while the
    // other worker flushes.
    let write = |(io, next): &mut (Buffered<Stream>, u32), cx: &mut Context| {
        if io.unsent() < 1 << 16 {
            let size = if next.is_multiple_of(7) { 6000 } else { 3 };
            let numbers = *next..*next + size;
            *next = numbers.end;
            io.output().extend(numbers.flat_map(u32::to_le_bytes));
        }
        if cx.worker() == 0 { io.flush_soon(cx) } else { io.flush() }.unwrap();
        *next
    };
    let all = 2_000_000;
    let reader = thread::spawn(move || {
        let mut expected = 0u32;
        let mut number = [0; 4];
        let mut buffered = std::io::BufReader::new(&mut client);
        // What there is no room for at the end is lost.
        while buffered.read_exact(&mut number).is_ok() {
            assert_eq!(u32::from_le_bytes(number), expected);
            expected += 1;
        }
        assert!(expected > all, "{expected} numbers came");
    });
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..2u16)
            .map(|worker| {
                let (rt, object, done) = (&rt, &object, &done);
                scope.spawn(move || {
                    while !done.load(SeqCst) {
                        let next = rt.task(object.write()).core(worker).submit(move |it, cx| write(it, cx));
                        done.fetch_or(next.join().unwrap() > all + (1 << 16), SeqCst);
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
    // While a task may be going to send, the other worker closes.
    let last = rt.task(object.write()).core(0).submit(move |it, cx| write(it, cx));
    last.join().unwrap();
    rt.task(object.write()).core(1).submit(|(io, _), _| io.close()).join().unwrap();
    reader.join().unwrap();
}

#[test]
fn timers_and_tasks_go_on_beside_many_streams() {
    fn tick(count: Arc<AtomicUsize>, cx: &mut Context) {
        count.fetch_add(1, SeqCst);
        if !cx.is_shutting_down() {
            cx.timer(Duration::from_millis(1), move |cx| tick(count, cx));
        }
    }
    let _watched = watchdog();
    let rt = runtime(2);
    let server = serve(&rt);
    let ticks = Arc::new(AtomicUsize::new(0));
    let count = ticks.clone();
    rt.timer(Duration::from_millis(1), |cx| tick(count, cx));
    let mut clients: Vec<_> = (0..200).map(|_| server.client()).collect();
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
    server.wait_for_ends(200);
}
