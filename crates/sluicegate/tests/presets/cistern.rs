//! `cistern.yaml`: 50 per hour by two counts, of which the earlier one weighs as much as still overlaps.

use serde_json::json;
use sluicegate_testkit::http::{Answer, Asked};

use crate::bed::Bed;
use crate::spend::preset;

/// Ends the server and starts it again at another time of the day.
fn restart_at(bed: &mut Bed, time: &str) {
    bed.server.terminate();
    assert!(bed.server.wait().success(), "{}", bed.server.said());
    bed.launch = bed.launch.clone().clock(&format!("2026-11-10 {time}"));
    bed.restart();
}

fn note(bed: &Bed, key: &str) -> Answer {
    bed.gateway(&Asked::new("POST", "/notes").key(key).body("a note"))
}

/// How many pass until one is refused, and that one.
fn until_refused(bed: &Bed, key: &str) -> (u64, Answer) {
    let mut answers = (0..200).map(|_| note(bed, key));
    let mut admitted = 0;
    let refused = answers.find(|answer| {
        admitted += u64::from(answer.status == 200);
        answer.status != 200
    });
    (admitted, refused.unwrap())
}

#[test]
fn a_quarter_of_the_hour_before_counts_at_a_quarter_to_four() {
    let mut bed = Bed::start_with(&preset("cistern.yaml"), |launch| launch.clock("2026-11-10 14:10:00"));
    let key = bed.customer("ada", "free");
    let second_key = bed.key_with("ada", &json!({"name": "phone"})).key;
    for used in 1..=30 {
        let answer = note(&bed, if used % 2 == 0 { &key } else { &second_key });
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.number("RateLimit-Limit"), Some(50));
        assert_eq!(answer.number("RateLimit-Remaining"), Some(50 - used));
    }

    restart_at(&mut bed, "15:45:00");
    // 30 × 25 % is 7.5: seven of the hour before count, and go on counting for the next minute.
    let first = note(&bed, &key);
    assert_eq!((first.status, first.number("RateLimit-Remaining")), (200, Some(50 - 7 - 1)), "{first:?}");
    let (admitted, refused) = until_refused(&bed, &key);
    assert_eq!(admitted, 42, "{refused:?}");
    assert_eq!((refused.status, refused.number("RateLimit-Remaining")), (429, Some(0)), "{refused:?}");
    // The seventh stops counting as soon as less than 14 minutes of its hour overlap.
    let wait = refused.number("Retry-After").unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    // A refused request was not counted, and another user is not concerned.
    assert_eq!(bed.used("ada", "notes"), 50);
    let other = bed.customer("grace", "free");
    assert_eq!(note(&bed, &other).number("RateLimit-Remaining"), Some(49));

    restart_at(&mut bed, "16:30:00");
    // 43 of the hour before, half of which overlaps: 21.
    let first = note(&bed, &key);
    assert_eq!((first.status, first.number("RateLimit-Remaining")), (200, Some(50 - 21 - 1)), "{first:?}");

    restart_at(&mut bed, "18:00:00");
    let first = note(&bed, &key);
    assert_eq!((first.status, first.number("RateLimit-Remaining")), (200, Some(49)), "{first:?}");
}

#[test]
fn fifty_pass_within_an_hour_and_nobody_without_a_key() {
    let bed = Bed::start_with(&preset("cistern.yaml"), |launch| launch.clock("2026-11-10 14:10:00"));
    let key = bed.customer("ada", "free");
    let (admitted, refused) = until_refused(&bed, &key);
    assert_eq!((admitted, &refused.json()["error"]), (50, &json!("rate_limited")), "{refused:?}");
    assert_eq!(bed.gateway(&Asked::get("/notes")).status, 401);
}
