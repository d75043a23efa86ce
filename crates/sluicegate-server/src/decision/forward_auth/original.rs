//! The request that a proxy holds, as its headers tell: two families of names, which proxies do not mix.

use std::borrow::Cow;

use http::HeaderMap;

use super::super::json::Wrong;
use super::checked;
use crate::field;

/// The request that a proxy holds.
#[derive(Debug)]
pub(super) struct Original<'h> {
    pub(super) method: Cow<'h, str>,
    pub(super) path: Cow<'h, str>,
    pub(super) query: Option<&'h str>,
}

const METHODS: [&str; 2] = ["X-Forwarded-Method", "X-Original-Method"];
const URIS: [&str; 3] = ["X-Forwarded-Uri", "X-Original-URI", "X-Original-URL"];

impl<'h> Original<'h> {
    pub(super) fn of(headers: &'h HeaderMap) -> Result<Self, Wrong> {
        let method = the_one(headers, &METHODS, field::method)?;
        let path = the_one(headers, &URIS, |uri| field::path(path_of(uri)))?;
        Ok(Self { method, path, query: query(headers) })
    }
}

/// What stands behind the path. No limit depends on it.
pub(super) fn query(headers: &HeaderMap) -> Option<&str> {
    let uri = URIS.iter().find_map(|name| headers.get(*name))?;
    uri.to_str().ok()?.split_once('?').map(|(_, query)| query)
}

/// What the headers of these names say. A caller may have sent one that its proxy does not replace: where two say
/// different things, none is believed.
fn the_one<'h>(
    headers: &'h HeaderMap,
    names: &[&'static str],
    check: impl Fn(Cow<'h, str>) -> Result<Cow<'h, str>, &'static str>,
) -> Result<Cow<'h, str>, Wrong> {
    let mut said: Option<Cow<'h, str>> = None;
    let wrong = |name: &str, detail: String| Wrong { field: Some(name.to_owned()), detail };
    for name in names {
        for value in headers.get_all(*name) {
            let text = checked(name, value, &check)?;
            if said.as_ref().is_some_and(|other| *other != text) {
                let detail = format!("The headers {} disagree: the proxy must set one.", names.join(", "));
                return Err(wrong(name, detail));
            }
            said = Some(text);
        }
    }
    said.ok_or_else(|| {
        wrong(names[0], format!("The proxy must send one of the headers {}.", names.join(", ")))
    })
}

/// The path of a URI: itself, or what stands behind the authority.
fn path_of(uri: Cow<'_, str>) -> Cow<'_, str> {
    let Some(authority) = uri.find("://").map(|scheme| scheme + 3) else { return uri };
    // In a path or a query `://` is nothing special.
    if uri.starts_with('/') {
        return uri;
    }
    match uri[authority..].find(['/', '?']).map(|end| authority + end) {
        Some(start) if uri[start..].starts_with('/') => match uri {
            Cow::Borrowed(uri) => Cow::Borrowed(&uri[start..]),
            Cow::Owned(uri) => Cow::Owned(uri[start..].to_owned()),
        },
        _ => Cow::Borrowed("/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn original(lines: &[(&'static str, &'static str)]) -> Result<String, Wrong> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, http::HeaderValue::from_static(value));
        }
        Original::of(&headers).map(|original| format!("{} {}", original.method, original.path))
    }

    #[test]
    fn both_families_of_headers_are_read() {
        let said = [("x-forwarded-method", "post"), ("x-forwarded-uri", "/a/b?c=d")];
        assert_eq!(original(&said).unwrap(), "POST /a/b");
        let said = [("x-original-method", "GET"), ("x-original-uri", "/a?b=c://d/../e")];
        assert_eq!(original(&said).unwrap(), "GET /a");
        for (url, path) in [
            ("https://api.example.com/a/b?c", "/a/b"),
            ("https://api.example.com:8443/", "/"),
            ("https://api.example.com", "/"),
            ("https://api.example.com?a=/b", "/"),
            ("https://[2001:db8::1]/a", "/a"),
        ] {
            let said = [("x-original-method", "GET"), ("x-original-url", url)];
            assert_eq!(original(&said).unwrap(), format!("GET {path}"));
        }
    }

    #[test]
    fn headers_that_disagree_are_not_believed() {
        let same = [
            ("x-original-method", "GET"),
            ("x-original-uri", "/a?b"),
            ("x-original-url", "https://api.example.com/a?b"),
        ];
        assert_eq!(original(&same).unwrap(), "GET /a");
        let other =
            [("x-original-method", "GET"), ("x-original-uri", "/dear"), ("x-forwarded-uri", "/cheap")];
        assert_eq!(original(&other).unwrap_err().field.unwrap(), "X-Original-URI");
        let twice = [("x-original-method", "GET"), ("x-original-method", "POST"), ("x-original-uri", "/")];
        assert_eq!(original(&twice).unwrap_err().field.unwrap(), "X-Original-Method");
    }

    #[test]
    fn what_a_proxy_does_not_send_is_asked_for() {
        let wrong = original(&[("x-original-uri", "/")]).unwrap_err();
        assert_eq!(
            wrong.detail,
            "The proxy must send one of the headers X-Forwarded-Method, X-Original-Method."
        );
        let wrong = original(&[("x-original-method", "GET")]).unwrap_err();
        assert_eq!(wrong.field.unwrap(), "X-Forwarded-Uri");
        let wrong = original(&[("x-original-method", "GET"), ("x-original-uri", "/a/../b")]).unwrap_err();
        assert_eq!(
            wrong.detail,
            "The header \"X-Original-URI\" must be a path without \".\" and \"..\" segments, encoded or not."
        );
    }
}
