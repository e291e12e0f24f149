//! A connection as the program sees it: an object of its own, whose tasks read and write.

use super::pipe::{Pipe, Status, give_back};
use super::sockets::ConnectionId;
use super::stack::{Program, StackObject};
use super::{Peer, Service};
use crate::lock::SpinLock;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::fmt;
use xtasking::{Context, Object, Plain, Priority};

/// A connection, for the tasks of its object.
pub struct Connection {
    link: Arc<Link>,
    peer: Peer,
    /// Arrived; what is before `consumed` is used up.
    input: Vec<u8>,
    consumed: usize,
    status: Status,
}

/// What leads from a connection to the stack.
struct Link {
    id: ConnectionId,
    pipe: Arc<Pipe>,
    /// `None` once the runtime ends: stack and connections would keep each other alive.
    stack: SpinLock<Option<StackObject>>,
}

impl Link {
    fn call_stack(&self, cx: &mut Context) {
        let Some(stack) = self.stack.with(|stack| stack.clone()) else { return };
        let (id, object) = (self.id, stack.clone());
        // An operation of its own: the stack calls the program again, and so on.
        let task = cx.task(stack.write()).begin_operation();
        task.spawn(move |stack, cx| stack.serve(id, &object, cx));
    }
}

impl Connection {
    /// Returns the other end.
    pub fn peer(&self) -> Peer {
        self.peer
    }

    /// Returns the bytes that have arrived and are not consumed, up to
    /// [`INPUT_LIMIT`](super::INPUT_LIMIT). While that many are there, no more come: the peer has
    /// to wait. A program that needs more at once takes what is there into memory of its own.
    pub fn input(&self) -> &[u8] {
        &self.input[self.consumed..]
    }

    /// Removes bytes from the beginning of the [input](Self::input).
    ///
    /// # Panics
    ///
    /// If there are fewer.
    pub fn consume(&mut self, bytes: usize, cx: &mut Context) {
        assert!(bytes <= self.input().len(), "{bytes} bytes of input consumed, more than there are");
        self.consumed += bytes;
        if self.consumed == self.input.len() {
            self.input.clear();
            self.consumed = 0;
            give_back(&mut self.input);
        }
        if self.link.pipe.consumed(bytes) {
            self.link.call_stack(cx);
        }
    }

    /// Returns how many bytes [`write`](Self::write) takes now.
    pub fn room(&self) -> usize {
        self.link.pipe.room()
    }

    /// Sends bytes: as many as there is [room](Self::room) for. Returns how many. If these are not
    /// all, the program is called when there is room again. Once the connection is
    /// [closed](Self::is_closed) the result is 0.
    pub fn write(&mut self, bytes: &[u8], cx: &mut Context) -> usize {
        let (taken, calls_stack) = self.link.pipe.write(bytes);
        if calls_stack {
            self.link.call_stack(cx);
        }
        taken
    }

    /// Ends the connection, once all that was written is sent. The program is called once more,
    /// when it is [closed](Self::is_closed). Further input is dropped. A peer that does not end its
    /// side is cut off after some time.
    pub fn close(&mut self, cx: &mut Context) {
        if self.link.pipe.close() {
            self.link.call_stack(cx);
        }
    }

    /// Returns true if nothing comes after the [input](Self::input): the peer sends nothing more.
    /// It may still read.
    pub fn has_ended(&self) -> bool {
        self.status.has_ended
    }

    /// Returns true if the connection is gone: both sides have ended it, or it is broken. What was
    /// not sent by then is lost.
    pub fn is_closed(&self) -> bool {
        self.status.is_closed
    }

    /// Takes what has arrived, at the beginning of a task that the stack has called for.
    fn refresh(&mut self) {
        self.input.drain(..core::mem::take(&mut self.consumed));
        self.status = self.link.pipe.take_arrived(&mut self.input);
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("peer", &self.peer).finish_non_exhaustive()
    }
}

/// What the object of a connection holds.
#[derive(Debug)]
pub struct Session<S> {
    /// The connection.
    pub connection: Connection,
    /// The program's own state of it.
    pub service: S,
}

/// The object of a connection, for tasks that are to write to it later: those that bring an answer.
/// A handle that the [service](Session::service) itself holds would keep it alive for ever.
pub type SessionObject<S> = Object<Plain<Session<S>>>;

/// Calls the service of a connection.
struct Served<S: Service>(SessionObject<S>);

impl<S: Service> Program for Served<S> {
    fn call(&self, cx: &mut Context) {
        let object = self.0.clone();
        let task = cx.task(self.0.write()).priority(Priority::Normal).begin_operation();
        task.spawn(move |session, cx| {
            session.connection.refresh();
            session.service.serve(&mut session.connection, &object, cx);
        });
    }
}

/// The links of all connections, for the end of the runtime.
pub(super) struct Links(SpinLock<Option<Vec<Weak<Link>>>>);

impl Links {
    pub fn new() -> Self {
        Self(SpinLock::new(Some(Vec::new())))
    }

    /// Makes the object of a connection, on a worker.
    pub fn connect<S: Service>(
        &self,
        (id, peer, pipe): (ConnectionId, Peer, Arc<Pipe>),
        service: S,
        stack: &StackObject,
        cx: &mut Context,
    ) -> Arc<dyn Program> {
        let link = Arc::new(Link { id, pipe, stack: SpinLock::new(Some(stack.clone())) });
        if !self.add(&link) {
            link.forget_stack();
        }
        let connection = Connection { link, peer, input: Vec::new(), consumed: 0, status: Status::default() };
        let session = Session { connection, service };
        let worker = id.number() % cx.workers();
        Arc::new(Served(cx.handle().plain(session).core(worker).build()))
    }

    /// Returns false if the runtime has begun to end.
    fn add(&self, link: &Arc<Link>) -> bool {
        self.0.with(|links| {
            let Some(links) = links else { return false };
            // Before it grows, so that this costs little for each.
            if links.len() == links.capacity() {
                links.retain(|link| link.strong_count() > 0);
            }
            links.push(Arc::downgrade(link));
            true
        })
    }

    /// Lets no connection find the stack any more.
    pub fn close(&self) {
        let links = self.0.with(Option::take).into_iter().flatten();
        links.filter_map(|link| link.upgrade()).for_each(|link| link.forget_stack());
    }
}

impl Link {
    fn forget_stack(&self) {
        // Dropped without the lock.
        drop(self.stack.with(Option::take));
    }
}
