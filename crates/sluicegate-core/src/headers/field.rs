//! The names of the headers, as numbers: whoever puts them into a message can look its own name up in a table.

/// A header that answers carry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Field {
    /// `RateLimit-Policy`.
    RateLimitPolicy,
    /// `RateLimit`.
    RateLimit,
    /// `RateLimit-Limit`.
    RateLimitLimit,
    /// `RateLimit-Remaining`.
    RateLimitRemaining,
    /// `RateLimit-Reset`.
    RateLimitReset,
    /// `X-RateLimit-Limit`.
    XRateLimitLimit,
    /// `X-RateLimit-Remaining`.
    XRateLimitRemaining,
    /// `X-RateLimit-Reset`.
    XRateLimitReset,
    /// `X-Quota-Limit`.
    XQuotaLimit,
    /// `X-Quota-Used`.
    XQuotaUsed,
    /// `X-Quota-Remaining`.
    XQuotaRemaining,
    /// `X-Quota-Reset`.
    XQuotaReset,
    /// `X-Quota-Overage`.
    XQuotaOverage,
    /// `Retry-After`.
    RetryAfter,
    /// `X-Sluicegate-Mode`.
    Mode,
}

impl Field {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 15] = [
        Self::RateLimitPolicy,
        Self::RateLimit,
        Self::RateLimitLimit,
        Self::RateLimitRemaining,
        Self::RateLimitReset,
        Self::XRateLimitLimit,
        Self::XRateLimitRemaining,
        Self::XRateLimitReset,
        Self::XQuotaLimit,
        Self::XQuotaUsed,
        Self::XQuotaRemaining,
        Self::XQuotaReset,
        Self::XQuotaOverage,
        Self::RetryAfter,
        Self::Mode,
    ];

    /// The name as people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RateLimitPolicy => "RateLimit-Policy",
            Self::RateLimit => "RateLimit",
            Self::RateLimitLimit => "RateLimit-Limit",
            Self::RateLimitRemaining => "RateLimit-Remaining",
            Self::RateLimitReset => "RateLimit-Reset",
            Self::XRateLimitLimit => "X-RateLimit-Limit",
            Self::XRateLimitRemaining => "X-RateLimit-Remaining",
            Self::XRateLimitReset => "X-RateLimit-Reset",
            Self::XQuotaLimit => "X-Quota-Limit",
            Self::XQuotaUsed => "X-Quota-Used",
            Self::XQuotaRemaining => "X-Quota-Remaining",
            Self::XQuotaReset => "X-Quota-Reset",
            Self::XQuotaOverage => "X-Quota-Overage",
            Self::RetryAfter => "Retry-After",
            Self::Mode => "X-Sluicegate-Mode",
        }
    }
}
