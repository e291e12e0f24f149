//! The HTTP server: one thread that accepts, and one for each of a few connections.
//!
//! | file | what is in it |
//! |---|---|
//! | `connections` | the connections that are open |
//! | `host` | the names by which the server may be asked for |
//! | `refusal` | what becomes of requests that are not answered |
//! | `request` | the head of a request, bounded in size and time |
//! | `response` | responses, written within a time limit |
//! | `waker` | how the wait for a connection ends |

mod connections;
pub(crate) mod host;
mod refusal;
mod request;
mod response;
mod waker;

use crate::builder::ServeError;
use crate::site::Site;
use connections::Connections;
use std::fmt;
use std::io::Read;
use std::mem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use waker::Waker;
use xtasking::Runtime;

pub(crate) use refusal::Refusal;
pub(crate) use request::Request;
pub(crate) use response::Response;

/// How long a client may take to send a request.
const READ_LIMIT: Duration = Duration::from_secs(5);

/// How long a client may take to read a response.
const WRITE_LIMIT: Duration = Duration::from_secs(30);

/// How long the server reads on after a refusal, so that the client sees it before the end.
const LINGER: Duration = Duration::from_millis(200);

/// What it reads then at most, in bytes.
const LINGER_BYTES: usize = 64 << 10;

/// A pause after a failure to accept, such as of too many open files.
const RETRY: Duration = Duration::from_millis(20);

/// How long the end of a server waits for its thread, which may be unable to notice it.
const STOP_LIMIT: Duration = Duration::from_secs(1);

/// The page and metrics of a runtime while they are served. Dropping it ends the server.
///
/// The drop closes all connections and waits for the server's threads, for a second at most. The
/// runtime may end before.
///
/// A forked process has no server: its copy of this value does nothing, and its drop leaves the
/// parent's server alone. The port stays taken while either process has it open.
#[must_use = "dropping it ends the server"]
pub struct Server {
    address: SocketAddr,
    site: Arc<Site>,
    connections: Arc<Connections>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
    /// The process that has the threads.
    process: u32,
}

impl Server {
    /// Starts to serve a site.
    pub(crate) fn start(listener: TcpListener, site: Site) -> std::io::Result<Self> {
        let address = listener.local_addr()?;
        let waker = Waker::new(&listener)?;
        let (site, connections) = (Arc::new(site), Arc::new(Connections::default()));
        let thread = thread::Builder::new().name("inspect".to_owned());
        let (served, open) = (site.clone(), connections.clone());
        let thread = thread.spawn(move || accept(&listener, &served, &open))?;
        Ok(Self { address, site, connections, waker, thread: Some(thread), process: process::id() })
    }

    /// Shows another runtime from now on, also on pages that are open.
    ///
    /// ```
    /// use xtasking::Runtime;
    ///
    /// let page = xtasking_inspect::Builder::new().listen("127.0.0.1:0")?;
    /// for workers in 1..3 {
    ///     let rt = Runtime::builder().workers(workers).inspection(true).build()?;
    ///     page.show(&rt)?;
    ///     // The work of this turn.
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the runtime is not inspected, or this is a process that was forked from the one that
    /// serves. The page then shows the one before.
    pub fn show(&self, rt: &Runtime) -> Result<(), ServeError> {
        if self.is_forked() {
            return Err(ServeError::Forked);
        }
        self.site.show(rt.inspector().ok_or(ServeError::NotInspected)?);
        Ok(())
    }

    /// Returns the address at which the server listens, with the actual port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address of the page, for people.
    pub fn url(&self) -> String {
        format!("http://{}/", reachable(self.address))
    }

    /// Returns true in a process that was forked: it has none of the server's threads, and any of
    /// its locks may have been held by one of them.
    fn is_forked(&self) -> bool {
        process::id() != self.process
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        if self.is_forked() {
            mem::forget((thread, self.site.clone()));
            return;
        }
        // The thread reads it after its wait for a connection has ended.
        self.site.stop();
        self.connections.close();
        let end = Instant::now() + STOP_LIMIT;
        while !thread.is_finished() {
            if Instant::now() >= end {
                // It ends with the next connection.
                return;
            }
            self.waker.wake();
            thread::sleep(Duration::from_millis(1));
        }
        // A panic in the server has been printed, and is no reason to end the program.
        let _ = thread.join();
    }
}

/// Returns an address that leads to a listener: one of all addresses is reached by loopback.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

/// Accepts connections until the server is stopped, and waits for their ends.
fn accept(listener: &TcpListener, site: &Site, connections: &Connections) {
    thread::scope(|scope| {
        for stream in listener.incoming() {
            if site.is_stopped() {
                break;
            }
            let Ok(mut stream) = stream else {
                thread::sleep(RETRY);
                continue;
            };
            let Some(slot) = connections.open(&stream) else {
                let _ = Refusal::Busy.response().write_at_once(&mut stream);
                continue;
            };
            let thread = thread::Builder::new().name("inspect connection".to_owned());
            // Where no thread can be started, the connection is closed.
            let _ = thread.spawn_scoped(scope, move || {
                serve(&mut stream, site);
                drop(slot);
            });
        }
        connections.close();
    });
}

/// Answers the request of a connection.
fn serve(stream: &mut TcpStream, site: &Site) {
    let _ = stream.set_nodelay(true);
    let answer = request::read(stream, Instant::now() + READ_LIMIT).and_then(|request| {
        if !host::is_allowed(request.host.as_deref(), site.hosts()) {
            return Err(Refusal::Host);
        }
        site.respond(&request)
    });
    // A client that is gone, or reads too slowly, gets no more than it has.
    match answer {
        Ok(response) => _ = response.write(stream, Instant::now() + WRITE_LIMIT),
        Err(refusal) => {
            let _ = refusal.response().write(stream, Instant::now() + READ_LIMIT);
            linger(stream);
        }
    }
}

/// Reads what the client still sends, for a short time: a connection that is closed with unread
/// bytes is reset, and the client may not see the response.
fn linger(stream: &mut TcpStream) {
    let end = Instant::now() + LINGER;
    let _ = stream.shutdown(Shutdown::Write);
    let mut ignored = [0; 1024];
    let mut read = 0;
    while read < LINGER_BYTES {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            return;
        }
        match stream.read(&mut ignored) {
            Ok(count) if count > 0 => read += count,
            _ => return,
        }
    }
}
