//! The one table from what went wrong to what is answered.

/// Why a request is not admitted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ErrorCode {
    /// A rate limit refuses.
    RateLimited,
    /// A concurrency limit refuses.
    ConcurrencyLimited,
    /// A quota is spent.
    QuotaExceeded,
    /// The caller is blocked for a while.
    Blocked,
    /// The server sheds load.
    Overloaded,
    /// There is no key, and callers without one are not served.
    MissingKey,
    /// The key is unknown, expired or revoked: one answer for all, so that nobody learns which.
    InvalidKey,
    /// The key lacks the route's scope.
    InsufficientScope,
    /// Nothing can be decided, and the policy says to fail closed.
    Unavailable,
    /// Two different keys in one request.
    AmbiguousKey,
    /// The cost is larger than a limit: waiting does not help.
    CostExceedsLimit,
    /// The name of an earlier request, with another request.
    IdempotencyConflict,
    /// What stands in the place of the request's name is none.
    InvalidIdempotencyKey,
    /// The key may not be used from the caller's address.
    AddressNotAllowed,
    /// The key may not be used from the caller's web page, or the request names none.
    OriginNotAllowed,
}

/// A line of the table.
struct Line {
    code: ErrorCode,
    error: &'static str,
    status: u16,
    title: &'static str,
    detail: &'static str,
}

const fn line(
    code: ErrorCode,
    error: &'static str,
    status: u16,
    title: &'static str,
    detail: &'static str,
) -> Line {
    Line { code, error, status, title, detail }
}

/// In the order of [`ErrorCode`], which a test holds.
const TABLE: [Line; 15] = {
    use ErrorCode as E;
    [
        line(E::RateLimited, "rate_limited", 429, "Too many requests", "Wait as long as Retry-After says."),
        line(
            E::ConcurrencyLimited,
            "concurrency_limited",
            429,
            "Too many requests at once",
            "Wait until one of your requests in flight has ended.",
        ),
        line(
            E::QuotaExceeded,
            "quota_exceeded",
            402,
            "Quota spent",
            "The plan's quota is spent until it resets. A larger plan admits more at once.",
        ),
        line(
            E::Blocked,
            "blocked",
            429,
            "Blocked",
            "Too many refused requests. Wait as long as Retry-After says.",
        ),
        line(E::Overloaded, "overloaded", 503, "Overloaded", "The service sheds load. Try again shortly."),
        line(E::MissingKey, "missing_key", 401, "A key is needed", "Send your API key with the request."),
        line(
            E::InvalidKey,
            "invalid_key",
            403,
            "Invalid key",
            "The key is not valid: unknown, expired or revoked.",
        ),
        line(
            E::InsufficientScope,
            "insufficient_scope",
            403,
            "Not within the key's scopes",
            "The key is valid, but was not given the scope that this route needs.",
        ),
        line(
            E::Unavailable,
            "unavailable",
            503,
            "Cannot decide",
            "Usage cannot be recorded at the moment, so nothing is admitted. Try again shortly.",
        ),
        line(
            E::AmbiguousKey,
            "ambiguous_key",
            400,
            "Two different keys",
            "The request carries two different keys. Send one.",
        ),
        line(
            E::CostExceedsLimit,
            "cost_exceeds_limit",
            400,
            "Larger than the limit",
            "The request costs more than the limit ever admits at once. Waiting does not help; split it.",
        ),
        line(
            E::IdempotencyConflict,
            "idempotency_conflict",
            422,
            "The idempotency key was used for another request",
            "Send a new idempotency key with a new request.",
        ),
        line(
            E::InvalidIdempotencyKey,
            "invalid_idempotency_key",
            400,
            "Not an idempotency key",
            "Send one Idempotency-Key of 1 to 255 printable ASCII characters, in double quotes or without.",
        ),
        line(
            E::AddressNotAllowed,
            "address_not_allowed",
            403,
            "Not from this address",
            "The key is valid, but may not be used from the address of this request.",
        ),
        line(
            E::OriginNotAllowed,
            "origin_not_allowed",
            403,
            "Not from this origin",
            "The key is valid, but may only be used from web pages that it allows: Origin names none of them.",
        ),
    ]
};

impl ErrorCode {
    /// The word in `error`.
    pub const fn as_str(self) -> &'static str {
        TABLE[self as usize].error
    }

    /// The status it is answered with, unless a limit says otherwise.
    pub const fn status(self) -> u16 {
        TABLE[self as usize].status
    }

    /// The headline for people.
    pub const fn title(self) -> &'static str {
        TABLE[self as usize].title
    }

    /// What to do about it.
    pub const fn detail(self) -> &'static str {
        TABLE[self as usize].detail
    }

    /// The one with this word.
    pub fn parse(word: &str) -> Option<Self> {
        TABLE.iter().find(|line| line.error == word).map(|line| line.code)
    }

    /// How many there are.
    pub const COUNT: usize = TABLE.len();

    /// All of them, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|line| line.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_codes_and_no_word_stands_twice() {
        for (index, code) in ErrorCode::all().enumerate() {
            assert_eq!(index, code as usize, "{}", code.as_str());
            assert_eq!(ErrorCode::parse(code.as_str()), Some(code));
        }
        let mut words: Vec<_> = ErrorCode::all().map(ErrorCode::as_str).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), TABLE.len());
    }
}
