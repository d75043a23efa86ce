//! What is remembered, for how long, and what is not: answers and news in every order.

use sluicegate_core::policy::TierName;

use super::*;
use crate::directory::account::AccountId;
use crate::directory::field::DisplayName;
use crate::directory::record::KeyRecord;
use crate::directory::restrictions::KeyRestrictions;
use crate::directory::scopes::Scopes;
use crate::key_text::{KeyEnv, KeyHash};

const NOW: Timestamp = Timestamp::from_secs(1_000_000);

fn id(number: u64) -> KeyId {
    KeyId::parse(&format!("{number:012}")).unwrap()
}

fn later(secs: u64) -> Timestamp {
    NOW.plus(Nanos(secs * 1_000_000_000))
}

fn listening() -> Cache {
    let cache = Cache::new(HomeHasher::new([1; 16]), CacheLimits { keys: 1_000, unknown: 1_000 });
    cache.listen();
    cache
}

fn account(serial: u64, tier: &str) -> AccountRecord {
    AccountRecord {
        serial,
        id: AccountId::new(&format!("a{serial}")).unwrap(),
        name: DisplayName::default(),
        tier: TierName::new(tier).unwrap(),
        custom: None,
        billing_day: None,
        timezone: None,
        created_at: NOW,
        deleted_at: None,
    }
}

/// The key of this number, which is of the account of the same number, up to this change.
fn found(number: u64, change: u64, tier: &str) -> Found {
    let account = account(number, tier);
    let record = KeyRecord {
        serial: number,
        number: 1,
        id: id(number),
        account: account.id.clone(),
        name: DisplayName::default(),
        env: KeyEnv::Live,
        scopes: Scopes::default(),
        expires_at: None,
        restrictions: KeyRestrictions::default(),
        created_at: NOW,
        rotated_at: None,
        previous_until: None,
        revoked_at: None,
    };
    let stored = StoredKey { record, hash: KeyHash::from_bytes([7; 32]), previous: None };
    Found { change, key: Some((stored, account)) }
}

const fn none(change: u64) -> Found {
    Found { change, key: None }
}

/// Asks and is answered at this instant.
fn ask(cache: &Cache, number: u64, found: Found, at: Timestamp) {
    cache.enter(id(number), found, cache.asking(at)).unwrap();
}

/// The tier of the key as a request sees it at this instant: fresh, old, or nothing; `-` for no such key.
fn seen(cache: &Cache, number: u64, at: Timestamp) -> String {
    let tier = |key: Arc<Key>| key.account.standing.load().tier.to_string();
    match cache.look(id(number), at) {
        Held::Fresh(Some(key)) => format!("fresh {}", tier(key)),
        Held::Fresh(None) => "fresh -".to_owned(),
        Held::Old(key) => format!("old {}", tier(key)),
        Held::Nothing => "nothing".to_owned(),
    }
}

const fn key_news(number: KeyId, change: u64) -> News {
    News { of: Subject::Key(number), change }
}

const fn account_news(serial: u64, change: u64) -> News {
    News { of: Subject::Account(serial), change }
}

#[test]
fn an_entry_is_fresh_for_half_a_minute_and_then_stays_for_a_day() {
    let cache = listening();
    assert_eq!(seen(&cache, 1, NOW), "nothing");
    ask(&cache, 1, found(1, 5, "free"), NOW);
    ask(&cache, 2, none(5), NOW);
    let just_before = Timestamp::from_nanos(later(30).as_nanos() - 1);
    assert_eq!(
        (seen(&cache, 1, just_before), seen(&cache, 2, just_before)),
        ("fresh free".into(), "fresh -".into())
    );
    assert_eq!(
        (seen(&cache, 1, later(30)), seen(&cache, 2, later(30))),
        ("old free".into(), "nothing".into())
    );
    assert_eq!(seen(&cache, 1, later(86_399)), "old free");
    assert_eq!(seen(&cache, 1, later(86_400)), "nothing");
    // A clock that steps back makes nothing old.
    assert_eq!(seen(&cache, 1, Timestamp::EPOCH), "fresh free");
}

#[test]
fn while_nothing_is_heard_an_entry_is_fresh_for_a_second() {
    let cache = listening();
    ask(&cache, 1, found(1, 5, "free"), NOW);
    cache.stop_listening();
    assert!(!cache.is_listening());
    assert_eq!(seen(&cache, 1, NOW), "old free");
    ask(&cache, 1, found(1, 5, "free"), NOW);
    ask(&cache, 2, none(5), NOW);
    assert_eq!((seen(&cache, 1, NOW), seen(&cache, 2, NOW)), ("fresh free".into(), "fresh -".into()));
    assert_eq!((seen(&cache, 1, later(1)), seen(&cache, 2, later(1))), ("old free".into(), "nothing".into()));
    cache.listen();
    assert!(cache.is_listening());
    assert_eq!((seen(&cache, 1, NOW), seen(&cache, 2, NOW)), ("old free".into(), "nothing".into()));
}

#[test]
fn news_of_a_key_end_what_is_remembered_of_it_and_of_no_other() {
    let cache = listening();
    (1..=3).for_each(|number| ask(&cache, number, found(number, 5, "free"), NOW));
    ask(&cache, 4, none(5), NOW);
    cache.hear(key_news(id(2), 6));
    cache.hear(key_news(id(4), 7));
    let all: Vec<String> = (1..=4).map(|number| seen(&cache, number, NOW)).collect();
    assert_eq!(all, ["fresh free", "nothing", "fresh free", "nothing"]);
}

#[test]
fn news_of_an_account_end_what_is_remembered_of_all_its_keys() {
    let cache = listening();
    let of_same = |number: u64| {
        let mut found = found(1, 5, "free");
        if let Some((key, _)) = &mut found.key {
            key.record.id = id(number);
        }
        found
    };
    ask(&cache, 1, of_same(1), NOW);
    ask(&cache, 2, of_same(2), NOW);
    ask(&cache, 3, found(3, 5, "free"), NOW);
    cache.hear(account_news(1, 6));
    // Not even while Redis is away: it is known that they are not so any more.
    assert_eq!((seen(&cache, 1, NOW), seen(&cache, 2, NOW)), ("nothing".into(), "nothing".into()));
    assert_eq!(seen(&cache, 3, NOW), "fresh free");
    ask(&cache, 1, found(1, 6, "pro"), NOW);
    assert_eq!((seen(&cache, 1, NOW), seen(&cache, 2, NOW)), ("fresh pro".into(), "nothing".into()));
}

#[test]
fn an_answer_that_is_older_than_the_news_is_not_kept() {
    let cache = listening();
    // Asked, then changed, then the news, then the answer.
    let asked = cache.asking(NOW);
    cache.hear(key_news(id(1), 6));
    assert!(cache.enter(id(1), found(1, 5, "free"), asked).unwrap().is_some());
    assert_eq!(seen(&cache, 1, NOW), "nothing");
    cache.enter(id(1), none(5), asked).unwrap();
    assert_eq!(seen(&cache, 1, NOW), "nothing");
    cache.hear(account_news(2, 7));
    cache.enter(id(2), found(2, 6, "free"), asked).unwrap();
    assert_eq!(seen(&cache, 2, NOW), "nothing");
    // What goes as far as the news is.
    cache.enter(id(1), found(1, 6, "free"), asked).unwrap();
    cache.enter(id(2), found(2, 7, "pro"), asked).unwrap();
    assert_eq!((seen(&cache, 1, NOW), seen(&cache, 2, NOW)), ("fresh free".into(), "fresh pro".into()));
    // News that come after an answer that knew of them change nothing they should not.
    cache.hear(account_news(2, 7));
    assert_eq!(seen(&cache, 2, NOW), "fresh pro");
}

#[test]
fn of_two_answers_about_an_account_the_later_counts() {
    let cache = listening();
    let asked = cache.asking(NOW);
    let pro = cache.enter(id(1), found(1, 9, "pro"), asked).unwrap().unwrap();
    let old = cache.enter(id(1), found(1, 8, "free"), asked).unwrap().unwrap();
    assert!(Arc::ptr_eq(&pro.account, &old.account));
    assert_eq!(pro.account.standing.load().tier.as_str(), "pro");
    // Who holds the account sees the next change too, and what did not change stays the very same.
    let before = pro.account.standing.load_full();
    ask(&cache, 1, found(1, 9, "pro"), NOW);
    assert!(Arc::ptr_eq(&before, &pro.account.standing.load_full()));
    ask(&cache, 1, found(1, 10, "free"), NOW);
    assert_eq!(pro.account.standing.load().tier.as_str(), "free");
}

#[test]
fn what_was_asked_before_listening_began_anew_is_not_kept() {
    let cache = listening();
    let asked = cache.asking(NOW);
    cache.stop_listening();
    cache.enter(id(1), found(1, 5, "free"), asked).unwrap();
    assert_eq!(seen(&cache, 1, NOW), "nothing");
    let blind = cache.asking(NOW);
    cache.listen();
    let key = cache.enter(id(1), found(1, 5, "free"), blind).unwrap().unwrap();
    assert_eq!(seen(&cache, 1, NOW), "nothing");
    assert!(cache.account_by_serial(key.account.serial).is_none());
}

#[test]
fn changes_that_count_from_one_again_are_heard_after_a_failover() {
    let cache = listening();
    ask(&cache, 1, found(1, 1_000, "free"), NOW);
    ask(&cache, 2, found(2, 1_000, "free"), NOW);
    cache.hear(account_news(1, 1_001));
    cache.hear(key_news(id(3), 1_002));
    // The server that took over had not heard of the last changes.
    cache.stop_listening();
    cache.listen();
    assert_eq!((seen(&cache, 1, NOW), seen(&cache, 2, NOW)), ("nothing".into(), "old free".into()));
    for number in 1..=3 {
        ask(&cache, number, found(number, 900, "pro"), NOW);
        assert_eq!(seen(&cache, number, NOW), "fresh pro");
    }
    cache.hear(account_news(2, 901));
    assert_eq!(seen(&cache, 2, NOW), "nothing");
}

#[test]
fn a_server_that_has_lost_changes_is_noticed_by_its_answers() {
    let cache = listening();
    ask(&cache, 1, found(1, 1_000, "free"), NOW);
    ask(&cache, 2, found(2, 1_000, "free"), NOW);
    cache.hear(account_news(2, 1_001));
    let late = cache.asking(NOW);
    assert_eq!((seen(&cache, 1, NOW), seen(&cache, 2, NOW)), ("fresh free".into(), "nothing".into()));
    ask(&cache, 3, found(3, 999, "free"), NOW);
    assert!(cache.is_listening());
    assert_eq!((seen(&cache, 1, NOW), seen(&cache, 2, NOW)), ("old free".into(), "nothing".into()));
    // From here on the new numbers count, and another late answer drops nothing.
    ask(&cache, 2, found(2, 999, "pro"), NOW);
    cache.enter(id(4), found(4, 998, "free"), late).unwrap();
    assert_eq!((seen(&cache, 2, NOW), seen(&cache, 4, NOW)), ("fresh pro".into(), "nothing".into()));
    cache.hear(account_news(2, 1_000));
    assert_eq!(seen(&cache, 2, NOW), "nothing");
}

#[test]
fn an_answer_that_was_asked_for_before_the_news_drops_nothing() {
    let cache = listening();
    ask(&cache, 1, found(1, 5, "free"), NOW);
    let asked = cache.asking(NOW);
    cache.hear(account_news(2, 6));
    cache.enter(id(3), found(3, 5, "free"), asked).unwrap();
    assert_eq!((seen(&cache, 1, NOW), seen(&cache, 3, NOW)), ("fresh free".into(), "fresh free".into()));
}

#[test]
fn who_is_gone_is_not_vouched_for() {
    let cache = listening();
    ask(&cache, 1, found(1, 5, "free"), NOW);
    let key = cache.enter(id(1), found(1, 5, "free"), cache.asking(NOW)).unwrap().unwrap();
    assert!(cache.account_by_serial(1).is_some_and(|account| Arc::ptr_eq(&account, &key.account)));
    cache.hear(News { of: Subject::Gone(1), change: 6 });
    assert!(cache.account_by_serial(1).is_none());
    cache.stop_listening();
    cache.listen();
    assert_eq!(seen(&cache, 1, NOW), "nothing");
}

#[test]
fn an_account_whose_change_was_announced_is_read_again_before_anything_is_settled_under_its_plan() {
    let cache = listening();
    let key = cache.enter(id(1), found(1, 5, "free"), cache.asking(NOW)).unwrap().unwrap();
    let serial = key.account.serial;
    cache.hear(account_news(serial, 6));
    assert!(cache.account_by_serial(serial).is_none());
    cache.enter(id(1), found(1, 6, "pro"), cache.asking(NOW)).unwrap();
    let account = cache.account_by_serial(serial).unwrap();
    assert_eq!(account.standing.load().tier.as_str(), "pro");
}

#[test]
fn a_revoked_key_and_one_of_a_deleted_account_are_no_keys() {
    let cache = listening();
    ask(&cache, 1, found(1, 5, "free"), NOW);
    let mut revoked = found(1, 6, "free");
    if let Some((key, _)) = &mut revoked.key {
        key.record.revoked_at = Some(NOW);
    }
    ask(&cache, 1, revoked, NOW);
    assert_eq!((seen(&cache, 1, NOW), seen(&cache, 1, later(30))), ("fresh -".into(), "nothing".into()));
}

#[test]
fn those_who_try_ids_push_out_nobody_who_has_one() {
    let limits = CacheLimits { keys: 640, unknown: 640 };
    let cache = Cache::new(HomeHasher::new([1; 16]), limits);
    cache.listen();
    (1..=20).for_each(|number| ask(&cache, number, found(number, 5, "free"), NOW));
    (100..20_000).for_each(|number| ask(&cache, number, none(5), NOW));
    assert!((1..=20).all(|number| seen(&cache, number, NOW) == "fresh free"));
    (20_000..40_000).for_each(|number| ask(&cache, number, found(number, 5, "free"), NOW));
    let (keys, unknown) = cache.counts();
    assert!((1..=640).contains(&keys) && (1..=640).contains(&unknown), "{keys} {unknown}");
}
