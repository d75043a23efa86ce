//! Taking an address to listen on, or saying why it cannot be had.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;

/// How many connections may wait to be accepted.
const BACKLOG: i32 = 1_024;

/// An address that is listened on.
#[derive(Debug)]
pub struct Listener {
    pub(super) socket: TcpListener,
    address: SocketAddr,
}

/// Why an address cannot be listened on.
#[derive(Debug)]
pub struct BindError {
    address: SocketAddr,
    flag: &'static str,
    cause: io::Error,
}

impl Listener {
    /// Listens on this address; port 0 is one that the system chooses. `flag` is the option that would change it.
    ///
    /// Needs a runtime.
    pub fn bind(address: SocketAddr, flag: &'static str) -> Result<Self, BindError> {
        let failed = |cause| BindError { address, flag, cause };
        let socket = bind(address).map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        Ok(Self { socket, address })
    }

    /// The address, with the port that the system chose.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // Connections of the process before this one may linger for a minute; they do not keep the port.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, flag, cause } = self;
        match cause.kind() {
            io::ErrorKind::AddrInUse => write!(
                f,
                "{address} is already in use: stop the other process or choose another address with {flag}"
            ),
            io::ErrorKind::PermissionDenied => write!(
                f,
                "{address} may not be used by this user: choose a port above 1023 with {flag}, or grant the right \
                 to bind to it"
            ),
            io::ErrorKind::AddrNotAvailable => write!(
                f,
                "{address} is no address of this machine: choose one that is with {flag}, or 0.0.0.0 for all"
            ),
            _ => write!(f, "cannot listen on {address}: {cause}; choose another address with {flag}"),
        }
    }
}

impl std::error::Error for BindError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}
