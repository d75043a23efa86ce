//! Descriptors that are kept for a listener, for when the process has no others.
//!
//! The gateway can use up all descriptors of a process: one for each caller, and one for each connection to an
//! upstream. The ports by which operators would look into that keep some aside.

use std::fs::File;

use parking_lot::Mutex;

/// Descriptors that are open for nothing but to be closed.
#[derive(Debug)]
pub(super) struct Reserve {
    size: usize,
    spare: Mutex<Vec<File>>,
}

impl Reserve {
    /// So many of them, as far as there are any now.
    pub(super) fn of(size: usize) -> Self {
        let reserve = Self { size, spare: Mutex::default() };
        reserve.refill();
        reserve
    }

    /// Closes one, so that a connection can have it. Says whether there was one.
    pub(super) fn release(&self) -> bool {
        self.spare.lock().pop().is_some()
    }

    /// Takes back what was released, as far as that is possible now.
    pub(super) fn refill(&self) {
        let mut spare = self.spare.lock();
        while spare.len() < self.size {
            match File::open("/dev/null") {
                Ok(file) => spare.push(file),
                Err(_) => return,
            }
        }
    }
}
