//! Where a request comes from, as far as that can be believed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::policy::{ForwardedHeader, Proxies};
use http::header::FORWARDED;
use http::{HeaderMap, HeaderName};

use super::forwarded;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// How many hops are read, from the right. More trusted proxies than this in a row there are not.
pub(super) const HOPS_MAX: usize = 32;

/// Where a request comes from: its peer, or behind proxies that are believed, the right-most hop that is none of them.
///
/// A hop that cannot be read makes all of it worth nothing. What stands to its left may be the caller's own words, and
/// what stands to its right are proxies: the peer is what is left to believe.
pub fn address(peer: IpAddr, headers: &HeaderMap, proxies: &Proxies) -> IpAddr {
    let peer = peer.to_canonical();
    if !proxies.trusts(peer) {
        return peer;
    }
    let said = match proxies.header {
        ForwardedHeader::XForwardedFor => {
            let lines = headers.get_all(FORWARDED_FOR).iter().rev();
            first_untrusted(proxies, lines.flat_map(|line| x_forwarded_for(line.as_bytes())))
        }
        ForwardedHeader::Forwarded => {
            let lines = headers.get_all(FORWARDED).iter().rev();
            first_untrusted(proxies, lines.flat_map(|line| forwarded::hops(line.as_bytes())))
        }
    };
    match said {
        Said::Address(address) => address,
        Said::Nothing | Said::Nonsense => peer,
    }
}

/// What hops say about where a request comes from.
enum Said {
    Nothing,
    Nonsense,
    Address(IpAddr),
}

/// The first hop that is no trusted proxy, or the last one if all of them are. Hops come from the right, and one that
/// cannot be read is nothing.
fn first_untrusted(proxies: &Proxies, hops: impl Iterator<Item = Option<IpAddr>>) -> Said {
    let mut last = Said::Nothing;
    for (count, hop) in hops.enumerate() {
        match hop {
            None => return Said::Nonsense,
            Some(_) if count == HOPS_MAX => return Said::Nonsense,
            Some(hop) if proxies.trusts(hop) => last = Said::Address(hop),
            Some(hop) => return Said::Address(hop),
        }
    }
    last
}

/// The hops of one line of `X-Forwarded-For`, from the right.
fn x_forwarded_for(line: &[u8]) -> impl Iterator<Item = Option<IpAddr>> {
    line.rsplit(|byte| *byte == b',').map(|hop| {
        let hop = str::from_utf8(hop.trim_ascii()).ok()?;
        // Proxies write IPv6 with and without brackets.
        bare(hop).or_else(|| with_port(hop, is_port))
    })
}

fn bare(text: &str) -> Option<IpAddr> {
    text.parse().ok().map(|address: IpAddr| address.to_canonical())
}

/// `192.0.2.1`, `192.0.2.1:80`, `[2001:db8::1]` and `[2001:db8::1]:80`.
pub(super) fn with_port(text: &str, is_port: fn(&str) -> bool) -> Option<IpAddr> {
    let (address, port) = match text.strip_prefix('[') {
        Some(inner) => {
            let (address, rest) = inner.split_once(']')?;
            let address = IpAddr::V6(address.parse::<Ipv6Addr>().ok()?);
            (address, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) })
        }
        None => {
            let (address, port) = match text.split_once(':') {
                Some((address, port)) => (address, Some(port)),
                None => (text, None),
            };
            (IpAddr::V4(address.parse::<Ipv4Addr>().ok()?), port)
        }
    };
    port.is_none_or(is_port).then(|| address.to_canonical())
}

/// The port itself says nothing about the caller, but what has none where one should be is not what it seems.
pub(super) fn is_port(text: &str) -> bool {
    (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests;
