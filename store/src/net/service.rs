//! An engine with its listeners and timers.

use super::connections::Connections;
use super::listener::{Listen, Listener};
use crate::engine::{self, Engine};
use crate::log::OpenError;
use std::net::{SocketAddr, ToSocketAddrs};
#[cfg(unix)]
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::{error, fmt, io};
use xtasking::Runtime;
use xtasking::events::net::TcpListener;
#[cfg(unix)]
use xtasking::events::net::UnixListener;
use xtasking::platform::{PlatformError, SimulatedListener};

/// A store that listens; dropping it leaves the connections as they are. They are closed when the
/// runtime ends.
///
/// ```
/// use std::io::{Read, Write};
/// use std::net::TcpStream;
/// use xtasking::Runtime;
/// use xtasking_store::net::Service;
/// use xtasking_store::Engine;
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let mut service = Service::start(Engine::builder(), &rt);
/// let addresses = service.listen("127.0.0.1:0")?;
///
/// let mut client = TcpStream::connect(addresses[0])?;
/// client.write_all(b"SET greeting hello\r\nGET greeting\r\n")?;
/// let mut replies = [0; 16];
/// client.read_exact(&mut replies)?;
/// assert_eq!(&replies, b"+OK\r\n$5\r\nhello\r\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Service {
    engine: Engine,
    connections: Arc<Connections>,
    next: Arc<AtomicUsize>,
    #[cfg(unix)]
    sockets: Vec<PathBuf>,
}

/// Why a service cannot listen.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServeError {
    /// The system refuses to listen at an address.
    Listen {
        /// The address, or the path of the socket.
        address: String,
        /// Why.
        cause: io::Error,
    },
    /// The settings of TLS are wrong, or the files that they name.
    Tls(String),
    /// The runtime does not register the socket.
    Register(PlatformError),
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen { address, cause } => write!(f, "cannot listen at {address}: {cause}"),
            Self::Tls(why) => write!(f, "cannot listen for TLS: {why}"),
            Self::Register(error) => error.fmt(f),
        }
    }
}

impl error::Error for ServeError {}

impl Service {
    /// Builds an engine, and starts the timers that end waits, remove expired keys, take snapshots
    /// and bound the memory.
    ///
    /// # Panics
    ///
    /// As [`Builder::build`](engine::Builder::build).
    pub fn start(engine: engine::Builder, rt: &Runtime) -> Self {
        Self::open(engine, rt).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Builds an engine that may have a log, and starts the timers.
    ///
    /// # Errors
    ///
    /// If the log cannot be opened.
    ///
    /// # Panics
    ///
    /// As [`Builder::open`](engine::Builder::open).
    pub fn open(engine: engine::Builder, rt: &Runtime) -> Result<Self, OpenError> {
        let connections = Arc::new(Connections::default());
        let engine = connections.dialogues.attach(engine, rt).open(rt)?;
        connections.dialogues.start_upkeep(&engine);
        #[cfg(feature = "tls")]
        connections.clone().watch_handshakes(engine.clone(), rt);
        Ok(Self {
            engine,
            connections,
            next: Arc::default(),
            #[cfg(unix)]
            sockets: Vec::new(),
        })
    }

    /// Returns the engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Listens at an address, or at all that a name stands for. Returns them.
    ///
    /// # Errors
    ///
    /// If there is no such address, it is in use, or the runtime has no events.
    pub fn listen(
        &mut self,
        address: impl ToSocketAddrs + fmt::Display,
    ) -> Result<Vec<SocketAddr>, ServeError> {
        self.listen_as(address, |socket| socket)
    }

    /// Listens at an address, or at all that a name stands for, for clients that speak TLS. The
    /// certificate and its key are in the files that the settings `tls-cert-file` and
    /// `tls-key-file` name; `tls-auth-clients` and `tls-ca-cert-file` say which certificates
    /// clients need.
    ///
    /// # Errors
    ///
    /// As for [`listen`](Self::listen); and if the settings or the files are wrong.
    #[cfg(feature = "tls")]
    pub fn listen_tls(
        &mut self,
        address: impl ToSocketAddrs + fmt::Display,
    ) -> Result<Vec<SocketAddr>, ServeError> {
        let config = super::tls_settings::load(&self.engine.server().settings).map_err(ServeError::Tls)?;
        self.listen_as(address, |socket| super::tls::TlsListener::new(socket, config.clone()))
    }

    fn listen_as<L: Listen>(
        &self,
        address: impl ToSocketAddrs + fmt::Display,
        listener: impl Fn(TcpListener) -> L,
    ) -> Result<Vec<SocketAddr>, ServeError> {
        let failed = |cause| ServeError::Listen { address: address.to_string(), cause };
        let mut listening = Vec::new();
        for address in address.to_socket_addrs().map_err(failed)? {
            let socket = TcpListener::bind(address).map_err(failed)?;
            listening.push(socket.local_addr().map_err(failed)?);
            let started = Listener::start(listener(socket), &self.engine, &self.connections, &self.next);
            started.map_err(ServeError::Register)?;
        }
        Ok(listening)
    }

    /// Listens at a socket of this path. A file that is there is replaced if it is a socket at
    /// which nothing listens. The file is removed when the service is dropped.
    ///
    /// # Errors
    ///
    /// If the system refuses, or the runtime has no events.
    #[cfg(unix)]
    pub fn listen_unix(&mut self, path: impl AsRef<Path>) -> Result<(), ServeError> {
        use std::os::unix::{fs::FileTypeExt, net::UnixStream};
        let path = path.as_ref();
        let failed = |cause| ServeError::Listen { address: path.display().to_string(), cause };
        let is_socket = path.symlink_metadata().is_ok_and(|file| file.file_type().is_socket());
        if is_socket && UnixStream::connect(path).is_err() {
            std::fs::remove_file(path).map_err(failed)?;
        }
        let socket = UnixListener::bind(path).map_err(failed)?;
        self.sockets.push(path.to_owned());
        let started = Listener::start(socket, &self.engine, &self.connections, &self.next);
        started.map_err(ServeError::Register)
    }

    /// Listens in a simulated network. The runtime is on its simulation, and so are the clients:
    /// their tasks [connect](xtasking::platform::Network::connect). Connections differ from those
    /// by TCP in nothing but the stream.
    ///
    /// ```
    /// use std::io::Write;
    /// use xtasking::{Promise, Runtime};
    /// use xtasking::events::{Buffered, Event, Handled, Interest};
    /// use xtasking::platform::{NetworkFaults, Simulation, SimulatedStream};
    /// use xtasking_store::Engine;
    /// use xtasking_store::net::Service;
    ///
    /// // The first seed decides the interleaving of the cores, the second what the network does.
    /// let (simulation, network) = Simulation::new(4, 1).network(NetworkFaults::default(), 2);
    /// let rt = Runtime::builder().platform(simulation).build()?;
    /// let mut service = Service::start(Engine::builder().shards(8).seed(3), &rt);
    /// service.listen_simulated(network.listen(6379)?)?;
    ///
    /// let mut stream = network.connect(6379)?;
    /// stream.write_all(b"SET greeting hello\r\n")?;
    /// let (stream, events) = rt.register(stream, Interest::Readable)?;
    /// let (promise, reply) = rt.promise();
    /// type Client = (Buffered<SimulatedStream>, Option<Promise<Vec<u8>>>);
    /// let client = (Buffered::new(stream), Some(promise));
    /// events.deliver(client, |(io, promise): &mut Client, event: Event<'_, _>, _cx| {
    ///     _ = io.fill(event.ready());
    ///     if io.input().ends_with(b"\n")
    ///         && let Some(promise) = promise.take()
    ///     {
    ///         promise.fulfil(io.input().to_vec());
    ///     }
    ///     Handled::Fully
    /// });
    /// assert_eq!(reply.join()?, b"+OK\r\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the runtime is on another platform.
    pub fn listen_simulated(&mut self, listener: SimulatedListener) -> Result<(), ServeError> {
        let started = Listener::start(listener, &self.engine, &self.connections, &self.next);
        started.map_err(ServeError::Register)
    }
}

#[cfg(unix)]
impl Drop for Service {
    fn drop(&mut self) {
        for path in &self.sockets {
            // It may be gone already.
            _ = std::fs::remove_file(path);
        }
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("engine", &self.engine).finish_non_exhaustive()
    }
}
