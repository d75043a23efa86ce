//! Keeps a connection up: replaces it when it is lost, or when it has stopped answering.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use redis::{ErrorKind, RedisError};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout};

use super::dial::Dialer;
use super::line::Line;

/// How long a connection on which a query timed out has to answer a `PING` before it is replaced.
const PROBE_MAX: Duration = Duration::from_millis(500);
/// The pause after the first attempt that failed. It doubles with each further one.
const PAUSE_MIN: Duration = Duration::from_millis(25);
/// The longest pause: short, so that a server that is back is in use again within a second.
const PAUSE_MAX: Duration = Duration::from_millis(250);
/// A connection that did not last this long was none: a server that has no room for us, or a replica.
const LASTS_MIN: Duration = Duration::from_millis(100);

/// Whether there is a connection.
pub(super) enum State {
    /// Not yet; the first attempt since the last one was lost is under way.
    Dialing,
    /// Yes. The number tells it from those before.
    Up { line: Line, epoch: u64 },
    /// No: so the last attempt failed.
    Down(Failed),
}

/// Why an attempt failed.
pub(super) struct Failed {
    pub(super) why: Arc<str>,
    pub(super) cure: Cure,
}

/// What may help.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cure {
    /// Another attempt.
    Time,
    /// A password, a certificate, or another address.
    Settings,
}

impl Failed {
    fn of(error: &RedisError) -> Self {
        let is_shut_out = error.kind() == ErrorKind::AuthenticationFailed
            || error.code().is_some_and(|code| ["NOAUTH", "WRONGPASS", "NOPERM"].contains(&code));
        // So says TLS when a certificate is not trusted, or when the other side does not speak it.
        let is_misunderstood =
            io_error(error).is_some_and(|error| error.kind() == io::ErrorKind::InvalidData);
        let cure = if is_shut_out || is_misunderstood { Cure::Settings } else { Cure::Time };
        Self { why: error.to_string().into(), cure }
    }

    fn for_now(why: &str) -> Self {
        Self { why: why.into(), cure: Cure::Time }
    }
}

fn io_error(error: &RedisError) -> Option<&io::Error> {
    let source = error.source()?.downcast_ref::<Arc<dyn Error + Send + Sync>>()?;
    source.downcast_ref::<io::Error>()
}

/// Something a caller noticed about a connection.
pub(super) struct Trouble {
    pub(super) kind: TroubleKind,
    pub(super) epoch: u64,
}

/// What was noticed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TroubleKind {
    /// It is gone, or leads to a server that takes no writes any more.
    Dead,
    /// A query was not answered in time.
    Slow,
}

/// Keeps a connection up for as long as anybody wants one.
pub(super) async fn keep(
    dialer: Dialer,
    state: watch::Sender<State>,
    reports: mpsc::WeakSender<Trouble>,
    mut troubles: mpsc::Receiver<Trouble>,
) {
    let mut pause = PAUSE_MIN;
    for epoch in 1.. {
        let Some(line) = connect(&dialer, &state, &reports, epoch, &mut pause).await else { return };
        let since = Instant::now();
        state.send_replace(State::Up { line: line.clone(), epoch });
        if watch(&line, epoch, &mut troubles).await == Ended::NobodyListens {
            return;
        }
        if since.elapsed() >= LASTS_MIN {
            pause = PAUSE_MIN;
            state.send_replace(State::Dialing);
        } else {
            state.send_replace(State::Down(Failed::for_now("it does not keep connections")));
            rest(&mut pause).await;
        }
    }
}

/// Why a connection is not used any more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    Lost,
    NobodyListens,
}

/// Looks after a connection until it is lost or nobody wants it any more.
async fn watch(line: &Line, epoch: u64, troubles: &mut mpsc::Receiver<Trouble>) -> Ended {
    loop {
        match troubles.recv().await {
            None => return Ended::NobodyListens,
            Some(trouble) if trouble.epoch != epoch || line.mends_itself() => {}
            Some(Trouble { kind: TroubleKind::Dead, .. }) => return Ended::Lost,
            Some(Trouble { kind: TroubleKind::Slow, .. }) => {
                if !answers(line.clone()).await {
                    return Ended::Lost;
                }
            }
        }
    }
}

/// Tries until it is connected, or nobody wants a connection any more.
async fn connect(
    dialer: &Dialer,
    state: &watch::Sender<State>,
    reports: &mpsc::WeakSender<Trouble>,
    epoch: u64,
    pause: &mut Duration,
) -> Option<Line> {
    loop {
        let failed = match timeout(dialer.patience(), dialer.dial(reports, epoch)).await {
            Ok(Ok(line)) => return Some(line),
            Ok(Err(error)) => Failed::of(&error),
            Err(_) => Failed::for_now("it does not answer"),
        };
        if state.is_closed() {
            return None;
        }
        state.send_replace(State::Down(failed));
        rest(pause).await;
    }
}

/// Waits before the next attempt, and longer each time.
async fn rest(pause: &mut Duration) {
    sleep(jittered(*pause)).await;
    *pause = PAUSE_MAX.min(*pause * 2);
}

async fn answers(mut line: Line) -> bool {
    let ping = redis::cmd("PING");
    matches!(timeout(PROBE_MAX, ping.query_async::<()>(&mut line)).await, Ok(Ok(_)))
}

/// Half of it and a random part of the other half: nodes that lost a server together do not come back to it together.
fn jittered(pause: Duration) -> Duration {
    let random = getrandom::u32().unwrap_or(0) % 256;
    pause / 2 + pause / 512 * random
}
