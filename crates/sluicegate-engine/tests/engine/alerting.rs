//! Conditions that people hear of: from decisions to the list, on a clock that stands still, and across restarts.

use http::HeaderMap;
use sluicegate_core::time::Timestamp;
use sluicegate_engine::{CallerRequest, Credential, Purpose, Rejected};
use sluicegate_store::alerts::{AlertKind, AlertState, News, RateCaller, Which};
use sluicegate_store::directory::Page;

use crate::place::{Caller, Place, at, nobody, request, wait};

/// Six a minute, in bursts of six: 90 % are more than five.
const PLANS: &str = "
tiers:
  slow: {rate: 6/minute, burst: 6}
  shared: {limits: {calls: {algorithm: fixed_window, limit: 10/minute, per: account}}}
  anonymous: {rate: 1000, burst: 1000}
identity: {anonymous: anonymous}
";

impl Place {
    fn tend(&self, now: Timestamp) {
        self.engine.clock().set(now);
        wait(self.engine.tend_alerts(now));
    }

    /// What is in the list, the oldest first.
    fn news(&self) -> Vec<News> {
        let listed = wait(self.engine.alerts().list(Page::default(), Which::All)).unwrap();
        listed.items.into_iter().rev().map(|alert| alert.news).collect()
    }

    /// So much is used in a minute, which ends; minutes are counted from the start.
    fn minute(&self, callers: &[&Caller], minute: u32, used: u64) {
        for caller in callers {
            for step in 0..used {
                let now = at(minute * 60 + u32::try_from(step).unwrap() * 10);
                assert!(self.get(caller, "/", now).is_admitted(), "minute {minute}, {step}");
            }
        }
        self.tend(at((minute + 1) * 60 + 5));
    }
}

fn states(news: &[News]) -> Vec<(&'static str, AlertState)> {
    news.iter().map(|news| (news.kind.as_str(), news.state())).collect()
}

const RATE: &str = "caller.rate";

#[test]
fn five_minutes_above_ninety_percent_of_a_rate_fire_once_and_are_resolved() {
    let place = Place::new(PLANS);
    let caller = place.caller("slow");
    place.tend(at(0));
    (1..=4).for_each(|minute| place.minute(&[&caller], minute, 6));
    assert_eq!(states(&place.news()), []);
    place.minute(&[&caller], 5, 6);
    let news = place.news();
    assert_eq!(states(&news), [(RATE, AlertState::Firing)]);
    let AlertKind::CallerRate(rate) = &news[0].kind else { panic!("{news:?}") };
    assert_eq!((rate.limit.as_str(), rate.used, rate.per_minute), ("rate", 6, 6));
    let key = Some(caller.id.to_string());
    assert_eq!(rate.caller, RateCaller::Account { id: "acct-slow".to_owned(), key });
    place.minute(&[&caller], 6, 6);
    assert_eq!(place.news(), news, "once");
    place.minute(&[&caller], 7, 5);
    assert_eq!(states(&place.news()), [(RATE, AlertState::Resolved)]);
    (8..=12).for_each(|minute| place.minute(&[&caller], minute, 6));
    assert_eq!(states(&place.news()), [(RATE, AlertState::Resolved), (RATE, AlertState::Firing)]);
}

#[test]
fn what_fires_fires_on_after_a_restart_and_is_resolved_there() {
    let place = Place::new(PLANS);
    let caller = place.caller("slow");
    place.tend(at(0));
    (1..=5).for_each(|minute| place.minute(&[&caller], minute, 6));
    let before = place.news();
    let again = place.restart(PLANS);
    again.tend(at(366));
    again.tend(at(370));
    // The minute in which it starts was not seen from its beginning, and says nothing.
    again.tend(at(7 * 60 + 5));
    assert_eq!(again.news(), before);
    again.minute(&[&caller], 7, 6);
    assert_eq!(again.news(), before, "it is still so, and people have heard");
    again.minute(&[&caller], 8, 1);
    assert_eq!(states(&again.news()), [(RATE, AlertState::Resolved)]);
}

#[test]
fn keys_that_share_a_limit_are_counted_together_and_others_each_for_itself() {
    let place = Place::new(PLANS);
    place.account("both", "shared");
    let keys = [place.key("both", &[]), place.key("both", &[])];
    place.tend(at(0));
    (1..=5).for_each(|minute| place.minute(&[&keys[0], &keys[1]], minute, 5));
    let news = place.news();
    let AlertKind::CallerRate(rate) = &news[0].kind else { panic!("{news:?}") };
    assert_eq!((rate.used, rate.per_minute), (10, 10));
    assert_eq!(rate.caller, RateCaller::Account { id: "both".to_owned(), key: None });
    let place = Place::new(PLANS);
    place.account("two", "slow");
    let keys = [place.key("two", &[]), place.key("two", &[])];
    place.tend(at(0));
    (1..=9).for_each(|minute| place.minute(&[&keys[0], &keys[1]], minute, 5));
    assert_eq!(states(&place.news()), [], "five of six each");
}

#[test]
fn a_caller_without_a_key_is_named_by_its_id() {
    let place = Place::new("tiers: {a: {rate: 6/minute, burst: 6}}\nidentity: {anonymous: a}");
    let headers = HeaderMap::new();
    place.tend(at(0));
    for minute in 1..=5 {
        for step in 0..6 {
            assert!(place.ask(&nobody(&headers), at(minute * 60 + step * 10)).is_admitted());
        }
        place.tend(at((minute + 1) * 60 + 5));
    }
    let news = place.news();
    let AlertKind::CallerRate(rate) = &news[0].kind else { panic!("{news:?}") };
    assert!(matches!(&rate.caller, RateCaller::Client(id) if id.starts_with("cl_")), "{rate:?}");
}

/// Whoever has no such key is refused.
fn refused(place: &Place, count: u32, now: Timestamp) {
    let address = Some("192.0.2.9".parse().unwrap());
    for _ in 0..count {
        let asked = CallerRequest { address, credential: Credential::Ambiguous, ..request("") };
        assert!(!place.ask(&asked, now).is_admitted());
    }
}

fn admitted(place: &Place, count: u32, now: Timestamp) {
    let headers = HeaderMap::new();
    for _ in 0..count {
        assert!(place.ask(&nobody(&headers), now).is_admitted());
    }
}

#[test]
fn refusals_above_five_percent_fire_within_ten_seconds_and_not_at_exactly_five() {
    let place = Place::new(PLANS);
    place.tend(at(0));
    admitted(&place, 95, at(1));
    refused(&place, 5, at(2));
    // Who only looks is no traffic.
    let headers = HeaderMap::new();
    let peek = CallerRequest { purpose: Purpose::Peek, ..nobody(&headers) };
    (0..50).for_each(|_| drop(place.ask(&peek, at(3))));
    place.tend(at(10));
    assert_eq!(states(&place.news()), []);
    refused(&place, 1, at(11));
    place.tend(at(19));
    assert_eq!(states(&place.news()), [], "the step has not ended");
    place.tend(at(20));
    let news = place.news();
    assert_eq!(news[0].kind, AlertKind::RefusalsShare { refused: 6, requests: 101 });
    let again = place.restart(PLANS);
    for step in 2..=7 {
        again.tend(at(step * 10));
        assert_eq!(again.news(), news, "after {step} steps");
    }
    again.tend(at(80));
    assert_eq!(states(&again.news()), [("refusals.share", AlertState::Resolved)]);
}

#[test]
fn an_address_fires_with_its_thousand_and_first_refusal_and_is_a_hash() {
    let place = Place::new(PLANS);
    place.tend(at(0));
    admitted(&place, 900, at(5));
    refused(&place, 1_000, at(5));
    place.tend(at(10));
    let addresses = |place: &Place| -> Vec<News> {
        place.news().into_iter().filter(|news| news.kind.as_str() == "address.refusals").collect()
    };
    assert_eq!(addresses(&place), []);
    refused(&place, 1, at(11));
    place.tend(at(20));
    let news = addresses(&place);
    let own = place.engine.prefixes_of("192.0.2.9".parse().unwrap()).own;
    assert_eq!(news[0].kind, AlertKind::AddressRefusals { address: own, refusals: 1_001 });
    assert!(!news[0].title().contains("192.0.2.9"));
    // An hour after its refusals are of the last hour no longer, step by step.
    for minute in 1..=117 {
        place.tend(at(minute * 60));
    }
    assert_eq!(addresses(&place), news);
    (118..=121).for_each(|minute| place.tend(at(minute * 60)));
    assert_eq!(states(&addresses(&place)), [("address.refusals", AlertState::Resolved)]);
}

#[test]
fn a_rejected_policy_fires_until_a_good_one_is_loaded_also_across_a_restart() {
    let place = Place::new(PLANS);
    let rejected = Rejected { problems: 2, first: "policy.yaml:3:1: wrong".to_owned() };
    place.engine.note_reload(Some(rejected.clone()));
    place.tend(at(1));
    place.engine.note_reload(Some(Rejected { problems: 9, ..rejected }));
    place.tend(at(2));
    let word = "reload.rejected";
    assert_eq!(states(&place.news()), [(word, AlertState::Firing)]);
    let first = "policy.yaml:3:1: wrong".to_owned();
    assert_eq!(place.news()[0].kind, AlertKind::ReloadRejected { node: None, problems: 2, first });
    let again = place.restart(PLANS);
    // It has started, so its policy is good.
    again.tend(at(3));
    assert_eq!(states(&again.news()), [(word, AlertState::Resolved)]);
    again.engine.note_reload(Some(Rejected { problems: 1, first: String::new() }));
    again.tend(at(4));
    again.engine.note_reload(None);
    again.tend(at(5));
    assert_eq!(states(&again.news()), [(word, AlertState::Resolved); 2]);
}
