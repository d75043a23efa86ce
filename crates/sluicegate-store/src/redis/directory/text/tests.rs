//! Records as text, there and back, and what is no record.

use sluicegate_core::time::Timestamp;

use super::*;
use crate::key_text::KeyHash;

fn account_record() -> AccountRecord {
    AccountRecord {
        serial: 9_007_199_254_740_991,
        id: AccountId::new("acme").unwrap(),
        name: DisplayName::new("Ünïcode \"quoted\" \\ {\"v\":2}").unwrap(),
        tier: TierName::new("custom:acme").unwrap(),
        custom: Some(CustomBody::new("{\"rate\": 5,\n \"quota\": null}").unwrap()),
        billing_day: Some(31),
        timezone: Some("Europe/Berlin".to_owned()),
        created_at: Timestamp::from_nanos(1_790_000_000_123_456_789),
        deleted_at: None,
    }
}

fn stored_key() -> StoredKey {
    let record = KeyRecord {
        serial: 77,
        number: u32::MAX,
        id: KeyId::parse("abcdefghijkl").unwrap(),
        account: AccountId::new("acme").unwrap(),
        name: DisplayName::new("\"account\":1,\"number\":0").unwrap(),
        env: KeyEnv::Test,
        scopes: Scopes::new(["a", "b:*"]).unwrap(),
        expires_at: Some(Timestamp::from_secs(9)),
        restrictions: KeyRestrictions::default(),
        created_at: Timestamp::from_secs(1),
        rotated_at: Some(Timestamp::from_secs(2)),
        previous_until: Some(Timestamp::from_secs(3)),
        revoked_at: None,
    };
    let previous = Previous { hash: KeyHash::from_bytes([7; 32]), until: Timestamp::from_secs(3) };
    StoredKey { record, hash: KeyHash::from_bytes([200; 32]), previous: Some(previous) }
}

fn account_text(record: &AccountRecord) -> String {
    account_parts(record).join(&record.serial.to_string())
}

fn key_text(key: &StoredKey, account: u64) -> String {
    let [head, of, number, tail] = key_parts(key);
    format!("{head}{}{of}{account}{number}{}{tail}", key.record.serial, key.record.number)
}

#[test]
fn an_account_comes_back_as_it_was() {
    let mut record = account_record();
    assert_eq!(account(&account_text(&record)).unwrap(), record);
    record.deleted_at = Some(Timestamp::MAX);
    (record.custom, record.billing_day, record.timezone) = (None, None, None);
    assert_eq!(account(&account_text(&record)).unwrap(), record);
}

#[test]
fn a_key_comes_back_as_it_was() {
    let (owner, stored) = (account_record(), stored_key());
    let text = key_text(&stored, owner.serial);
    assert!(text.starts_with("{\"v\":1,\"serial\":77,\"account\":9007199254740991,\"number\":4294967295,"));
    let found = key(&text, &owner).unwrap();
    assert_eq!(found.record, stored.record);
    assert_eq!((found.hash, found.previous.unwrap().hash), (stored.hash, stored.previous.unwrap().hash));
}

#[test]
fn a_narrowed_key_comes_back_as_it_was_and_has_a_version_that_earlier_programs_refuse() {
    let (owner, mut stored) = (account_record(), stored_key());
    stored.record.restrictions = KeyRestrictions {
        allowed_ips: AllowedIps::new(["192.0.2.0/24", "2001:db8::/32"]).unwrap(),
        allowed_origins: AllowedOrigins::new(["https://app.example.com"]).unwrap(),
        limits: Some(KeyLimits::new(r#"{"rate":"5/s"}"#).unwrap()),
    };
    let text = key_text(&stored, owner.serial);
    assert!(text.starts_with("{\"v\":2,\"serial\":77,\"account\":9007199254740991,"), "{text}");
    assert_eq!(key(&text, &owner).unwrap().record, stored.record);
    let wrong = text.replacen("192.0.2.0/24", "192.0.2.1/24", 1);
    assert!(matches!(key(&wrong, &owner), Err(RedisError::Nonsense(_))));
}

#[test]
fn a_key_of_a_deleted_account_is_revoked() {
    let owner = account_record().deleted(Timestamp::from_secs(5));
    let text = key_text(&stored_key(), owner.serial);
    assert_eq!(key(&text, &owner).unwrap().record.revoked_at, Some(Timestamp::from_secs(5)));
    // One that was revoked before stays as it was.
    let mut earlier = stored_key();
    earlier.record.revoked_at = Some(Timestamp::from_secs(4));
    let text = key_text(&earlier, owner.serial);
    assert_eq!(key(&text, &owner).unwrap().record.revoked_at, Some(Timestamp::from_secs(4)));
}

#[test]
fn an_account_with_a_counted_serial_keeps_the_version_that_has_its_meters_under_its_id() {
    let counted = AccountRecord { serial: 7, ..account_record() };
    let (old, new) = (account_text(&counted), account_text(&account_record()));
    assert!(old.starts_with("{\"v\":1,\"serial\":7,"), "{old}");
    assert!(new.starts_with("{\"v\":2,\"serial\":9007199254740991,"), "{new}");
    assert_eq!(account(&old).unwrap(), counted);
}

#[test]
fn another_version_is_refused_and_says_what_to_do() {
    let (owner, stored) = (account_record(), stored_key());
    let newer = account_text(&owner).replacen("\"v\":2", "\"v\":3", 1);
    let error = account(&newer).unwrap_err();
    assert!(matches!(&error, RedisError::Newer { found: 3, .. }), "{error}");
    assert!(error.to_string().contains("upgrade"), "{error}");
    let newer = key_text(&stored, owner.serial).replacen("\"v\":1", "\"v\":3", 1);
    assert!(matches!(key(&newer, &owner), Err(RedisError::Newer { found: 3, .. })));
    assert!(matches!(without_account(&newer), RedisError::Newer { found: 3, .. }));
}

#[test]
fn what_was_never_written_is_an_error_that_names_it() {
    let text = account_text(&account_record());
    for (right, wrong) in [
        ("\"v\":2,", ""),
        ("{", "["),
        ("\"id\":\"acme\"", "\"id\":\"a b\""),
        ("\"id\":\"acme\"", "\"id\":7"),
        ("\"billing_day\":31", "\"billing_day\":-1"),
        ("\"billing_day\":31", "\"billing_day\":256"),
        ("\"tier\":\"custom:acme\"", "\"tier\":null"),
        ("\"deleted_at\":null", "\"gone\":null"),
    ] {
        let error = account(&text.replacen(right, wrong, 1)).unwrap_err();
        assert!(matches!(error, RedisError::Nonsense(_)), "{wrong}: {error}");
    }
    let owner = account_record();
    let text = key_text(&stored_key(), owner.serial);
    for (right, wrong) in [
        ("\"account\":9007199254740991", "\"account\":1"),
        ("\"number\":4294967295", "\"number\":4294967296"),
        ("\"env\":\"test\"", "\"env\":\"prod\""),
        ("\"hash\":\"c8", "\"hash\":\"xx"),
        ("\"previous_hash\":\"07", "\"previous_hash\":\"7"),
        ("\"scopes\":\"a", "\"scopes\":\"ä"),
    ] {
        let error = key(&text.replacen(right, wrong, 1), &owner).unwrap_err();
        assert!(matches!(error, RedisError::Nonsense(_)), "{wrong}: {error}");
    }
}
