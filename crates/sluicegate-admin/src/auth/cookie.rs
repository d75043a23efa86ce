//! The cookie of a session: no script reads it, and no other site sends it.

use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};

use super::sessions::{LENGTH, SessionId};
use sluicegate_node::Scheme;

/// Its name.
const NAME: &str = "sluicegate_session";

/// The most cookies of this name that are looked at in one request.
const READ_MAX: usize = 8;

/// The sessions that a request names. There can be more than one: a browser sends the cookie of a router mounted at
/// `/` to a router mounted at `/ops` as well, and to the same host on another port.
pub(crate) fn read(headers: &HeaderMap) -> impl Iterator<Item = SessionId> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let values = pairs.filter(|(name, _)| *name == NAME).take(READ_MAX);
    values.filter_map(|(_, value)| SessionId::parse(value))
}

/// The header with which a browser stores the cookie of a session.
pub(crate) fn keep(id: SessionId, path: &str, scheme: Scheme) -> HeaderValue {
    line(&id.text(), LENGTH.as_secs_ceil(), path, scheme)
}

/// The header with which a browser deletes it.
pub(crate) fn forget(path: &str, scheme: Scheme) -> HeaderValue {
    line("", 0, path, scheme)
}

fn line(value: &str, max_age: u64, path: &str, scheme: Scheme) -> HeaderValue {
    let secure = match scheme {
        Scheme::Http => "",
        Scheme::Https => "; Secure",
    };
    let text = format!("{NAME}={value}; Path={path}; Max-Age={max_age}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> SessionId {
        SessionId::parse(&"0123456789abcdef".repeat(4)).unwrap()
    }

    #[test]
    fn a_cookie_is_secure_where_the_connection_is() {
        let text = |scheme| keep(id(), "/", scheme).to_str().unwrap().to_owned();
        let plain = format!(
            "sluicegate_session={}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict",
            "0123456789abcdef".repeat(4)
        );
        assert_eq!(text(Scheme::Http), plain);
        assert_eq!(text(Scheme::Https), format!("{plain}; Secure"));
        let deleted = forget("/ops", Scheme::Https);
        assert!(deleted.to_str().unwrap().starts_with("sluicegate_session=; Path=/ops; Max-Age=0;"));
    }

    #[test]
    fn every_whole_one_is_found_among_others() {
        let read_from = |line: &str| {
            let headers = HeaderMap::from_iter([(COOKIE, HeaderValue::from_str(line).unwrap())]);
            read(&headers).map(SessionId::text).collect::<Vec<_>>()
        };
        let text = id().text();
        for line in [
            format!("a=b; sluicegate_session={text}; c=d"),
            format!("sluicegate_session=x; sluicegate_session={text}"),
        ] {
            assert_eq!(read_from(&line), [text.as_str()], "{line}");
        }
        for wrong in
            ["", "sluicegate_session=", "sluicegate_session=abc", &format!("sluicegate={text}"), &text]
        {
            assert!(read_from(wrong).is_empty(), "{wrong}");
        }
    }
}
