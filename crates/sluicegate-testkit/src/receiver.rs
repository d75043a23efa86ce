//! Somebody who is sent messages: answers them, or fails to in some way, and remembers what came.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::wait;

/// What is done with a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reaction {
    /// It is answered with this status.
    Answer(u16),
    /// It is sent elsewhere.
    Redirect,
    /// Nothing is answered, and the connection stays open.
    Hang,
    /// The connection is reset.
    Reset,
}

/// A message that came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received {
    /// What was done with it.
    pub reaction: Reaction,
    /// The first line.
    pub line: String,
    /// Its headers, with names in small letters.
    pub headers: BTreeMap<String, String>,
    /// Its body.
    pub body: String,
}

/// A receiver. It is there until the process ends.
#[derive(Clone, Debug)]
pub struct Receiver {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// What is done with the next messages; with all later ones, as with a good one.
    next: VecDeque<Reaction>,
    received: Vec<Received>,
}

impl Receiver {
    /// Does this with the first messages, and answers all later ones with 204.
    pub fn start(next: impl IntoIterator<Item = Reaction>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("there is a free port");
        let address = listener.local_addr().expect("it is bound");
        let state = Arc::new(Mutex::new(State { next: next.into_iter().collect(), received: Vec::new() }));
        let receiver = Self { address, state };
        let serving = receiver.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let serving = serving.clone();
                thread::spawn(move || serving.serve(stream));
            }
        });
        receiver
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// Does this with the next messages.
    pub fn react(&self, next: impl IntoIterator<Item = Reaction>) {
        self.with(|state| state.next = next.into_iter().collect());
    }

    /// Everything that came, in its order.
    pub fn received(&self) -> Vec<Received> {
        self.with(|state| state.received.clone())
    }

    /// The messages that were answered well, in their order.
    pub fn accepted(&self) -> Vec<Received> {
        let good = |received: &Received| matches!(received.reaction, Reaction::Answer(200..=299));
        self.received().into_iter().filter(good).collect()
    }

    fn with<T>(&self, ask: impl FnOnce(&mut State) -> T) -> T {
        ask(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn serve(&self, stream: TcpStream) {
        let Some((line, headers, body)) = read(&stream) else { return };
        let reaction = self.with(|state| {
            let reaction = state.next.pop_front().unwrap_or(Reaction::Answer(204));
            state.received.push(Received { reaction, line, headers, body });
            reaction
        });
        let mut stream = stream;
        match reaction {
            Reaction::Answer(status) => {
                let _ = write!(stream, "HTTP/1.1 {status} Said\r\nContent-Length: 0\r\n\r\n");
            }
            Reaction::Redirect => {
                let to = self.url();
                let _ = write!(stream, "HTTP/1.1 307 There\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
            }
            Reaction::Hang => wait::pause(Duration::from_secs(60)),
            Reaction::Reset => {
                let _ = socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO));
            }
        }
    }
}

/// The first line of a request, its headers and its body.
fn read(stream: &TcpStream) -> Option<(String, BTreeMap<String, String>, String)> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut text = || {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        Some(line.trim_end().to_owned())
    };
    let first = text()?;
    let mut headers = BTreeMap::new();
    loop {
        let line = text()?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let mut body = vec![0; headers.get("content-length")?.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    Some((first, headers, String::from_utf8(body).ok()?))
}
