//! What ours is measured beside: a bare increment, the obvious script, and a rate alone.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Result, ensure};

use super::load::Caller;
use super::socket::Socket;
use super::store::Store;
use super::wire;
use super::{ACCOUNTS, CONNECTIONS};
use crate::timing::{Clock, Now as _};
use crate::workload::write_key;

/// What an admission begins with.
const ADMITTED: &[u8] = b"*4\r\n:1\r\n";

/// Limits that nobody reaches: bucket, tokens per second, quota, seconds of its period.
const GENEROUS: [&str; 4] = ["1000000", "100000", "1000000000", "2592000"];

/// Digits of the time in milliseconds, until the year 2286.
const TIME_DIGITS: usize = 13;

/// Requests that were made beforehand, one for each account.
#[derive(Clone)]
pub(super) struct Peer {
    requests: Arc<Vec<Vec<u8>>>,
    admitted: &'static [u8],
    time: Time,
}

/// Whose clock counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    Servers,
    /// The request ends with the time.
    Callers,
}

impl Peer {
    /// `PING`: the way there and back.
    pub(super) fn ping() -> Self {
        Self::new(b"+PONG", Time::Servers, |_| wire::command(&["PING"]))
    }

    /// `INCR`: what one command costs.
    pub(super) fn increment() -> Self {
        Self::new(b":", Time::Servers, |key| wire::command(&["INCR", &format!("incr:{key}")]))
    }

    /// A rate and a quota, by the script that comes to mind first.
    pub(super) async fn obvious(store: &mut Store, time: Time) -> Result<Self> {
        let script = store.load(include_str!("obvious.lua")).await?;
        let blank = "0".repeat(TIME_DIGITS);
        Ok(Self::new(ADMITTED, time, |key| {
            let (bucket, quota) = (format!("rate:{key}"), format!("quota:{key}"));
            let mut words = vec!["EVALSHA", &script, "2", &bucket, &quota];
            words.extend(GENEROUS);
            if time == Time::Callers {
                words.push(&blank);
            }
            wire::command(&words)
        }))
    }

    /// A rate alone.
    pub(super) async fn rate(store: &mut Store) -> Result<Self> {
        let script = store.load(include_str!("gcra.lua")).await?;
        Ok(Self::new(ADMITTED, Time::Servers, |key| {
            wire::command(&["EVALSHA", &script, "1", &format!("gcra:{key}"), "10", "10000000"])
        }))
    }

    fn new(admitted: &'static [u8], time: Time, request: impl Fn(&str) -> Vec<u8>) -> Self {
        let of = |account| {
            let mut key = String::new();
            write_key(account, &mut key);
            request(&key)
        };
        Self { requests: Arc::new((0..ACCOUNTS).map(of).collect()), admitted, time }
    }

    /// Callers that share the accounts, with a connection each.
    pub(super) async fn callers(&self, server: SocketAddr) -> Result<Vec<PeerCaller>> {
        let mut callers = Vec::with_capacity(CONNECTIONS);
        for index in 0..CONNECTIONS {
            let next = index * self.requests.len() / CONNECTIONS;
            let socket = Socket::connect(server).await?;
            callers.push(PeerCaller {
                peer: self.clone(),
                next,
                clock: Clock::new(),
                socket,
                told: Vec::new(),
            });
        }
        Ok(callers)
    }
}

pub(super) struct PeerCaller {
    peer: Peer,
    next: usize,
    clock: Clock,
    socket: Socket,
    /// A request with the time in it.
    told: Vec<u8>,
}

impl Caller for PeerCaller {
    async fn call(&mut self) -> Result<u64> {
        self.next = (self.next + 1) % self.peer.requests.len();
        let request = &self.peer.requests[self.next];
        let reply = match self.peer.time {
            Time::Servers => self.socket.ask(request).await?,
            Time::Callers => {
                let since = SystemTime::read(&self.clock).duration_since(SystemTime::UNIX_EPOCH)?;
                tell(since, request, &mut self.told);
                self.socket.ask(&self.told).await?
            }
        };
        ensure!(reply.starts_with(self.peer.admitted), "refused: {}", String::from_utf8_lossy(reply));
        Ok(1)
    }
}

/// The request with the time in the place of the blank at its end.
fn tell(since: Duration, request: &[u8], told: &mut Vec<u8>) {
    told.clear();
    told.extend_from_slice(&request[..request.len() - TIME_DIGITS - 2]);
    told.extend_from_slice(format!("{:0TIME_DIGITS$}\r\n", since.as_millis()).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::{TIME_DIGITS, tell};
    use crate::redis::wire;
    use std::time::Duration;

    #[test]
    fn the_time_takes_the_place_of_the_blank() {
        let request = wire::command(&["ECHO", &"0".repeat(TIME_DIGITS)]);
        let mut told = vec![1];
        tell(Duration::from_millis(1_763_000_000_123), &request, &mut told);
        assert_eq!(told, wire::command(&["ECHO", "1763000000123"]));
    }
}
