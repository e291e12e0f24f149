//! Sources of events: nothing that comes is lost, and a connection that ends leaves nothing.

use crate::common::net::{Server, connect, exchange, exchange_late};
use crate::common::{Dropped, Setting, eventually, side_by_side, watchdog};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use xtasking::events::net::{TcpListener, TcpStream};
use xtasking::events::{Buffered, Event, Filled, Handled, Interest};
use xtasking::platform::Simulation;
use xtasking::{Context, JoinError, Priority, Runtime};

/// Sends back what it gets. Panics at an exclamation mark.
struct Echo {
    io: Buffered<TcpStream>,
    _dropped: Dropped,
}

impl Echo {
    fn handle(&mut self, event: Event<'_, Self>, _: &mut Context) -> Handled {
        let filled = self.io.fill(event.ready());
        let input = self.io.input().to_vec();
        assert!(!input.contains(&b'!'), "an exclamation mark");
        self.io.consume(input.len());
        self.io.output().extend(input);
        if self.io.flush().is_err() || !matches!(filled, Ok(Filled::Open | Filled::More)) {
            self.io.close();
        }
        if matches!(filled, Ok(Filled::More)) { Handled::Partly } else { Handled::Fully }
    }
}

/// Starts a server that echoes.
fn serve(rt: &Runtime) -> Server {
    Server::start(rt, |stream, worker, dropped, cx| {
        let (stream, events) = cx.register_on(worker, stream, Interest::Both).unwrap();
        events.deliver(Echo { io: Buffered::new(stream), _dropped: dropped }, Echo::handle);
    })
}

#[test]
fn clients_get_all_that_they_send() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 3 }.build();
    let server = serve(&rt);
    side_by_side((0..8).map(|number| {
        let server = &server;
        move || {
            let mut client = server.client();
            for round in 0..200 {
                exchange(&mut client, format!("client {number}, round {round}").as_bytes());
            }
        }
    }));
    server.wait_for_ends(8);
}

#[test]
fn workers_that_sleep_are_woken_by_events_and_by_tasks() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 2 }.builder().counters(true).build().unwrap();
    let server = serve(&rt);
    let mut clients = [0; 3].map(|_| server.client());
    for round in 0..50u16 {
        let sleeps = || rt.counters().unwrap().sleeps;
        let before = sleeps();
        exchange(&mut clients[usize::from(round) % 3], b"are you there?");
        eventually("a worker falls asleep", || sleeps() > before);
        rt.task(()).core(round).submit(|(), _| ()).join().unwrap();
    }
}

#[test]
fn a_client_that_reads_late_gets_all_of_a_long_answer() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 2 }.build();
    let server = serve(&rt);
    exchange_late(server.client(), 4 << 20);
    server.wait_for_ends(1);
}

#[test]
fn a_panic_in_a_handler_ends_its_connection_only() {
    let _watched = watchdog();
    let (sender, failures) = mpsc::channel();
    let rt = Setting::Threads { workers: 2 }
        .builder()
        .on_failure(move |failure| _ = sender.send(failure.to_string()))
        .build()
        .unwrap();
    let server = serve(&rt);
    let mut clients = [0; 4].map(|_| server.client());
    clients.iter_mut().for_each(|client| exchange(client, b"hello"));
    clients[1].write_all(b"hello!").unwrap();
    server.wait_for_ends(1);
    assert!(matches!(clients[1].read(&mut [0; 9]), Ok(0) | Err(_)));
    for number in [0, 2, 3] {
        exchange(&mut clients[number], b"still there");
    }
    assert!(failures.recv().unwrap().contains("an exclamation mark"));
}

#[test]
fn an_event_at_a_poisoned_object_ends_the_connection() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 2 }.builder().on_failure(|_| ()).build().unwrap();
    let (mut client, stream) = connect();
    let (stream, events) = rt.register(stream, Interest::Both).unwrap();
    let ends = Arc::<AtomicUsize>::default();
    let echo = Echo { io: Buffered::new(stream), _dropped: Dropped(ends.clone()) };
    let object = events.deliver(echo, Echo::handle);
    let broken = rt.task(object.write()).submit(|_, _| panic!("in another task")).join();
    assert!(matches!(broken, Err::<(), _>(JoinError::Panicked(_))));
    drop(object);
    client.write_all(b"hello").unwrap();
    eventually("the connection has ended", || ends.load(SeqCst) == 1);
}

#[test]
fn events_of_a_worker_that_has_left_are_looked_after() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 4 }.build();
    let server = serve(&rt);
    let mut clients = [0; 8].map(|_| server.client());
    for workers in [1, 3, 2, 4, 1] {
        clients.iter_mut().for_each(|client| exchange(client, b"before"));
        rt.resize(workers).unwrap();
        clients.iter_mut().for_each(|client| exchange(client, b"and after"));
    }
}

#[test]
fn what_comes_before_its_handler_waits_for_it() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 1 }.build();
    let (mut client, stream) = connect();
    client.write_all(b"early").unwrap();
    let (stream, events) = rt.register(stream, Interest::Both).unwrap();
    // The worker finds the event, and has nothing to call.
    let (promise, done) = rt.promise();
    rt.timer(Duration::from_millis(20), move |_| promise.fulfil(()));
    done.join().unwrap();
    let echo = Echo { io: Buffered::new(stream), _dropped: Dropped(Arc::default()) };
    events.deliver(echo, Echo::handle);
    let mut answer = [0; 5];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"early");
}

#[test]
fn events_of_higher_priority_are_handled_first() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 1 }.build();
    let (sender, handled) = mpsc::channel();
    let mut clients = [Priority::Low, Priority::High].map(|priority| {
        let (client, stream) = connect();
        let (stream, events) = rt.register(stream, Interest::Readable).unwrap();
        let sender = sender.clone();
        events.priority(priority).deliver(stream, move |_stream, _event, _cx| {
            sender.send(priority).unwrap();
            Handled::Fully
        });
        client
    });
    // Both are there when the worker looks.
    let write = move |(), _cx: &mut Context| {
        clients.iter_mut().for_each(|client| client.write_all(b"event").unwrap());
        clients
    };
    let clients = rt.task(()).submit(write).join().unwrap();
    assert_eq!([handled.recv().unwrap(), handled.recv().unwrap()], [Priority::High, Priority::Low]);
    drop(clients);
}

#[test]
fn the_end_of_the_runtime_closes_connections() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 2 }.build();
    let server = serve(&rt);
    let mut clients = [0; 3].map(|_| server.client());
    clients.iter_mut().for_each(|client| exchange(client, b"hello"));
    let handle = rt.handle();
    drop(rt);
    assert_eq!(server.ends(), 3);
    let late = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let error = handle.register(late, Interest::Readable).unwrap_err();
    assert!(error.to_string().contains("begun to end"), "{error}");
}

#[test]
fn a_source_of_another_platform_is_refused() {
    let rt = Runtime::builder().platform(Simulation::new(2, 1)).build().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let error = rt.register(listener, Interest::Readable).unwrap_err();
    assert_eq!(error.to_string(), "sources of the operating system need the platform `Threads`");
}
