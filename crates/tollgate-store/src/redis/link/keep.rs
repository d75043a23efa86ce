//! Keeps a connection up: replaces it when it is lost, or when it has stopped answering.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

use super::dial::Dialer;
use super::line::Line;

/// How long an attempt to connect may take.
const DIAL_MAX: Duration = Duration::from_secs(1);
/// How long a connection on which a query timed out has to answer a `PING` before it is replaced.
const PROBE_MAX: Duration = Duration::from_millis(500);
/// The pause after the first attempt that failed. It doubles with each further one.
const PAUSE_MIN: Duration = Duration::from_millis(25);
/// The longest pause: short, so that a server that is back is in use again within a second.
const PAUSE_MAX: Duration = Duration::from_millis(250);

/// Whether there is a connection.
pub(super) enum State {
    /// Not yet; the first attempt since the last one was lost is under way.
    Dialing,
    /// Yes. The number tells it from those before.
    Up { line: Line, epoch: u64 },
    /// No, and the last attempt failed for this reason.
    Down(Arc<str>),
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
    for epoch in 1.. {
        let Some(line) = connect(&dialer, &state, &reports, epoch).await else { return };
        state.send_replace(State::Up { line: line.clone(), epoch });
        loop {
            match troubles.recv().await {
                None => return,
                Some(trouble) if trouble.epoch != epoch || line.mends_itself() => {}
                Some(Trouble { kind: TroubleKind::Dead, .. }) => break,
                Some(Trouble { kind: TroubleKind::Slow, .. }) => {
                    if !answers(line.clone()).await {
                        break;
                    }
                }
            }
        }
        state.send_replace(State::Dialing);
    }
}

/// Tries until it is connected, or nobody wants a connection any more.
async fn connect(
    dialer: &Dialer,
    state: &watch::Sender<State>,
    reports: &mpsc::WeakSender<Trouble>,
    epoch: u64,
) -> Option<Line> {
    let mut pause = PAUSE_MIN;
    loop {
        let why = match timeout(DIAL_MAX, dialer.dial(reports, epoch)).await {
            Ok(Ok(line)) => return Some(line),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it does not answer".to_owned(),
        };
        if state.is_closed() {
            return None;
        }
        state.send_replace(State::Down(why.into()));
        sleep(jittered(pause)).await;
        pause = PAUSE_MAX.min(pause * 2);
    }
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
