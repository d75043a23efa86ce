//! A small HTTP/1.1 client that shows exactly what was answered. It never repeats a request.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;
use socket2::{Domain, Socket, Type};

/// Nothing is waited for longer than this unless the server is stuck.
const STUCK: Duration = Duration::from_secs(60);

/// A longer head is no answer of ours.
const HEAD_LINES_MAX: usize = 200;

/// What was answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The first line.
    pub status_line: String,
    /// The number in it.
    pub status: u16,
    /// The headers in the order in which they came.
    pub headers: Vec<(String, String)>,
    /// The body, without its chunks.
    pub body: Vec<u8>,
}

impl Answer {
    /// The value of a header, if it is there.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.as_str())
    }

    /// The number in a header, if there is one.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.header(name)?.parse().ok()
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON; null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}

/// A request.
#[derive(Clone, Debug)]
pub struct Asked {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

impl Asked {
    /// A request without a body.
    pub fn new(method: &str, target: &str) -> Self {
        Self { method: method.to_owned(), target: target.to_owned(), headers: Vec::new(), body: None }
    }

    /// A GET.
    pub fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    /// With one more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With this key where gateways look for it.
    #[must_use]
    pub fn key(self, key: &str) -> Self {
        self.header("X-API-Key", key)
    }

    /// With this body, whatever it is.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// With this body, said to be JSON.
    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.header("Content-Type", "application/json").body(body.to_string())
    }

    /// As it goes over the wire.
    pub fn bytes(&self, host: SocketAddr) -> Vec<u8> {
        let mut bytes = format!("{} {} HTTP/1.1\r\nHost: {host}\r\n", self.method, self.target).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend(format!("{name}: {value}\r\n").bytes());
        }
        if let Some(body) = &self.body {
            bytes.extend(format!("Content-Length: {}\r\n", body.len()).bytes());
        }
        bytes.extend(b"\r\n");
        bytes.extend(self.body.iter().flatten());
        bytes
    }
}

/// Somebody with a connection, which is used again for as long as the server leaves it open.
#[derive(Debug)]
pub struct Caller {
    source: Option<IpAddr>,
    address: SocketAddr,
    stream: Option<BufReader<TcpStream>>,
}

impl Caller {
    /// Calls this address.
    pub fn new(address: SocketAddr) -> Self {
        Self { source: None, address, stream: None }
    }

    /// Calls this address from another one of this machine: all of 127.0.0.0/8 is.
    pub fn from(source: IpAddr, address: SocketAddr) -> Self {
        Self { source: Some(source), address, stream: None }
    }

    /// Sends the request and waits for its answer. After an error the next one goes over a new connection.
    pub fn send(&mut self, asked: &Asked) -> io::Result<Answer> {
        self.begin(asked)?;
        self.finish()
    }

    /// Sends the request only.
    pub fn begin(&mut self, asked: &Asked) -> io::Result<()> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => BufReader::new(connect_from(self.source, self.address)?),
        };
        stream.get_mut().write_all(&asked.bytes(self.address))?;
        self.stream = Some(stream);
        Ok(())
    }

    /// Waits for the answer to what was sent.
    pub fn finish(&mut self) -> io::Result<Answer> {
        let Some(mut stream) = self.stream.take() else { return Err(io::ErrorKind::NotConnected.into()) };
        let (answer, reuse) = read_answer(&mut stream)?;
        if reuse == Reuse::Yes {
            self.stream = Some(stream);
        }
        Ok(answer)
    }

    /// The connection, for those who want to do something else with it.
    pub fn into_stream(self) -> Option<BufReader<TcpStream>> {
        self.stream
    }
}

/// A connection that does not wait for ever.
pub fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    connect_from(None, address)
}

fn connect_from(source: Option<IpAddr>, address: SocketAddr) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    if let Some(source) = source {
        socket.bind(&SocketAddr::from((source, 0)).into())?;
    }
    socket.connect(&address.into())?;
    let stream = TcpStream::from(socket);
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(STUCK))?;
    stream.set_write_timeout(Some(STUCK))?;
    Ok(stream)
}

/// Whether a connection can be used for another request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reuse {
    /// It can.
    Yes,
    /// The server closes it.
    No,
}

/// Reads one answer. It must not be one to HEAD.
pub fn read_answer(stream: &mut BufReader<TcpStream>) -> io::Result<(Answer, Reuse)> {
    let mut answer = read_head(stream)?;
    let has = |name: &str, word: &str| {
        let value = answer.header(name).unwrap_or_default();
        value.to_ascii_lowercase().split(',').any(|it| it.trim() == word)
    };
    let mut reuse = if has("connection", "close") { Reuse::No } else { Reuse::Yes };
    if has("transfer-encoding", "chunked") {
        answer.body = read_chunks(stream)?;
    } else if let Some(length) = answer.number("content-length") {
        answer.body = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        stream.read_exact(&mut answer.body)?;
    } else if !matches!(answer.status, 100..=199 | 204 | 304) {
        stream.read_to_end(&mut answer.body)?;
        reuse = Reuse::No;
    }
    Ok((answer, reuse))
}

/// Reads the head of an answer.
pub fn read_head(stream: &mut BufReader<TcpStream>) -> io::Result<Answer> {
    let status_line = line(stream)?;
    let status = status_line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| invalid(&format!("no status line: {status_line:?}")))?;
    let mut headers = Vec::new();
    for _ in 0..HEAD_LINES_MAX {
        let line = line(stream)?;
        if line.is_empty() {
            return Ok(Answer { status_line, status, headers, body: Vec::new() });
        }
        let (name, value) = line.split_once(':').ok_or_else(|| invalid(&format!("no header: {line:?}")))?;
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    Err(invalid("a head without an end"))
}

fn read_chunks(stream: &mut BufReader<TcpStream>) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let head = line(stream)?;
        let length = usize::from_str_radix(head.split(';').next().unwrap_or_default().trim(), 16);
        let length = length.map_err(|_| invalid(&format!("no length of a chunk: {head:?}")))?;
        let start = body.len();
        body.resize(start + length, 0);
        stream.read_exact(&mut body[start..])?;
        line(stream)?;
        if length == 0 {
            return Ok(body);
        }
    }
}

/// A line without its end. One that is cut off is no line.
fn line(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut bytes = Vec::new();
    stream.read_until(b'\n', &mut bytes)?;
    match bytes.strip_suffix(b"\r\n") {
        Some(line) => Ok(String::from_utf8_lossy(line).into_owned()),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
