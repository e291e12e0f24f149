//! The object that is the TCP stack: tasks at its home drive the card and the connections.

use super::card::NetworkCard;
use super::connection::Links;
use super::faults::Faulty;
use super::pipe::Pipe;
use super::sockets::{Call, ConnectionId, Sockets};
use super::{ListenError, Peer, Settings};
use crate::{clock, cpu};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;
use smoltcp::phy::{Device, DeviceCapabilities};
use smoltcp::time::Instant;
use xtasking::events::{Registered, Timer};
use xtasking::{Context, Object, Plain, Priority, Promise};

/// Packets that a task handles before others have their turn.
const PACKETS: usize = 64;
/// Packets of each connection that a task sends before others have their turn.
const ROUNDS: usize = 16;
/// Nanoseconds until a timer that is due already.
const SHORTEST: u64 = 1_000_000;

/// The object of the stack.
pub(super) type StackObject = Object<Plain<Stack>>;

/// Calls the program of a connection: spawns a task on the connection's object.
pub(super) trait Program: Send + Sync {
    fn call(&self, cx: &mut Context);
}

/// Makes the object of a connection that is new.
pub(super) type Accept =
    Box<dyn Fn(NewConnection, &StackObject, &mut Context) -> Arc<dyn Program> + Send + Sync>;

/// A connection that has no object yet.
pub(super) type NewConnection = (ConnectionId, Peer, Arc<Pipe>);

type Calls = Vec<Call<Arc<dyn Program>>>;

/// The card as the stack's device: without packets once it is closed.
struct Line(Registered<NetworkCard>);

impl Device for Line {
    type RxToken<'a> = <NetworkCard as Device>::RxToken<'a>;
    type TxToken<'a> = <NetworkCard as Device>::TxToken<'a>;

    fn receive(&mut self, now: Instant) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        self.0.get_mut()?.receive(now)
    }

    fn transmit(&mut self, now: Instant) -> Option<Self::TxToken<'_>> {
        self.0.get_mut()?.transmit(now)
    }

    fn capabilities(&self) -> DeviceCapabilities {
        self.0.get().map_or_else(DeviceCapabilities::default, Device::capabilities)
    }
}

/// The TCP stack.
pub(super) struct Stack {
    sockets: Sockets<Faulty<Line>, Arc<dyn Program>>,
    accepts: Vec<(u16, Accept)>,
    /// When the timer that is set calls the stack, in nanoseconds.
    timer: Option<(Timer, u64)>,
    /// A task that polls has been spawned, and has not begun.
    is_poll_spawned: bool,
    /// To be fulfilled when there are no connections.
    ending: Vec<Promise<()>>,
    links: Arc<Links>,
}

fn now() -> Instant {
    Instant::from_micros((clock::now() / 1000) as i64)
}

impl Stack {
    pub fn new(card: Registered<NetworkCard>, settings: &Settings, links: Arc<Links>) -> Self {
        let address = card.get().map_or([0; 6], NetworkCard::address);
        let seed = cpu::random::word().unwrap_or_else(cpu::counter);
        let sockets = Sockets::new(Faulty::new(Line(card), settings.faults), address, settings, seed, now());
        Self { sockets, accepts: Vec::new(), timer: None, is_poll_spawned: false, ending: Vec::new(), links }
    }

    /// Returns the links of its connections.
    pub fn links(&self) -> Arc<Links> {
        self.links.clone()
    }

    /// Lets a port take connections.
    pub fn listen(&mut self, port: u16, most: usize, accept: Accept) -> Result<(), ListenError> {
        if !self.sockets.listen(port, most) {
            return Err(ListenError { port });
        }
        self.accepts.push((port, accept));
        Ok(())
    }

    /// Takes no further connections, and ends those that there are. Fulfils the promise when none
    /// is left.
    pub fn finish(&mut self, promise: Promise<()>, this: &StackObject, cx: &mut Context) {
        self.sockets.stop_listening();
        self.ending.push(promise);
        let mut calls = Calls::new();
        self.sockets.close_all(now(), &mut |call| calls.push(call));
        self.run(calls, this, cx);
        self.poll_soon(this, cx);
    }

    /// Looks after a connection, as its program has called.
    pub fn serve(&mut self, id: ConnectionId, this: &StackObject, cx: &mut Context) {
        let mut calls = Calls::new();
        self.sockets.look_at(id, now(), &mut |call| calls.push(call));
        self.run(calls, this, cx);
        // One task sends for all connections whose programs have called by then.
        self.poll_soon(this, cx);
    }

    /// Handles packets, looks after all connections, and sends.
    ///
    /// While there is more than a task should do, the card does not interrupt: further tasks look
    /// at it, after others had their turn. Otherwise the card interrupts when packets arrive.
    pub fn poll(&mut self, this: &StackObject, cx: &mut Context) {
        self.card(NetworkCard::begin_polling);
        let now = now();
        let is_empty = self.sockets.receive(now, PACKETS);
        let mut calls = Calls::new();
        self.sockets.look_at_all(now, &mut |call| calls.push(call));
        self.run(calls, this, cx);
        let is_sent = self.sockets.send(now, ROUNDS);
        self.sockets.device.flush(now);
        let is_done = is_empty && is_sent && !self.card(NetworkCard::is_full).unwrap_or(false);
        if !is_done {
            self.card(NetworkCard::ring);
            self.poll_soon(this, cx);
        } else if !self.card(NetworkCard::end_polling).unwrap_or(true) {
            self.poll_soon(this, cx);
        }
        self.set_timer(now, this, cx);
        if self.sockets.is_idle() {
            self.ending.drain(..).for_each(|promise| promise.fulfil(()));
        }
    }

    fn card<R>(&mut self, access: impl FnOnce(&mut NetworkCard) -> R) -> Option<R> {
        self.sockets.device.device.0.get_mut().map(access)
    }

    /// Calls programs, also those of new connections.
    fn run(&mut self, mut calls: Calls, this: &StackObject, cx: &mut Context) {
        let mut further = Calls::new();
        for call in calls.drain(..) {
            match call {
                Call::Serve(program) => program.call(cx),
                Call::Accept { port, id, peer, pipe } => {
                    let Some((_, accept)) = self.accepts.iter().find(|accept| accept.0 == port) else {
                        continue;
                    };
                    let program = accept((id, peer, pipe), this, cx);
                    self.sockets.accept(id, program, now(), &mut |call| further.push(call));
                }
            }
        }
        for call in further {
            if let Call::Serve(program) = call {
                program.call(cx);
            }
        }
    }

    /// Spawns a task that polls, unless there is one, or the runtime ends: that waits for tasks.
    fn poll_soon(&mut self, this: &StackObject, cx: &mut Context) {
        if !cx.is_shutting_down() && !core::mem::replace(&mut self.is_poll_spawned, true) {
            let object = this.clone();
            let task = cx.task(this.write()).priority(Priority::Normal).begin_operation();
            task.spawn(move |stack, cx| {
                stack.is_poll_spawned = false;
                stack.poll(&object, cx);
            });
        }
    }

    /// Sets a timer for what is to be done even if no packet arrives.
    fn set_timer(&mut self, now: Instant, this: &StackObject, cx: &mut Context) {
        let late = self.sockets.device.next_time();
        let Some(next) = self.sockets.next_time(now).into_iter().chain(late).min() else { return };
        let current = clock::now();
        let at = (next.total_micros() as u64).saturating_mul(1000).max(current + SHORTEST);
        match self.timer.take() {
            // One that is early does no harm.
            Some((timer, earlier)) if earlier <= at => self.timer = Some((timer, earlier)),
            later => {
                later.into_iter().for_each(|(timer, _)| _ = timer.cancel());
                let object = this.clone();
                let timer = cx.timer(Duration::from_nanos(at - current), move |cx| {
                    let this = object.clone();
                    cx.task(object.write()).begin_operation().spawn(move |stack, cx| {
                        stack.timer = None;
                        stack.poll(&this, cx);
                    });
                });
                self.timer = Some((timer, at));
            }
        }
    }
}
