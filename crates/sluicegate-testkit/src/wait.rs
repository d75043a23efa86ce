//! Waiting for what has to come, without a clock: looked for often, and given up after very many looks.

use std::thread;
use std::time::Duration;

/// How long between two looks.
const STEP: Duration = Duration::from_millis(5);

/// A minute or more: nothing takes this long unless it is stuck, however busy the machine.
const LOOKS_MAX: u32 = 12_000;

/// Returns what `look` finds, once it does. Fails with `what` if that does not come to pass.
#[track_caller]
pub fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    within(STEP * LOOKS_MAX, what, look)
}

/// As [`until`], for what should not take longer than about this, not counting the time that looking takes.
#[track_caller]
#[expect(clippy::panic, reason = "a test that waits in vain has failed")]
pub fn within<T>(about: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..about.as_millis().div_ceil(STEP.as_millis()) {
        if let Some(found) = look() {
            return found;
        }
        pause(STEP);
    }
    panic!("waited in vain: {what}");
}

/// Lets about this much time pass. Only for tests whose point is that something happens, or does not, meanwhile.
pub fn pause(about: Duration) {
    // Nobody unparks the threads of tests; and to be early does no harm.
    thread::park_timeout(about);
}
