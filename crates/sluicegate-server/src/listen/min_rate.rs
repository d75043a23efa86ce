//! The minimum rate at which a caller sends or takes a body, counted over the time that the gateway waits for it.

use std::num::NonZeroU64;
use std::time::Duration;

/// How long a caller is waited for in any case: lost packets and slow starts are not slowness.
const GRACE: Duration = Duration::from_secs(10);

/// How long a caller may be waited for in all, once so many bytes have passed.
pub(crate) fn allowed_wait(per_second: NonZeroU64, bytes: u64) -> Duration {
    let ms = bytes.saturating_mul(1_000) / per_second;
    GRACE.saturating_add(Duration::from_millis(ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_buy_time_at_the_minimum_rate() {
        let rate = NonZeroU64::new(1_000).unwrap();
        assert_eq!(allowed_wait(rate, 0), GRACE);
        assert_eq!(allowed_wait(rate, 5_500), GRACE + Duration::from_millis(5_500));
    }
}
