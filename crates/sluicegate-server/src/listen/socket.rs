//! The server's end of a connection: its bytes, what was read to tell HTTP/1.1 from HTTP/2, and its place among all.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

use super::clock::{Clock, Protocol};
use super::conn_table::ConnPermit;
use sluicegate_node::net::Wire;

/// What every connection in HTTP/2 starts with.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A connection that was accepted.
pub(super) struct Socket {
    wire: Wire,
    first: Bytes,
    clock: Arc<Clock>,
    writes: Writes,
    /// Given back when the last bytes are done, also those after an upgrade.
    _place: ConnPermit,
}

/// How several pieces are written at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Writes {
    /// From where they lie.
    Gathered,
    /// From one buffer, into which small ones are copied. HTTP/2 then has many small answers in one write; where it can
    /// gather, it ends a write with every piece of 256 bytes.
    Copied,
}

impl Socket {
    pub(super) fn new(wire: Wire, first: Bytes, clock: Arc<Clock>, place: ConnPermit) -> Self {
        Self { wire, first, clock, writes: Writes::Gathered, _place: place }
    }

    /// The same, which writes in this way.
    pub(super) fn writing(self, writes: Writes) -> Self {
        Self { writes, ..self }
    }

    fn note(&self, polled: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &polled {
            Poll::Pending => self.clock.blocked(),
            Poll::Ready(Ok(bytes)) => self.clock.flowed(*bytes),
            Poll::Ready(Err(_)) => self.clock.flowed(0),
        }
        polled
    }
}

/// Reads until it is clear what the caller speaks.
pub(super) async fn listen_for_protocol(wire: &mut Wire) -> io::Result<(Protocol, Bytes)> {
    let mut first = [0; PREFACE.len()];
    let mut length = 0;
    while length < first.len() && PREFACE.starts_with(&first[..length]) {
        let more = wire.read(&mut first[length..]).await?;
        if more == 0 {
            break;
        }
        length += more;
    }
    let protocol = if first == *PREFACE { Protocol::Http2 } else { Protocol::Http1 };
    Ok((protocol, Bytes::copy_from_slice(&first[..length])))
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.first.is_empty() {
            let length = this.first.len().min(buffer.remaining());
            buffer.put_slice(&this.first[..length]);
            this.first.advance(length);
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        let polled = Pin::new(&mut this.wire).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            this.clock.heard();
        }
        polled
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.wire).poll_write(cx, bytes);
        this.note(polled)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().wire).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().wire).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.wire).poll_write_vectored(cx, slices);
        this.note(polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.writes == Writes::Gathered && self.wire.is_write_vectored()
    }
}
