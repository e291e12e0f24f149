//! The queue of requests of a virtio block device.

use crate::devices::{Counters, DeviceMemory, Doorbells, Transport};
use alloc::sync::Arc;
use bitflags::bitflags;
use virtio_drivers::Result;
use virtio_drivers::queue::VirtQueue;
use virtio_drivers::transport::Transport as _;
use xkernel_files::BlockError;
use zerocopy::{Immutable, IntoBytes};

/// Bytes of data of a request, at most.
pub(super) const DATA: usize = 64 << 10;
/// Bytes of a buffer: the data, what is asked, and the status.
pub(super) const BUFFER: usize = DATA + size_of::<Header>() + 1;
/// Entries of the queue. A request takes three.
const ENTRIES: usize = 32;
/// Requests at a time.
pub(super) const REQUESTS: usize = ENTRIES / 3;
/// The device has one queue.
const QUEUE: u16 = 0;

bitflags! {
    /// What the device can do.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Features: u64 {
        const READ_ONLY = 1 << 5;
        const FLUSH = 1 << 9;
        const VERSION_1 = 1 << 32;
    }
}

/// What is asked of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Kind {
    Read = 0,
    Write = 1,
    Flush = 4,
}

/// A request as the device reads it.
#[derive(Immutable, IntoBytes)]
#[repr(C)]
struct Header {
    kind: u32,
    reserved: u32,
    sector: u64,
}

/// A status that no device writes.
const NO_STATUS: u8 = 0xff;

/// A request that the device has.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub kind: Kind,
    pub sector: u64,
    /// Bytes of data.
    pub bytes: usize,
}

/// A buffer as the device sees it.
struct Parts<'a> {
    data: &'a mut [u8],
    header: &'a mut [u8],
    status: &'a mut [u8],
}

impl<'a> Parts<'a> {
    fn new(buffer: &'a mut [u8], request: Request) -> Self {
        let (data, rest) = buffer.split_at_mut(DATA);
        let (header, status) = rest.split_at_mut(size_of::<Header>());
        Self { data: &mut data[..request.bytes], header, status: &mut status[..1] }
    }

    /// Calls `pass` with what the device reads and what it writes.
    fn with_lists<R>(
        self,
        kind: Kind,
        pass: impl for<'b> FnOnce(&'b [&'b [u8]], &'b mut [&'b mut [u8]]) -> R,
    ) -> R {
        let Self { data, header, status } = self;
        match kind {
            Kind::Read => pass(&[header], &mut [data, status]),
            Kind::Write => pass(&[header, data], &mut [status]),
            Kind::Flush => pass(&[header], &mut [status]),
        }
    }
}

/// The queue, and the device that it belongs to.
pub(super) struct Queue {
    queue: VirtQueue<DeviceMemory, ENTRIES>,
    transport: Transport,
    features: Features,
}

impl Queue {
    /// Starts a device.
    pub fn new(mut transport: Transport) -> Result<Self> {
        let features = transport.begin_init(Features::all());
        let queue = VirtQueue::new(&mut transport, QUEUE, false, false)?;
        transport.finish_init();
        Ok(Self { queue, transport, features })
    }

    /// Returns the number of sectors of the device.
    pub fn sectors(&self) -> Result<u64> {
        self.transport.read_consistent(|| {
            let half = |offset| self.transport.read_config_space::<u32>(offset).map(u64::from);
            Ok(half(0)? | half(4)? << 32)
        })
    }

    pub fn is_read_only(&self) -> bool {
        self.features.contains(Features::READ_ONLY)
    }

    /// Returns true if what is written needs a flush to be durable.
    pub fn has_cache(&self) -> bool {
        self.features.contains(Features::FLUSH)
    }

    pub fn counters(&self) -> Arc<Counters> {
        self.transport.counters()
    }

    pub fn doorbells(&self) -> Arc<Doorbells> {
        self.transport.doorbells()
    }

    /// Hands a request to the device, which is told of it when its doorbell is rung. Returns its
    /// number.
    ///
    /// # Safety
    ///
    /// The buffer stays where it is, and is not accessed before [`end`](Self::end).
    pub unsafe fn begin(&mut self, request: Request, buffer: &mut [u8]) -> u16 {
        let parts = Parts::new(buffer, request);
        let header = Header { kind: request.kind as u32, reserved: 0, sector: request.sector };
        parts.header.copy_from_slice(header.as_bytes());
        parts.status[0] = NO_STATUS;
        let queue = &mut self.queue;
        // SAFETY: the caller's promise.
        let number = parts.with_lists(request.kind, |read, written| unsafe { queue.add(read, written) });
        number.expect("the queue has entries for all requests")
    }

    /// Returns the number of a request that the device has done.
    pub fn done(&self) -> Option<u16> {
        self.queue.peek_used()
    }

    /// Ends the request that [`done`](Self::done) has returned. Returns how it went.
    ///
    /// # Safety
    ///
    /// Request and buffer are those with which [`begin`](Self::begin) has returned the number.
    pub unsafe fn end(
        &mut self,
        number: u16,
        request: Request,
        buffer: &mut [u8],
    ) -> core::result::Result<(), BlockError> {
        let queue = &mut self.queue;
        let parts = Parts::new(buffer, request);
        let popped = parts.with_lists(request.kind, |read, written| {
            // SAFETY: the caller's promise.
            unsafe { queue.pop_used(number, read, written) }
        });
        match (popped, Parts::new(buffer, request).status[0]) {
            (Ok(_), 0) => Ok(()),
            (Ok(_), 2) => Err(BlockError::Unsupported),
            _ => Err(BlockError::Failed),
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // It uses no buffer from now on.
        self.transport.queue_unset(QUEUE);
    }
}
