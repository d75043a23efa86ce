//! Something that answers what a test wants, one connection after the other, and remembers what it was asked.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};

/// A listener with its answers.
pub(crate) struct Stub {
    url: String,
    asked: Receiver<String>,
}

impl Stub {
    /// Answers each connection with the next of these, whole, then is gone.
    pub(crate) fn answering(answers: &[&str]) -> Self {
        Self::over("http", answers, |stream| stream)
    }

    /// The same over something that speaks through the connection.
    pub(crate) fn over<S: Read + Write>(
        scheme: &str,
        answers: &[&str],
        mut wrap: impl FnMut(TcpStream) -> S + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("{scheme}://127.0.0.1:{}", listener.local_addr().unwrap().port());
        let answers: Vec<String> = answers.iter().map(|answer| (*answer).to_owned()).collect();
        let (sender, asked) = channel();
        std::thread::spawn(move || {
            for answer in answers {
                let mut stream = wrap(listener.accept().unwrap().0);
                // Whoever breaks off, as those do who do not believe us, has asked nothing.
                let request = head(&mut stream).unwrap_or_default();
                let _ = sender.send(request);
                let _ = stream.write_all(answer.as_bytes()).and_then(|()| stream.flush());
            }
        });
        Self { url, asked }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The first line of every request so far.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.try_iter().map(|head| head.lines().next().unwrap_or_default().to_owned()).collect()
    }
}

/// An answer with this body.
pub(crate) fn json(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn head(stream: &mut impl Read) -> std::io::Result<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte)? == 1 {
        head.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}
