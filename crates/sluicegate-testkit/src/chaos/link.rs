//! One connection through the proxy: its two ends, and the threads that carry between them.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use socket2::SockRef;

use super::course::{Course, Direction};
use super::pump::Pump;

/// The threads hold a buffer on the heap and little else.
const STACK_BYTES: usize = 128 * 1024;

/// How often who waits to write looks whether it still should.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Both sockets. They are closed when the threads that carry between them are done.
pub(super) struct Ends {
    client: TcpStream,
    server: TcpStream,
    dead: AtomicBool,
    doomed: AtomicBool,
}

impl Ends {
    fn new(client: TcpStream, server: TcpStream) -> io::Result<Self> {
        for stream in [&client, &server] {
            stream.set_nodelay(true)?;
            stream.set_write_timeout(Some(LOOK_EVERY))?;
        }
        Ok(Self { client, server, dead: AtomicBool::new(false), doomed: AtomicBool::new(false) })
    }

    pub(super) fn source(&self, direction: Direction) -> &TcpStream {
        match direction {
            Direction::Request => &self.client,
            Direction::Answer => &self.server,
        }
    }

    pub(super) fn sink(&self, direction: Direction) -> &TcpStream {
        match direction {
            Direction::Request => &self.server,
            Direction::Answer => &self.client,
        }
    }

    /// Bytes were lost: the connection cannot go on.
    pub(super) fn doom(&self) {
        self.doomed.store(true, Ordering::Release);
    }

    pub(super) fn is_doomed(&self) -> bool {
        self.doomed.load(Ordering::Acquire)
    }

    pub(super) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Acquire)
    }

    /// Both sides see a reset once the threads have let go, which they do at once.
    pub(super) fn reset(&self) {
        self.dead.store(true, Ordering::Release);
        for stream in [&self.client, &self.server] {
            // To close without lingering is to reset. To end the reading wakes who reads, and tells the peer nothing.
            let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
            let _ = stream.shutdown(Shutdown::Read);
        }
    }
}

/// A connection, as the proxy keeps it: the ends are the threads'.
pub(super) struct Link {
    ends: Weak<Ends>,
    pumps: Vec<JoinHandle<()>>,
}

impl Link {
    /// Connects the client to the target. One whose target is not there is reset.
    pub(super) fn open(client: TcpStream, course: &Arc<Course>) -> Option<Self> {
        let Ok(server) = TcpStream::connect(course.target) else {
            let _ = SockRef::from(&client).set_linger(Some(Duration::ZERO));
            return None;
        };
        let ends = Arc::new(Ends::new(client, server).ok()?);
        let start = |direction| {
            let pump = Pump::new(direction, Arc::clone(&ends), Arc::clone(course));
            Builder::new().stack_size(STACK_BYTES).spawn(move || pump.run()).ok()
        };
        let pumps = [Direction::Request, Direction::Answer].into_iter().filter_map(start).collect();
        Some(Self { ends: Arc::downgrade(&ends), pumps })
    }

    pub(super) fn is_open(&self) -> bool {
        self.ends.strong_count() > 0
    }

    pub(super) fn is_doomed(&self) -> bool {
        self.ends.upgrade().is_some_and(|ends| ends.is_doomed())
    }

    /// Resets it, and returns when that is done.
    pub(super) fn reset(self) {
        if let Some(ends) = self.ends.upgrade() {
            ends.reset();
        }
        for pump in self.pumps {
            let _ = pump.join();
        }
    }
}
