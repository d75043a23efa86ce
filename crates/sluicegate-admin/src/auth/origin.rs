//! Where a request of a browser comes from: from our own pages, or from somebody else's.

use http::HeaderName;
use http::header::{HOST, ORIGIN};
use http::request::Parts;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What the headers of a request say about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Comes {
    /// From a page of this server, or typed by a person.
    FromHere,
    /// From a page of somebody else's.
    FromElsewhere,
    /// They say nothing: it is not a browser, or it asks for something to read.
    Unknown,
}

/// Where it comes from. Browsers set both headers, and no page can change them.
pub(crate) fn of(parts: &Parts) -> Comes {
    let site =
        parts.headers.get(SEC_FETCH_SITE).map(|site| matches!(site.as_bytes(), b"same-origin" | b"none"));
    let origin = parts.headers.get(ORIGIN).map(|origin| is_here(parts, origin.as_bytes()));
    match (site, origin) {
        (Some(false), _) | (_, Some(false)) => Comes::FromElsewhere,
        (None, None) => Comes::Unknown,
        _ => Comes::FromHere,
    }
}

/// Whether an origin has the authority that the request is for. A proxy in front may have changed the scheme.
fn is_here(parts: &Parts, origin: &[u8]) -> bool {
    let Some((_, origin)) = str::from_utf8(origin).ok().and_then(|origin| origin.split_once("://")) else {
        return false;
    };
    let host = || parts.headers.get(HOST).and_then(|host| host.to_str().ok());
    let here = parts.uri.authority().map(http::uri::Authority::as_str).or_else(host);
    here.is_some_and(|here| here.eq_ignore_ascii_case(origin))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comes(headers: &[(&str, &str)]) -> Comes {
        let request = headers
            .iter()
            .fold(http::Request::post("/"), |request, (name, value)| request.header(*name, *value));
        of(&request.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn one_header_that_says_elsewhere_is_enough() {
        let host = ("host", "sluicegate.example:9090");
        let here = ("origin", "http://Sluicegate.example:9090");
        assert_eq!(comes(&[host]), Comes::Unknown);
        assert_eq!(comes(&[host, here]), Comes::FromHere);
        assert_eq!(comes(&[host, here, ("sec-fetch-site", "same-origin")]), Comes::FromHere);
        assert_eq!(comes(&[host, ("sec-fetch-site", "none")]), Comes::FromHere);
        for elsewhere in [
            ("origin", "http://sluicegate.example:9091"),
            ("origin", "http://sluicegate.example"),
            ("origin", "null"),
            ("sec-fetch-site", "same-site"),
            ("sec-fetch-site", "cross-site"),
        ] {
            assert_eq!(comes(&[host, elsewhere]), Comes::FromElsewhere, "{elsewhere:?}");
        }
        assert_eq!(comes(&[host, here, ("sec-fetch-site", "cross-site")]), Comes::FromElsewhere);
        assert_eq!(comes(&[here]), Comes::FromElsewhere);
    }
}
