//! What stands behind the gateway.

use std::fmt;
use std::sync::Arc;

use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Uri};
use rustls::RootCertStore;
use sluicegate_core::policy::{HttpUrl, ServerSettings, UpstreamHost, UpstreamProtocol};

use super::h2::Http2Connections;
use super::pool::Pool;
use sluicegate_node::net::{Address, Security};

/// Where a request is forwarded: an extension of the request, put there by whoever routes it.
#[derive(Clone, Debug)]
pub struct Upstream(pub Arc<UpstreamTarget>);

/// What stands behind the gateway.
#[derive(Debug)]
pub enum UpstreamTarget {
    /// Nothing: the gateway answers with what it was sent.
    Echo,
    /// A server.
    Http(HttpTarget),
}

/// A server, and the open connections to it.
pub struct HttpTarget {
    pub(super) address: Address,
    pub(super) scheme: Scheme,
    /// What it is called in its URL.
    pub(super) host: HeaderValue,
    pub(super) called: UpstreamHost,
    /// What stands before every path, without a slash at its end.
    base: String,
    pub(super) protocol: UpstreamProtocol,
    pub(super) pool: Arc<Pool>,
    pub(super) http2: Arc<Http2Connections>,
}

/// Why nothing can be forwarded to a URL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadUpstream {
    /// It has a query or a fragment, which no request could be joined with.
    Query,
    /// Its host or path has characters that cannot be sent.
    Character,
}

impl fmt::Display for BadUpstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Query => "an upstream has a path at most: remove the `?` or `#` and what follows it",
            Self::Character => "the upstream's host or path has characters that cannot be sent",
        })
    }
}

impl std::error::Error for BadUpstream {}

impl UpstreamTarget {
    /// The upstream that the policy file names; the echo, if it names none.
    pub fn default_of(server: &ServerSettings) -> Result<Self, BadUpstream> {
        match &server.upstream {
            None => Ok(Self::Echo),
            Some(url) => Self::http(url, server),
        }
    }

    /// The server at this URL, spoken to as the policy file says.
    pub fn http(url: &HttpUrl, server: &ServerSettings) -> Result<Self, BadUpstream> {
        let target = HttpTarget::new(url)?;
        let target = target.connections(server.upstream_connections);
        Ok(Self::Http(target.speaking(server.upstream_protocol).called(server.upstream_host)))
    }
}

impl HttpTarget {
    /// The server at this URL.
    pub fn new(url: &HttpUrl) -> Result<Self, BadUpstream> {
        if url.as_str().contains(['?', '#']) {
            return Err(BadUpstream::Query);
        }
        let uri: Uri = url.as_str().parse().map_err(|_| BadUpstream::Character)?;
        let authority = uri.authority().ok_or(BadUpstream::Character)?;
        let scheme = uri.scheme().cloned().unwrap_or(Scheme::HTTP);
        Ok(Self {
            address: Address::of(&uri).ok_or(BadUpstream::Character)?,
            scheme,
            host: HeaderValue::from_str(authority.as_str()).map_err(|_| BadUpstream::Character)?,
            base: uri.path().trim_end_matches('/').to_owned(),
            called: UpstreamHost::default(),
            protocol: UpstreamProtocol::default(),
            pool: Arc::default(),
            http2: Http2Connections::new(ServerSettings::UPSTREAM_CONNECTIONS_DEFAULT),
        })
    }

    /// Is spoken to in this.
    #[must_use]
    pub fn speaking(mut self, protocol: UpstreamProtocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// Has at most so many HTTP/2 connections.
    #[must_use]
    pub fn connections(mut self, max: u32) -> Self {
        self.http2 = Http2Connections::new(max);
        self
    }

    /// Is called this in `Host`.
    #[must_use]
    pub fn called(mut self, called: UpstreamHost) -> Self {
        self.called = called;
        self
    }

    /// Believes these certificates instead of those the system believes.
    #[must_use]
    pub fn trusting(mut self, roots: RootCertStore) -> Self {
        if let Security::Tls(tls) = &mut self.address.security {
            tls.roots = Some(Arc::new(roots));
        }
        self
    }

    /// The path and query to ask for. The path was checked: it starts with `/`, or is `*`.
    pub(super) fn join(&self, asked: Option<&PathAndQuery>) -> Result<PathAndQuery, http::uri::InvalidUri> {
        match asked {
            None => PathAndQuery::try_from(format!("{}/", self.base)),
            Some(asked) if self.base.is_empty() || asked.as_str() == "*" => Ok(asked.clone()),
            Some(asked) => PathAndQuery::try_from(format!("{}{asked}", self.base)),
        }
    }

    /// The target of a request in HTTP/1.1: the path and query alone.
    pub(super) fn origin_form(&self, asked: Uri) -> Result<Uri, http::Error> {
        if self.base.is_empty() && asked.authority().is_none() {
            return Ok(asked);
        }
        let path = self.join(asked.path_and_query())?;
        Uri::builder().path_and_query(path).build()
    }

    /// The target of a request in HTTP/2: with the caller's name for the server.
    pub(super) fn full_form(&self, asked: &Uri, host: &HeaderValue) -> Result<Uri, http::Error> {
        let authority = Authority::try_from(host.as_bytes())?;
        let path = self.join(asked.path_and_query())?;
        Uri::builder().scheme(self.scheme.clone()).authority(authority).path_and_query(path).build()
    }
}

impl fmt::Debug for HttpTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTarget").field("address", &self.address).field("base", &self.base).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str) -> HttpTarget {
        HttpTarget::new(&HttpUrl::parse(url).unwrap()).unwrap()
    }

    fn joined(url: &str, asked: &str) -> String {
        target(url).origin_form(asked.parse().unwrap()).unwrap().to_string()
    }

    #[test]
    fn a_base_path_stands_before_the_path_that_was_asked_for() {
        assert_eq!(joined("http://a", "/x?y=1"), "/x?y=1");
        assert_eq!(joined("http://a/", "/x?y=1"), "/x?y=1");
        assert_eq!(joined("http://a/base", "/x?y=1"), "/base/x?y=1");
        assert_eq!(joined("http://a/base/", "/x"), "/base/x");
        assert_eq!(joined("http://a/base", "/"), "/base/");
        assert_eq!(joined("http://a/base", "http://b/x?y"), "/base/x?y");
        assert_eq!(joined("http://a", "http://b/x"), "/x");
        assert_eq!(joined("http://a/base", "*"), "*");
    }

    #[test]
    fn the_port_is_that_of_the_scheme_unless_it_is_named() {
        for (url, host, port) in [
            ("http://a", "a", 80),
            ("https://a.example", "a.example", 443),
            ("http://[::1]:81/x", "::1", 81),
            ("https://10.0.0.1:8443", "10.0.0.1", 8443),
        ] {
            let target = target(url);
            assert_eq!((target.address.host.as_str(), target.address.port), (host, port), "{url}");
        }
    }

    #[test]
    fn an_upstream_has_no_query_and_only_characters_that_can_be_sent() {
        let made = |url: &str| HttpTarget::new(&HttpUrl::parse(url).unwrap()).err();
        assert_eq!(made("http://a/x?y"), Some(BadUpstream::Query));
        assert_eq!(made("http://a/#x"), Some(BadUpstream::Query));
        assert_eq!(made("http://bücher.example/"), Some(BadUpstream::Character));
    }
}
