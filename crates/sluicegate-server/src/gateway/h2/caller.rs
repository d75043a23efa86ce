//! Who uses the upstream's connections: callers as they are told apart when streams and window are shared out.

use std::hash::BuildHasher;
use std::net::IpAddr;

use http::HeaderMap;
use sluicegate_core::identify::address;
use sluicegate_core::policy::Proxies;

use crate::listen::Peer;

/// The account, as the layer that decides has named it. What callers send under this name it has removed.
const ACCOUNT: &str = "x-sluicegate-account";

/// A caller: its account, or without one the network that it calls from, an IPv4 address or an IPv6 /64.
///
/// A keyed hash: two callers that share one share their part of the connections, and nothing else.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::gateway) struct CallerId(u64);

impl CallerId {
    /// The caller of a request, before its headers are made those for the upstream.
    pub(in crate::gateway) fn of(
        headers: &HeaderMap,
        peer: Option<&Peer>,
        proxies: &Proxies,
        hasher: &impl BuildHasher,
    ) -> Self {
        if let Some(account) = headers.get(ACCOUNT) {
            return Self(hasher.hash_one(("account", account.as_bytes())));
        }
        let network = peer.map(|peer| network(address(peer.address().ip(), headers, proxies)));
        Self(hasher.hash_one(("network", network)))
    }
}

/// The network that an address stands for.
fn network(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(address) => u64::from(u32::from(address)),
        IpAddr::V6(address) => (u128::from(address) >> 64) as u64,
    }
}

#[cfg(test)]
mod tests {
    use std::hash::RandomState;

    use super::*;
    use sluicegate_node::{Scheme, Shutdown};

    #[test]
    fn callers_are_told_apart_by_account_and_else_by_network() {
        let (hasher, proxies) = (RandomState::new(), Proxies::default());
        let of = |account: Option<&'static str>, address: &str| {
            let mut headers = HeaderMap::new();
            if let Some(account) = account {
                headers.insert(ACCOUNT, http::HeaderValue::from_static(account));
            }
            let peer = Peer::new(address.parse().unwrap(), Scheme::Http, Shutdown::new());
            CallerId::of(&headers, Some(&peer), &proxies, &hasher)
        };
        assert_eq!(of(Some("a"), "10.0.0.1:1"), of(Some("a"), "10.0.0.2:2"));
        assert_ne!(of(Some("a"), "10.0.0.1:1"), of(Some("b"), "10.0.0.1:1"));
        assert_eq!(of(None, "10.0.0.1:1"), of(None, "10.0.0.1:2"));
        assert_ne!(of(None, "10.0.0.1:1"), of(None, "10.0.0.2:1"));
        assert_eq!(of(None, "[2001:db8::1]:1"), of(None, "[2001:db8::2]:1"));
        assert_ne!(of(None, "[2001:db8::1]:1"), of(None, "[2001:db8:0:1::1]:1"));
    }
}
