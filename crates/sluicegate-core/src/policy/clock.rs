//! When a clock that leaps is followed.

use crate::time::Nanos;

/// When a clock that leaps is followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockSettings {
    /// How long a forward step of more than an hour must last until it is followed.
    pub hold: Nanos,
}

impl ClockSettings {
    /// Longer than a time server takes to correct what it got wrong.
    pub const HOLD_DEFAULT: Nanos = Nanos::from_secs(600);
    /// A week: an operator has seen the alert by then.
    pub const HOLD_SECS_MAX: u32 = 7 * 86_400;
}

impl Default for ClockSettings {
    fn default() -> Self {
        Self { hold: Self::HOLD_DEFAULT }
    }
}
