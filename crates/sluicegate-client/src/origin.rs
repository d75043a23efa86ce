//! The origin of a request: scheme, host and port. Rate limits are learned per origin.

use http::Uri;
use http::header::{HOST, HeaderMap};

/// The origin of a request, from its URI, or from its `Host` header if the URI is only a path. `None` if neither
/// names a host.
pub(crate) fn origin_of(uri: &Uri, headers: &HeaderMap) -> Option<String> {
    let scheme = uri.scheme_str().unwrap_or("http");
    let (host, port) = match uri.authority() {
        // Not the whole authority: it may hold a user and a password.
        Some(authority) => (authority.host().to_owned(), authority.port_u16()),
        None => {
            let authority: http::uri::Authority = headers.get(HOST)?.to_str().ok()?.parse().ok()?;
            (authority.host().to_owned(), authority.port_u16())
        }
    };
    let port = port.unwrap_or(if scheme == "https" { 443 } else { 80 });
    Some(format!("{scheme}://{}:{port}", host.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(uri: &str, host: Option<&str>) -> Option<String> {
        let headers = host.map(|host| (HOST, host.parse().unwrap())).into_iter().collect();
        origin_of(&uri.parse().unwrap(), &headers)
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        assert_eq!(origin("http://API.example/a?b", None).unwrap(), "http://api.example:80");
        assert_eq!(origin("https://api.example/", None).unwrap(), "https://api.example:443");
        assert_eq!(origin("https://user:secret@api.example:444/", None).unwrap(), "https://api.example:444");
        assert_eq!(origin("/path", Some("api.example:8080")).unwrap(), "http://api.example:8080");
        assert_eq!(origin("/path", None), None);
        assert_eq!(origin("/path", Some("no host")), None);
    }
}
