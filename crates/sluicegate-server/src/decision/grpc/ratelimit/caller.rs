//! Entries that name a caller: its key, its token, its account, or where it comes from and in which tier it is.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::LazyLock;

use http::HeaderMap;
use sluicegate_core::policy::Policy;
use sluicegate_engine::{CallerRequest, Credential, Front, Hold, Purpose};

use super::asked::Hits;
use crate::decision::grpc::message::ratelimit::Entry;
use crate::decision::json::Wrong;
use crate::field;

const API_KEY: &[u8] = b"api_key";
const SERVICE_TOKEN: &[u8] = b"service_token";
const ACCOUNT: &[u8] = b"account";
const TIER: &[u8] = b"tier";
const REMOTE_ADDRESS: &[u8] = b"remote_address";
const METHOD: &[u8] = b"method";
const PATH: &[u8] = b"path";

/// A caller as a descriptor names it.
pub(super) struct Named<'d> {
    who: Credential<'d>,
    address: Option<IpAddr>,
    method: Cow<'d, str>,
    path: Cow<'d, str>,
}

/// What is known of a caller that says nothing.
static NO_HEADERS: LazyLock<HeaderMap> = LazyLock::new(HeaderMap::new);

impl<'d> Named<'d> {
    /// The caller that the entries name, if they name one.
    pub(super) fn of(entries: &'d [Entry], policy: &Policy) -> Result<Option<Self>, Wrong> {
        let Some(who) = who(entries, policy) else { return Ok(None) };
        let address = find(entries, REMOTE_ADDRESS).and_then(|address| address.parse().ok());
        let method = find(entries, METHOD).unwrap_or("GET").into();
        let path = find(entries, PATH).unwrap_or("/").into();
        Ok(Some(Self {
            who,
            address,
            method: field::method(method).map_err(|expected| wrong("method", expected))?,
            path: field::path(path).map_err(|expected| wrong("path", expected))?,
        }))
    }

    /// Whether it is named without a credential of its own.
    pub(super) fn is_vouched_for(&self) -> bool {
        matches!(self.who, Credential::Account { .. } | Credential::Tier { .. })
    }

    /// Its request.
    pub(super) fn request(&self, hits: Hits, hold: Hold) -> CallerRequest<'_> {
        let (cost, purpose) = match hits {
            Hits::Take(cost) | Hits::Give(cost) => (cost, Purpose::Charge),
            Hits::Peek => (None, Purpose::Peek),
        };
        CallerRequest {
            credential: self.who,
            address: self.address,
            method: &self.method,
            path: &self.path,
            cost,
            idempotency_key: None,
            purpose,
            hold,
            front: Front::RateLimit,
        }
    }
}

/// Who it is. An entry for a key that is empty names a caller without one: leaving out the key must not lead past all
/// limits.
fn who<'d>(entries: &'d [Entry], policy: &Policy) -> Option<Credential<'d>> {
    let mut found = None;
    for entry in entries.iter().filter(|entry| is_said(text(&entry.value))) {
        let presented = match &*entry.key {
            API_KEY => Credential::Key(text(&entry.value)),
            SERVICE_TOKEN => Credential::ServiceToken(text(&entry.value)),
            _ => continue,
        };
        match (&found, &presented) {
            (None, _) => found = Some(presented),
            (Some(Credential::Key(one)), Credential::Key(other)) if one == other => {}
            (Some(Credential::ServiceToken(one)), Credential::ServiceToken(other)) if one == other => {}
            _ => return Some(Credential::Ambiguous),
        }
    }
    if found.is_some() {
        return found;
    }
    let said = |key| find(entries, key).filter(|text| is_said(text));
    let tier = said(TIER);
    if let Some(id) = said(ACCOUNT) {
        return Some(Credential::Account { id, tier });
    }
    if let Some(tier) = tier {
        return Some(Credential::Tier { tier, headers: &NO_HEADERS });
    }
    let is_there = |key| find(entries, key).is_some();
    let serves_anyone = policy.identity.anonymous.is_some();
    let is_nobody = [API_KEY, SERVICE_TOKEN, ACCOUNT, TIER].into_iter().any(is_there)
        || (serves_anyone && is_there(REMOTE_ADDRESS));
    is_nobody.then_some(Credential::Nothing { headers: &NO_HEADERS })
}

/// Whether a value says anything. Envoy writes a dash where a header is not there.
fn is_said(text: &str) -> bool {
    !matches!(text, "" | "-")
}

fn find<'d>(entries: &'d [Entry], key: &[u8]) -> Option<&'d str> {
    entries.iter().find(|entry| entry.key == key).map(|entry| text(&entry.value))
}

/// The text of an entry; what is no text can be no key, and is read as one that nobody has.
fn text(value: &[u8]) -> &str {
    str::from_utf8(value).unwrap_or("?").trim()
}

fn wrong(key: &str, expected: &str) -> Wrong {
    Wrong { field: Some(key.to_owned()), detail: format!("The entry \"{key}\" must be {expected}.") }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use sluicegate_core::file;

    use super::*;

    fn named(policy: &str, entries: &[(&'static str, &'static str)]) -> String {
        let policy = file::read(policy.as_bytes()).unwrap().policy;
        let entry = |(key, value): &(&'static str, &'static str)| Entry {
            key: Bytes::from_static(key.as_bytes()),
            value: Bytes::from_static(value.as_bytes()),
        };
        let entries: Vec<_> = entries.iter().map(entry).collect();
        let named = match Named::of(&entries, &policy) {
            Err(wrong) => return wrong.detail,
            Ok(None) => return "nobody".to_owned(),
            Ok(Some(named)) => named,
        };
        let who = match named.who {
            Credential::Key(key) | Credential::KeyFrom { key, .. } => format!("key {key}"),
            Credential::ServiceToken(token) => format!("token {token}"),
            Credential::Account { id, tier } => format!("account {id} {}", tier.unwrap_or("-")),
            Credential::Tier { tier, .. } => format!("tier {tier}"),
            Credential::Headers(_) | Credential::Nothing { .. } => "nothing".to_owned(),
            Credential::Ambiguous => "ambiguous".to_owned(),
        };
        format!("{who} {} {}", named.method, named.path)
    }

    const PLANS: &str = "tiers: {free: {rate: 1}}";
    const OPEN: &str = "{identity: {anonymous: free}, tiers: {free: {rate: 1}}}";

    #[test]
    fn entries_name_a_caller() {
        assert_eq!(named(PLANS, &[("api_key", "abc")]), "key abc GET /");
        assert_eq!(named(PLANS, &[("api_key", "a"), ("method", "post"), ("path", "/a?b")]), "key a POST /a");
        assert_eq!(named(PLANS, &[("service_token", "abc")]), "token abc GET /");
        assert_eq!(named(PLANS, &[("account", "acme")]), "account acme - GET /");
        assert_eq!(named(PLANS, &[("tier", "free"), ("account", "acme")]), "account acme free GET /");
        assert_eq!(named(PLANS, &[("tier", "free")]), "tier free GET /");
        assert_eq!(named(PLANS, &[("remote_address", "192.0.2.1"), ("tier", "free")]), "tier free GET /");
        assert_eq!(named(OPEN, &[("remote_address", "192.0.2.1")]), "nothing GET /");
        assert_eq!(
            named(OPEN, &[("api_key", "abc"), ("account", "acme"), ("tier", "free")]),
            "key abc GET /"
        );
    }

    #[test]
    fn other_entries_name_nobody() {
        assert_eq!(named(PLANS, &[("remote_address", "192.0.2.1")]), "nobody");
        assert_eq!(named(OPEN, &[("path", "/a"), ("generic_key", "abc")]), "nobody");
    }

    #[test]
    fn a_key_that_is_left_out_names_a_caller_without_one() {
        for key in ["api_key", "service_token", "account", "tier"] {
            assert_eq!(named(PLANS, &[(key, " ")]), "nothing GET /");
            assert_eq!(named(PLANS, &[(key, "-")]), "nothing GET /");
        }
        assert_eq!(named(PLANS, &[("api_key", ""), ("account", "acme")]), "account acme - GET /");
    }

    #[test]
    fn two_keys_that_differ_are_ambiguous() {
        assert_eq!(named(PLANS, &[("api_key", "a"), ("api_key", "a")]), "key a GET /");
        assert_eq!(named(PLANS, &[("api_key", "a"), ("api_key", "b")]), "ambiguous GET /");
        assert_eq!(named(PLANS, &[("service_token", "a"), ("api_key", "a")]), "ambiguous GET /");
    }

    #[test]
    fn a_path_that_can_be_read_in_two_ways_is_refused() {
        assert!(named(PLANS, &[("api_key", "a"), ("path", "/a/../b")]).contains("segments"));
        assert!(named(PLANS, &[("api_key", "a"), ("method", "G T")]).contains("method"));
    }
}
