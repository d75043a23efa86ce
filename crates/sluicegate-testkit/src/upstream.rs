//! An upstream by hand: a socket, and what is done with each request.

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// An upstream. It is there until the process ends.
#[derive(Clone, Copy, Debug)]
pub struct Upstream {
    address: SocketAddr,
}

impl Upstream {
    /// Gives the head of each request, with the connection it came over, to `handle`, on a thread of its own. The
    /// connection is closed when that returns.
    pub fn start(handle: impl Fn(&str, TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("there is a free port");
        let address = listener.local_addr().expect("it is bound");
        let handle = Arc::new(handle);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let handle = Arc::clone(&handle);
                thread::spawn(move || {
                    if let Some((head, stream)) = head(stream) {
                        handle(&head, stream);
                    }
                });
            }
        });
        Self { address }
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// The head of the first request of a connection. Bodies must not be there yet: they are not looked for.
fn head(stream: TcpStream) -> Option<(String, TcpStream)> {
    stream.set_nodelay(true).ok()?;
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut head = String::new();
    loop {
        let start = head.len();
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
        if head[start..].trim().is_empty() {
            return Some((head, stream));
        }
    }
}
