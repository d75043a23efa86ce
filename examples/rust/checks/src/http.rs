//! One HTTP/1 request on a connection of its own.

use crate::STUCK;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

/// A response.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub body: String,
}

impl Response {
    /// The header of this name, which is written in small letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(is, _)| is == name).map(|(_, value)| value.as_str())
    }
}

/// Sends `GET /` to `http://address`, with these headers.
///
/// # Panics
///
/// If there is no response.
pub fn get(url: &str, headers: &[(&str, &str)]) -> Response {
    let address = url.strip_prefix("http://").expect("the URL has the scheme http");
    let mut stream = TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(STUCK)).expect("the timeout is not zero");
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).expect("the request is sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("the response is text");
    parse(&text)
}

fn parse(text: &str) -> Response {
    let (head, body) = text.split_once("\r\n\r\n").expect("the head of a response ends");
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let headers = lines.filter_map(|line| line.split_once(": "));
    Response {
        status: status.expect("a response begins with its status"),
        headers: headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect(),
        body: body.to_owned(),
    }
}
