//! Sends back what it is sent: `echo [PORT [SEED]]`. A connection that begins with `quit` ends the
//! program. With a seed some packets are lost, doubled or late.

#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use core::str::FromStr;
use xkernel::network::{Connection, Faults, Network, NetworkCard, Service, SessionObject, Settings};
use xkernel::{Machine, println};
use xtasking::{Context, Object, Plain, Promise};

xkernel::program!(run);

/// The port of this service by convention.
const PORT: u16 = 7;
/// What ends the program, at the beginning of a connection.
const QUIT: &[u8] = b"quit";
/// A network on which it is hard to be heard.
const FAULTS: Faults = Faults { lost: 1, doubled: 2, delay: 2, seed: 0 };
/// Connections at a time.
const MOST: usize = 1000;

/// Ends the program when it is written.
type Quit = Object<Plain<Option<Promise<()>>>>;

struct Echo {
    quit: Quit,
    has_begun: bool,
}

impl Service for Echo {
    fn serve(&mut self, connection: &mut Connection, _: &SessionObject<Self>, cx: &mut Context) {
        let input = connection.input().to_vec();
        let is_short = input.len() < QUIT.len() && !connection.has_ended();
        if !self.has_begun && is_short && QUIT.starts_with(&input) {
            return;
        }
        let ends_program = !core::mem::replace(&mut self.has_begun, true) && input.starts_with(QUIT);
        let sent = connection.write(&input, cx);
        connection.consume(sent, cx);
        if connection.has_ended() && sent == input.len() {
            connection.close(cx);
        }
        // After the answer, as a connection takes none once the network ends.
        if ends_program {
            cx.task(self.quit.write())
                .spawn(|quit, _cx| quit.take().into_iter().for_each(|quit| quit.fulfil(())));
        }
    }
}

fn run(machine: &'static Machine) {
    let mut arguments = machine.arguments();
    let port = arguments.next().map_or(PORT, |port| u16::from_str(port).expect("a port"));
    let faults = |seed| Faults { seed: u64::from_str(seed).expect("a seed"), ..FAULTS };
    let settings = Settings { faults: arguments.next().map(faults), ..Settings::default() };
    let rt = machine.runtime().build().expect("a worker on each core");
    let card = NetworkCard::take(machine).unwrap_or_else(|error| panic!("{error}"));
    let network = Network::start(&rt, card, &settings).expect("the platform has devices");
    let (quit, end) = rt.promise();
    let quit = rt.plain(Some(quit)).build();
    let echo = move |_peer| Echo { quit: quit.clone(), has_begun: false };
    network.listen(&rt, port, MOST, echo).join().expect("no panic").expect("the port is free");
    println!("echo on port {port} with {} workers", rt.workers());
    end.join().expect("a connection that says `quit`");
    network.finish(&rt).join().expect("all connections end");
    println!("quit");
}
