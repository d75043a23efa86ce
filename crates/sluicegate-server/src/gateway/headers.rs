//! Headers on their way through: what belongs to one connection stays behind, what the gateway knows is added.

use std::net::IpAddr;
use std::sync::Arc;

use http::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, Entry, HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE,
    TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Version, request};
use sluicegate_core::policy::{ForwardedHeader, PassHeaders, Proxies};

use crate::listen::Peer;

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
const HTTP2_SETTINGS: HeaderName = HeaderName::from_static("http2-settings");
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED: HeaderName = HeaderName::from_static("forwarded");
const REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");
const FORWARDED_PORT: HeaderName = HeaderName::from_static("x-forwarded-port");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// What the upstream is told of the caller begins with this. Whoever decides has removed what the caller sent of it.
const OURS: &str = "x-sluicegate-";

/// What is left of a quota, for the caller. An upstream must not promise more.
const QUOTA: &str = "x-quota-";

/// How many headers are removed in one pass: more than nearly any request has to remove.
const REMOVED_AT_ONCE: usize = 16;

/// Whether a header belongs to one connection and not to the request.
fn is_hop(name: &HeaderName) -> bool {
    *name == CONNECTION
        || *name == TRANSFER_ENCODING
        || *name == UPGRADE
        || *name == TE
        || *name == PROXY_AUTHENTICATE
        || *name == PROXY_AUTHORIZATION
        || *name == KEEP_ALIVE
        || *name == PROXY_CONNECTION
        || *name == HTTP2_SETTINGS
}

/// Removes what belongs to one connection, and what else is named.
fn remove_hops(headers: &mut HeaderMap, also: impl Fn(&HeaderName) -> bool) {
    remove_named(headers);
    remove_all(headers, |name| is_hop(name) || is_removed(name) || also(name));
}

fn remove_all(headers: &mut HeaderMap, is_unwanted: impl Fn(&HeaderName) -> bool) {
    loop {
        let mut removed = [const { None }; REMOVED_AT_ONCE];
        let names = headers.keys().filter(|name| is_unwanted(name));
        for (place, name) in removed.iter_mut().zip(names) {
            *place = Some(name.clone());
        }
        let full = removed.iter().all(Option::is_some);
        for name in removed.into_iter().flatten() {
            headers.remove(name);
        }
        if !full {
            return;
        }
    }
}

/// Whether a header is not passed on although it belongs to the request. What is expected of the gateway it does
/// itself, as soon as the body is wanted. Names with `_` are the same as those with `-` to many an upstream: whoever
/// sends them would speak in another's name.
fn is_removed(name: &HeaderName) -> bool {
    *name == EXPECT || name.as_str().contains('_')
}

/// Removes the headers that `Connection` names.
fn remove_named(headers: &mut HeaderMap) {
    if !headers.contains_key(CONNECTION) {
        return;
    }
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .flat_map(tokens)
        .filter_map(|token| HeaderName::from_bytes(token).ok())
        // A caller may not take away what the upstream needs to understand the request, nor what it is told of the
        // caller.
        .filter(|name| !name.as_str().starts_with(OURS) && !names_caller(name))
        // Nor the name under which the request may have been free: the upstream must be able to recognise a repeat.
        .filter(|name| *name != IDEMPOTENCY_KEY)
        .filter(|name| *name != HOST && *name != CONTENT_LENGTH && *name != TE && *name != UPGRADE)
        .collect();
    for name in named {
        headers.remove(name);
    }
}

/// Whether proxies say in it who called them. A caller that could take it away would be its proxy.
fn names_caller(name: &HeaderName) -> bool {
    *name == FORWARDED || *name == REAL_IP || name.as_str().starts_with("x-forwarded-")
}

/// The parts of a list, without the blanks around them.
fn tokens(value: &HeaderValue) -> impl Iterator<Item = &[u8]> {
    value.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

fn has_token(headers: &HeaderMap, name: &HeaderName, wanted: &[u8]) -> bool {
    headers.get_all(name).iter().flat_map(tokens).any(|token| token.eq_ignore_ascii_case(wanted))
}

/// The protocol that the caller wants to change to, if the gateway lets it.
///
/// Not to another HTTP: what passes through such a tunnel would be requests that nobody counts.
pub(super) fn upgrade(parts: &request::Parts) -> Option<HeaderValue> {
    if parts.version != Version::HTTP_11 {
        return None;
    }
    let wanted = parts.headers.get(UPGRADE)?;
    let is_http = |token: &[u8]| {
        let token = token.to_ascii_lowercase();
        token.starts_with(b"h2") || token.starts_with(b"http") || token.starts_with(b"tls")
    };
    let several = parts.headers.get_all(UPGRADE).iter().count() > 1;
    let allowed =
        !several && !tokens(wanted).any(is_http) && has_token(&parts.headers, &CONNECTION, b"upgrade");
    allowed.then(|| wanted.clone())
}

/// Which headers and trailers of a request are not passed on, by who has sent them.
#[derive(Clone, Debug, Default)]
pub(super) enum CallerFilter {
    /// A trusted proxy: what it says about its caller stands.
    #[default]
    Trusted,
    /// Anyone else. Headers that could dodge a route or an address are removed unless the policy passes them.
    Untrusted(Arc<PassHeaders>),
}

impl CallerFilter {
    /// The filter for a request of this peer.
    pub(super) fn of(peer: Option<&Peer>, proxies: &Proxies, pass: &Arc<PassHeaders>) -> Self {
        match peer {
            Some(peer) if !proxies.trusts(peer.address().ip()) => Self::Untrusted(Arc::clone(pass)),
            _ => Self::Trusted,
        }
    }

    /// Upstreams read other `X-Forwarded-*` than the gateway writes, such as `-Prefix` and `-User`: of callers that are
    /// not trusted, none is passed on.
    fn removes(&self, name: &HeaderName) -> bool {
        let name = name.as_str();
        matches!(self, Self::Untrusted(pass) if pass.removes(name) || name.starts_with("x-forwarded-"))
    }

    /// Removes from the trailers of a request what its headers may not have either: what belongs to a connection, what
    /// only the gateway says about the caller, and what frames or routes a request.
    pub(super) fn clean_trailers(&self, trailers: &mut HeaderMap) {
        remove_hops(trailers, |name| {
            name.as_str().starts_with(OURS)
                || names_caller(name)
                || *name == HOST
                || *name == CONTENT_LENGTH
                || self.removes(name)
        });
    }
}

/// Makes the headers of a request those that the upstream gets.
pub(super) fn toward_upstream(
    parts: &mut request::Parts,
    upgrade: Option<HeaderValue>,
    peer: Option<&Peer>,
    proxies: &Proxies,
    filter: &CallerFilter,
) {
    let trailers = parts.headers.contains_key(TE) && has_token(&parts.headers, &TE, b"trailers");
    let headers = &mut parts.headers;
    remove_hops(headers, |name| filter.removes(name));
    if trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
    if let Some(upgrade) = upgrade {
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, upgrade);
    }
    if !headers.contains_key(HOST)
        && let Some(authority) = parts.uri.authority()
        && let Ok(host) = HeaderValue::from_str(authority.as_str())
    {
        headers.insert(HOST, host);
    }
    if let Some(peer) = peer {
        add_forwarded(headers, peer, proxies);
    }
}

/// Says who called, how and by what name. What a trusted proxy said about that stands.
///
/// Of the two headers that name the caller, a proxy is believed in the one that the policy chose, and passes on what
/// callers wrote into the other. So that other one starts anew here.
fn add_forwarded(headers: &mut HeaderMap, peer: &Peer, proxies: &Proxies) {
    let is_trusted = proxies.trusts(peer.address().ip());
    let before = |headers: &HeaderMap, name, last: &[u8]| {
        Some(()).filter(|()| is_trusted).and_then(|()| chained(headers, name, last))
    };
    match proxies.header {
        ForwardedHeader::XForwardedFor => {
            let peer = peer.forwarded_for();
            let chain = before(headers, &FORWARDED_FOR, peer.as_bytes());
            headers.insert(FORWARDED_FOR, chain.unwrap_or_else(|| peer.clone()));
            headers.remove(FORWARDED);
        }
        ForwardedHeader::Forwarded => {
            let element = element(peer);
            let chain = before(headers, &FORWARDED, element.as_bytes());
            headers.insert(FORWARDED, chain.unwrap_or(element));
            headers.insert(FORWARDED_FOR, peer.forwarded_for().clone());
        }
    }
    if !is_trusted {
        for name in [REAL_IP, FORWARDED_PORT] {
            headers.remove(name);
        }
    }
    let host = headers.get(HOST).cloned();
    let said = [(FORWARDED_PROTO, Some(peer.scheme().forwarded_proto())), (FORWARDED_HOST, host)];
    for (name, value) in said {
        match (headers.entry(name), value) {
            (Entry::Occupied(_), _) if is_trusted => {}
            (Entry::Occupied(mut entry), Some(value)) => {
                entry.insert(value);
            }
            (Entry::Occupied(entry), None) => {
                entry.remove();
            }
            (Entry::Vacant(entry), Some(value)) => {
                entry.insert(value);
            }
            (Entry::Vacant(_), None) => {}
        }
    }
}

/// What a trusted proxy said, and the proxy itself behind it.
fn chained(headers: &HeaderMap, name: &HeaderName, last: &[u8]) -> Option<HeaderValue> {
    let mut chain = joined(headers, name)?;
    chain.extend_from_slice(b", ");
    chain.extend_from_slice(last);
    HeaderValue::from_maybe_shared(bytes::Bytes::from(chain)).ok()
}

/// The peer as `Forwarded` has it.
fn element(peer: &Peer) -> HeaderValue {
    let text = match peer.address().ip().to_canonical() {
        IpAddr::V4(address) => format!("for={address}"),
        IpAddr::V6(address) => format!("for=\"[{address}]\""),
    };
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("for=unknown"))
}

/// All values of a header as one list.
fn joined(headers: &HeaderMap, name: &HeaderName) -> Option<Vec<u8>> {
    let values: Vec<&[u8]> = headers.get_all(name).iter().map(HeaderValue::as_bytes).collect();
    (!values.is_empty()).then(|| values.join(&b", "[..]))
}

/// Whether only the gateway may say it to a caller: what it decided, and what is left of a quota.
fn is_gateways_own(name: &HeaderName) -> bool {
    name.as_str().starts_with(OURS) || name.as_str().starts_with(QUOTA)
}

/// Makes the headers of an answer those that the caller gets.
pub(super) fn toward_caller(headers: &mut HeaderMap) {
    remove_hops(headers, is_gateways_own);
}

/// Makes the trailers of an answer those that the caller gets.
pub(super) fn trailers_toward_caller(trailers: &mut HeaderMap) {
    remove_all(trailers, |name| is_hop(name) || is_gateways_own(name));
}

/// Makes the headers of an answer that changes the protocol those that the caller gets.
pub(super) fn toward_upgraded_caller(headers: &mut HeaderMap) {
    let upgrade = headers.get(UPGRADE).cloned();
    remove_hops(headers, is_gateways_own);
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    if let Some(upgrade) = upgrade {
        headers.insert(UPGRADE, upgrade);
    }
}

#[cfg(test)]
mod tests;
