//! Who says to be calling: keys, tokens and addresses, as headers carry them.

use std::net::IpAddr;

use http::{HeaderMap, HeaderValue};
use tollgate_core::plan::HomeId;
use tollgate_core::policy::{Identity, KeyPlace, Network, Policy};
use tollgate_store::hash::HomeHasher;

use crate::request::Credential;

const BEARER: &str = "bearer ";
const FORWARDED_FOR: &str = "x-forwarded-for";

/// How many hops of `X-Forwarded-For` are read, from the right. More trusted proxies than this in a row there are not.
const HOPS_MAX: usize = 32;

/// What the headers of a request present.
pub fn credential<'h>(
    identity: &Identity,
    headers: &'h HeaderMap,
    address: Option<IpAddr>,
) -> Credential<'h> {
    let mut found: Option<Credential<'h>> = None;
    for place in &identity.api_key {
        let values = match place {
            KeyPlace::Bearer => headers.get_all(http::header::AUTHORIZATION),
            KeyPlace::Header(name) => headers.get_all(name.as_str()),
        };
        for value in values {
            let text = match place {
                KeyPlace::Bearer => bearer(value),
                KeyPlace::Header(_) => Some(text_of(value)),
            };
            let Some(text) = text.filter(|text| !text.is_empty()) else { continue };
            match found {
                Some(Credential::Key(other)) if other != text => return Credential::Ambiguous,
                _ => found = Some(Credential::Key(text)),
            }
        }
    }
    for value in headers.get_all(identity.service_token.as_str()) {
        let text = text_of(value);
        match found {
            _ if text.is_empty() => {}
            Some(Credential::ServiceToken(other)) if other == text => {}
            Some(_) => return Credential::Ambiguous,
            None => found = Some(Credential::ServiceToken(text)),
        }
    }
    found.unwrap_or(Credential::Nothing { address, headers })
}

/// The text of a header; what is no text can be no key, and is read as one that nobody has.
fn text_of(value: &HeaderValue) -> &str {
    value.to_str().unwrap_or("?").trim()
}

/// The token of `Authorization: Bearer <token>`. Other schemes are not ours.
fn bearer(value: &HeaderValue) -> Option<&str> {
    let text = value.to_str().ok()?.trim();
    let (scheme, token) = text.split_at_checked(BEARER.len())?;
    scheme.eq_ignore_ascii_case(BEARER).then(|| token.trim())
}

/// Where a request comes from: its peer, or behind proxies that are believed, the right-most hop that is not one.
pub fn address(peer: IpAddr, headers: &HeaderMap, trusted: &[Network]) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(address));
    let peer = peer.to_canonical();
    if !is_trusted(peer) {
        return peer;
    }
    let lines = headers.get_all(FORWARDED_FOR).iter().collect::<Vec<_>>();
    let hops = lines.iter().rev().flat_map(|line| line.to_str().unwrap_or("?").rsplit(','));
    let mut last = peer;
    for hop in hops.take(HOPS_MAX) {
        // A hop that cannot be read ends what can be believed.
        let Some(hop) = hop_address(hop.trim()) else { return last };
        if !is_trusted(hop) {
            return hop;
        }
        last = hop;
    }
    last
}

/// `192.0.2.1`, `2001:db8::1`, and either with a port.
fn hop_address(hop: &str) -> Option<IpAddr> {
    if let Ok(address) = hop.parse::<IpAddr>() {
        return Some(address.to_canonical());
    }
    hop.parse::<std::net::SocketAddr>().ok().map(|socket| socket.ip().to_canonical())
}

/// The home of a caller without a key: the headers that tell callers apart, blended with where it calls from.
pub(crate) fn client_home(
    homes: &HomeHasher,
    policy: &Policy,
    address: Option<IpAddr>,
    headers: &HeaderMap,
) -> HomeId {
    let prefix = address.map(prefix_of).unwrap_or_default();
    let mut parts: Vec<&[u8]> = vec![b"client", &prefix];
    for name in &policy.identity.fingerprint {
        parts.push(headers.get(name.as_str()).map_or(b"", HeaderValue::as_bytes));
    }
    homes.of_parts(&parts)
}

/// What of an address counts: all of IPv4, the /64 of IPv6. The rest of an IPv6 address is the caller's to choose.
fn prefix_of(address: IpAddr) -> [u8; 9] {
    let mut prefix = [0; 9];
    match address.to_canonical() {
        IpAddr::V4(address) => {
            prefix[0] = 4;
            prefix[1..5].copy_from_slice(&address.octets());
        }
        IpAddr::V6(address) => {
            prefix[0] = 6;
            prefix[1..].copy_from_slice(&address.octets()[..8]);
        }
    }
    prefix
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        lines
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)))
            .collect::<Vec<_>>()
            .into_iter()
            .fold(HeaderMap::new(), |mut map, (name, value): (http::HeaderName, HeaderValue)| {
                map.append(name, value);
                map
            })
    }

    fn presented(lines: &[(&'static str, &'static str)]) -> String {
        match credential(&Identity::default(), &headers(lines), None) {
            Credential::Key(key) => format!("key {key}"),
            Credential::ServiceToken(token) => format!("token {token}"),
            Credential::Nothing { .. } => "nothing".to_owned(),
            Credential::Ambiguous => "ambiguous".to_owned(),
        }
    }

    #[test]
    fn keys_stand_where_the_policy_says() {
        assert_eq!(presented(&[("authorization", "Bearer abc")]), "key abc");
        assert_eq!(presented(&[("authorization", "bearer  abc ")]), "key abc");
        assert_eq!(presented(&[("x-api-key", "abc")]), "key abc");
        assert_eq!(presented(&[("x-service-token", "abc")]), "token abc");
        assert_eq!(presented(&[("authorization", "Basic abc")]), "nothing");
        assert_eq!(presented(&[("x-api-key", "")]), "nothing");
        assert_eq!(presented(&[]), "nothing");
    }

    #[test]
    fn two_keys_that_differ_are_ambiguous_wherever_they_stand() {
        assert_eq!(presented(&[("authorization", "Bearer a"), ("x-api-key", "a")]), "key a");
        assert_eq!(presented(&[("authorization", "Bearer a"), ("x-api-key", "b")]), "ambiguous");
        assert_eq!(presented(&[("x-api-key", "a"), ("x-api-key", "b")]), "ambiguous");
        assert_eq!(presented(&[("authorization", "Bearer a"), ("authorization", "Bearer b")]), "ambiguous");
        assert_eq!(presented(&[("x-api-key", "a"), ("x-service-token", "a")]), "ambiguous");
        assert_eq!(presented(&[("x-service-token", "a"), ("x-service-token", "b")]), "ambiguous");
    }

    #[test]
    fn the_address_is_the_right_most_hop_that_is_not_trusted() {
        let trusted = [Network::parse("10.0.0.0/8").unwrap()];
        let of = |peer: &str, forwarded: &'static str| {
            address(peer.parse().unwrap(), &headers(&[("x-forwarded-for", forwarded)]), &trusted).to_string()
        };
        assert_eq!(of("192.0.2.9", "1.1.1.1"), "192.0.2.9");
        assert_eq!(of("10.0.0.1", "1.1.1.1, 2.2.2.2, 10.0.0.7"), "2.2.2.2");
        assert_eq!(of("::ffff:10.0.0.1", "2.2.2.2:8080"), "2.2.2.2");
        assert_eq!(of("10.0.0.1", "1.1.1.1, junk, 10.0.0.7"), "10.0.0.7");
        assert_eq!(of("10.0.0.1", "[2001:db8::1]:80"), "2001:db8::1");
        assert_eq!(of("10.0.0.1", ""), "10.0.0.1");
    }

    #[test]
    fn addresses_of_one_ipv6_network_are_one_caller() {
        let prefix = |text: &str| prefix_of(text.parse().unwrap());
        assert_eq!(prefix("2001:db8::1"), prefix("2001:db8::ffff"));
        assert_ne!(prefix("2001:db8::1"), prefix("2001:db8:0:1::1"));
        assert_eq!(prefix("::ffff:192.0.2.1"), prefix("192.0.2.1"));
        assert_ne!(prefix("192.0.2.1"), prefix("192.0.2.2"));
    }
}
