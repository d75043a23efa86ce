//! Something that calls itself a server of whatever kind: it answers `INFO` with what a test says, and the rest with
//! `OK`.

use std::io::{BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use super::Reply;

/// An impostor on a port of its own, for as long as the process runs.
pub struct Impostor {
    address: SocketAddr,
}

impl Impostor {
    /// One that says this of itself.
    pub fn start(info: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it has a port");
        let info = info.to_owned();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let info = info.clone();
                thread::spawn(move || answer(&stream, &info));
            }
        });
        Self { address }
    }

    /// Where it listens, as a URL.
    pub fn url(&self) -> String {
        format!("redis://{}", self.address)
    }
}

fn answer(mut stream: &TcpStream, info: &str) {
    let mut commands = BufReader::new(stream);
    while let Ok(command) = Reply::read(&mut commands) {
        let name = command.list().first().map(Reply::text).unwrap_or_default().to_ascii_uppercase();
        let answer = match name.as_str() {
            // How those who speak the third version of the protocol say hello.
            "HELLO" => "%1\r\n+server\r\n+redis\r\n".to_owned(),
            "INFO" => format!("${}\r\n{info}\r\n", info.len()),
            _ => "+OK\r\n".to_owned(),
        };
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}
