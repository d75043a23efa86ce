//! The API behind a proxy: answers with what it was asked, and counts how often.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use serde_json::{Value, json};

/// An API. It is there until the process ends.
pub(crate) struct Echo {
    pub(crate) address: SocketAddr,
    asked: Arc<AtomicU64>,
}

impl Echo {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let (address, asked) = (listener.local_addr().unwrap(), Arc::<AtomicU64>::default());
        let counter = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let counter = Arc::clone(&counter);
                thread::spawn(move || serve(stream, &counter));
            }
        });
        Self { address, asked }
    }

    /// How many requests have come.
    pub(crate) fn asked(&self) -> u64 {
        self.asked.load(Ordering::SeqCst)
    }
}

fn serve(mut stream: TcpStream, counter: &AtomicU64) {
    let Some(asked) = read(&stream) else { return };
    counter.fetch_add(1, Ordering::SeqCst);
    let body = asked.to_string();
    // The API has limits of its own. They are not Sluicegate's.
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nRateLimit-Remaining: 999999\r\nConnection: close";
    let _ = write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
}

/// A request as JSON: the first line, every value of every header, the body.
fn read(stream: &TcpStream) -> Option<Value> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let line = read_line(&mut reader)?;
    let mut headers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    while let Some((name, value)) = read_line(&mut reader)?.split_once(':') {
        headers.entry(name.to_ascii_lowercase()).or_default().push(value.trim().to_owned());
    }
    let mut body = Vec::new();
    if headers.contains_key("transfer-encoding") {
        loop {
            let length = usize::from_str_radix(&read_line(&mut reader)?, 16).ok()?;
            let start = body.len();
            body.resize(start + length, 0);
            reader.read_exact(&mut body[start..]).ok()?;
            read_line(&mut reader)?;
            if length == 0 {
                break;
            }
        }
    } else if let Some(length) = headers.get("content-length") {
        body.resize(length[0].parse().ok()?, 0);
        reader.read_exact(&mut body).ok()?;
    }
    Some(json!({"line": line, "headers": headers, "body": String::from_utf8_lossy(&body)}))
}

/// A line without its end. A connection that was only opened has none.
fn read_line(reader: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = String::new();
    let length = reader.read_line(&mut line).ok()?;
    (length > 0).then(|| line.trim_end().to_owned())
}
