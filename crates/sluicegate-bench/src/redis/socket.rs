//! A bare connection: what is sent was made beforehand, and of an answer only its beginning counts.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::wire;

/// The longest reply.
const REPLY_BYTES_MAX: usize = 64 * 1024;

pub(super) struct Socket {
    stream: TcpStream,
    reply: Vec<u8>,
}

impl Socket {
    pub(super) async fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await.context("cannot connect")?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, reply: vec![0; REPLY_BYTES_MAX] })
    }

    /// The reply to one command.
    pub(super) async fn ask(&mut self, request: &[u8]) -> Result<&[u8]> {
        self.stream.write_all(request).await?;
        let mut used = 0;
        loop {
            let read = self.stream.read(&mut self.reply[used..]).await?;
            ensure!(read > 0, "the server has closed the connection, or said too much");
            used += read;
            if let Some(length) = wire::reply_length(&self.reply[..used])? {
                ensure!(length == used, "the server said more than it was asked");
                return Ok(&self.reply[..length]);
            }
        }
    }
}
