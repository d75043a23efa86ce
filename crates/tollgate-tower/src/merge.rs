//! What our limits say beside what the service says about limits of its own.
//!
//! Whoever reads the headers must not be promised more than both allow: of two families with the same names, the one
//! with less left stands.

use http::HeaderMap;
use tollgate_core::headers::Field;
use tollgate_engine::{HeaderLines, name_of};

/// The fields of one family, and the one that says how much is left.
struct Family {
    remaining: Field,
    fields: &'static [Field],
}

const FAMILIES: [Family; 4] = [
    Family { remaining: Field::RateLimit, fields: &[Field::RateLimitPolicy, Field::RateLimit] },
    Family {
        remaining: Field::RateLimitRemaining,
        fields: &[Field::RateLimitLimit, Field::RateLimitRemaining, Field::RateLimitReset],
    },
    Family {
        remaining: Field::XRateLimitRemaining,
        fields: &[Field::XRateLimitLimit, Field::XRateLimitRemaining, Field::XRateLimitReset],
    },
    Family {
        remaining: Field::XQuotaRemaining,
        fields: &[
            Field::XQuotaLimit,
            Field::XQuotaUsed,
            Field::XQuotaRemaining,
            Field::XQuotaReset,
            Field::XQuotaOverage,
        ],
    },
];

/// Puts our lines into the headers of an answer.
pub(crate) fn merge(headers: &mut HeaderMap, lines: &HeaderLines) {
    // Nearly no service speaks of limits, and then ours stand.
    let speaks = FAMILIES.iter().any(|family| headers.contains_key(name_of(family.remaining)));
    if !speaks {
        headers.extend(lines.to_http());
        return;
    }
    let kept: Vec<&Family> = FAMILIES.iter().filter(|family| is_stricter(family, headers, lines)).collect();
    for ((field, _), (name, value)) in lines.iter().zip(lines.to_http()) {
        if !kept.iter().any(|family| family.fields.contains(&field)) {
            headers.insert(name, value);
        }
    }
}

/// Whether the service leaves less than we do. What cannot be read promises nothing, and is replaced.
fn is_stricter(family: &Family, headers: &HeaderMap, lines: &HeaderLines) -> bool {
    let theirs = headers.get_all(name_of(family.remaining)).iter().filter_map(|value| value.to_str().ok());
    let theirs = theirs.filter_map(least_left).min();
    let ours = lines.iter().find(|(field, _)| *field == family.remaining);
    match (theirs, ours.and_then(|(_, value)| least_left(value))) {
        (Some(theirs), Some(ours)) => theirs < ours,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

/// The least that is left by a plain number, or by the `r` of a list of items.
fn least_left(value: &str) -> Option<u64> {
    if let Ok(number) = value.trim().parse() {
        return Some(number);
    }
    let items = value.split(',').filter_map(|item| {
        item.split(';').find_map(|parameter| parameter.trim().strip_prefix("r=")?.trim().parse().ok())
    });
    items.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_left_is_a_number_or_the_smallest_r() {
        assert_eq!(least_left(" 7 "), Some(7));
        assert_eq!(least_left("\"a\";r=50;t=30, \"b\";t=1;r=3"), Some(3));
        assert_eq!(least_left("soon"), None);
        assert_eq!(least_left("\"a\";t=30"), None);
    }
}
