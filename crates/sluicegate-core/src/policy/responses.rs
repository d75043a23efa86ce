//! What answers say about limits.

/// A family of headers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum HeaderFamily {
    /// `RateLimit-Policy` and `RateLimit`, structured fields.
    Ietf,
    /// `RateLimit-Limit`, `-Remaining`, `-Reset`.
    RateLimit,
    /// `X-RateLimit-Limit`, `-Remaining`, `-Reset`.
    XRateLimit,
    /// `X-Quota-Limit`, `-Used`, `-Remaining`, `-Reset`, `-Overage`.
    XQuota,
}

/// How `X-Quota-Reset` is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QuotaReset {
    /// Seconds since the Unix epoch.
    UnixSeconds,
    /// As in the `Date` header.
    HttpDate,
}

/// What answers say about limits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Responses {
    /// The families, in the order of the file, none twice.
    pub headers: Vec<HeaderFamily>,
    /// How `X-Quota-Reset` is written.
    pub quota_reset: QuotaReset,
}

impl Responses {
    /// All of them: a client finds what it knows, and ignores the rest.
    pub const HEADERS_DEFAULT: [HeaderFamily; 4] =
        [HeaderFamily::Ietf, HeaderFamily::RateLimit, HeaderFamily::XRateLimit, HeaderFamily::XQuota];
}

impl Default for Responses {
    fn default() -> Self {
        Self { headers: Self::HEADERS_DEFAULT.to_vec(), quota_reset: QuotaReset::UnixSeconds }
    }
}
