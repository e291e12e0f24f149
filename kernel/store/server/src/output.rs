//! Replies that are not sent yet.

use xkernel::network::Connection;
use xtasking::Context;

/// The largest buffer that is kept while it is empty, in bytes.
const LARGEST_KEPT: usize = 64 << 10;

/// The output of a connection, as far as there was no room for it.
#[derive(Default)]
pub struct Output {
    bytes: Vec<u8>,
    /// What of these was sent.
    sent: usize,
}

impl Output {
    /// Returns the buffer to which more is to be appended.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Returns how many bytes were not sent.
    pub fn unsent(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Sends as much as there is room for. If something is left, the connection's service is called
    /// when there is room again.
    pub fn send(&mut self, connection: &mut Connection, cx: &mut Context) {
        self.sent += connection.write(&self.bytes[self.sent..], cx);
        // Bytes are moved seldom enough that each is moved once, on average.
        if self.sent >= self.unsent() {
            self.bytes.drain(..std::mem::take(&mut self.sent));
            self.bytes.shrink_to(LARGEST_KEPT);
        }
    }
}
