//! Buffers of clients: they evict nothing.

use super::{KIB, builder, run, text};
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use xtasking::Runtime;
use xtasking_store::net::Service;
use xtasking_testing::{eventually, watchdog};

const MIB: u64 = 1 << 20;

#[test]
fn large_buffers_of_clients_evict_nothing() {
    let _watched = watchdog();
    let rt = Runtime::builder().workers(2).build().unwrap();
    let resident = Arc::new(AtomicU64::new(0));
    let source = resident.clone();
    let builder =
        builder("allkeys-lru", 250 * KIB).process_memory(move || Some(source.load(Ordering::SeqCst)));
    let mut service = Service::start(builder, &rt);
    let address = service.listen("127.0.0.1:0").unwrap()[0];
    let memory = || &service.engine().server().memory;
    let mut client = service.engine().client();
    for number in 0..1000 {
        assert_eq!(run(&mut client, &format!("SET key:{number} {}", text(100))), "+OK\r\n");
    }
    // A long argument that does not end makes the process large.
    let mut sender = TcpStream::connect(address).unwrap();
    sender.write_all(b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$60000000\r\n").unwrap();
    sender.write_all(&vec![b'x'; 50_000_000]).unwrap();
    eventually("the buffer is known", || memory().buffers() >= 50_000_000);
    resident.store(75 * MIB, Ordering::SeqCst);
    service.engine().bound_memory(&rt);
    assert_eq!((memory().excess(), memory().evicted()), (0, 0));
    // When the client is gone, what the process still has counts, up to the half of the keys.
    drop(sender);
    eventually("the buffer is gone", || memory().buffers() == 0);
    service.engine().bound_memory(&rt);
    assert!(memory().excess() > 0);
    eventually("keys are evicted", || memory().counted() + memory().excess() <= memory().limit());
}

/// A request that waits has the buffer in which it came.
#[test]
fn requests_under_way_are_buffers_of_clients() {
    let _watched = watchdog();
    let rt = Runtime::builder().workers(2).build().unwrap();
    let mut service = Service::start(builder("noeviction", 0), &rt);
    let address = service.listen("127.0.0.1:0").unwrap()[0];
    let mut client = service.engine().client();
    let mut sender = TcpStream::connect(address).unwrap();
    sender
        .write_all(format!("*3\r\n$5\r\nBLPOP\r\n$1000000\r\n{}\r\n$1\r\n0\r\n", text(1_000_000)).as_bytes())
        .unwrap();
    eventually("it waits", || run(&mut client, "INFO clients").contains("blocked_clients:1"));
    // The worker notes the buffers after it has let the request wait.
    for _ in 0..100 {
        rt.task(()).submit(|(), _| ()).join().unwrap();
    }
    let buffers = || service.engine().server().memory.buffers();
    eventually("the buffer is known", || buffers() >= 1_000_000 - (64 << 10));
    drop(sender);
    eventually("the buffer is gone", || buffers() == 0);
}
