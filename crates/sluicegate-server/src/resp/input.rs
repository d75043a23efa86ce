//! What was read and is not answered yet. It grows with what a command needs, and shrinks when nobody asks.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

use super::command::{COMMAND_BYTES_MAX, LENGTH_LINE_BYTES_MAX};
use crate::listen::Wire;

/// What a connection has from the start: several commands.
const BYTES_MIN: usize = 4 * 1024;

/// What a connection keeps while it is idle.
const BYTES_KEPT: usize = 16 * 1024;

/// The largest command, and the line after it that shows that it is too large.
const BYTES_MAX: usize = COMMAND_BYTES_MAX + 2 * LENGTH_LINE_BYTES_MAX;

/// Bytes in the order in which they came.
pub(super) struct Input {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Whether there may have been more to read than there was room for.
    full: bool,
}

impl Input {
    pub(super) fn new() -> Self {
        Self { bytes: vec![0; BYTES_MIN], start: 0, end: 0, full: false }
    }

    /// What is not answered yet.
    pub(super) fn unread(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// So many bytes are answered.
    pub(super) fn consume(&mut self, length: usize) {
        self.start = (self.start + length).min(self.end);
    }

    /// Makes room for what comes next.
    pub(super) fn make_room(&mut self) {
        self.bytes.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.end == 0 && self.bytes.len() > BYTES_KEPT {
            self.bytes = vec![0; BYTES_KEPT];
        } else if self.end * 2 > self.bytes.len() || (self.full && self.bytes.len() < BYTES_KEPT) {
            self.bytes.resize((self.bytes.len() * 2).min(BYTES_MAX), 0);
        }
    }

    /// Reads what is there. How much that was; nothing at all is the end of what comes.
    pub(super) fn poll_read(&mut self, stream: &mut Wire, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(&mut self.bytes[self.end..]);
        let polled = Pin::new(stream).poll_read(cx, &mut buffer);
        let (length, room) = (buffer.filled().len(), buffer.remaining());
        polled.map_ok(|()| {
            self.end += length;
            self.full = room == 0;
            length
        })
    }
}
