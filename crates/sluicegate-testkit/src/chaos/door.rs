//! Where connections come in: open or shut, and the list of those inside.

use std::io::ErrorKind;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use socket2::SockRef;

use super::Mode;
use super::course::Course;
use super::link::Link;

pub(super) struct Door {
    address: SocketAddr,
    inside: Arc<Inside>,
    /// Nothing while it is shut.
    open: Mutex<Option<Open>>,
}

/// What the thread that accepts shares with the door.
struct Inside {
    course: Arc<Course>,
    links: Mutex<Vec<Link>>,
    accepted: AtomicU64,
}

/// Connections are accepted.
struct Open {
    listener: Arc<TcpListener>,
    thread: JoinHandle<()>,
}

impl Door {
    /// A door that is shut.
    pub(super) fn new(address: SocketAddr, course: Arc<Course>) -> Self {
        let inside = Inside { course, links: Mutex::default(), accepted: AtomicU64::new(0) };
        Self { address, inside: Arc::new(inside), open: Mutex::default() }
    }

    pub(super) fn accepted(&self) -> u64 {
        self.inside.accepted.load(Ordering::Acquire)
    }

    /// One at a time.
    pub(super) fn set(&self, mode: Mode) {
        let mut open = lock(&self.open);
        self.inside.course.set(mode);
        if mode == Mode::Cut {
            if let Some(open) = open.take() {
                open.shut();
            }
            self.inside.reset(|_| true);
        } else {
            self.inside.reset(Link::is_doomed);
            open.get_or_insert_with(|| Open::new(self.address, &self.inside));
        }
    }
}

impl Open {
    fn new(address: SocketAddr, inside: &Arc<Inside>) -> Self {
        let listener = Arc::new(TcpListener::bind(address).expect("the port is ours"));
        let (listening, inside) = (Arc::clone(&listener), Arc::clone(inside));
        let thread = thread::spawn(move || {
            loop {
                match listening.accept() {
                    Ok((client, _)) => inside.admit(client),
                    Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                    Err(_) => break,
                }
            }
        });
        Self { listener, thread }
    }

    /// From now on connections are refused.
    fn shut(self) {
        // It wakes the thread that accepts, whose handle of the socket is then the last.
        let _ = SockRef::from(&*self.listener).shutdown(Shutdown::Both);
        drop(self.listener);
        let _ = self.thread.join();
    }
}

impl Inside {
    fn admit(&self, client: TcpStream) {
        self.accepted.fetch_add(1, Ordering::AcqRel);
        let mut links = lock(&self.links);
        links.retain(Link::is_open);
        links.extend(Link::open(client, &self.course));
    }

    /// Resets those links, and returns when that is done.
    fn reset(&self, which: impl Fn(&Link) -> bool) {
        let links = std::mem::take(&mut *lock(&self.links));
        let (gone, stay): (Vec<Link>, Vec<Link>) = links.into_iter().partition(which);
        lock(&self.links).extend(stay);
        gone.into_iter().for_each(Link::reset);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
