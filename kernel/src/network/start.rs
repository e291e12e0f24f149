//! The network as a program starts it.

use super::connection::{Connection, Links, SessionObject};
use super::stack::{Accept, Stack, StackObject};
use super::{ListenError, NetworkCard, Peer, Settings};
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use xtasking::events::{Handled, Interest};
use xtasking::platform::PlatformError;
use xtasking::{Context, Handle, Priority, Runtime};

/// What a program does with a connection.
pub trait Service: Sized + Send + 'static {
    /// Called in a task that writes the object of the connection: when it is there, when there is
    /// more [input](Connection::input) or, after a [write](Connection::write) that was cut short,
    /// room; when the peer has [ended](Connection::has_ended) its side; and, for the last time,
    /// when the connection is [closed](Connection::is_closed). Several of these may come together.
    ///
    /// It must not wait. What takes longer is a task of another object, which delivers its result
    /// by a task on `this`.
    fn serve(&mut self, connection: &mut Connection, this: &SessionObject<Self>, cx: &mut Context);
}

/// A network. It serves until the runtime ends.
pub struct Network {
    stack: StackObject,
}

/// Separates stack and connections, which keep each other alive, when the runtime begins to end: it
/// drops the handlers of events then.
struct Separation(Arc<Links>);

impl Drop for Separation {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Network {
    /// Makes a card serve TCP. The stack's home is the last worker of the runtime, which the
    /// program does not share.
    ///
    /// # Errors
    ///
    /// If the runtime's platform is not [`Cores`](crate::Cores), or the runtime has begun to end.
    pub fn start(rt: &Runtime, card: NetworkCard, settings: &Settings) -> Result<Self, PlatformError> {
        let (card, events) = rt.register_on(rt.workers() - 1, card, Interest::Both)?;
        let links = Arc::new(Links::new());
        let separation = Separation(links.clone());
        let stack = Stack::new(card, settings, links);
        // Before other tasks: what the card has no room for is lost.
        let stack = events.priority(Priority::High).deliver(stack, move |stack: &mut Stack, event, cx| {
            _ = &separation;
            stack.poll(event.object(), cx);
            Handled::Fully
        });
        Ok(Self { stack })
    }

    /// Lets a port take up to `most` connections at a time. Peers beyond are refused, and so are
    /// those for which there is no memory. A connection takes 64 KiB, and up to 160 KiB while it
    /// has much to receive and to send. `make` is called with each, and returns what serves it. The
    /// port listens when the result is there.
    pub fn listen<S: Service>(
        &self,
        rt: &Runtime,
        port: u16,
        most: usize,
        make: impl Fn(Peer) -> S + Send + Sync + 'static,
    ) -> Handle<Result<(), ListenError>> {
        rt.task(self.stack.write()).submit(move |stack, _cx| {
            let links = stack.links();
            let accept: Accept = Box::new(move |new, stack, cx| {
                let service = make(new.1);
                links.connect(new, service, stack, cx)
            });
            stack.listen(port, most, accept)
        })
    }

    /// Takes no further connections, and [closes](Connection::close) those that there are. The
    /// result is there when all are closed, 20 seconds from now at the latest: peers that have not
    /// taken their output by then are cut off.
    pub fn finish(&self, rt: &Runtime) -> Handle<()> {
        let (promise, handle) = rt.promise();
        let object = self.stack.clone();
        rt.task(self.stack.write()).spawn(move |stack, cx| stack.finish(promise, &object, cx));
        handle
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network").finish_non_exhaustive()
    }
}
