//! A server that answers each request as a check says, and remembers what it was asked.

use crate::STUCK;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

/// The longest body that is read.
const BODY_MAX: u64 = 100_000;

/// A request that came.
#[derive(Clone, Debug)]
pub struct Request {
    pub at: Instant,
    /// The method and the path.
    pub line: String,
    /// All headers, in small letters.
    pub headers: String,
    pub body: String,
}

/// A server on a free port of this machine. It ends with the process.
#[derive(Debug)]
pub struct Stub {
    pub url: String,
    requests: Receiver<Request>,
}

impl Stub {
    /// Answers the first request with the first of these, and so on: status, further headers, body. The last one is
    /// for all further requests.
    ///
    /// # Panics
    ///
    /// If there is no port.
    pub fn answering(answers: &[(&str, &str, &str)]) -> Self {
        let answers: Vec<String> = answers
            .iter()
            .map(|(status, headers, body)| {
                let length = body.len();
                format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}")
            })
            .collect();
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let (send, requests) = channel();
        std::thread::spawn(move || {
            let mut index = 0;
            while let Ok((stream, _)) = listener.accept() {
                let mut reader = BufReader::new(stream);
                // A connection without a request uses no answer.
                let Some(request) = read(&mut reader) else { continue };
                // Before the answer: a client that has it may end, and then all requests are known.
                if send.send(request).is_err() {
                    return;
                }
                let _ = reader.get_mut().write_all(answers[index.min(answers.len() - 1)].as_bytes());
                index += 1;
            }
        });
        Self { url, requests }
    }

    /// The requests that came until now.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.try_iter().collect()
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    reader.get_ref().set_read_timeout(Some(STUCK)).ok()?;
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|&length| length > 0)?;
    let (at, mut headers) = (Instant::now(), String::new());
    while reader.read_line(&mut headers).ok()? > 2 {}
    let headers = headers.to_lowercase();
    let length = headers.lines().find_map(|header| header.strip_prefix("content-length: ")?.parse().ok());
    let mut body = String::new();
    reader.take(length.unwrap_or(0).min(BODY_MAX)).read_to_string(&mut body).ok()?;
    let line = line.split(" HTTP/").next().unwrap_or_default().to_owned();
    Some(Request { at, line, headers, body })
}
