//! Ports of the loopback address that stay ours while nothing listens on them.

use std::net::{Ipv4Addr, SocketAddr};

use socket2::{Domain, Socket, Type};

/// A port that nobody else is given until this is dropped. A server of ours may listen on it, end, and come back.
#[derive(Debug)]
pub struct Port {
    address: SocketAddr,
    _kept: Socket,
}

impl Port {
    /// One that is free.
    pub fn reserve() -> Self {
        let kept = Socket::new(Domain::IPV4, Type::STREAM, None).expect("there are sockets");
        kept.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).expect("there is a free port");
        // Only now: whoever looks for a free port must not get this one, and whoever listens on it may.
        kept.set_reuse_address(true).expect("an option of every system");
        let address = kept.local_addr().ok().and_then(|address| address.as_socket());
        Self { address: address.expect("it is bound"), _kept: kept }
    }

    /// The port on the loopback address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its number.
    pub fn number(&self) -> u16 {
        self.address.port()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_port_can_be_listened_on_again_and_again_and_refuses_in_between() {
        let port = Port::reserve();
        for _ in 0..3 {
            assert!(TcpStream::connect(port.address()).is_err());
            let listener = TcpListener::bind(port.address()).unwrap();
            let client = TcpStream::connect(port.address()).unwrap();
            let (server, _) = listener.accept().unwrap();
            drop((server, client));
        }
    }

    #[test]
    fn a_port_is_given_out_once() {
        let kept = Port::reserve();
        let taken = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        assert!(taken.bind(&kept.address().into()).is_err());
    }
}
