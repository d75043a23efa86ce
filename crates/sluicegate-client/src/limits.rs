//! The limits that a response reports: `Retry-After` and the four families of headers, as types.
//!
//! Parsing never fails: a malformed header counts as absent. A number that is too large for its type becomes the
//! largest one, so that a wait is never shorter than the server says.

mod header_time;
mod structured;

use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderValue};

pub use header_time::HeaderTime;
pub use structured::{LimitPolicy, LimitState};

/// The limits that a response reports.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Limits {
    /// `Retry-After`: when to send the request again. The latest of several.
    pub retry_after: Option<HeaderTime>,
    /// `RateLimit-Policy`: what the limits are.
    pub policies: Vec<LimitPolicy>,
    /// `RateLimit`: what is left of them.
    pub states: Vec<LimitState>,
    /// `RateLimit-Limit`, `RateLimit-Remaining`, `RateLimit-Reset`.
    pub rate: Option<Window>,
    /// `X-RateLimit-Limit`, `X-RateLimit-Remaining`, `X-RateLimit-Reset`.
    pub x_rate: Option<Window>,
    /// `X-Quota-Limit`, `X-Quota-Used`, `X-Quota-Remaining`, `X-Quota-Reset`, `X-Quota-Overage`.
    pub quota: Option<Quota>,
    /// `X-Sluicegate-Mode`.
    pub mode: Mode,
    /// `Date`: the server's clock.
    pub date: Option<SystemTime>,
}

/// A limit in the families that have one header for each number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Window {
    /// The amount per window.
    pub limit: Option<u64>,
    /// How much is left.
    pub remaining: Option<u64>,
    /// When the window is reset or the bucket is full again.
    pub reset: Option<HeaderTime>,
}

/// A quota.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Quota {
    /// The amount per period.
    pub limit: Option<u64>,
    /// How much was used.
    pub used: Option<u64>,
    /// How much is left.
    pub remaining: Option<u64>,
    /// When its period ends.
    pub reset: Option<HeaderTime>,
    /// How much was used beyond it, where overage is billed.
    pub overage: Option<u64>,
}

/// Whether the server's decisions are exact.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// The server counts in its store of record.
    #[default]
    Normal,
    /// The store is unreachable; the server admits a share of each limit.
    Degraded,
}

impl Limits {
    /// Parses the headers of a response.
    pub fn from_headers(headers: &HeaderMap) -> Self {
        let retry_after = headers.get_all(http::header::RETRY_AFTER).iter().filter_map(text);
        let date = text_of(headers, "date").and_then(header_time::http_date);
        let now = date.unwrap_or(SystemTime::UNIX_EPOCH);
        Self {
            retry_after: retry_after.filter_map(HeaderTime::delay_or_date).max_by_key(|time| time.wait(now)),
            policies: structured::policies(headers),
            states: structured::states(headers),
            rate: Window::read(headers, ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"]),
            x_rate: Window::read(
                headers,
                ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"],
            ),
            quota: Quota::read(headers),
            mode: match text_of(headers, "x-sluicegate-mode") {
                Some("degraded") => Mode::Degraded,
                _ => Mode::Normal,
            },
            date,
        }
    }

    /// How long the server says to wait before the next request, if this one was refused.
    ///
    /// `Retry-After` takes precedence. Without it, the wait ends when every limit that has nothing left is reset. Dates
    /// are compared with the `Date` of the response, or with `now` if it has none.
    pub fn wait(&self, now: SystemTime) -> Option<Duration> {
        let now = self.date.unwrap_or(now);
        if let Some(retry_after) = self.retry_after {
            return Some(retry_after.wait(now));
        }
        let states = self.states.iter().filter(|state| state.remaining == 0).filter_map(|state| state.next);
        let windows = [self.rate, self.x_rate].into_iter().flatten();
        let windows = windows.filter_map(|window| spent(window.remaining, window.reset));
        let quota = self.quota.and_then(|quota| spent(quota.remaining, quota.reset));
        let resets = windows.chain(quota).map(|reset| reset.wait(now));
        states.chain(resets).max()
    }
}

/// The reset of a limit that has nothing left, or of which only the reset is known.
fn spent(remaining: Option<u64>, reset: Option<HeaderTime>) -> Option<HeaderTime> {
    reset.filter(|_| remaining.unwrap_or(0) == 0)
}

impl Window {
    fn read(headers: &HeaderMap, names: [&str; 3]) -> Option<Self> {
        let [limit, remaining, reset] = names.map(|name| text_of(headers, name));
        let window = Self {
            limit: limit.and_then(first_number),
            remaining: remaining.and_then(first_number),
            reset: reset.and_then(HeaderTime::reset),
        };
        let is_present = window.limit.is_some() || window.remaining.is_some() || window.reset.is_some();
        is_present.then_some(window)
    }
}

impl Quota {
    fn read(headers: &HeaderMap) -> Option<Self> {
        let read = |name: &str| text_of(headers, name).and_then(first_number);
        let quota = Self {
            limit: read("x-quota-limit"),
            used: read("x-quota-used"),
            remaining: read("x-quota-remaining"),
            reset: text_of(headers, "x-quota-reset").and_then(HeaderTime::reset),
            overage: read("x-quota-overage"),
        };
        let numbers = [quota.limit, quota.used, quota.remaining, quota.overage];
        (numbers.iter().any(Option::is_some) || quota.reset.is_some()).then_some(quota)
    }
}

fn text_of<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(text)
}

fn text(value: &HeaderValue) -> Option<&str> {
    value.to_str().ok().map(str::trim)
}

/// The first number: in earlier drafts, `100, 100;w=60` is a limit of 100.
fn first_number(text: &str) -> Option<u64> {
    header_time::number(text.split([',', ';']).next().unwrap_or_default().trim())
}
