//! A connection to a server: one question, one answer, and only so much patience.

use std::io::{self, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::Reply;

/// What can be read from and written to.
pub trait Duplex: Read + Write + Send {}

impl<T: Read + Write + Send> Duplex for T {}

/// A connection.
pub struct Client(BufReader<Box<dyn Duplex>>);

impl Client {
    /// Connects to this address. What takes longer than `patience` is an error.
    pub fn connect(address: SocketAddr, patience: Duration) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, patience)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        Ok(Self::over(stream))
    }

    /// Connects to the socket at this path.
    pub fn connect_local(path: &Path, patience: Duration) -> io::Result<Self> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        Ok(Self::over(stream))
    }

    /// Speaks over what is connected already.
    pub fn over(stream: impl Duplex + 'static) -> Self {
        Self(BufReader::new(Box::new(stream)))
    }

    /// Sends a command and waits for the answer. An answer that tells of an error is an answer.
    pub fn ask<W: AsRef<[u8]>>(&mut self, words: &[W]) -> io::Result<Reply> {
        self.send(words)?;
        self.receive()
    }

    /// Sends a command.
    pub fn send<W: AsRef<[u8]>>(&mut self, words: &[W]) -> io::Result<()> {
        let mut wire = format!("*{}\r\n", words.len()).into_bytes();
        for word in words.iter().map(AsRef::as_ref) {
            wire.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            wire.extend_from_slice(word);
            wire.extend_from_slice(b"\r\n");
        }
        let stream = self.0.get_mut();
        stream.write_all(&wire)?;
        stream.flush()
    }

    /// Waits for the next answer.
    pub fn receive(&mut self) -> io::Result<Reply> {
        Reply::read(&mut self.0)
    }
}
