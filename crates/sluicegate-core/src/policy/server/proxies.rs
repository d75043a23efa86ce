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

/// Whether connections to the gateway start with a header of the PROXY protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ProxyProtocol {
    /// They do not.
    #[default]
    Off,
    /// Every one does, in version 1 or 2, and comes from a trusted proxy. Others are closed.
    Required,
}
