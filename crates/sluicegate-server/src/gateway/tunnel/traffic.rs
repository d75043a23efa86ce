//! The bytes that pass through a tunnel, counted at the caller's end of it.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How many bytes have passed, both directions together.
#[derive(Debug, Default)]
pub(super) struct Traffic(AtomicU64);

impl Traffic {
    pub(super) fn bytes(&self) -> u64 {
        self.0.load(Relaxed)
    }

    pub(super) fn add(&self, bytes: usize) {
        self.0.fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Relaxed);
    }
}

/// One end of a tunnel, whose bytes are counted.
pub(super) struct Counted<T> {
    end: T,
    traffic: Arc<Traffic>,
}

impl<T> Counted<T> {
    pub(super) fn new(end: T, traffic: &Arc<Traffic>) -> Self {
        Self { end, traffic: Arc::clone(traffic) }
    }

    fn note(&self, polled: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = &polled {
            self.traffic.add(*bytes);
        }
        polled
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Counted<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let polled = Pin::new(&mut this.end).poll_read(cx, buffer);
        this.traffic.add(buffer.filled().len() - before);
        polled
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Counted<T> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.end).poll_write(cx, bytes);
        this.note(polled)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().end).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().end).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.end).poll_write_vectored(cx, slices);
        this.note(polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.end.is_write_vectored()
    }
}
