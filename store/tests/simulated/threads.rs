//! A server by TCP, and clients that are threads.

use super::client::{Client, Recorder};
use super::lives::read_all;
use super::recovery::{Life, check_lives};
use super::script::EXPIRING;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Instant;
use xtasking::Runtime;
use xtasking_storage::SimulatedDisk;
use xtasking_store::Engine;
use xtasking_store::log::Options;
use xtasking_store::net::Service;
use xtasking_testing::{eventually, side_by_side, watchdog};

const CLIENTS: u64 = 16;
/// The pipelines of each client.
const PIPELINES: u32 = 25;

/// Sends pipelines, and waits for the replies to each. Now and then it goes without them.
fn work(client: &mut Client, address: SocketAddr) {
    client.set_left(PIPELINES);
    let connect = || TcpStream::connect(address).expect("a connection");
    let mut stream = connect();
    client.connect();
    while !client.is_done() {
        stream.write_all(&client.pipeline()).expect("the server is there");
        if client.random.below(40) == 0 {
            client.lose();
            client.connect();
            stream = connect();
        }
        while !client.is_idle() {
            let mut bytes = [0; 4096];
            let count = stream.read(&mut bytes).expect("replies");
            assert!(count > 0, "the server has ended the connection");
            let further = client.receive(&bytes[..count]);
            stream.write_all(&further).expect("the server is there");
        }
    }
}

#[test]
fn histories_of_threads_are_strictly_serialisable() {
    for workers in [1, 2, 4] {
        let _watched = watchdog();
        let rt = Runtime::builder().workers(workers).build().expect("a runtime");
        let start = Instant::now();
        let clock = move || 1_000_000 + start.elapsed().as_millis() as u64;
        let disk = SimulatedDisk::new(1);
        let builder = Engine::builder().shards(8).databases(1).setting("appendfsync", "always");
        let builder = builder.clock(clock).log(disk, Options::default());
        let mut service = Service::open(builder, &rt).expect("a service");
        let address = service.listen("127.0.0.1:0").expect("an address")[0];
        let recorder = Arc::new(Recorder::new(clock));
        let found = read_all(service.engine(), &recorder);
        side_by_side((0..CLIENTS).map(|number| {
            let mut client = Client::new(recorder.clone(), number << 8 | workers as u64);
            move || work(&mut client, address)
        }));
        // Requests of connections that were lost may still be under way.
        let mut own = service.engine().client();
        let mut ask = || own.run(["INFO", "clients"]).expect("a reply");
        eventually("only its own client is left", || {
            String::from_utf8_lossy(&ask()).contains("\r\nconnected_clients:1\r\n")
        });
        let transactions = recorder.take();
        let last = read_all(service.engine(), &recorder);
        let life = Life { found, transactions, may_lose_from: None };
        check_lives(&[life], &last, &EXPIRING).unwrap_or_else(|broken| panic!("{workers} workers: {broken}"));
    }
}
