//! Proxies before the gateway: whose word is believed, and in which form it comes.

use std::net::IpAddr;

use super::Network;

/// Which proxies are believed, and in which header they say who called them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Proxies {
    /// Where they call from; none: nobody's headers are believed.
    pub trusted: Vec<Network>,
    /// The header they write.
    pub header: ForwardedHeader,
}

impl Proxies {
    /// Whether whoever calls from there is a proxy that is believed.
    pub fn trusts(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|network| network.contains(address))
    }
}

/// The header in which proxies say who called them. The other one is never looked at: a proxy that writes one passes
/// on what callers wrote into the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ForwardedHeader {
    /// `X-Forwarded-For`, which nearly all proxies write.
    #[default]
    XForwardedFor,
    /// `Forwarded`, of RFC 7239.
    Forwarded,
}

/// Headers by which a caller could change what the upstream takes its request for: another method, another path,
/// another caller. Limits are decided by the request line and the peer, and these headers would dodge them.
pub const OVERRIDE_HEADERS: [&str; 13] = [
    "cf-connecting-ip",
    "cf-connecting-ipv6",
    "fastly-client-ip",
    "true-client-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-uri",
    "x-original-url",
    "x-rewrite-uri",
    "x-rewrite-url",
];

/// Which of [`OVERRIDE_HEADERS`] callers may send; none by default.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PassHeaders(Vec<&'static str>);

impl PassHeaders {
    /// The headers of these names.
    pub fn new(names: impl IntoIterator<Item = &'static str>) -> Self {
        Self(names.into_iter().collect())
    }

    /// Whether a header, in lower case, is removed from the requests of callers.
    #[inline]
    pub fn removes(&self, name: &str) -> bool {
        // Nearly no header begins like that.
        matches!(
            name.as_bytes(),
            [b'x', b'-', ..] | [b'c', b'f', b'-', ..] | [b't', b'r', b'u', ..] | [b'f', b'a', ..]
        ) && OVERRIDE_HEADERS.contains(&name)
            && !self.0.contains(&name)
    }
}

/// Whether connections to the gateway start with a header of the PROXY protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ProxyProtocol {
    /// They do not.
    #[default]
    Off,
    /// Every one does, in version 1 or 2, and comes from a trusted proxy. Others are closed.
    Required,
}
