//! What narrows a key below its account: addresses and origins it may be used from, and limits of its own.

use std::net::IpAddr;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use sluicegate_core::policy::{BadNetwork, Network};
use sluicegate_core::tariff::Plan;

use super::field::FieldError;

/// What narrows a key. The default narrows nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KeyRestrictions {
    /// The addresses that it may be used from; empty: all.
    pub allowed_ips: AllowedIps,
    /// The web pages that it may be used from; empty: all, and callers that are no browsers.
    pub allowed_origins: AllowedOrigins,
    /// Its own limits, besides those of its account.
    pub limits: Option<KeyLimits>,
}

impl KeyRestrictions {
    /// Whether it narrows nothing.
    pub fn is_empty(&self) -> bool {
        self.allowed_ips.0.is_empty() && self.allowed_origins.0.is_empty() && self.limits.is_none()
    }
}

/// The networks that a key may be used from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AllowedIps(Vec<Network>);

impl AllowedIps {
    /// The most networks of one key.
    pub const COUNT_MAX: usize = 50;

    /// The networks of these texts, such as `192.0.2.0/24`, `2001:db8::/32` or `192.0.2.1`.
    pub fn new<'n>(texts: impl IntoIterator<Item = &'n str>) -> Result<Self, FieldError> {
        let wrong = |problem: String| FieldError::new("allowed_ips", problem);
        let mut networks: Vec<Network> = Vec::new();
        for text in texts {
            let network = Network::parse(text).map_err(|bad| match bad {
                BadNetwork::Address | BadNetwork::Prefix => wrong(
                    "has an entry that is not a network such as 192.0.2.0/24 or 2001:db8::/32".to_owned(),
                ),
                BadNetwork::HostBits(meant) => {
                    wrong(format!("has an address with bits behind its prefix; did you mean {meant}?"))
                }
            })?;
            if networks.len() == Self::COUNT_MAX {
                return Err(wrong(format!("has more than {} networks", Self::COUNT_MAX)));
            }
            if !networks.contains(&network) {
                networks.push(network);
            }
        }
        Ok(Self(networks))
    }

    /// The networks, as text.
    pub fn texts(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(Network::to_string)
    }

    /// Whether a caller from there may use the key. A caller whose address is unknown may use it only if every address
    /// may.
    pub fn admit(&self, address: Option<IpAddr>) -> bool {
        self.0.is_empty()
            || address.is_some_and(|address| self.0.iter().any(|network| network.contains(address)))
    }

    pub(crate) fn to_text(&self) -> String {
        self.texts().collect::<Vec<_>>().join(" ")
    }
}

/// The origins of web pages that a key may be used from, in lower case.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AllowedOrigins(Vec<Box<str>>);

impl AllowedOrigins {
    /// The most origins of one key.
    pub const COUNT_MAX: usize = 50;
    /// The most characters of one origin.
    pub const LENGTH_MAX: usize = 255;
    const SUBDOMAINS: &'static str = "*.";

    /// The origins of these texts: `https://app.example.com`, with a port where it is not the default one, or
    /// `https://*.example.com` for every subdomain.
    pub fn new<'n>(texts: impl IntoIterator<Item = &'n str>) -> Result<Self, FieldError> {
        let mut origins: Vec<Box<str>> = Vec::new();
        for text in texts {
            let Some(origin) = origin(text) else {
                let problem = "has an entry that is not an origin such as https://app.example.com or \
                               https://*.example.com: a scheme, a host and perhaps a port, without a path";
                return Err(FieldError::new("allowed_origins", problem));
            };
            if origins.len() == Self::COUNT_MAX {
                let problem = format!("has more than {} origins", Self::COUNT_MAX);
                return Err(FieldError::new("allowed_origins", problem));
            }
            if !origins.contains(&origin) {
                origins.push(origin);
            }
        }
        Ok(Self(origins))
    }

    /// The origins, as text.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(AsRef::as_ref)
    }

    /// Whether the key may be used from every origin.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a caller with these values of the header `Origin` may use the key: one value, and an allowed one.
    pub fn admit<'o>(&self, mut origins: impl Iterator<Item = Option<&'o str>>) -> bool {
        if self.0.is_empty() {
            return true;
        }
        match (origins.next(), origins.next()) {
            (Some(Some(origin)), None) => self.0.iter().any(|allowed| matches(allowed, origin.trim())),
            _ => false,
        }
    }

    pub(crate) fn to_text(&self) -> String {
        self.0.join(" ")
    }
}

fn matches(allowed: &str, origin: &str) -> bool {
    if allowed.eq_ignore_ascii_case(origin) {
        return true;
    }
    let Some((scheme, host)) = allowed.split_once("://") else { return false };
    let Some(parent) = host.strip_prefix(AllowedOrigins::SUBDOMAINS) else { return false };
    let Some((their_scheme, their_host)) = origin.split_once("://") else { return false };
    // The part before the dot of the parent: at least one label, and nothing but a host.
    let split = their_host.len().checked_sub(parent.len() + 1);
    let Some((labels, rest)) = split.and_then(|at| their_host.split_at_checked(at)) else { return false };
    let is_below = rest.strip_prefix('.').is_some_and(|rest| rest.eq_ignore_ascii_case(parent));
    their_scheme.eq_ignore_ascii_case(scheme) && is_below && is_host(labels)
}

fn is_host(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'.'))
}

/// The origin of this text, in lower case; nothing if it is none.
fn origin(text: &str) -> Option<Box<str>> {
    let (scheme, rest) = text.split_once("://")?;
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (rest, None),
    };
    let is_scheme = !scheme.is_empty()
        && scheme.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'-' | b'.'));
    let plain = host.strip_prefix(AllowedOrigins::SUBDOMAINS).unwrap_or(host);
    let is_address = plain
        .strip_prefix('[')
        .and_then(|inner| inner.strip_suffix(']'))
        .is_some_and(|inner| inner.parse::<std::net::Ipv6Addr>().is_ok());
    let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    let fits = text.len() <= AllowedOrigins::LENGTH_MAX && is_scheme && is_port;
    (fits && (is_host(plain) || is_address)).then(|| text.to_ascii_lowercase().into())
}

/// The limits of a key, as they were given: a JSON object with keys of a tier. What it means is for others to check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyLimits(Arc<str>);

impl KeyLimits {
    /// The most bytes the text may have.
    pub const BYTES_MAX: usize = 8 * 1024;

    /// The limits of this text.
    pub fn new(text: &str) -> Result<Self, FieldError> {
        if text.len() > Self::BYTES_MAX {
            return Err(FieldError::new("limits", format!("has more than {} bytes", Self::BYTES_MAX)));
        }
        if text.trim().is_empty() {
            return Err(FieldError::new("limits", "is empty"));
        }
        Ok(Self(text.into()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The restrictions of a key in memory, with the plan that was last made of its limits.
#[derive(Debug)]
pub struct ActiveRestrictions {
    /// What they are.
    pub of: KeyRestrictions,
    /// The plan of the account with the limits of the key.
    pub memo: ArcSwapOption<KeyPlanMemo>,
}

/// A plan with the limits of a key, and the plan of the account that it was made from.
#[derive(Debug)]
pub struct KeyPlanMemo {
    /// The plan of the account.
    pub account: Arc<Plan>,
    /// The same with the limits of the key.
    pub plan: Arc<Plan>,
}

impl ActiveRestrictions {
    /// Nothing if they narrow nothing.
    pub(crate) fn of(restrictions: &KeyRestrictions) -> Option<Arc<Self>> {
        let of = restrictions.clone();
        (!of.is_empty()).then(|| Arc::new(Self { of, memo: ArcSwapOption::empty() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_matches_itself_in_any_case_and_nothing_else() {
        let allowed = AllowedOrigins::new(["https://App.example.com", "https://*.shop.test:8443"]).unwrap();
        let admits = |origin: &str| allowed.admit([Some(origin)].into_iter());
        for right in ["https://app.example.com", "HTTPS://APP.EXAMPLE.COM", "https://a.shop.test:8443"] {
            assert!(admits(right), "{right}");
        }
        for wrong in [
            "",
            "null",
            "http://app.example.com",
            "https://app.example.com:8443",
            "https://app.example.com.evil.test",
            "https://evilapp.example.com",
            "https://shop.test:8443",
            "https://.shop.test:8443",
            "https://evil.test/a.shop.test:8443",
            "https://evil.test#.shop.test:8443",
            "https://a.shop.test",
        ] {
            assert!(!admits(wrong), "{wrong}");
        }
        // No header, two headers, and one that is no text.
        assert!(!allowed.admit(std::iter::empty()));
        assert!(!allowed.admit([Some("https://app.example.com"), Some("https://evil.test")].into_iter()));
        assert!(!allowed.admit([None].into_iter()));
        assert!(AllowedOrigins::default().admit(std::iter::empty()));
    }

    #[test]
    fn what_is_no_origin_or_no_network_is_refused() {
        for wrong in
            ["example.com", "https://", "https://a/b", "https://a:0", "https://a b", "https://a.*.b", "*"]
        {
            assert!(AllowedOrigins::new([wrong]).is_err(), "{wrong}");
        }
        for wrong in ["", "a", "10.0.0.0/33", "10.0.0.1/8", "10.0.0.0/"] {
            assert!(AllowedIps::new([wrong]).is_err(), "{wrong}");
        }
        let problem = AllowedIps::new(["10.0.0.1/8"]).unwrap_err().to_string();
        assert!(problem.contains("did you mean 10.0.0.0/8?"), "{problem}");
    }

    #[test]
    fn an_unknown_address_is_in_no_network() {
        let allowed = AllowedIps::new(["192.0.2.0/24", "2001:db8::/32"]).unwrap();
        assert!(allowed.admit("192.0.2.7".parse().ok()));
        assert!(allowed.admit("::ffff:192.0.2.7".parse().ok()));
        assert!(allowed.admit("2001:db8:1::1".parse().ok()));
        assert!(!allowed.admit("198.51.100.1".parse().ok()));
        assert!(!allowed.admit(None));
        assert!(AllowedIps::default().admit(None));
    }
}
