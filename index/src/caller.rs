//! A plain thread that calls operations: how it runs one, and how it reads.

use xtasking::{JoinError, Primitive, Promise, Runtime, arena::Reader};

/// The runtime that plain threads call operations of.
pub(crate) struct Caller<'a> {
    rt: &'a Runtime,
    reads_in_place: bool,
}

impl<'a> Caller<'a> {
    /// Returns a caller of operations on nodes with this primitive.
    pub(crate) fn new(rt: &'a Runtime, primitive: Primitive) -> Self {
        // Nodes with `Sequencing` are read by tasks only, so a thread would wait at each of them.
        // In a simulation only tasks take time, and they run only while a thread waits.
        let reads_in_place = primitive != Primitive::Sequencing && !rt.is_simulated();
        Self { rt, reads_in_place }
    }

    /// Returns true if threads should read nodes themselves.
    #[inline]
    pub(crate) fn reads_in_place(&self) -> bool {
        self.reads_in_place
    }

    /// Returns the runtime.
    pub(crate) fn runtime(&self) -> &'a Runtime {
        self.rt
    }

    /// Starts one operation, which fulfils the promise, and waits for it.
    pub(crate) fn run<R: Send>(&self, start: impl FnOnce(&'a Runtime, Promise<R>)) -> Result<R, JoinError> {
        if !self.rt.may_block() {
            return Err(JoinError::WouldBlock);
        }
        let (promise, handle) = self.rt.promise();
        start(self.rt, promise);
        handle.join()
    }

    /// Runs an operation on the calling thread.
    #[inline]
    pub(crate) fn read<R>(
        &self,
        operation: impl FnOnce(&Reader<'_>) -> Result<R, JoinError>,
    ) -> Result<R, JoinError> {
        // A task of the calling worker might be in the middle of a node that the operation reads.
        if !self.rt.may_block() {
            return Err(JoinError::WouldBlock);
        }
        operation(&self.rt.reader())
    }
}
