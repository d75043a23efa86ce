//! Why a request was refused, in a sentence for people.

use std::fmt::Write as _;

use sluicegate_core::limit::{Axis, LimitName};
use sluicegate_core::limit_now::LimitNow;
use sluicegate_core::time::Nanos;
use sluicegate_engine::pulse::Explanation;
use sluicegate_engine::{ErrorCode, StoreMode};

/// The sentence.
pub(super) fn sentence(explanation: &Explanation) -> String {
    let brief = &explanation.brief;
    let who = match (&brief.account, &brief.client) {
        (Some(account), _) => account.to_string(),
        (None, Some(client)) => client.to_string(),
        (None, None) => "The caller".to_owned(),
    };
    let key = explanation.key.map_or_else(|| "The key".to_owned(), |key| format!("The key {key}"));
    let wait = length(explanation.retry_after);
    let cost = grouped(explanation.cost);
    let by = explanation.refused_by.as_ref();
    let again = format!("the next request of cost {cost} is admitted in {wait}");
    let route = brief.route.as_deref().unwrap_or("this route");
    match brief.error {
        None => format!("{who} was admitted."),
        Some(ErrorCode::RateLimited) if by.is_some_and(|by| by.as_str() == LimitName::EDGE) => {
            format!("The address of the caller sent more than `edge` admits; it is heard again in {wait}.")
        }
        Some(ErrorCode::RateLimited | ErrorCode::QuotaExceeded | ErrorCode::ConcurrencyLimited)
            if explanation.standing.squeezed =>
        {
            let name = by.map_or("limit", LimitName::as_str);
            format!(
                "Too many callers share the address of {who}, and they spent its {name} together; {again}."
            )
        }
        Some(ErrorCode::RateLimited | ErrorCode::QuotaExceeded) => {
            format!("{who} spent its {}; {again}.", spent(explanation))
        }
        Some(ErrorCode::ConcurrencyLimited) => {
            let places = limit(explanation).map_or(0, |limit| limit.limit);
            format!("{who} has all of its {} requests in flight; {again} at the latest.", grouped(places))
        }
        Some(ErrorCode::Blocked) => {
            format!("{who} is blocked because of too many refusals, or by an administrator, for {wait} yet.")
        }
        Some(ErrorCode::Overloaded) => {
            format!("The upstream has no room for a request of {who}; it may be tried again in {wait}.")
        }
        Some(ErrorCode::MissingKey) => match &brief.route {
            Some(route) => format!("{who} sent no key, and route {route} needs one with its scope."),
            None => "The caller sent no key, and callers without one are not let in.".to_owned(),
        },
        Some(ErrorCode::InvalidKey) => format!("{key} is not valid: it is unknown, expired or revoked."),
        Some(ErrorCode::InsufficientScope) => format!("{key} of {who} lacks the scope of {route}."),
        Some(ErrorCode::Unavailable) if explanation.mode == StoreMode::Degraded => {
            format!("The store is away, and `degraded` says to refuse {who} meanwhile; try again in {wait}.")
        }
        Some(ErrorCode::Unavailable) => {
            format!(
                "A request of {who} cannot be recorded or looked up now; it may be tried again in {wait}."
            )
        }
        Some(ErrorCode::AmbiguousKey) => "The request has two different keys.".to_owned(),
        Some(ErrorCode::CostExceedsLimit) => {
            let most = limit(explanation).map_or(0, |limit| limit.capacity);
            let name = by.map_or("limit", LimitName::as_str);
            let most = grouped(most);
            format!("A cost of {cost} is more than the {name} of {who} ever admits at once, which is {most}.")
        }
        Some(ErrorCode::IdempotencyConflict) => {
            format!("{who} gave the idempotency key of another request to this one.")
        }
        Some(ErrorCode::InvalidIdempotencyKey) => "What stands in Idempotency-Key is none.".to_owned(),
        Some(ErrorCode::AddressNotAllowed) => {
            format!("{who} called from an address that the key does not allow.")
        }
        Some(ErrorCode::OriginNotAllowed) => {
            format!("{who} called from a web page that the key does not allow, or named none.")
        }
    }
}

/// What the limit that refused said.
fn limit(explanation: &Explanation) -> Option<&LimitNow> {
    let by = explanation.refused_by.as_ref()?;
    explanation.limits.iter().find(|limit| limit.name == *by)
}

/// What was spent: `rate of 10 a second`.
fn spent(explanation: &Explanation) -> String {
    let Some(limit) = limit(explanation) else {
        return explanation.refused_by.as_ref().map_or("limit", LimitName::as_str).to_owned();
    };
    let mut text = format!("{} of {}", limit.name.as_str(), grouped(limit.limit));
    // A bucket is told by its capacity, which it has over a longer or shorter time than its window.
    let window = limit.window_s.unwrap_or(0).saturating_mul(limit.limit) / limit.capacity.max(1);
    if limit.axis == Axis::Rate {
        let _ = match window.max(1) {
            1 => write!(text, " a second"),
            60 => write!(text, " a minute"),
            3_600 => write!(text, " an hour"),
            86_400 => write!(text, " a day"),
            seconds => write!(text, " in {}", length(Nanos(seconds.saturating_mul(1_000_000_000)))),
        };
    }
    text
}

/// A length of time, rounded up: `84 ms`, `12 s`, `5 minutes`.
fn length(wait: Nanos) -> String {
    let seconds = wait.as_secs_ceil();
    match seconds {
        0..=1 if wait.as_millis_ceil() < 1_000 => format!("{} ms", wait.as_millis_ceil()),
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} minutes", seconds.div_ceil(60)),
        7_200..172_800 => format!("{} hours", seconds.div_ceil(3_600)),
        _ => format!("{} days", seconds.div_ceil(86_400)),
    }
}

/// A number with its thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_rounded_up_and_have_the_unit_that_people_use() {
        let said = |millis: u64| length(Nanos(millis * 1_000_000));
        assert_eq!(
            [0, 84, 999, 1_000, 1_001, 119_000, 120_000, 7_200_001, 172_800_000].map(said),
            ["0 ms", "84 ms", "999 ms", "1 s", "2 s", "119 s", "2 minutes", "3 hours", "2 days"]
        );
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
