//! Who is the same client, and who is another.

use proptest::prelude::*;

use super::*;
use crate::identify::cookie::SessionId;

const NOW: Timestamp = Timestamp::from_secs(1_000_000);

fn client(address: Option<&str>, lines: &[(&'static str, &str)]) -> Client {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(*name, HeaderValue::from_str(value).unwrap());
    }
    let homes = HomeHasher::new([7; 16]);
    let address = address.map(|text| text.parse().unwrap());
    client_of(&homes, &keys(), &Identity::default(), address, &headers, NOW)
}

fn keys() -> SessionKeys {
    SessionKeys::new(b"a secret of tests", &[])
}

fn cookie() -> String {
    let end = Timestamp::from_secs(NOW.as_secs() + 60);
    format!("sg_session={}", keys().sign(SessionId::random().unwrap(), end))
}

const CURL: (&str, &str) = ("user-agent", "curl/8");
const FIREFOX: (&str, &str) = ("user-agent", "Firefox");

#[test]
fn a_session_is_the_same_client_wherever_it_calls_from_and_with_whatever() {
    let cookie = cookie();
    let first = client(Some("192.0.2.1"), &[("cookie", &cookie), CURL]);
    let second = client(Some("2001:db8::1"), &[("cookie", &cookie), FIREFOX]);
    assert_eq!((first.kind, first.home), (ClientKind::Session, second.home));
    // What it calls from and with is known all the same.
    assert_ne!((first.address, first.fingerprint), (second.address, second.fingerprint));
    assert_eq!(first.address, client(Some("192.0.2.1"), &[]).address);
    assert_eq!(first.fingerprint, client(None, &[CURL]).fingerprint);
    let other = client(Some("192.0.2.1"), &[("cookie", &self::cookie()), CURL]);
    assert_ne!(first.home, other.home);
}

#[test]
fn without_a_session_headers_and_address_are_told_apart_together() {
    let here = client(Some("192.0.2.1"), &[CURL]);
    assert_eq!(here.kind, ClientKind::Fingerprint);
    assert_eq!(here, client(Some("::ffff:192.0.2.1"), &[CURL, ("x-other", "says nothing")]));
    assert_ne!(here.home, client(Some("192.0.2.1"), &[FIREFOX]).home);
    assert_ne!(here.home, client(Some("192.0.2.2"), &[CURL]).home);
    assert_ne!(here.home, client(None, &[CURL]).home);
    // The same text in another header is another fingerprint.
    assert_ne!(here.home, client(Some("192.0.2.1"), &[("accept-language", "curl/8")]).home);
}

#[test]
fn without_any_of_the_headers_the_address_alone_is_the_client() {
    let here = client(Some("2001:db8::1"), &[]);
    assert_eq!(here.kind, ClientKind::Address);
    assert_eq!(here, client(Some("2001:db8::2"), &[("user-agent", "")]));
    assert_ne!(here.home, client(Some("2001:db8:1::1"), &[]).home);
    let nobody = client(None, &[]);
    assert_eq!((nobody.kind, nobody.address), (ClientKind::Address, None));
}

#[test]
fn a_cookie_that_is_none_of_ours_changes_nothing() {
    let here = client(Some("192.0.2.1"), &[CURL]);
    let good = cookie();
    for cookie in
        ["", "sg_session=", "sg_session=v1.x.y.z", "other=1; sg_session", &good.replace("sg_", "xx_")]
    {
        assert_eq!(client(Some("192.0.2.1"), &[("cookie", cookie), CURL]), here, "{cookie}");
    }
}

#[test]
fn what_people_call_a_client_is_read_back() {
    let id = client(Some("192.0.2.1"), &[]).id();
    let text = id.to_string();
    assert_eq!((text.len(), &text[..3]), (35, "cl_"));
    assert_eq!(ClientId::parse(&text), Some(id));
    assert_eq!(ClientId::parse("cl_0000000000000000000000000000000f"), Some(ClientId(HomeId(15))));
    let upper = text.to_uppercase();
    for wrong in [
        "",
        "cl_",
        &text[1..],
        &text[..34],
        &format!("{text}0"),
        &upper,
        "cl_+000000000000000000000000000000f",
    ] {
        assert_eq!(ClientId::parse(wrong), None, "{wrong}");
    }
}

proptest! {
    #[test]
    fn no_bytes_in_headers_are_too_much(name in "[a-z-]{1,20}", value: Vec<u8>, address: Option<u128>) {
        let mut headers = HeaderMap::new();
        if let Ok(value) = HeaderValue::from_bytes(&value) {
            headers.insert("user-agent", value.clone());
            headers.append("cookie", value.clone());
            headers.append(http::HeaderName::try_from(name).unwrap(), value);
        }
        let address = address.map(|bits| IpAddr::V6(bits.into()));
        let homes = HomeHasher::new([7; 16]);
        let client = client_of(&homes, &keys(), &Identity::default(), address, &headers, NOW);
        prop_assert_ne!(client.kind, ClientKind::Session);
        prop_assert_eq!(client.address.is_some(), address.is_some());
    }
}
