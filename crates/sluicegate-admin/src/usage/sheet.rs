//! A body that is written by a thread while it is sent: no export is held in memory.

use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// How much is sent at once.
const PIECE_BYTES: usize = 64 * 1024;
/// How many pieces may wait for whoever reads.
const PIECES_MAX: usize = 8;

type Piece = Result<Bytes, io::Error>;

/// What a thread writes into.
pub(super) struct SheetWriter {
    pieces: Sender<Piece>,
    piece: Vec<u8>,
}

/// What is sent.
pub(super) struct SheetBody(Receiver<Piece>);

/// Both ends.
pub(super) fn sheet() -> (SheetWriter, SheetBody) {
    let (pieces, sent) = channel(PIECES_MAX);
    (SheetWriter { pieces, piece: Vec::with_capacity(PIECE_BYTES) }, SheetBody(sent))
}

impl SheetWriter {
    /// Breaks the body off: whoever reads must not take it for the whole.
    pub(super) fn fail(pieces: &Sender<Piece>, why: &dyn std::fmt::Display) {
        let _ = pieces.blocking_send(Err(io::Error::other(why.to_string())));
    }

    /// The way to break it off, which outlives the writer.
    pub(super) fn pieces(&self) -> Sender<Piece> {
        self.pieces.clone()
    }

    fn send(&mut self) -> io::Result<()> {
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE_BYTES));
        let gone = |_| io::Error::new(io::ErrorKind::BrokenPipe, "nobody reads it any more");
        self.pieces.blocking_send(Ok(piece.into())).map_err(gone)
    }
}

impl Write for SheetWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE_BYTES {
            self.send()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() { Ok(()) } else { self.send() }
    }
}

impl Body for SheetBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}
