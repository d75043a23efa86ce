//! Whatever is thrown at it, what is known about decisions has a maximum.

use std::fmt::Write as _;

use http::HeaderMap;
use sluicegate_engine::pulse::{KEPT_A_SECOND, KEPT_MAX, Kind, TopBy};
use sluicegate_engine::{CallerRequest, DecisionId, Front};

use crate::place::{NOW, Place, at, nobody, request};

#[test]
fn a_flood_of_strangers_takes_no_more_than_its_half_and_pushes_out_no_customer() {
    let place = Place::new("tiers: {free: {rate: 1, burst: 1}}\n");
    let free = place.caller("free");
    place.get(&free, "/", NOW);
    let customer = place.get(&free, "/", NOW);
    let mut strangers = Vec::new();
    let all = u32::try_from(KEPT_MAX).unwrap();
    for number in 0..all {
        strangers.push(place.ask(&request("junk"), at(number / 1_000)).id);
    }
    let (pulse, now) = (place.engine.pulse(), at(all / 1_000));
    assert!(pulse.explanation(customer.id, now).is_some());
    assert!((KEPT_MAX / 2 - 64..=KEPT_MAX / 2 + 1).contains(&pulse.explained()), "{}", pulse.explained());
    // The oldest have left, and only they.
    assert_eq!(pulse.explanation(strangers[0], now), None);
    assert!(
        strangers[KEPT_MAX / 2 + 64..].iter().step_by(97).all(|id| pulse.explanation(*id, now).is_some())
    );
}

#[test]
fn within_a_second_only_so_many_denials_of_strangers_are_kept_and_those_of_customers_all_the_same() {
    let place = Place::new("tiers: {free: {rate: 1, burst: 1}}\n");
    let free = place.caller("free");
    place.get(&free, "/", NOW);
    let most = KEPT_A_SECOND[1];
    let flood = |now| (0..2 * most).map(|_| place.ask(&request("junk"), now).id).collect::<Vec<_>>();
    let pulse = place.engine.pulse();
    let first = flood(NOW);
    let kept = |ids: &[DecisionId]| ids.iter().filter(|id| pulse.explanation(**id, NOW).is_some()).count();
    assert_eq!(kept(&first), most as usize);
    assert!(pulse.explanation(place.get(&free, "/", NOW).id, NOW).is_some());
    // All of them are counted, and in the next second there is room again.
    let counted: u64 = Front::ALL.iter().map(|front| pulse.outcomes(*front).total()).sum();
    assert_eq!(counted, u64::from(2 * most) + 2);
    assert_eq!(kept(&flood(at(1))), most as usize);
}

#[test]
fn explanations_with_much_in_them_are_fewer() {
    let mut policy = String::from("tiers:\n  free:\n    limits:\n");
    for number in 0..16 {
        writeln!(policy, "      limit-{number}: {{algorithm: fixed_window, limit: 1/day}}").unwrap();
    }
    let place = Place::new(&policy);
    let free = place.caller("free");
    let path = format!("/{}", "x".repeat(199));
    for number in 0..20_000 {
        place.get(&free, &path, at(number / 5_000));
    }
    // Half of 32 MiB, at about two KiB each.
    let kept = place.engine.pulse().explained();
    assert!((4_000..16_000).contains(&kept), "{kept}");
}

#[test]
fn counters_do_not_grow_with_callers_nor_beyond_their_most_with_names() {
    let mut policy = String::from("tiers:\n");
    for number in 0..200 {
        writeln!(policy, "  tier-{number}: {{rate: 1, burst: 1}}").unwrap();
    }
    policy.push_str("routes:\n");
    for number in 0..200 {
        writeln!(policy, "  route-{number}: {{match: \"GET /{number}\"}}").unwrap();
    }
    policy.push_str("identity: {anonymous: tier-0}\n");
    let place = Place::new(&policy);
    let mut asked = 0;
    for number in 0..200 {
        let caller = place.caller(&format!("tier-{number}"));
        for _ in 0..3 {
            place.get(&caller, &format!("/{number}"), NOW);
            place.ask(
                &CallerRequest { cost: sluicegate_core::rule::Amount::new(9), ..request(&caller.key) },
                NOW,
            );
            asked += 2;
        }
    }
    for number in 0..1_000 {
        let mut headers = HeaderMap::new();
        headers.insert("user-agent", format!("agent {number}").parse().unwrap());
        place.ask(&nobody(&headers), NOW);
        asked += 1;
    }
    let counts = place.engine.pulse().counts();
    assert!(counts.len() < 1_536, "{}", counts.len());
    let total = |kind| counts.iter().filter(|count| count.kind == kind).map(|count| count.count).sum::<u64>();
    // Nothing is lost: what has no counter of its own is counted with others.
    assert_eq!((total(Kind::Tier), total(Kind::Route)), (asked, asked));
}

#[test]
fn many_callers_do_not_make_the_list_of_those_who_send_most_longer() {
    let place = Place::new("tiers: {free: {rate: 1_000_000}}\nidentity: {anonymous: free}\n");
    let mut headers = HeaderMap::new();
    for number in 0..5_000 {
        headers.insert("user-agent", format!("agent {number}").parse().unwrap());
        place.ask(&nobody(&headers), NOW);
        if number % 10 == 0 {
            headers.insert("user-agent", "the loud one".parse().unwrap());
            place.ask(&nobody(&headers), at(0));
        }
    }
    let top = place.engine.pulse().top(TopBy::Requests, usize::MAX, NOW);
    assert!(top.callers.len() <= 256);
    let first = &top.callers[0];
    assert!(first.count.abs_diff(500) <= first.error, "{} ± {}", first.count, first.error);
}
