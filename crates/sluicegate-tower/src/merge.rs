//! What our limits say beside what the service says about limits of its own.
//!
//! Whoever reads the headers must not be promised more than both allow: of two families with the same names, the one
//! with less left stands, as a whole. A family of the service that does not say what is left is replaced by ours.

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::said::Said;

/// The fields of one family, and the one of them that says how much is left.
struct Family {
    fields: &'static [HeaderName],
    remaining: usize,
}

impl Family {
    fn remaining(&self) -> &'static HeaderName {
        &self.fields[self.remaining]
    }
}

static IETF: [HeaderName; 2] =
    [HeaderName::from_static("ratelimit-policy"), HeaderName::from_static("ratelimit")];

static RATE_LIMIT: [HeaderName; 3] = [
    HeaderName::from_static("ratelimit-limit"),
    HeaderName::from_static("ratelimit-remaining"),
    HeaderName::from_static("ratelimit-reset"),
];

static X_RATE_LIMIT: [HeaderName; 3] = [
    HeaderName::from_static("x-ratelimit-limit"),
    HeaderName::from_static("x-ratelimit-remaining"),
    HeaderName::from_static("x-ratelimit-reset"),
];

static X_QUOTA: [HeaderName; 5] = [
    HeaderName::from_static("x-quota-limit"),
    HeaderName::from_static("x-quota-used"),
    HeaderName::from_static("x-quota-remaining"),
    HeaderName::from_static("x-quota-reset"),
    HeaderName::from_static("x-quota-overage"),
];

static FAMILIES: [Family; 4] = [
    Family { fields: &IETF, remaining: 1 },
    Family { fields: &RATE_LIMIT, remaining: 1 },
    Family { fields: &X_RATE_LIMIT, remaining: 1 },
    Family { fields: &X_QUOTA, remaining: 2 },
];

/// Only Sluicegate says what is left of what was sold.
const OURS_ALONE: &str = "x-quota-";

/// Puts our lines into the headers of an answer.
pub(crate) fn merge(headers: &mut HeaderMap, said: &Said) {
    // Nearly no service speaks of limits, and then ours stand.
    if !headers.keys().any(may_be_ours) {
        said.put_into(headers);
        return;
    }
    remove_ours_alone(headers);
    let lines = said.lines();
    let kept: Vec<&Family> = FAMILIES.iter().filter(|family| is_stricter(family, headers, &lines)).collect();
    for family in &FAMILIES {
        let is_kept = kept.iter().any(|kept| std::ptr::eq(*kept, family));
        // Two halves of different families would say something that neither of them means.
        if !is_kept && lines.iter().any(|(name, _)| family.fields.contains(name)) {
            family.fields.iter().for_each(|name| drop(headers.remove(name)));
        }
    }
    for (name, value) in lines {
        if !kept.iter().any(|family| family.fields.contains(&name)) {
            headers.insert(name, value);
        }
    }
}

/// Removes what the service says in our name. It may be stricter about rates, which are about its own load.
fn remove_ours_alone(headers: &mut HeaderMap) {
    let is_ours = |name: &&HeaderName| name.as_str().starts_with(OURS_ALONE);
    let theirs: Vec<HeaderName> = headers.keys().filter(is_ours).cloned().collect();
    theirs.iter().for_each(|name| drop(headers.remove(name)));
}

/// Whether a header begins as those of the families do: one look at each of the few that an answer has.
fn may_be_ours(name: &HeaderName) -> bool {
    let name = name.as_str();
    name.starts_with("ratelimit") || name.starts_with("x-ratelimit-") || name.starts_with(OURS_ALONE)
}

/// Whether the service leaves less than we do. What cannot be read promises nothing, and is replaced.
fn is_stricter(family: &Family, headers: &HeaderMap, ours: &[(HeaderName, HeaderValue)]) -> bool {
    let left = |value: &HeaderValue| value.to_str().ok().and_then(least_left);
    let theirs = headers.get_all(family.remaining()).iter().filter_map(left).min();
    let ours = ours.iter().find(|(name, _)| name == family.remaining());
    match (theirs, ours.and_then(|(_, value)| left(value))) {
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
    fn every_field_of_a_family_is_noticed() {
        assert!(FAMILIES.iter().flat_map(|family| family.fields).all(may_be_ours));
        assert!(!may_be_ours(&HeaderName::from_static("content-type")));
    }

    #[test]
    fn the_least_left_is_a_number_or_the_smallest_r() {
        assert_eq!(least_left(" 7 "), Some(7));
        assert_eq!(least_left("\"a\";r=50;t=30, \"b\";t=1;r=3"), Some(3));
        assert_eq!(least_left("soon"), None);
        assert_eq!(least_left("\"a\";t=30"), None);
    }
}
