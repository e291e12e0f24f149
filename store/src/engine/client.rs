//! A session for threads that wait for replies.

use super::Engine;
use crate::resp::Requests;
use crate::session::Session;
use xtasking::JoinError;

/// A session whose thread waits for the replies: for tests, and for programs that have the store
/// inside.
///
/// ```
/// use xtasking::Runtime;
/// use xtasking_store::Engine;
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let engine = Engine::builder().shards(16).build(&rt);
/// let mut client = engine.client();
/// assert_eq!(client.run(["SET", "key", "value"])?, b"+OK\r\n");
/// assert_eq!(client.run(["GET", "key"])?, b"$5\r\nvalue\r\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Client {
    engine: Engine,
    /// `None` once a task has failed with it.
    session: Option<Box<Session>>,
}

impl Client {
    pub(super) fn new(engine: Engine, session: Box<Session>) -> Self {
        Self { engine, session: Some(session) }
    }

    /// Runs a command, and returns the bytes of its reply.
    ///
    /// # Errors
    ///
    /// If the runtime ends, or the command panics. Errors of the command are replies.
    pub fn run<A: AsRef<[u8]>>(&mut self, args: impl IntoIterator<Item = A>) -> Result<Vec<u8>, JoinError> {
        self.run_all(Requests::one(args))
    }

    /// Runs requests in order, and returns the bytes of their replies.
    ///
    /// # Errors
    ///
    /// As for [`run`](Self::run).
    pub fn run_all(&mut self, requests: Requests) -> Result<Vec<u8>, JoinError> {
        let rt = self.engine.runtime();
        if !rt.may_block() {
            return Err(JoinError::WouldBlock);
        }
        let session = self.session.take().ok_or(JoinError::Abandoned)?;
        let (promise, handle) = rt.promise();
        self.engine.submit(rt, session, requests, move |finished, _| promise.fulfil(finished));
        let finished = handle.join()?;
        self.session = Some(finished.session);
        Ok(finished.replies)
    }

    /// Takes the messages of channels to which the session listens, as bytes.
    pub fn take_messages(&mut self) -> Vec<u8> {
        self.session.as_mut().map(|session| session.take_messages()).unwrap_or_default()
    }

    /// Returns the session, unless a task has failed with it.
    pub fn session(&self) -> Option<&Session> {
        self.session.as_deref()
    }

    /// Returns the number of the session, as CLIENT ID does.
    pub fn id(&self) -> Option<u64> {
        self.session.as_deref().map(Session::id)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            self.engine.close(self.engine.runtime(), session);
        }
    }
}
