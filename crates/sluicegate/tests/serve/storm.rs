//! A policy that is edited a thousand times under load, well and badly.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use sluicegate_testkit::dice::Dice;
use sluicegate_testkit::http::{Answer, Asked, Caller};
use sluicegate_testkit::wait;

use crate::bed::{Bed, check};

const EDITS: usize = 1_000;
/// How often everything stands still, and the file's last content is looked for.
const LOOK_EVERY: usize = 100;

/// A policy whose every number names it. It ends with its last character: half of one is none.
fn policy(number: u64) -> String {
    let (burst, quota) = (2 * number, 10_000_000 + number);
    format!("tiers: {{pro: {{rate: {number}, burst: {burst}, quota: {quota}, quota_window: sliding_day}}}}\n")
}

/// A policy that is wrong, whose numbers no answer may show.
fn broken(dice: &mut Dice) -> String {
    let number = 900_000 + dice.below(1_000);
    let valid = policy(number);
    match dice.below(6) {
        0 => valid.replace("quota_window: sliding_day", "quota_window: fortnight"),
        1 => valid.replace("pro: {", "pro: {rte: 7, "),
        2 => valid[..valid.len() - 4].to_owned(),
        3 => valid.replace("tiers", "identity: {anonymous: nobody}\ntiers"),
        4 => valid.replace("burst", "\u{0}burst"),
        _ => valid.replace(&number.to_string(), "-3"),
    }
}

/// What the load and the editor have in common.
struct Storm {
    key: String,
    /// The numbers of the policies that may be in force: never one that is wrong.
    numbers: RwLock<BTreeSet<u64>>,
    admitted: AtomicU64,
    over: AtomicBool,
}

impl Storm {
    /// An answer is consistent with exactly one policy.
    fn expect_one_policy(&self, answer: &Answer) -> u64 {
        let number = |name: &str| answer.number(name).unwrap_or_else(|| panic!("{name}: {answer:?}"));
        // What is negative is no number.
        let (_, _) = (number("x-ratelimit-remaining"), number("x-quota-remaining"));
        let rate = number("x-ratelimit-limit");
        let shown = answer.header("ratelimit-policy").unwrap_or_default();
        let wanted = format!("\"rate\";q={};w=2, \"quota\";q={};w=86400", 2 * rate, 10_000_000 + rate);
        assert_eq!(shown, wanted, "{answer:?}");
        assert_eq!(number("x-quota-limit"), 10_000_000 + rate, "{answer:?}");
        assert!(self.numbers.read().unwrap().contains(&rate), "no policy has {rate}: {answer:?}");
        rate
    }

    fn through_gateway(&self, bed: &Bed) {
        let mut caller = Caller::new(bed.server.gateway());
        while !self.over.load(Ordering::Relaxed) {
            let answer = caller.send(&Asked::get("/").key(&self.key)).unwrap();
            match answer.status {
                200 => self.admitted.fetch_add(1, Ordering::Relaxed),
                429 => 0,
                _ => panic!("{answer:?}"),
            };
            self.expect_one_policy(&answer);
        }
    }

    fn by_check(&self, bed: &Bed) {
        let mut caller = Caller::new(bed.server.decision());
        while !self.over.load(Ordering::Relaxed) {
            let answer = caller.send(&check(&json!({"key": self.key}))).unwrap();
            assert_eq!(answer.status, 200, "{answer:?}");
            let answer = answer.json();
            if answer["allowed"] == true {
                self.admitted.fetch_add(1, Ordering::Relaxed);
            } else {
                assert_eq!(answer["status"], 429, "{answer}");
            }
            let limit = |index: usize| answer["limits"][index]["limit"].as_u64().unwrap();
            assert_eq!(limit(1), 10_000_000 + limit(0), "{answer}");
            let remaining = |index: usize| answer["limits"][index]["remaining"].as_u64();
            assert!(remaining(0).is_some() && remaining(1).is_some(), "{answer}");
        }
    }

    /// Usage only ever grows.
    fn watch_usage(&self, bed: &Bed) {
        let mut last = 0;
        while !self.over.load(Ordering::Relaxed) {
            let used = bed.used("acme", "quota");
            assert!(used >= last, "{used} after {last}: the meter was reset");
            last = used;
            wait::pause(Duration::from_millis(20));
        }
    }
}

/// Tells the load to end, also when the editor has failed.
struct Over<'s>(&'s AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_thousand_edits_under_load_are_each_taken_whole_or_not_at_all() {
    let bed = Bed::start(&policy(50));
    let key = bed.customer("acme", "pro");
    let (numbers, admitted) = (RwLock::new(BTreeSet::from([50])), AtomicU64::new(0));
    let storm = Storm { key, numbers, admitted, over: AtomicBool::new(false) };
    let last = thread::scope(|scope| {
        let _over = Over(&storm.over);
        scope.spawn(|| storm.through_gateway(&bed));
        scope.spawn(|| storm.by_check(&bed));
        scope.spawn(|| storm.watch_usage(&bed));
        edit(&bed, &storm)
    });
    // The last valid file is in force, and all that was admitted under any policy is still counted.
    assert_eq!(storm.expect_one_policy(&bed.gateway(&Asked::get("/").key(&storm.key))), last);
    let counted = bed.used("acme", "quota");
    let admitted = storm.admitted.load(Ordering::Relaxed);
    assert!((admitted..=admitted + 1).contains(&counted), "{counted} counted, {admitted} admitted");
    assert_eq!(bed.health()["policy"]["rejected"], Value::Null);
    assert!(!bed.server.said().contains("panicked"), "{}", bed.server.said());
}

/// Edits the file, and returns the number of the last policy.
fn edit(bed: &Bed, storm: &Storm) -> u64 {
    let (path, mut dice) = (bed.policy_path(), Dice::new(4));
    let mut last = 50;
    for edit in 1..=EDITS {
        // At the end, and now and then before, a good one is looked for; in between a bad one.
        let look = edit % LOOK_EVERY == 0;
        if edit % LOOK_EVERY == LOOK_EVERY / 2 || (!look && dice.below(3) == 0) {
            write(&path, &broken(&mut dice), &mut dice);
            if edit % LOOK_EVERY == LOOK_EVERY / 2 {
                expect_rejected(bed);
            }
        } else {
            last = 50 + dice.below(800);
            storm.numbers.write().unwrap().insert(last);
            write(&path, &policy(last), &mut dice);
            if look {
                expect_in_force(bed, storm, last);
            }
        }
        if dice.below(10) == 0 {
            bed.server.hang_up();
        }
        wait::pause(Duration::from_millis(dice.below(20)));
    }
    last
}

/// Writes the file as the editors of this world do.
fn write(path: &Path, text: &str, dice: &mut Dice) {
    match dice.below(3) {
        0 => fs::write(path, text).unwrap(),
        1 => {
            let beside = path.with_extension("new");
            fs::write(&beside, text).unwrap();
            fs::rename(&beside, path).unwrap();
        }
        _ => {
            // Half of it first.
            let (half, rest) = text.as_bytes().split_at(text.len() / 2);
            let mut file = fs::File::create(path).unwrap();
            file.write_all(half).unwrap();
            wait::pause(Duration::from_millis(dice.below(80)));
            file.write_all(rest).unwrap();
        }
    }
}

/// Well before the file would be looked at without anybody saying that it has changed.
const SOON: Duration = Duration::from_secs(4);

fn expect_in_force(bed: &Bed, storm: &Storm, number: u64) {
    wait::within(SOON, &format!("the policy {number} is in force"), || {
        let answer = bed.gateway(&Asked::get("/").key(&storm.key));
        if answer.status == 200 {
            storm.admitted.fetch_add(1, Ordering::Relaxed);
        }
        (storm.expect_one_policy(&answer) == number).then_some(())
    });
    wait::within(SOON, "nothing is rejected any more", || {
        bed.health()["policy"]["rejected"].is_null().then_some(())
    });
}

fn expect_rejected(bed: &Bed) {
    wait::within(SOON, "the policy is rejected", || {
        bed.health()["policy"]["rejected"]["problems"].as_u64().filter(|problems| *problems > 0)
    });
}
