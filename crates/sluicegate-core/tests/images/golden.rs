//! The bytes of every kind of image. They are on the disks of others: a change here needs a new version.

use super::*;

const NOW: Timestamp = Timestamp::from_nanos(1_790_000_000_123_456_789);

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn day(limit: u64) -> Windowed {
    Windowed { limit: Amount::new(limit).unwrap(), window: Window::DAY }
}

fn bucket() -> Rule {
    Rule::TokenBucket(TokenBucket::new(3, Window::SECOND, 20).unwrap())
}

fn billing_month() -> Rule {
    let zone = TimeZone::get("Europe/Vienna").unwrap();
    let calendar = Calendar::utc(CalendarUnit::BillingMonth).for_account(zone, BillingDay::new(31).unwrap());
    Rule::Calendar { limit: Amount::new(50_000).unwrap(), calendar }
}

#[track_caller]
fn limit_has(name: &str, rule: &Rule, image: &str) {
    let name = LimitName::new(name).unwrap();
    assert_eq!(hex(&entry_image(&name, plain(rule))), image);
    let (rule, keeps_past) = (rule.clone(), false);
    assert_eq!(decode_entry(&bytes(image)), Ok(EntryImage { name, rule, included: None, keeps_past }));
}

#[track_caller]
fn billed_limit_has(rule: &Rule, included: u64, image: &str) {
    let (name, included) = (LimitName::new("quota").unwrap(), Amount::new(included));
    assert_eq!(hex(&entry_image(&name, Terms { rule, included, keeps_past: true })), image);
    let (rule, keeps_past) = (rule.clone(), true);
    assert_eq!(decode_entry(&bytes(image)), Ok(EntryImage { name, rule, included, keeps_past }));
}

#[track_caller]
fn quota_has(rule: Rule, image: &str) {
    let name = LimitName::new("quota").unwrap();
    assert_eq!(hex(&entry_image(&name, Terms { rule: &rule, included: None, keeps_past: true })), image);
    assert_eq!(decode_entry(&bytes(image)), Ok(EntryImage { name, rule, included: None, keeps_past: true }));
}

#[test]
fn quotas_that_refuse() {
    quota_has(Rule::FixedWindow(day(3)), "030a0571756f74610380a305");
    quota_has(billing_month(), "030b0571756f7461d08603031f0d4575726f70652f5669656e6e61");
}

#[test]
fn a_count_and_the_period_before() {
    let rule = Rule::FixedWindow(day(5));
    let (mut meter, _) = live(&rule, NOW, &[(0, Ask::Force(5)), (86_400_000_000_000, Ask::Force(3))]);
    let image = "030703".to_owned() + "00c5b16a" + "0000" + "05" + "00c5b16a" + "0000" + "00";
    assert_eq!(hex(&meter_image(&meter, &rule).unwrap()), image);
    assert_eq!(read_meter(&bytes(&image), &rule), Ok(meter.clone()));
    // What was included in it, where that is no longer what the limit includes.
    let terms = |included| Terms { rule: &rule, included: Amount::new(included), keeps_past: true };
    let _ = meter.bring_up(terms(4), terms(300), &at(NOW.plus(Nanos::from_secs(86_400))));
    let image = "030703".to_owned() + "00c5b16a" + "0000" + "05" + "00c5b16a" + "0000" + "05";
    assert_eq!(hex(&meter_image(&meter, &rule).unwrap()), image);
}

#[test]
fn limits_whose_overage_is_billed() {
    billed_limit_has(&Rule::FixedWindow(day(3)), 5, "02080571756f74610380a30505");
    let month = "02090571756f7461d08603031f0d4575726f70652f5669656e6e61d08603";
    billed_limit_has(&billing_month(), 50_000, month);
}

#[test]
fn a_count_whose_tier_has_changed() {
    let (mut meter, _) = live(&Rule::FixedWindow(day(5)), NOW, &[(0, Ask::Force(5))]);
    meter.rebase(OverageBaseline { recorded: 2, used: 300 });
    let image = "0206058073b06a02ac02";
    assert_eq!(hex(&meter_image(&meter, &Rule::FixedWindow(day(5))).unwrap()), image);
    assert_eq!(read_meter(&bytes(image), &Rule::FixedWindow(day(5))), Ok(meter));
}

#[test]
fn every_rule() {
    limit_has("rate", &bucket(), "01010472617465030114");
    limit_has("rate", &Rule::FixedWindow(day(5)), "010204726174650580a305");
    limit_has("quota", &billing_month(), "01030571756f7461d08603031f0d4575726f70652f5669656e6e61");
    limit_has("conversions", &Rule::SlidingWindow(day(300)), "01040b636f6e76657273696f6e73ac0280a305");
    limit_has("quota", &Rule::SlidingBuckets(day(50_000)), "01050571756f7461d0860380a305");
    limit_has("q", &Rule::SlidingLog(day(Amount::MAX)), "01060171ffffffffffffff0f80a305");
    let slots = Rule::Concurrency { limit: Amount::new(5).unwrap(), lease: Nanos::from_secs(60) };
    limit_has("concurrency", &slots, "01070b636f6e63757272656e63790580b09dc2df01");
}

#[track_caller]
fn meter_has(rule: &Rule, waits_s: &[u32], image: &str) {
    let history: Vec<_> =
        waits_s.iter().map(|secs| (Nanos::from_secs(*secs).0, Ask::Force(2 + u64::from(*secs)))).collect();
    let (meter, _) = live(rule, NOW, &history);
    assert_eq!(hex(&meter_image(&meter, rule).unwrap()), image);
    assert_eq!(read_meter(&bytes(image), rule), Ok(meter));
}

#[test]
fn every_state() {
    meter_has(&bucket(), &[0], "0101bf530b53845bd71802");
    // An overdrawn one: a nanosecond less, and as many more parts as it has.
    meter_has(&bucket(), &[60], "0101be736af3965bd71805");
    meter_has(&Rule::FixedWindow(day(5)), &[0, 1], "0102058073b06a");
    meter_has(&billing_month(), &[0, 1], "010205e0a7946a");
    meter_has(&Rule::SlidingWindow(day(300)), &[0, 86_400], "010382a3050200c5b16a");
    meter_has(&Rule::SlidingBuckets(day(50_000)), &[0, 60, 3_600], "010403a89acad506023c3e901c921c");
    meter_has(
        &Rule::SlidingLog(day(100)),
        &[0, 1, 60],
        "010503959af7e48bc3eaeb18028094ebdc030380b09dc2df013e",
    );
}

#[test]
fn a_bucket_is_small() {
    let (meter, _) = live(&bucket(), NOW, &[(0, Ask::Take(1))]);
    assert!(meter_image(&meter, &bucket()).unwrap().len() <= 14);
}

#[test]
fn what_is_refused_is_named() {
    let image = entry_image(&LimitName::new("quota").unwrap(), plain(&billing_month()));
    let with = |at: usize, byte: u8| {
        let mut image = image.clone();
        image[at] = byte;
        decode_entry(&image).unwrap_err()
    };
    assert_eq!(with(0, 9), BadImage::Version(9));
    assert_eq!(with(1, 9), BadImage::Kind(9));
    assert_eq!(with(3, b'Q'), BadImage::Range("a name"));
    assert_eq!(with(image.len() - 1, b'!'), BadImage::Zone("Europe/Vienn!".into()));
    assert_eq!(decode_entry(&image[..image.len() - 1]), Err(BadImage::Short));
    assert_eq!(decode_entry(&[&image[..], &[0]].concat()), Err(BadImage::Long));
    let (meter, _) = live(&bucket(), NOW, &[(0, Ask::Take(1))]);
    let meter = meter_image(&meter, &bucket()).unwrap();
    assert_eq!(read_meter(&meter, &billing_month()), Err(BadImage::Algorithm));
    for (error, text) in [
        (with(0, 9), "an image of version 9, which is not known here"),
        (BadImage::Limit(7), "an image of a meter of limit 7, which is not in the book"),
        (BadImage::Range("a count"), "an image with a count out of range"),
    ] {
        assert_eq!(error.to_string(), text);
    }
}
