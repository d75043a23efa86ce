//! The PROXY protocol, versions 1 and 2: before the first byte of a caller, its proxy says who that is.
//!
//! Where it is switched on, it is not optional: whoever could leave the header out could also make one up. So only
//! proxies that are trusted may connect, and what does not start with a header is closed.

mod v1;
mod v2;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sluicegate_core::policy::{Proxies, ProxyProtocol, ServerSettings};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

/// As many bytes as tell the versions apart: all of the second one's signature, less than the shortest line of the
/// first.
const START: usize = v2::SIGNATURE.len();

/// Lets trusted proxies in, and asks them who called.
#[derive(Debug)]
pub struct ProxyGate {
    proxies: Proxies,
    /// Anyone can connect as often as they like: what went wrong is said once, for whoever sets this up.
    told_untrusted: AtomicBool,
    told_malformed: AtomicBool,
}

/// Who called, as a proxy says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Said {
    /// This one.
    Caller(SocketAddr),
    /// The proxy itself, to see whether we are there; or someone whose address it cannot tell.
    Itself,
}

/// Why nobody said who called.
#[derive(Debug)]
enum Failed {
    /// The connection ended, as those do that only look whether someone listens.
    Ended,
    /// What came is no header.
    Malformed(Malformed),
}

/// Why bytes are no header of the PROXY protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Malformed {
    /// They start otherwise.
    Start,
    /// The line of version 1 does not end where it must.
    LineTooLong,
    /// The line of version 1 does not say what it must.
    Line,
    /// A version, command or kind of address that there is not.
    Unknown,
    /// The block of version 2 is larger than any that is needed.
    BlockTooLong,
    /// The block of version 2 has no room for the addresses it should hold.
    BlockTooShort,
}

impl From<io::Error> for Failed {
    fn from(_: io::Error) -> Self {
        Self::Ended
    }
}

impl From<Malformed> for Failed {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

impl ProxyGate {
    /// The gate that the policy file wants before the gateway; nothing: none.
    pub fn of(server: &ServerSettings) -> Option<Arc<Self>> {
        match server.proxy_protocol {
            ProxyProtocol::Off => None,
            ProxyProtocol::Required => Some(Arc::new(Self {
                proxies: server.proxies.clone(),
                told_untrusted: AtomicBool::new(false),
                told_malformed: AtomicBool::new(false),
            })),
        }
    }

    /// Who called over this connection; nothing: it is to be closed.
    pub(super) async fn caller(&self, stream: &mut TcpStream, peer: SocketAddr) -> Option<SocketAddr> {
        if !self.proxies.trusts(peer.ip()) {
            if !self.told_untrusted.swap(true, Ordering::Relaxed) {
                tracing::warn!(
                    "`proxy_protocol` is on: a connection from outside of `trusted_proxies` was closed, and so is \
                     every other one from now on without a word"
                );
            }
            return None;
        }
        match read(stream).await {
            Ok(Said::Caller(caller)) => Some(caller),
            Ok(Said::Itself) => Some(peer),
            Err(Failed::Ended) => None,
            Err(Failed::Malformed(why)) => {
                if !self.told_malformed.swap(true, Ordering::Relaxed) {
                    tracing::warn!(
                        ?why,
                        "`proxy_protocol` is on: a connection of a trusted proxy that does not start with its header \
                         was closed, and so is every other one from now on without a word"
                    );
                }
                None
            }
        }
    }
}

/// Reads a header, and not one byte more.
async fn read(stream: &mut TcpStream) -> Result<Said, Failed> {
    let mut start = [0; START];
    stream.read_exact(&mut start).await?;
    if start == v2::SIGNATURE {
        return read_v2(stream).await;
    }
    if start.starts_with(v1::START) {
        return read_v1(stream, start).await;
    }
    Err(Malformed::Start.into())
}

async fn read_v1(stream: &mut TcpStream, start: [u8; START]) -> Result<Said, Failed> {
    let mut line = [0; v1::LENGTH_MAX];
    line[..START].copy_from_slice(&start);
    let mut length = START;
    while !line[..length].contains(&b'\n') {
        let room = &mut line[length..];
        if room.is_empty() {
            return Err(Malformed::LineTooLong.into());
        }
        // What follows the line is the caller's: it is looked at, and left where it is.
        let seen = stream.peek(room).await?;
        if seen == 0 {
            return Err(Failed::Ended);
        }
        let taken = room[..seen].iter().position(|byte| *byte == b'\n').map_or(seen, |end| end + 1);
        stream.read_exact(&mut room[..taken]).await?;
        length += taken;
    }
    Ok(v1::parse(&line[..length])?)
}

async fn read_v2(stream: &mut TcpStream) -> Result<Said, Failed> {
    let mut head = [0; v2::HEAD];
    stream.read_exact(&mut head).await?;
    let length = v2::block_length(head)?;
    let mut block = [0; v2::BLOCK_MAX];
    let block = &mut block[..length];
    stream.read_exact(block).await?;
    Ok(v2::parse(head, block)?)
}

#[cfg(test)]
mod tests;
