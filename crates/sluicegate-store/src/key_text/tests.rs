//! What is a key's text and what is not.

use super::*;

fn sample() -> SecretText {
    make(KeyEnv::Live, KeyId::parse("0123456789aZ").unwrap()).unwrap()
}

#[test]
fn a_made_key_is_read_back() {
    for env in [KeyEnv::Live, KeyEnv::Test] {
        let id = KeyId::random().unwrap();
        let secret = make(env, id).unwrap();
        let read = PresentedKey::parse(secret.expose()).unwrap();
        assert_eq!((read.env, read.id, read.expose()), (env, id, secret.expose()));
        assert_eq!(secret.expose().len(), KEY_LENGTH);
    }
}

#[test]
fn every_change_of_one_character_is_rejected() {
    let secret = sample();
    for at in 0..KEY_LENGTH {
        for other in 0..=127_u8 {
            let mut changed = secret.expose().as_bytes().to_vec();
            if changed[at] != other {
                changed[at] = other;
                let changed = String::from_utf8(changed).unwrap();
                assert!(PresentedKey::parse(&changed).is_err(), "{other} at {at}");
            }
        }
    }
}

#[test]
fn a_wrong_checksum_is_told_from_a_wrong_form() {
    let text = sample().expose().to_owned();
    let last = if text.ends_with('0') { '1' } else { '0' };
    let tampered = format!("{}{last}", &text[..KEY_LENGTH - 1]);
    assert_eq!(PresentedKey::parse(&tampered).unwrap_err(), BadKey::Checksum);
    assert_eq!(PresentedKey::parse(&text[1..]).unwrap_err(), BadKey::Form);
}

#[test]
fn junk_is_rejected() {
    let text = sample().expose().to_owned();
    let cut = &text[..KEY_LENGTH - 1];
    // As many bytes as a key has, and none of them where a key could be cut.
    let wide = "é".repeat(KEY_LENGTH / 2) + "e";
    for junk in ["", "sg_live_", "hunter2", cut, &format!("{text}0"), &format!(" {cut}"), &wide] {
        assert_eq!(PresentedKey::parse(junk).unwrap_err(), BadKey::Form, "{junk}");
    }
    assert!(KeyId::parse("short").is_none() && KeyId::parse("0123456789_Z").is_none());
    assert!(KeyEnv::parse("prod").is_none());
}

#[test]
fn the_checksum_has_zeros_in_front() {
    // The CRC-32 of nothing is zero; of "123456789" it is the check value that every table of CRCs gives.
    assert_eq!(&crc(b""), b"000000");
    let value = crc(b"123456789").iter().fold(0, |sum, digit| {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'A'..=b'Z' => digit - b'A' + 10,
            _ => digit - b'a' + 36,
        };
        sum * 62 + u64::from(digit)
    });
    assert_eq!(value, 0xCBF4_3926);
}

#[test]
fn secrets_differ_and_every_character_occurs() {
    let texts: Vec<String> = (0..400).map(|_| sample().expose().to_owned()).collect();
    let mut seen = std::collections::BTreeMap::<u8, usize>::new();
    for text in &texts {
        text.bytes().skip(ID_END + 1).take(SECRET_LENGTH).for_each(|c| *seen.entry(c).or_default() += 1);
    }
    assert_eq!(seen.len(), 62);
    // 206 expected of each; ten standard deviations are 140.
    assert!(seen.values().all(|times| (66..346).contains(times)), "{seen:?}");
    let distinct: std::collections::BTreeSet<&String> = texts.iter().collect();
    assert_eq!(distinct.len(), texts.len());
}

#[test]
fn another_server_secret_gives_another_hash() {
    let (one, other) = (KeyHasher::new(&[1; 32]), KeyHasher::new(&[2; 32]));
    let secret = sample();
    let presented = PresentedKey::parse(secret.expose()).unwrap();
    assert_eq!(one.hash(&presented), one.hash_secret(&secret));
    assert_ne!(one.hash(&presented), other.hash(&presented));
}

#[test]
fn nothing_that_holds_a_secret_prints_it() {
    let secret = sample();
    let presented = PresentedKey::parse(secret.expose()).unwrap();
    let hasher = KeyHasher::new(&[7; 32]);
    let printed = format!("{secret:?} {presented:?} {hasher:?} {:?}", hasher.hash(&presented));
    assert!(!printed.contains(&secret.expose()[ID_END..]), "{printed}");
    assert!(!printed.contains("7, 7") && printed.contains("KeyHash(***)"), "{printed}");
}
