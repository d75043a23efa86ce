//! The cookie of a session: no script reads it, and no other site sends it.

use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};

use super::sessions::{LENGTH, SessionId};
use crate::listen::Scheme;

/// Its name.
const NAME: &str = "tollgate_session";

/// The session that a request names, if it names one.
pub(crate) fn read(headers: &HeaderMap) -> Option<SessionId> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find_map(|(name, value)| if name == NAME { SessionId::parse(value) } else { None })
}

/// The line that has a browser keep a session.
pub(crate) fn keep(id: SessionId, scheme: Scheme) -> HeaderValue {
    line(&id.text(), LENGTH.as_secs_ceil(), scheme)
}

/// The line that has a browser forget it.
pub(crate) fn forget(scheme: Scheme) -> HeaderValue {
    line("", 0, scheme)
}

fn line(value: &str, max_age: u64, scheme: Scheme) -> HeaderValue {
    let secure = match scheme {
        Scheme::Http => "",
        Scheme::Https => "; Secure",
    };
    let text = format!("{NAME}={value}; Path=/; Max-Age={max_age}; HttpOnly; SameSite=Strict{secure}");
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
        let text = |scheme| keep(id(), scheme).to_str().unwrap().to_owned();
        let plain = format!(
            "tollgate_session={}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict",
            "0123456789abcdef".repeat(4)
        );
        assert_eq!(text(Scheme::Http), plain);
        assert_eq!(text(Scheme::Https), format!("{plain}; Secure"));
        assert!(forget(Scheme::Https).to_str().unwrap().starts_with("tollgate_session=; Path=/; Max-Age=0;"));
    }

    #[test]
    fn it_is_found_among_others_and_must_be_whole() {
        let read_from = |line: &str| {
            let headers = HeaderMap::from_iter([(COOKIE, HeaderValue::from_str(line).unwrap())]);
            read(&headers).map(SessionId::text)
        };
        let text = id().text();
        assert_eq!(read_from(&format!("a=b; tollgate_session={text}; c=d")), Some(text.clone()));
        for wrong in ["", "tollgate_session=", "tollgate_session=abc", &format!("tollgate={text}"), &text] {
            assert_eq!(read_from(wrong), None, "{wrong}");
        }
    }
}
