//! What the threads of a proxy share: where it leads, and what happens on the way.

use std::net::SocketAddr;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Mode;
use super::link::Ends;

/// Where the bytes go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Direction {
    Request,
    Answer,
}

/// What is done with bytes that have arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    Forward,
    Swallow,
}

pub(super) struct Course {
    pub(super) target: SocketAddr,
    mode: Mutex<Mode>,
    changed: Condvar,
}

impl Course {
    pub(super) fn new(target: SocketAddr) -> Self {
        Self { target, mode: Mutex::new(Mode::Cut), changed: Condvar::new() }
    }

    fn mode(&self) -> MutexGuard<'_, Mode> {
        self.mode.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, mode: Mode) {
        *self.mode() = mode;
        self.changed.notify_all();
    }

    /// How long bytes that arrive now are kept.
    pub(super) fn latency(&self) -> Duration {
        match *self.mode() {
            Mode::Latency(time) => time,
            Mode::Pass | Mode::Cut | Mode::BlackHole | Mode::HalfCut | Mode::Hold => Duration::ZERO,
        }
    }

    /// What becomes of the next bytes. While all is held, there is no answer.
    pub(super) fn fate(&self, direction: Direction, ends: &Ends) -> Fate {
        let held = |mode: &mut Mode| *mode == Mode::Hold;
        let mode = self.changed.wait_while(self.mode(), held).unwrap_or_else(PoisonError::into_inner);
        if ends.is_doomed() {
            return Fate::Swallow;
        }
        match (*mode, direction) {
            (Mode::Pass | Mode::Latency(_) | Mode::Hold, _) | (Mode::HalfCut, Direction::Request) => {
                Fate::Forward
            }
            (Mode::Cut | Mode::BlackHole, _) | (Mode::HalfCut, Direction::Answer) => {
                // Still under the lock: who ends the mode finds all those that it has cost.
                ends.doom();
                Fate::Swallow
            }
        }
    }
}
