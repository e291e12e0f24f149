//! A connection: its socket, the pipe to its program, and how far it has come.

use super::{Call, ConnectionId};
use crate::network::Peer;
use crate::network::pipe::Pipe;
use alloc::sync::Arc;
use smoltcp::iface::SocketHandle;
use smoltcp::socket::tcp::{Socket, State};
use smoltcp::time::Instant;
use smoltcp::wire::IpAddress;

/// A connection, or a socket that is becoming one.
pub(super) struct Slot<P> {
    pub id: ConnectionId,
    pub port: u16,
    pub socket: SocketHandle,
    pub stage: Stage<P>,
}

pub(super) enum Stage<P> {
    /// The peer has not confirmed.
    Beginning {
        limit: Instant,
    },
    /// The program is being called to make an object of it.
    Accepted(Arc<Pipe>),
    Open {
        pipe: Arc<Pipe>,
        program: P,
    },
    /// The program has closed it.
    Closing {
        pipe: Arc<Pipe>,
        program: P,
        /// Bytes of output that the peer has not confirmed.
        unsent: usize,
        /// The peer is cut off then.
        limit: Instant,
    },
}

impl<P> Stage<P> {
    fn pipe(&self) -> Option<&Pipe> {
        match self {
            Self::Beginning { .. } => None,
            Self::Accepted(pipe) | Self::Open { pipe, .. } | Self::Closing { pipe, .. } => Some(pipe),
        }
    }

    pub fn into_program(self) -> Option<P> {
        match self {
            Self::Beginning { .. } | Self::Accepted(_) => None,
            Self::Open { program, .. } | Self::Closing { program, .. } => Some(program),
        }
    }
}

impl<P> Slot<P> {
    /// Returns when the peer's time is over, if it has a limit.
    pub fn limit(&self) -> Option<Instant> {
        match self.stage {
            Stage::Beginning { limit } | Stage::Closing { limit, .. } => Some(limit),
            Stage::Accepted(_) | Stage::Open { .. } => None,
        }
    }

    /// Ends the pipe. Returns true if the program is to be called.
    pub fn end(&self) -> bool {
        self.stage.pipe().is_some_and(Pipe::end)
    }
}

impl<P: Clone> Slot<P> {
    /// Calls the program of the port if the peer of a beginning connection has confirmed. Returns
    /// true if it has.
    pub fn begin_program(&mut self, socket: &Socket<'_>, call: &mut dyn FnMut(Call<P>)) -> bool {
        let is_confirmed = !matches!(socket.state(), State::Listen | State::SynReceived | State::Closed);
        let Some(remote) = socket.remote_endpoint().filter(|_| is_confirmed) else { return false };
        let IpAddress::Ipv4(address) = remote.addr;
        let peer = Peer { address: address.octets(), port: remote.port };
        let pipe = Arc::new(Pipe::new());
        self.stage = Stage::Accepted(pipe.clone());
        call(Call::Accept { port: self.port, id: self.id, peer, pipe });
        true
    }

    /// Moves bytes between socket and program, and closes the socket if the program wants that.
    /// Until `linger` the peer has time if it has taken output of a closed connection.
    pub fn exchange(
        &mut self,
        socket: &mut Socket<'_>,
        now: Instant,
        linger: Instant,
        call: &mut dyn FnMut(Call<P>),
    ) {
        if let Stage::Open { pipe, program } | Stage::Closing { pipe, program, .. } = &self.stage
            && pipe.exchange(socket)
        {
            call(Call::Serve(program.clone()));
        }
        if let Stage::Open { pipe, program } = &self.stage
            && pipe.is_closing()
        {
            let (pipe, program) = (pipe.clone(), program.clone());
            self.stage = Stage::Closing { pipe, program, unsent: usize::MAX, limit: linger };
        }
        if let Stage::Closing { pipe, unsent, limit, .. } = &mut self.stage {
            let left = pipe.unsent() + socket.send_queue();
            if left < *unsent {
                (*unsent, *limit) = (left, linger);
            }
            if *limit <= now {
                socket.abort();
            } else if pipe.unsent() == 0 {
                socket.close();
            }
        }
    }
}
