//! A caller without a key, as whoever asks describes it.

use std::borrow::Cow;
use std::net::IpAddr;

use http::header::{COOKIE, ORIGIN};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::de::MapAccess;

use super::super::json::{Object, Seen, Value};

/// The most headers that are taken: more tell nobody apart.
const HEADERS_MAX: usize = 100;

/// A caller without a key.
#[derive(Debug, Default)]
pub(super) struct Client {
    seen: Seen,
    pub(super) address: Option<IpAddr>,
    cookie: Option<HeaderValue>,
    pub(super) headers: HeaderMap,
}

impl Client {
    /// Whether nothing is said of it but where it comes from: its address, and its web page.
    pub(super) fn is_only_an_address(&self) -> bool {
        self.headers.keys().all(|name| name == ORIGIN)
    }
}

const FIELDS: [&str; 3] = ["ip", "cookie", "headers"];

impl<'b> Object<'b> for Client {
    fn field<A: MapAccess<'b>>(
        &mut self,
        name: &Cow<'b, str>,
        mut value: Value<'_, 'b, A>,
    ) -> Result<(), A::Error> {
        match FIELDS[self.seen.admit(&FIELDS, name, &mut value)?] {
            "ip" => self.address = value.text(|text| address(&text))?,
            "cookie" => self.cookie = value.text(|text| line(&text))?,
            _headers => self.headers = value.object::<Headers>()?.unwrap_or_default().0,
        }
        // Whichever comes first: one of them may stand in `headers`.
        if let Some(cookie) = self.cookie.clone().filter(|_| !self.headers.contains_key(COOKIE)) {
            self.headers.insert(COOKIE, cookie);
        }
        Ok(())
    }

    fn lacks(&self) -> Option<(&'static str, &'static str)> {
        let twice = self.cookie.is_some() && self.headers.get(COOKIE) != self.cookie.as_ref();
        twice.then_some(("cookie", "is another than that of \"headers\"; give one of them."))
    }
}

/// The headers of a client, by name.
#[derive(Debug, Default)]
struct Headers(HeaderMap);

impl<'b> Object<'b> for Headers {
    fn field<A: MapAccess<'b>>(
        &mut self,
        name: &Cow<'b, str>,
        mut value: Value<'_, 'b, A>,
    ) -> Result<(), A::Error> {
        let Ok(name) = HeaderName::from_bytes(name.as_bytes()) else {
            return Err(value.wrong("is not the name of a header."));
        };
        if self.0.contains_key(&name) {
            return Err(value.wrong("stands twice."));
        }
        if self.0.len() == HEADERS_MAX {
            return Err(value.wrong("is one header too many: at most 100 are taken."));
        }
        if let Some(line) = value.text(|text| line(&text))? {
            self.0.insert(name, line);
        }
        Ok(())
    }
}

fn address(text: &str) -> Result<IpAddr, &'static str> {
    text.parse().map_err(|_| "an IP address such as 192.0.2.1 or 2001:db8::1, without a port")
}

fn line(text: &str) -> Result<HeaderValue, &'static str> {
    HeaderValue::from_bytes(text.as_bytes()).map_err(|_| "one line of text, without control characters")
}
