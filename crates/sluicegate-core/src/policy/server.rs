//! Addresses: where callers connect, what stands behind, and which proxies before are believed.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU64;
use std::path::PathBuf;

use super::url::HttpUrl;

pub mod allowance;
pub mod decision_auth;
pub mod proxies;
pub mod tunnels;

pub use allowance::{Maxima, PerAddress, Timeouts};
pub use decision_auth::{DecisionAuth, May, Permissions};
pub use proxies::{ForwardedHeader, OVERRIDE_HEADERS, PassHeaders, Proxies, ProxyProtocol};
pub use tunnels::TunnelSettings;

/// Addresses: read once, at start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerSettings {
    /// Where callers connect.
    pub gateway: SocketAddr,
    /// Where decisions are asked for.
    pub decision: SocketAddr,
    /// Where the admin API and the dashboard are.
    pub admin: SocketAddr,
    /// Where commands are taken as Redis takes them; nothing: nowhere.
    pub resp: Option<SocketAddr>,
    /// Where admitted requests are forwarded; nothing: a built-in echo.
    pub upstream: Option<HttpUrl>,
    /// What the upstream is spoken to in.
    pub upstream_protocol: UpstreamProtocol,
    /// What the upstream is called in `Host`.
    pub upstream_host: UpstreamHost,
    /// How many HTTP/2 connections one upstream may have.
    pub upstream_connections: u32,
    /// Who is believed about who called.
    pub proxies: Proxies,
    /// Whether connections to the gateway start with a header of the PROXY protocol.
    pub proxy_protocol: ProxyProtocol,
    /// The certificate of the gateway; nothing: plain HTTP.
    pub tls: Option<TlsFiles>,
    /// The certificate of the decision port; nothing: plain HTTP.
    pub decision_tls: Option<TlsFiles>,
    /// The certificate of the admin port; nothing: plain HTTP.
    pub admin_tls: Option<TlsFiles>,
    /// The certificate of the RESP port; nothing: plain TCP.
    pub resp_tls: Option<TlsFiles>,
    /// Whether decisions need a credential.
    pub decision_auth: DecisionAuth,
    /// What callers of the decision port without a token may do.
    pub decision_may: Permissions,
    /// How long callers and the upstream may take.
    pub timeouts: Timeouts,
    /// The bytes per second that a caller must send of a body, or take of an answer, while the gateway waits for it;
    /// nothing: only the idle timeouts count.
    pub min_body_rate: Option<NonZeroU64>,
    /// How much callers may send.
    pub max: Maxima,
    /// WebSockets and other upgraded connections.
    pub tunnels: TunnelSettings,
    /// Which headers callers may send that could dodge a route or an address.
    pub pass_headers: PassHeaders,
}

impl ServerSettings {
    /// Loopback: nothing is open to others before someone says so.
    pub const GATEWAY_DEFAULT: SocketAddr = loopback(8080);
    /// See [`ServerSettings::GATEWAY_DEFAULT`].
    pub const DECISION_DEFAULT: SocketAddr = loopback(8081);
    /// See [`ServerSettings::GATEWAY_DEFAULT`].
    pub const ADMIN_DEFAULT: SocketAddr = loopback(9090);
    /// Nothing listens there by default: an example for whoever wants it.
    pub const RESP_EXAMPLE: SocketAddr = loopback(6380);
    /// Half of them are shared by all callers, half are for callers with many streams: with the 100 streams that most
    /// servers allow on a connection, 3,200 streams of callers with few streams each.
    pub const UPSTREAM_CONNECTIONS_DEFAULT: u32 = 64;
    /// The most HTTP/2 connections to one upstream that can be asked for.
    pub const UPSTREAM_CONNECTIONS_MAX: u32 = 1_024;
    /// The highest minimum rate that can be asked for: 1 GiB per second.
    pub const MIN_BODY_RATE_MAX: u64 = 1 << 30;
}

const fn loopback(port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            gateway: Self::GATEWAY_DEFAULT,
            decision: Self::DECISION_DEFAULT,
            admin: Self::ADMIN_DEFAULT,
            resp: None,
            upstream: None,
            upstream_protocol: UpstreamProtocol::default(),
            upstream_host: UpstreamHost::default(),
            upstream_connections: Self::UPSTREAM_CONNECTIONS_DEFAULT,
            proxies: Proxies::default(),
            proxy_protocol: ProxyProtocol::default(),
            tls: None,
            decision_tls: None,
            admin_tls: None,
            resp_tls: None,
            decision_auth: DecisionAuth::default(),
            decision_may: Permissions::NONE,
            timeouts: Timeouts::default(),
            min_body_rate: None,
            max: Maxima::default(),
            tunnels: TunnelSettings::default(),
            pass_headers: PassHeaders::default(),
        }
    }
}

/// What an upstream is spoken to in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum UpstreamProtocol {
    /// HTTP/2 for calls of gRPC, which need it; HTTP/1.1 for everything else.
    #[default]
    Auto,
    /// HTTP/2 for everything. Without TLS the upstream has to know beforehand.
    Http2,
}

/// What an upstream is called in `Host`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum UpstreamHost {
    /// What the caller called the gateway: the upstream is ours, and makes links from it.
    #[default]
    Caller,
    /// Its own name: the upstream is someone else's, and knows no other.
    Upstream,
}

/// A certificate chain and its key, as PEM files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsFiles {
    /// The certificate chain.
    pub cert: PathBuf,
    /// The private key.
    pub key: PathBuf,
    /// The certificate authorities of callers, each of whom must show a certificate of theirs; nothing: none is asked
    /// for.
    pub client_ca: Option<PathBuf>,
}

/// A network such as `10.0.0.0/8`; a single address is a network of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

/// Why a text is no network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadNetwork {
    /// The part before the `/` is no address.
    Address,
    /// The part after the `/` is no number, or too large for the kind of address.
    Prefix,
    /// The address has bits set that the prefix cuts off: this is the network it lies in.
    HostBits(Network),
}

impl Network {
    /// Reads `10.0.0.0/8`, `::1` and the like.
    pub fn parse(text: &str) -> Result<Self, BadNetwork> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| BadNetwork::Address)?;
        let width = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => width,
            Some(digits) if digits.is_empty() || !digits.bytes().all(|c| c.is_ascii_digit()) => {
                return Err(BadNetwork::Prefix);
            }
            Some(digits) => {
                digits.parse().ok().filter(|prefix| *prefix <= width).ok_or(BadNetwork::Prefix)?
            }
        };
        let network = Self { address: masked(address, prefix), prefix };
        if network.address == address { Ok(network) } else { Err(BadNetwork::HostBits(network)) }
    }

    /// Whether the address lies in the network. An IPv4-mapped IPv6 address is the IPv4 address.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.address.is_ipv4() && masked(address, self.prefix) == self.address
    }
}

impl std::fmt::Display for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// The address with everything after the prefix set to zero.
fn masked(address: IpAddr, prefix: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
            IpAddr::V4((u32::from(address) & mask).into())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
            IpAddr::V6((u128::from(address) & mask).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_hold_the_addresses_with_their_prefix() {
        let network = Network::parse("10.1.0.0/16").unwrap();
        assert!(network.contains("10.1.2.3".parse().unwrap()));
        assert!(network.contains("::ffff:10.1.2.3".parse().unwrap()));
        assert!(!network.contains("10.2.0.1".parse().unwrap()));
        assert!(!network.contains("::1".parse().unwrap()));
        assert!(Network::parse("0.0.0.0/0").unwrap().contains("1.2.3.4".parse().unwrap()));
        assert!(Network::parse("::/0").unwrap().contains("2001:db8::1".parse().unwrap()));
        assert!(Network::parse("::1").unwrap().contains("::1".parse().unwrap()));
    }

    #[test]
    fn host_bits_and_impossible_prefixes_are_refused() {
        assert_eq!(Network::parse("10.0.0.0/33"), Err(BadNetwork::Prefix));
        assert_eq!(Network::parse("10.0.0.0/+8"), Err(BadNetwork::Prefix));
        assert_eq!(Network::parse("10.0.0/8"), Err(BadNetwork::Address));
        let Err(BadNetwork::HostBits(network)) = Network::parse("10.1.2.3/16") else {
            panic!("host bits were accepted");
        };
        assert_eq!(network.to_string(), "10.1.0.0/16");
    }
}
