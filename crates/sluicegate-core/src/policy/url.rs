//! URLs as far as a policy needs to know them: who is called, and that no secret hides inside.

use std::fmt;
use std::net::Ipv6Addr;

/// Why a text is no URL that may stand in a policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadUrl {
    /// It does not start with one of the schemes that are known here.
    Scheme,
    /// It names no host, or one with a character that hosts do not have.
    Host,
    /// The port is no number from 1 to 65535.
    Port,
    /// It holds a password, and secrets do not belong into a policy file.
    Password,
    /// It holds white space or a control character.
    Character,
}

/// The parts of `scheme://[user[:password]@]host[:port][,host[:port]…][/rest]` after the scheme.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Authority<'u> {
    pub(super) user: Option<&'u str>,
    pub(super) hosts: &'u str,
    pub(super) rest: &'u str,
}

impl<'u> Authority<'u> {
    /// Takes apart what follows `://`.
    pub(super) fn parse(text: &'u str) -> Result<Self, BadUrl> {
        if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(BadUrl::Character);
        }
        let end = text.find(['/', '?', '#']).unwrap_or(text.len());
        let (authority, rest) = text.split_at(end);
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) => (Some(user), hosts),
            None => (None, authority),
        };
        if user.is_some_and(|user| user.contains(':')) {
            return Err(BadUrl::Password);
        }
        for host in hosts.split(',') {
            check_host(host)?;
        }
        Ok(Self { user, hosts, rest })
    }
}

/// Checks one `host`, `host:port` or `[address]:port`.
fn check_host(text: &str) -> Result<(), BadUrl> {
    let port = match text.strip_prefix('[') {
        Some(rest) => {
            let (address, port) = rest.split_once(']').ok_or(BadUrl::Host)?;
            address.parse::<Ipv6Addr>().map_err(|_| BadUrl::Host)?;
            match port {
                "" => None,
                port => Some(port.strip_prefix(':').ok_or(BadUrl::Port)?),
            }
        }
        None => {
            let (host, port) = match text.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            };
            // Names outside ASCII are left to whoever resolves them.
            let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') || !c.is_ascii();
            if host.is_empty() || !host.chars().all(inner) {
                return Err(BadUrl::Host);
            }
            port
        }
    };
    let digits = |port: &str| port.bytes().all(|c| c.is_ascii_digit());
    match port {
        Some(port) if !digits(port) || !matches!(port.parse::<u16>(), Ok(1..)) => Err(BadUrl::Port),
        _ => Ok(()),
    }
}

/// An `http://` or `https://` URL without credentials.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct HttpUrl(String);

impl HttpUrl {
    /// Reads one.
    pub fn parse(text: &str) -> Result<Self, BadUrl> {
        let (scheme, rest) = text.split_once("://").ok_or(BadUrl::Scheme)?;
        if !matches!(scheme, "http" | "https") {
            return Err(BadUrl::Scheme);
        }
        let authority = Authority::parse(rest)?;
        if authority.user.is_some() {
            return Err(BadUrl::Password);
        }
        if authority.hosts.contains(',') {
            return Err(BadUrl::Host);
        }
        Ok(Self(text.to_owned()))
    }

    /// Whether requests can be forwarded to it: no query or fragment, with which no path could be joined, and nothing
    /// outside of ASCII.
    pub fn is_upstream(&self) -> bool {
        self.0.is_ascii() && !self.0.contains(['?', '#'])
    }

    /// The URL as it was typed.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_need_a_scheme_a_host_and_no_password() {
        for good in ["http://127.0.0.1:9000", "https://a.example/x?y=1", "http://[::1]:80/", "http://backend"]
        {
            assert!(HttpUrl::parse(good).is_ok(), "{good}");
        }
        let bad = [
            ("127.0.0.1:9000", BadUrl::Scheme),
            ("ftp://a", BadUrl::Scheme),
            ("http://", BadUrl::Host),
            ("http:///x", BadUrl::Host),
            ("http://a b", BadUrl::Character),
            ("http://a:0", BadUrl::Port),
            ("http://a:99999", BadUrl::Port),
            ("http://a:+80", BadUrl::Port),
            ("http://[::1", BadUrl::Host),
            ("http://[::1]80", BadUrl::Port),
            ("http://u:p@a", BadUrl::Password),
            ("http://a,b", BadUrl::Host),
        ];
        for (text, problem) in bad {
            assert_eq!(HttpUrl::parse(text), Err(problem), "{text}");
        }
    }
}
