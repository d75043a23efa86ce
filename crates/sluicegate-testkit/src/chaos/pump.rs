//! One direction of one connection: reads, keeps what arrives for as long as it should take, and writes.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::course::{Course, Direction, Fate};
use super::link::{Ends, LOOK_EVERY};
use crate::wait;

const BUFFER_BYTES: usize = 32 * 1024;

pub(super) struct Pump {
    direction: Direction,
    ends: Arc<Ends>,
    course: Arc<Course>,
    /// What has arrived and is not due yet.
    queue: VecDeque<(Instant, Vec<u8>)>,
}

impl Pump {
    pub(super) fn new(direction: Direction, ends: Arc<Ends>, course: Arc<Course>) -> Self {
        Self { direction, ends, course, queue: VecDeque::new() }
    }

    /// Carries until the stream ends, and then tells the other side. What breaks on one side is reset on the other.
    pub(super) fn run(mut self) {
        let ended = self.carry().and_then(|()| self.drain());
        let told = ended.and_then(|()| self.ends.sink(self.direction).shutdown(Shutdown::Write));
        if told.is_err() {
            self.ends.reset();
        }
    }

    fn carry(&mut self) -> io::Result<()> {
        let ends = Arc::clone(&self.ends);
        let mut source = ends.source(self.direction);
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut patience = None;
        loop {
            let next = self.deliver_what_is_due()?;
            if next != patience {
                source.set_read_timeout(next)?;
                patience = next;
            }
            match source.read(&mut buffer) {
                Ok(_) if ends.is_dead() => return Err(ErrorKind::ConnectionReset.into()),
                Ok(0) => return Ok(()),
                Ok(length) => self.take(&buffer[..length])?,
                Err(error) if is_only_late(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        let latency = self.course.latency();
        if latency.is_zero() && self.queue.is_empty() {
            return self.deliver(bytes);
        }
        self.queue.push_back((now() + latency, bytes.to_vec()));
        Ok(())
    }

    /// Delivers, and says how long it is until there is more to deliver.
    fn deliver_what_is_due(&mut self) -> io::Result<Option<Duration>> {
        while let Some((due, _)) = self.queue.front() {
            let early = due.saturating_duration_since(now());
            if !early.is_zero() {
                return Ok(Some(early));
            }
            if let Some((_, bytes)) = self.queue.pop_front() {
                self.deliver(&bytes)?;
            }
        }
        Ok(None)
    }

    /// Delivers all, in time.
    fn drain(&mut self) -> io::Result<()> {
        while let Some(early) = self.deliver_what_is_due()? {
            if self.ends.is_dead() {
                return Err(ErrorKind::ConnectionReset.into());
            }
            wait::pause(early.min(LOOK_EVERY));
        }
        Ok(())
    }

    fn deliver(&self, bytes: &[u8]) -> io::Result<()> {
        match self.course.fate(self.direction, &self.ends) {
            Fate::Forward => self.write(bytes),
            Fate::Swallow => Ok(()),
        }
    }

    fn write(&self, mut bytes: &[u8]) -> io::Result<()> {
        let mut sink: &TcpStream = self.ends.sink(self.direction);
        while !bytes.is_empty() {
            match sink.write(bytes) {
                _ if self.ends.is_dead() => return Err(ErrorKind::ConnectionReset.into()),
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => bytes = &bytes[written..],
                Err(error) if is_only_late(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn is_only_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

#[expect(clippy::disallowed_methods, reason = "real bytes are kept for a real while")]
fn now() -> Instant {
    Instant::now()
}
