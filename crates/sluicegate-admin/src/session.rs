//! `/admin/session`: signing in to the dashboard and out of it. A session stands for the token, in a browser only.

pub(super) mod create;
pub(super) mod delete;
pub(super) mod show;

use http::HeaderName;
use http::header::ORIGIN;
use http::request::Parts;
use serde::Serialize;
use utoipa::ToSchema;

use super::auth::{Lasts, SessionId};
use super::instant;
use sluicegate_node::{Peer, Scheme};

/// The scheme of the client's request, as proxies report it.
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Whether somebody is signed in.
#[derive(Serialize, ToSchema)]
#[schema(as = Session)]
pub(crate) struct SessionBody {
    /// Whether the cookie is that of a session.
    signed_in: bool,
    /// What requests that change something send along as `X-Sluicegate-CSRF`.
    #[schema(required, pattern = "^[0-9a-f]{64}$")]
    csrf: Option<String>,
    /// When the session ends in any case.
    #[schema(required, format = DateTime, example = "2026-11-02T00:00:00.000Z")]
    expires_at: Option<String>,
    /// When it ends if it is not used.
    #[schema(required, format = DateTime, example = "2026-11-01T13:00:00.000Z")]
    idle_until: Option<String>,
}

impl SessionBody {
    const NONE: Self = Self { signed_in: false, csrf: None, expires_at: None, idle_until: None };

    fn of(id: SessionId, lasts: Lasts) -> Self {
        Self {
            signed_in: true,
            csrf: Some(id.csrf()),
            expires_at: Some(instant::text(lasts.until)),
            idle_until: Some(instant::text(lasts.idle_until)),
        }
    }
}

/// The scheme that the browser uses, for the `Secure` attribute of the cookie: HTTPS if anything says so.
///
/// The connection can be plain although the browser uses TLS, because a proxy terminates it. Browsers send `Origin`
/// with every request that signs in or out, so one that uses TLS always gets a `Secure` cookie. The headers need not
/// be trusted: a caller that lies only makes its own cookie `Secure`.
fn scheme(parts: &Parts) -> Scheme {
    let is_secure_connection =
        parts.extensions.get::<Peer>().is_some_and(|peer| peer.scheme() == Scheme::Https);
    let starts_with = |name: HeaderName, start: &str| {
        let value = parts.headers.get(name).and_then(|value| value.as_bytes().get(..start.len()));
        value.is_some_and(|value| value.eq_ignore_ascii_case(start.as_bytes()))
    };
    let is_secure = is_secure_connection
        || parts.uri.scheme() == Some(&http::uri::Scheme::HTTPS)
        || starts_with(ORIGIN, "https://")
        || starts_with(X_FORWARDED_PROTO, "https");
    if is_secure { Scheme::Https } else { Scheme::Http }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_sign_of_tls_makes_the_cookie_secure() {
        let of = |uri: &str, name: &str, value: &str| {
            scheme(&http::Request::post(uri).header(name, value).body(()).unwrap().into_parts().0)
        };
        for (uri, name, value, expected) in [
            ("/", "accept", "*/*", Scheme::Http),
            ("http://ops.example/", "origin", "http://ops.example", Scheme::Http),
            ("/", "x-forwarded-proto", "http", Scheme::Http),
            ("/", "origin", "https://ops.example", Scheme::Https),
            ("https://ops.example/", "accept", "*/*", Scheme::Https),
            ("/", "x-forwarded-proto", "HTTPS, http", Scheme::Https),
        ] {
            assert_eq!(of(uri, name, value), expected, "{uri} {name}: {value}");
        }
    }
}
