//! `SLUICEGATE.CHECK` and `SLUICEGATE.FINISH`.

use crate::place::{Place, wire_of};

const POLICY: &str = "
tiers:
  pro: {rate: 10, burst: 2, quota: 5, quota_window: sliding_day}
  slots: {concurrency: 1}
  costly: {quota: 100, quota_window: sliding_day}
routes:
  search: {match: 'GET /search', cost: 3}
";

#[test]
fn a_check_is_answered_with_names_and_values() {
    let place = Place::start(POLICY);
    let key = place.customer("acme", "pro");
    let mut client = place.client();
    let answer = client.ask(&format!("SLUICEGATE.CHECK KEY {key}"));
    let id = "$30\r\ndec_01m45yyrg00000000700000001\r\n";
    let two = format!(
        "*20\r\n$7\r\nallowed\r\n:1\r\n$6\r\nstatus\r\n:200\r\n$5\r\nerror\r\n$-1\r\n$11\r\ndecision_id\r\n{id}\
         $4\r\ntier\r\n$3\r\npro\r\n$7\r\naccount\r\n$4\r\nacme\r\n$14\r\nretry_after_ms\r\n:0\r\n\
         $6\r\npermit\r\n$-1\r\n$4\r\nmode\r\n$6\r\nnormal\r\n$6\r\nlimits\r\n\
         *2\r\n*4\r\n$4\r\nrate\r\n:10\r\n:1\r\n:100\r\n\
         *4\r\n$5\r\nquota\r\n:5\r\n:4\r\n:86460000\r\n"
    );
    assert_eq!(answer, two);
    client.ask("HELLO 3");
    let three = client.ask(&format!("sluicegate.check key {key} peek"));
    assert!(
        three.starts_with("%10\r\n$7\r\nallowed\r\n#t\r\n$6\r\nstatus\r\n:200\r\n$5\r\nerror\r\n_\r\n"),
        "{three}"
    );
}

/// The value of a field, as bytes.
fn field<'a>(answer: &'a str, name: &str) -> &'a str {
    let start = answer.find(&format!("${}\r\n{name}\r\n", name.len())).expect(answer);
    let rest = &answer[start..];
    let rest = rest.splitn(3, "\r\n").nth(2).unwrap();
    let (first, after) = rest.split_once("\r\n").unwrap();
    if first.starts_with('$') && first != "$-1" { after.split("\r\n").next().unwrap() } else { first }
}

#[test]
fn every_reason_has_its_status() {
    let place = Place::start(POLICY);
    let key = place.customer("acme", "pro");
    let mut client = place.client();
    let mut ask = |options: &str| {
        let answer = client.ask(&format!("SLUICEGATE.CHECK {options}"));
        let of = |name| field(&answer, name).to_owned();
        (of("allowed"), of("status"), of("error"), of("retry_after_ms"))
    };
    let told = |allowed: &str, status: &str, error: &str, wait: &str| {
        (allowed.to_owned(), format!(":{status}"), error.to_owned(), format!(":{wait}"))
    };
    assert_eq!(ask(&format!("KEY {key} COST 2")), told(":1", "200", "$-1", "0"));
    assert_eq!(ask(&format!("KEY {key}")), told(":0", "429", "rate_limited", "100"));
    assert_eq!(ask(&format!("KEY {key} COST 3")), told(":0", "400", "cost_exceeds_limit", "0"));
    assert_eq!(ask(&format!("KEY {key} PATH /search")), told(":0", "400", "cost_exceeds_limit", "0"));
    assert_eq!(ask(&format!("KEY {key}x")), told(":0", "403", "invalid_key", "0"));
    assert_eq!(ask("IP 192.0.2.1"), told(":0", "401", "missing_key", "0"));
    place.at(1_000_000_000);
    assert_eq!(ask(&format!("KEY {key} COST 2 METHOD post PATH /search?q=1")), told(":1", "200", "$-1", "0"));
    place.at(2_000_000_000);
    assert_eq!(ask(&format!("KEY {key} COST 2")).2, "quota_exceeded");
    assert_eq!(ask("ACCOUNT acme PEEK IP 2001:db8::1"), told(":1", "200", "$-1", "0"));
    assert_eq!(ask("ACCOUNT nobody TIER costly COST 7"), told(":1", "200", "$-1", "0"));
}

#[test]
fn a_permit_is_finished_once_and_its_true_cost_settled() {
    let place = Place::start(POLICY);
    let (slot, costly) = (place.customer("slot", "slots"), place.customer("costly", "costly"));
    let mut client = place.client();
    let first = client.ask(&format!("SLUICEGATE.CHECK KEY {slot}"));
    let permit = field(&first, "permit").to_owned();
    assert!(permit.starts_with("permit_"), "{first}");
    assert_eq!(field(&client.ask(&format!("SLUICEGATE.CHECK KEY {slot}")), "error"), "concurrency_limited");
    let finished = client.ask(&format!("SLUICEGATE.FINISH {permit} STATUS 200"));
    let expected = format!(
        "*6\r\n$6\r\npermit\r\n${}\r\n{permit}\r\n$8\r\nreserved\r\n:1\r\n$7\r\nsettled\r\n:1\r\n",
        permit.len()
    );
    assert_eq!(finished, expected);
    // Every finish has the first answer.
    assert_eq!(client.ask(&format!("SLUICEGATE.FINISH {permit} COST 9")), expected);
    assert_eq!(client.ask("SLUICEGATE.FINISH nonsense"), "-NOPERMIT there is no such permit\r\n");

    let held = client.ask(&format!("SLUICEGATE.CHECK KEY {costly} COST 10 HOLD IDEMPOTENCY_KEY order-17"));
    let permit = field(&held, "permit").to_owned();
    let finished = client.ask(&format!("SLUICEGATE.FINISH {permit} COST 4"));
    assert!(finished.contains("reserved\r\n:10\r\n$7\r\nsettled\r\n:4\r\n"), "{finished}");
    let left = client.ask(&format!("SLUICEGATE.CHECK KEY {costly} PEEK"));
    assert!(left.contains("$5\r\nquota\r\n:100\r\n:96\r\n"), "{left}");
}

#[test]
fn a_permit_is_held_for_as_long_as_it_is_said_and_renewed() {
    let place = Place::start(POLICY);
    let slot = place.customer("slot", "slots");
    let mut client = place.client();
    let first = client.ask(&format!("SLUICEGATE.CHECK KEY {slot} HOLD_FOR 10m"));
    assert!(first.contains("$17\r\npermit_expires_ms\r\n:600000\r\n"), "{first}");
    let permit = field(&first, "permit").to_owned();
    let renewed = client.ask(&format!("SLUICEGATE.RENEW {permit} HOLD_FOR 1h"));
    assert!(renewed.contains("$17\r\npermit_expires_ms\r\n:3600000\r\n"), "{renewed}");
    client.ask(&format!("SLUICEGATE.FINISH {permit}"));
    let finished = client.ask(&format!("SLUICEGATE.RENEW {permit} HOLD_FOR 1h"));
    assert_eq!(finished, "-FINISHED the permit is finished\r\n");
    let wrong = client.ask(&format!("SLUICEGATE.RENEW {permit} HOLD_FOR 25h"));
    assert!(wrong.starts_with("-ERR SLUICEGATE.RENEW: HOLD_FOR must be a duration"), "{wrong}");
    let option = client.ask(&format!("SLUICEGATE.RENEW {permit} HOLD 1h"));
    assert!(option.ends_with("there are HOLD_FOR\r\n"), "{option}");
}

#[test]
fn what_is_wrong_with_a_check_is_named() {
    let place = Place::start(POLICY);
    let mut client = place.client();
    for (options, problem) in [
        ("KEZ a", "ERR SLUICEGATE.CHECK has no option 'KEZ'; did you mean KEY?"),
        ("KEY", "ERR SLUICEGATE.CHECK: KEY needs a value"),
        ("KEY a KEY b", "ERR SLUICEGATE.CHECK: KEY stands twice"),
        ("KEY a ACCOUNT b", "ERR SLUICEGATE.CHECK: give one of KEY, SERVICE_TOKEN and ACCOUNT"),
        ("TIER pro", "ERR SLUICEGATE.CHECK: TIER stands with ACCOUNT only"),
        ("COST 0", "ERR SLUICEGATE.CHECK: COST must be a whole number from 1 to 9007199254740991"),
        (
            "COST 9007199254740992",
            "ERR SLUICEGATE.CHECK: COST must be a whole number from 1 to 9007199254740991",
        ),
        ("COST -1", "ERR SLUICEGATE.CHECK: COST must be a whole number from 1 to 9007199254740991"),
        ("PATH a", "ERR SLUICEGATE.CHECK: PATH must be a path that starts with \"/\""),
        (
            "PATH /a/../b",
            "ERR SLUICEGATE.CHECK: PATH must be a path without \".\" and \"..\" segments, encoded or not",
        ),
        (
            "METHOD G:T",
            "ERR SLUICEGATE.CHECK: METHOD must be an HTTP method such as GET, of at most 32 characters",
        ),
        (
            "IP localhost",
            "ERR SLUICEGATE.CHECK: IP must be an IP address such as 192.0.2.1 or 2001:db8::1, without a port",
        ),
    ] {
        assert_eq!(
            client.ask(&format!("SLUICEGATE.CHECK {options}")),
            format!("-{problem}\r\n"),
            "{options}"
        );
    }
    let no_text = client.ask_bytes(&wire_of(&[b"SLUICEGATE.CHECK", b"KEY", b"\xff"]));
    assert_eq!(no_text, "-ERR SLUICEGATE.CHECK: KEY must be text\r\n");
    let status = client.ask("SLUICEGATE.FINISH permit_1 STATUS 99");
    assert_eq!(status, "-ERR SLUICEGATE.FINISH: STATUS must be a whole number from 100 to 599\r\n");
    let option = client.ask("SLUICEGATE.FINISH permit_1 COSTS 1");
    assert_eq!(option, "-ERR SLUICEGATE.FINISH has no option 'COSTS'; did you mean COST?\r\n");
    let none = client.ask("SLUICEGATE.FINISH");
    assert_eq!(none, "-ERR wrong number of arguments for 'sluicegate.finish' command\r\n");
}
