//! Cookies that are signed are sessions; whatever else is sent as one is nothing, and never an error.

use proptest::prelude::*;

use super::*;

const NOW: Timestamp = Timestamp::from_secs(1_000_000);
const END: Timestamp = Timestamp::from_secs(1_000_060);

fn keys() -> SessionKeys {
    SessionKeys::new(b"current", &[b"previous"])
}

fn session() -> SessionId {
    SessionId(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef)
}

#[test]
fn what_was_signed_is_a_session_until_it_ends() {
    let value = keys().sign(session(), END);
    assert!(value.starts_with("v1.0123456789abcdef0123456789abcdef.1000060."), "{value}");
    assert_eq!(keys().verify(&value, NOW), Some(session()));
    assert_eq!(keys().verify(&value, Timestamp::from_nanos(END.as_nanos() - 1)), Some(session()));
    assert_eq!(keys().verify(&value, END), None);
    assert_ne!(SessionId::random().unwrap(), SessionId::random().unwrap());
}

#[test]
fn keys_rotate_without_ending_sessions() {
    let old = SessionKeys::new(b"previous", &[]);
    let value = old.sign(session(), END);
    assert_eq!(keys().verify(&value, NOW), Some(session()));
    // What the new key signed the old one never knew.
    assert_eq!(old.verify(&keys().sign(session(), END), NOW), None);
    // Forgotten, it signs for nobody.
    assert_eq!(SessionKeys::new(b"current", &[]).verify(&value, NOW), None);
}

#[test]
fn forged_cookies_are_nothing() {
    let value = keys().sign(session(), END);
    let other = keys().sign(SessionId(1), END);
    let mac = |value: &str| value[value.len() - MAC_LENGTH..].to_owned();
    let body = |value: &str| value[..value.len() - MAC_LENGTH].to_owned();
    let unkeyed = blake3::hash(&value.as_bytes()[..value.len() - MAC_LENGTH - 1]).to_hex();
    let forged = [
        value.replacen("1000060", "9000060", 1),
        value.replacen("0123", "0124", 1),
        value.replacen("v1", "v2", 1),
        value.replacen("1000060", "+1000060", 1),
        value.replacen("1000060", "01000060", 1),
        value.replacen("1000060", "99999999999", 1),
        value.replacen("1000060", "-1", 1),
        value.replacen("1000060", "", 1),
        format!("{}{}", body(&value), mac(&other)),
        format!("{}{unkeyed}", body(&value)),
        format!("{}{}", body(&value), "0".repeat(MAC_LENGTH)),
        format!("{value}0"),
        format!("{value}."),
        format!(" {value}"),
        SessionKeys::new(b"somebody else", &[]).sign(session(), END),
        "v1....".to_owned(),
        "v1.\u{e9}123456789abcdef0123456789abcdef.1000060.x".to_owned(),
    ];
    for forged in forged {
        assert_eq!(keys().verify(&forged, NOW), None, "{forged}");
    }
    for length in 0..value.len() {
        assert_eq!(keys().verify(&value[..length], NOW), None, "{}", &value[..length]);
    }
}

fn found(lines: &[&str]) -> Option<SessionId> {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(COOKIE, HeaderValue::from_bytes(line.as_bytes()).unwrap());
    }
    keys().session(&headers, "sg_session", NOW)
}

#[test]
fn it_is_found_among_other_cookies() {
    let value = keys().sign(session(), END);
    let over = keys().sign(session(), NOW);
    for lines in [
        vec![format!("sg_session={value}")],
        vec![format!("a=b; sg_session={value}; c=d")],
        vec![format!("a=b;sg_session={value}")],
        vec!["a=b".to_owned(), format!("sg_session={value}")],
        // A browser may send two of one name, for two paths.
        vec![format!("sg_session={over}; sg_session={value}")],
        vec!["sg_session=\u{e9}".to_owned(), format!("sg_session={value}")],
        // As whoever asks for others may give it.
        vec![value.clone()],
    ] {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        assert_eq!(found(&lines), Some(session()), "{lines:?}");
    }
    for line in [
        format!("SG_SESSION={value}"),
        format!("xtg_session={value}"),
        format!("sg_session=\"{value}\""),
        format!("sg_session=={value}"),
        format!("sg_session={over}"),
        String::new(),
    ] {
        assert_eq!(found(&[&line]), None, "{line}");
    }
}

#[test]
fn nobody_makes_it_verify_a_thousand_cookies() {
    let value = keys().sign(session(), END);
    let over = keys().sign(session(), NOW);
    let with = |others: usize| {
        let others = format!("sg_session={over}; ").repeat(others);
        found(&[&format!("{others}sg_session={value}")])
    };
    assert_eq!(with(VERIFIED_MAX - 1), Some(session()));
    assert_eq!(with(VERIFIED_MAX), None);
}

#[test]
fn neither_keys_nor_names_are_shown() {
    let shown = format!("{:?} {:?}", keys(), session());
    assert_eq!(shown, "SessionKeys { .. } SessionId");
}

proptest! {
    #[test]
    fn nothing_but_what_was_signed_is_a_session(text: String, at in 0_usize..111, byte: u8) {
        prop_assert_eq!(keys().verify(&text, NOW), None);
        let value = keys().sign(session(), END);
        let mut changed = value.clone().into_bytes();
        let at = at % changed.len();
        changed[at] = byte;
        if let Ok(changed) = String::from_utf8(changed) {
            // Digits of the signature in capitals are the same signature.
            let in_mac = at >= value.len() - MAC_LENGTH;
            let same = changed == value || (in_mac && changed.eq_ignore_ascii_case(&value));
            prop_assert_eq!(keys().verify(&changed, NOW).is_some(), same);
        }
    }
}
