//! Programs on a simulated network: what is written arrives whole and in order, or the connection
//! breaks, and each run follows from its seeds.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;
use xtasking::events::{Buffered, Event, Filled, Handled, Interest, Registered};
use xtasking::platform::{Network, NetworkFaults, SimulatedListener, SimulatedStream, Simulation};
use xtasking::{Context, Promise, Runtime};

/// Sends back what it gets.
struct Echo(Buffered<SimulatedStream>);

impl Echo {
    fn handle(&mut self, event: Event<'_, Self>, _: &mut Context) -> Handled {
        let filled = self.0.fill(event.ready());
        let input = self.0.input().to_vec();
        self.0.consume(input.len());
        self.0.output().extend(input);
        if self.0.flush().is_err() || matches!(filled, Err(_) | Ok(Filled::Ended)) && self.0.unsent() == 0 {
            self.0.close();
        }
        if matches!(filled, Ok(Filled::More)) { Handled::Partly } else { Handled::Fully }
    }
}

fn serve(rt: &Runtime, network: &Network) {
    let (listener, events) = rt.register(network.listen(7).unwrap(), Interest::Readable).unwrap();
    let mut worker = 0;
    let next = Mutex::new(move || {
        worker += 1;
        worker
    });
    events.deliver(listener, move |listener: &mut Registered<SimulatedListener>, _, cx| {
        while let Some(Ok(stream)) = listener.get_mut().map(SimulatedListener::accept) {
            let worker = next.lock().unwrap()();
            let (stream, events) = cx.register_on(worker, stream, Interest::Both).unwrap();
            events.deliver(Echo(Buffered::new(stream)), Echo::handle);
        }
        Handled::Fully
    });
}

/// What came back, and whether the connection has broken.
type Outcome = (Vec<u8>, bool);

/// Sends a message, and waits until it is back.
struct Client {
    io: Buffered<SimulatedStream>,
    bytes: usize,
    answer: Vec<u8>,
    done: Option<Promise<Outcome>>,
}

impl Client {
    fn start(rt: &Runtime, network: &Network, message: &[u8]) -> xtasking::Handle<Outcome> {
        let (promise, done) = rt.promise();
        let (stream, events) = rt.register(network.connect(7).unwrap(), Interest::Both).unwrap();
        let mut io = Buffered::new(stream);
        io.output().extend_from_slice(message);
        let client = Self { io, bytes: message.len(), answer: Vec::new(), done: Some(promise) };
        events.deliver(client, Self::handle);
        done
    }

    fn handle(&mut self, event: Event<'_, Self>, _: &mut Context) -> Handled {
        let sent = self.io.flush();
        let filled = self.io.fill(event.ready());
        self.answer.extend_from_slice(self.io.input());
        self.io.consume(self.io.input().len());
        let has_broken = sent.is_err() || matches!(filled, Err(_) | Ok(Filled::Ended));
        if (self.answer.len() == self.bytes || has_broken)
            && let Some(done) = self.done.take()
        {
            done.fulfil((std::mem::take(&mut self.answer), has_broken));
            self.io.close();
        }
        if matches!(filled, Ok(Filled::More)) { Handled::Partly } else { Handled::Fully }
    }
}

/// Lets clients talk to a server. Returns what came back, and when all had.
fn talk(seed: u64, faults: NetworkFaults, messages: &[Vec<u8>]) -> (Vec<Outcome>, u64) {
    let (simulation, network) = Simulation::new(3, seed).network(faults, seed);
    let rt = Runtime::builder().platform(simulation).build().unwrap();
    serve(&rt, &network);
    let clients: Vec<_> = messages.iter().map(|message| Client::start(&rt, &network, message)).collect();
    let outcomes = clients.into_iter().map(|client| client.join().unwrap()).collect();
    (outcomes, rt.deadline_in(Duration::ZERO).nanoseconds())
}

fn messages() -> Vec<Vec<u8>> {
    (1..6u32).map(|client| (0..client * 20_000).map(|at| ((at * client) >> 3) as u8).collect()).collect()
}

#[test]
fn all_arrives_in_order_in_pieces_of_any_size() {
    let messages = messages();
    let faults = NetworkFaults { largest_piece: 3000, capacity: 10_000, ..NetworkFaults::default() };
    let mut times = BTreeSet::new();
    for seed in 0..20 {
        let (outcomes, time) = talk(seed, faults, &messages);
        assert!(
            outcomes.iter().zip(&messages).all(|((answer, has_broken), sent)| answer == sent && !has_broken)
        );
        assert_eq!(talk(seed, faults, &messages), (outcomes, time), "seed {seed} is replayed");
        times.insert(time);
    }
    assert!(times.len() > 10, "{times:?}");
}

#[test]
fn a_connection_that_breaks_is_seen_by_both_sides() {
    let messages = messages();
    let faults = NetworkFaults { largest_piece: 2000, breaks_one_in: 150, ..NetworkFaults::default() };
    let (mut broken, mut whole) = (0, 0);
    for seed in 0..40 {
        for ((answer, has_broken), sent) in talk(seed, faults, &messages).0.into_iter().zip(&messages) {
            assert!(sent.starts_with(&answer) && (has_broken || answer == *sent));
            *if has_broken { &mut broken } else { &mut whole } += 1;
        }
    }
    assert!(broken > 20 && whole > 20, "{broken} broken, {whole} whole");
}

#[test]
fn ports_are_taken_and_given_back() {
    let (simulation, network) = Simulation::new(1, 1).network(NetworkFaults::default(), 1);
    let rt = Runtime::builder().platform(simulation).build().unwrap();
    assert_eq!(network.connect(7).unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
    let listener = network.listen(7).unwrap();
    assert_eq!(network.listen(7).unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
    let waiting = Client::start(&rt, &network, b"hello");
    drop(listener);
    // The connection arrives where none listens any more.
    assert_eq!(waiting.join().unwrap(), (Vec::new(), true));
    let _again = network.listen(7).unwrap();
    let elsewhere = Simulation::new(1, 1).network(NetworkFaults::default(), 1).1;
    let error = rt.register(elsewhere.listen(9).unwrap(), Interest::Readable).unwrap_err();
    assert!(error.to_string().contains("the simulation that they were made with"), "{error}");
}
