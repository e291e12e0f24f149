//! How tasks wait for sockets: a server that counts words, by lines of text. A connection is an
//! object at one worker, and what arrives there becomes tasks that write it. No thread waits for a
//! single connection, and no task blocks.
//!
//! `cargo run --release -p xtasking-examples --example line_server -- 127.0.0.1:7000`, and then
//! `nc 127.0.0.1 7000`. Without an address the program is its own client.

#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::env;
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use xtasking::events::net::{TcpListener, TcpStream};
use xtasking::events::{Buffered, Event, Filled, Handled, Interest, Registered};
use xtasking::{Context, Object, Plain, Runtime};

type Counts = Object<Plain<HashMap<String, u64>>>;

struct Connection {
    io: Buffered<TcpStream>,
    counts: Counts,
}

impl Connection {
    /// Handles what has come, in a task at the worker of this connection.
    fn handle(&mut self, event: Event<'_, Self>, cx: &mut Context) -> Handled {
        let filled = self.io.fill(event.ready());
        while let Some(end) = self.io.input().iter().position(|&byte| byte == b'\n') {
            let word = String::from_utf8_lossy(&self.io.input()[..end]).trim().to_string();
            self.io.consume(end + 1);
            // Another object: one task counts the word, and then one on this connection answers.
            let connection = event.object().clone();
            cx.task(self.counts.write()).spawn(move |counts, cx| {
                let count = counts.entry(word).or_insert(0);
                *count += 1;
                let answer = format!("{count}\n");
                cx.task(connection.write()).spawn(move |connection, _cx| connection.send(&answer));
            });
        }
        self.send("");
        match filled {
            Ok(Filled::Open) => return Handled::Fully,
            Ok(Filled::More) => return Handled::Partly,
            Ok(Filled::Ended) | Err(_) => self.io.close(),
        }
        Handled::Fully
    }

    fn send(&mut self, text: &str) {
        self.io.output().extend_from_slice(text.as_bytes());
        if !self.io.is_closed() && self.io.flush().is_err() {
            self.io.close();
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let rt = Runtime::new()?;
    let counts: Counts = rt.plain(HashMap::new()).build();
    let address = env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:0").parse()?)?;
    let address = listener.local_addr()?;
    let (listener, events) = rt.register(listener, Interest::Readable)?;
    events.deliver(listener, move |listener: &mut Registered<TcpListener>, _, cx| {
        while let Some(Ok((stream, peer))) = listener.get().map(TcpListener::accept) {
            // Each client gets a worker, by its port.
            match cx.register_on(peer.port().into(), stream, Interest::Both) {
                Ok((stream, events)) => {
                    let connection = Connection { io: Buffered::new(stream), counts: counts.clone() };
                    events.deliver(connection, Connection::handle);
                }
                Err(error) => eprintln!("cannot serve {peer}: {error}"),
            }
        }
        Handled::Fully
    });
    if env::args().len() > 1 {
        println!("listening at {address}; the end of the input ends the server");
        std::io::stdin().lines().for_each(drop);
        return Ok(());
    }
    let mut client = std::net::TcpStream::connect(address)?;
    client.write_all(b"tick\ntock\ntick\n")?;
    let answers: Vec<_> = BufReader::new(client).lines().take(3).collect::<Result<_, _>>()?;
    assert_eq!(answers, ["1", "1", "2"]);
    println!("{}", answers.join(", "));
    Ok(())
}
