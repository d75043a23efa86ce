//! Where a server is: a URL taken apart, so that nothing about it can fail later.

use std::fmt;
use std::str::FromStr;

use http::Uri;
use sluicegate_core::policy::HttpUrl;

/// The root of an API: `http://host[:port][/prefix]`, or the same with `https`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Endpoint {
    text: String,
    scheme: Scheme,
    host: String,
    port: u16,
    authority: String,
    prefix: String,
}

/// How it is spoken to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scheme {
    /// In the clear.
    Http,
    /// Over TLS.
    Https,
}

/// A text that is no root of an API.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BadEndpoint;

impl fmt::Display for BadEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a URL such as http://127.0.0.1:9090, without a user, a query or a fragment")
    }
}

impl std::error::Error for BadEndpoint {}

impl FromStr for Endpoint {
    type Err = BadEndpoint;

    fn from_str(text: &str) -> Result<Self, BadEndpoint> {
        let url = HttpUrl::parse(text).map_err(|_| BadEndpoint)?;
        if url.as_str().contains(['?', '#']) {
            return Err(BadEndpoint);
        }
        let uri: Uri = url.as_str().parse().map_err(|_| BadEndpoint)?;
        let (scheme, port) = match uri.scheme_str() {
            Some("https") => (Scheme::Https, 443),
            _ => (Scheme::Http, 80),
        };
        let authority = uri.authority().ok_or(BadEndpoint)?;
        let host = authority.host();
        // An IPv6 address stands in brackets in a URL, and without them everywhere else.
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        Ok(Self {
            text: text.trim_end_matches('/').to_owned(),
            scheme,
            host: host.to_owned(),
            port: authority.port_u16().unwrap_or(port),
            authority: authority.to_string(),
            prefix: uri.path().trim_end_matches('/').to_owned(),
        })
    }
}

impl Endpoint {
    pub(super) fn scheme(&self) -> Scheme {
        self.scheme
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// What the header `Host` says.
    pub(super) fn authority(&self) -> &str {
        &self.authority
    }

    /// The path under which the API lies, without a slash at its end.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (Scheme, String, u16, String) {
        let endpoint: Endpoint = text.parse().unwrap();
        (endpoint.scheme, endpoint.host, endpoint.port, endpoint.prefix)
    }

    #[test]
    fn a_url_is_taken_apart() {
        let expected =
            |scheme, host: &str, port, prefix: &str| (scheme, host.to_owned(), port, prefix.to_owned());
        assert_eq!(parts("http://127.0.0.1:9090"), expected(Scheme::Http, "127.0.0.1", 9090, ""));
        assert_eq!(parts("http://gate/"), expected(Scheme::Http, "gate", 80, ""));
        assert_eq!(
            parts("https://gate.example/admin/"),
            expected(Scheme::Https, "gate.example", 443, "/admin")
        );
        assert_eq!(parts("http://[::1]:9090"), expected(Scheme::Http, "::1", 9090, ""));
    }

    #[test]
    fn what_is_no_root_of_an_api_is_refused() {
        for text in
            ["", "127.0.0.1:9090", "ftp://a", "http://u:p@a", "http://a?b=c", "http://a/#b", "http://a:0"]
        {
            assert_eq!(text.parse::<Endpoint>(), Err(BadEndpoint), "{text}");
        }
    }
}
