//! Where the router is mounted: at the root of a server, or below a prefix of the application that nests it.
//!
//! The prefix is taken from each request, not from configuration: the application chooses it when it nests the router.

use std::convert::Infallible;

use axum::extract::{FromRequestParts, MatchedPath, NestedPath, OriginalUri};
use http::Extensions;
use http::request::Parts;

/// The mount point of the router, as one request shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mount {
    /// Empty at the root, `/ops` below `nest("/ops", …)`. It has no trailing slash.
    prefix: String,
    /// What follows the prefix in the path of the dashboard itself: `/` or nothing.
    home: &'static str,
}

impl Mount {
    /// The mount point of the router that this request has reached.
    pub(crate) fn of(parts: &Parts) -> Self {
        let inner = parts.uri.path();
        let original = parts.extensions.get::<OriginalUri>().map_or(inner, |original| original.0.path());
        let prefix = if inner == "/" && !original.ends_with('/') {
            original
        } else {
            original.strip_suffix(inner.trim_start_matches('/')).unwrap_or_default().trim_end_matches('/')
        };
        // Without a prefix, URLs are relative and the cookie is for all paths: that works for any prefix.
        let prefix = if is_safe(prefix) { prefix } else { "" };
        // `nest("/ops", …)` routes "/ops" only, `nest("/ops/", …)` routes "/ops/" only.
        let ends_with_slash =
            parts.extensions.get::<NestedPath>().is_none_or(|path| path.as_str().ends_with('/'));
        let home = if prefix.is_empty() || ends_with_slash { "/" } else { "" };
        Self { prefix: prefix.to_owned(), home }
    }

    /// Empty at the root, otherwise the prefix without a trailing slash.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// What follows the prefix in the path of the dashboard: `/` or nothing.
    pub(crate) const fn home(&self) -> &'static str {
        self.home
    }

    /// A path of this API as clients request it.
    pub(crate) fn path(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }

    /// The `Path` of the session cookie: other paths of the application do not receive it.
    pub(crate) fn cookie_path(&self) -> &str {
        if self.prefix.is_empty() { "/" } else { &self.prefix }
    }
}

/// Whether a prefix can stand in HTML, in a header and in JSON as it is, and names no other host, as `//host` does.
/// An application can have parameters in its prefix, so callers can choose parts of it.
fn is_safe(prefix: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$*+,:@=".contains(&byte);
    !prefix.starts_with("//") && prefix.bytes().all(is_plain)
}

impl<S: Sync> FromRequestParts<S> for Mount {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(parts))
    }
}

/// The pattern of the route that matched, without the prefix that the router is nested at.
pub(crate) fn matched_route(extensions: &Extensions) -> Option<&str> {
    let matched = extensions.get::<MatchedPath>()?.as_str();
    let nested = extensions.get::<NestedPath>().map_or("", NestedPath::as_str);
    matched.strip_prefix(nested.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(original: &str, inner: &str) -> Mount {
        let request = http::Request::get(inner).extension(OriginalUri(original.parse().unwrap()));
        Mount::of(&request.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn the_prefix_is_what_was_stripped_from_the_path() {
        for (original, inner, prefix) in [
            ("/", "/", ""),
            ("/accounts/acme", "/accounts/acme", ""),
            ("/ops", "/", "/ops"),
            ("/ops/", "/", "/ops"),
            ("/ops/accounts?limit=1", "/accounts?limit=1", "/ops"),
            ("/a/b/assets/app.js", "/assets/app.js", "/a/b"),
            ("http://host/ops/tiers", "/tiers", "/ops"),
            // A middleware has rewritten the path.
            ("/old", "/tiers", ""),
        ] {
            let mount = mount(original, inner);
            assert_eq!(mount.prefix(), prefix, "{original} {inner}");
            assert_eq!(mount.cookie_path(), if prefix.is_empty() { "/" } else { prefix });
        }
        assert_eq!(mount("/ops/tiers", "/tiers").path("/admin/v1/keys/1"), "/ops/admin/v1/keys/1");
    }

    #[test]
    fn a_prefix_that_could_break_out_of_html_or_a_header_is_not_repeated() {
        for original in
            ["/a\"b/tiers", "/a;Domain=b/tiers", "//evil.example/tiers", "/a'b/tiers", "/a&b/tiers"]
        {
            assert_eq!(mount(original, "/tiers").prefix(), "", "{original}");
        }
    }
}
