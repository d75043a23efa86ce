//! A server that says back what it hears, and a caller that expects as much.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// It is there until the process ends.
pub(crate) struct Echo {
    pub(crate) address: SocketAddr,
    heard: Arc<AtomicUsize>,
}

impl Echo {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let (address, heard) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&heard);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let counted = Arc::clone(&counted);
                thread::spawn(move || say_back(stream, &counted));
            }
        });
        Self { address, heard }
    }

    /// How many bytes it heard so far.
    pub(crate) fn heard(&self) -> usize {
        self.heard.load(Ordering::SeqCst)
    }
}

fn say_back(mut stream: TcpStream, counted: &AtomicUsize) {
    stream.set_nodelay(true).unwrap();
    let mut buffer = vec![0; 4_096];
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        counted.fetch_add(length, Ordering::SeqCst);
        if stream.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
}

pub(crate) struct Caller(pub(crate) TcpStream);

impl Caller {
    pub(crate) fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self(stream))
    }

    pub(crate) fn send(&mut self, text: &str) -> io::Result<()> {
        self.0.write_all(text.as_bytes())
    }

    /// As many bytes as were said, if they come within this time.
    pub(crate) fn hear(&mut self, length: usize, within: Duration) -> io::Result<String> {
        self.0.set_read_timeout(Some(within))?;
        let mut bytes = vec![0; length];
        self.0.read_exact(&mut bytes)?;
        Ok(String::from_utf8(bytes).unwrap())
    }

    pub(crate) fn ask(&mut self, text: &str) -> io::Result<String> {
        self.send(text)?;
        self.hear(text.len(), Duration::from_secs(20))
    }

    /// What becomes of a question that is not answered within a moment.
    pub(crate) fn ask_in_vain(&mut self, text: &str) -> io::ErrorKind {
        let heard = self.send(text).and_then(|()| self.hear(text.len(), Duration::from_millis(100)));
        heard.unwrap_err().kind()
    }
}
