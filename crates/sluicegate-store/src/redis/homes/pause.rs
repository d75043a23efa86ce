//! Pauses that differ a little each time, so that nodes and homes that lost a server together do not come back to it
//! together.

use std::time::Duration;

/// This long, give or take up to a fifth.
pub(super) fn about(pause: Duration) -> Duration {
    pause / 5 * 4 + pause / 640 * (getrandom::u32().unwrap_or(128) % 257)
}

/// At most this long.
pub(super) fn up_to(pause: Duration) -> Duration {
    pause / 256 * (getrandom::u32().unwrap_or(128) % 257)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_at_most_a_fifth_off() {
        let pause = Duration::from_millis(200);
        for _ in 0..1_000 {
            let about = about(pause);
            assert!(
                about >= Duration::from_millis(160) && about <= Duration::from_micros(240_400),
                "{about:?}"
            );
            assert!(up_to(pause) <= pause);
        }
    }
}
