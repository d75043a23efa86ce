//! What an answer says of its limits, in types: `Retry-After` and the four families of headers.
//!
//! Whatever stands in them, reading never fails: what makes no sense is as if it were not there. A number that is too
//! large for its type is the largest there is, so that nobody waits less than was said.

mod moment;
mod structured;

use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderValue};

pub use moment::Moment;
pub use structured::{Policy, State};

/// What an answer says of its limits.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Limits {
    /// `Retry-After`: when to come again. Of several, the latest.
    pub retry_after: Option<Moment>,
    /// `RateLimit-Policy`: what the limits are.
    pub policies: Vec<Policy>,
    /// `RateLimit`: what is left of them.
    pub states: Vec<State>,
    /// `RateLimit-Limit`, `RateLimit-Remaining`, `RateLimit-Reset`.
    pub rate: Option<Window>,
    /// `X-RateLimit-Limit`, `X-RateLimit-Remaining`, `X-RateLimit-Reset`.
    pub x_rate: Option<Window>,
    /// `X-Quota-Limit`, `X-Quota-Used`, `X-Quota-Remaining`, `X-Quota-Reset`, `X-Quota-Overage`.
    pub quota: Option<Quota>,
    /// `X-Tollgate-Mode`.
    pub mode: Mode,
    /// `Date`: what the server's clock says.
    pub date: Option<SystemTime>,
}

/// A limit in the families with one header for each number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Window {
    /// The amount for its window.
    pub limit: Option<u64>,
    /// What is left of it.
    pub remaining: Option<u64>,
    /// When it is as if never used.
    pub reset: Option<Moment>,
}

/// A quota.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Quota {
    /// The amount for its period.
    pub limit: Option<u64>,
    /// What was used of it.
    pub used: Option<u64>,
    /// What is left of it.
    pub remaining: Option<u64>,
    /// When its period ends.
    pub reset: Option<Moment>,
    /// What was used beyond it, where that is billed.
    pub overage: Option<u64>,
}

/// How the server decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// As always.
    #[default]
    Normal,
    /// Its store is away, and it admits a part of each limit.
    Degraded,
}

impl Limits {
    /// Reads the headers of an answer.
    pub fn from_headers(headers: &HeaderMap) -> Self {
        let retry_after = headers.get_all(http::header::RETRY_AFTER).iter().filter_map(text);
        let date = text_of(headers, "date").and_then(moment::http_date);
        let now = date.unwrap_or(SystemTime::UNIX_EPOCH);
        Self {
            retry_after: retry_after.filter_map(Moment::delay_or_date).max_by_key(|moment| moment.wait(now)),
            policies: structured::policies(headers),
            states: structured::states(headers),
            rate: Window::read(headers, ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"]),
            x_rate: Window::read(
                headers,
                ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"],
            ),
            quota: Quota::read(headers),
            mode: match text_of(headers, "x-tollgate-mode") {
                Some("degraded") => Mode::Degraded,
                _ => Mode::Normal,
            },
            date,
        }
    }

    /// How long the server says to wait before the next request, if it was refused.
    ///
    /// `Retry-After` comes before all else. Without it: until there is more of every limit of which nothing is left.
    /// Instants are compared with the server's own clock if its answer has a `Date`, otherwise with `now`.
    pub fn wait(&self, now: SystemTime) -> Option<Duration> {
        let now = self.date.unwrap_or(now);
        if let Some(moment) = self.retry_after {
            return Some(moment.wait(now));
        }
        let states = self.states.iter().filter(|state| state.remaining == 0).filter_map(|state| state.next);
        let windows = [self.rate, self.x_rate].into_iter().flatten();
        let windows = windows.filter_map(|window| spent(window.remaining, window.reset));
        let quota = self.quota.and_then(|quota| spent(quota.remaining, quota.reset));
        let moments = windows.chain(quota).map(|moment| moment.wait(now));
        states.chain(moments).max()
    }
}

/// When there is more, of something of which nothing is left, or of which only that is said.
fn spent(remaining: Option<u64>, reset: Option<Moment>) -> Option<Moment> {
    reset.filter(|_| remaining.unwrap_or(0) == 0)
}

impl Window {
    fn read(headers: &HeaderMap, names: [&str; 3]) -> Option<Self> {
        let [limit, remaining, reset] = names.map(|name| text_of(headers, name));
        let window = Self {
            limit: limit.and_then(first_number),
            remaining: remaining.and_then(first_number),
            reset: reset.and_then(Moment::reset),
        };
        let is_there = window.limit.is_some() || window.remaining.is_some() || window.reset.is_some();
        is_there.then_some(window)
    }
}

impl Quota {
    fn read(headers: &HeaderMap) -> Option<Self> {
        let read = |name: &str| text_of(headers, name).and_then(first_number);
        let quota = Self {
            limit: read("x-quota-limit"),
            used: read("x-quota-used"),
            remaining: read("x-quota-remaining"),
            reset: text_of(headers, "x-quota-reset").and_then(Moment::reset),
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

/// The number in front: earlier drafts let `100, 100;w=60` stand for a limit of 100.
fn first_number(text: &str) -> Option<u64> {
    moment::number(text.split([',', ';']).next().unwrap_or_default().trim())
}
