//! Ends the wait for a connection.

use std::io;
#[cfg(not(target_os = "linux"))]
use std::net::SocketAddr;
use std::net::{TcpListener, TcpStream};

/// Wakes a thread that waits for a connection. Linux ends the wait when the listener is shut down,
/// which needs no free file and no network.
#[cfg(target_os = "linux")]
pub(super) struct Waker(TcpStream);

#[cfg(target_os = "linux")]
impl Waker {
    /// Makes a waker early, while a file can be opened.
    pub fn new(listener: &TcpListener) -> io::Result<Self> {
        Ok(Self(std::os::fd::OwnedFd::from(listener.try_clone()?).into()))
    }

    pub fn wake(&self) {
        let _ = self.0.shutdown(std::net::Shutdown::Both);
    }
}

/// Wakes a thread that waits for a connection, by a connection.
#[cfg(not(target_os = "linux"))]
pub(super) struct Waker(SocketAddr);

#[cfg(not(target_os = "linux"))]
impl Waker {
    pub fn new(listener: &TcpListener) -> io::Result<Self> {
        listener.local_addr().map(super::reachable).map(Self)
    }

    pub fn wake(&self) {
        drop(TcpStream::connect_timeout(&self.0, super::RETRY));
    }
}
