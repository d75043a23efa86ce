//! Those who listen hear of decisions and changes, and nobody waits for them.

use std::time::Duration;

use sluicegate_engine::ErrorCode;
use sluicegate_engine::pulse::{Change, Changed, DECISIONS_MAX, Event, Heard, Subscription};

use super::POLICY;
use crate::place::{NOW, Place, at, policy, wait};

/// What waits to be heard: words for it.
fn heard(subscription: &mut Subscription) -> Vec<String> {
    let mut words = Vec::new();
    wait(async {
        while let Ok(heard) = tokio::time::timeout(Duration::from_millis(20), subscription.next()).await {
            words.push(match heard {
                Heard::Missed(count) => format!("missed {count}"),
                Heard::Event(event) => match &*event {
                    Event::Decision(brief) => {
                        let error = brief.error.map_or("admitted", ErrorCode::as_str);
                        format!("{} {error}", brief.path)
                    }
                    Event::Change(change) => format!("{}: {}", change.what.as_str(), change.text),
                },
            });
        }
    });
    words
}

#[test]
fn decisions_are_heard_by_those_who_listen_then() {
    let place = Place::new(POLICY);
    let free = place.caller("free");
    place.get(&free, "/before", NOW);
    let mut subscription = place.engine.pulse().subscribe().unwrap();
    place.get(&free, "/a", NOW);
    place.get(&free, "/b", NOW);
    assert_eq!(heard(&mut subscription), ["/a admitted", "/b rate_limited"]);
}

#[test]
fn in_a_flood_refusals_are_heard_before_admissions_and_no_more_than_so_many() {
    let place = Place::new(POLICY);
    let (free, pro) = (place.caller("free"), place.caller("pro"));
    let mut subscription = place.engine.pulse().subscribe().unwrap();
    for _ in 0..100 {
        place.get(&pro, "/", NOW);
    }
    for _ in 0..100 {
        place.get(&free, "/", NOW);
    }
    let words = heard(&mut subscription);
    assert_eq!(words.len(), DECISIONS_MAX as usize);
    assert_eq!(words.iter().filter(|word| word.ends_with("rate_limited")).count(), 25);
    // Another second, another fifty.
    place.get(&free, "/", at(1));
    assert_eq!(heard(&mut subscription).len(), 1);
}

#[test]
fn a_listener_that_does_not_read_loses_events_and_decisions_go_on() {
    let place = Place::new(POLICY);
    let free = place.caller("free");
    let mut slow = place.engine.pulse().subscribe().unwrap();
    for second in 0..20 {
        for _ in 0..60 {
            place.get(&free, "/", at(second));
        }
    }
    let words = heard(&mut slow);
    assert_eq!(words[0], format!("missed {}", 20 * DECISIONS_MAX - 256));
    assert_eq!(words.len(), 257);
    place.get(&free, "/late", at(60));
    assert_eq!(heard(&mut slow), ["/late admitted"]);
}

#[test]
fn changes_are_heard() {
    let place = Place::new(POLICY);
    let mut subscription = place.engine.pulse().subscribe().unwrap();
    place.engine.reload(policy(POLICY)).unwrap();
    place.engine.pulse().tell(Change { at: NOW, what: Changed::Alert, text: "It burns.".to_owned() });
    assert_eq!(heard(&mut subscription), ["reload: Policy 2 came into force.", "alert: It burns."]);
}
