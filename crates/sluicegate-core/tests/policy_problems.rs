//! What is wrong with a policy file is said at its place, with what to write instead.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use sluicegate_core::file::{PROBLEMS_MAX, Problem, read};

#[path = "policy_problems/sections.rs"]
mod sections;

fn problems(text: &str) -> Vec<Problem> {
    read(text.as_bytes()).err().unwrap_or_default()
}

/// Checks that the text has exactly one problem: what the caret underlines, a part of the message, a part of the help.
#[track_caller]
fn check(text: &str, underlined: &str, message: &str, help: &str) {
    let found = problems(text);
    assert_eq!(found.len(), 1, "{text}\n{found:#?}");
    let problem = &found[0];
    let line = text.lines().nth(problem.place.line - 1).unwrap_or_default();
    let spot: String = line.chars().skip(problem.place.column - 1).take(problem.place.length).collect();
    assert_eq!(spot, underlined, "{text}\n{problem:#?}");
    assert!(problem.message.contains(message), "{problem:#?}");
    assert!(problem.help.as_ref().unwrap().contains(help), "{problem:#?}");
    assert!(!problem.message.ends_with('.'), "{problem:#?}");
}

#[track_caller]
fn check_tier(body: &str, underlined: &str, message: &str, help: &str) {
    check(&format!("tiers: {{t: {{{body}}}}}"), underlined, message, help);
}

#[track_caller]
fn check_limit(body: &str, underlined: &str, message: &str, help: &str) {
    let text = format!("routes: {{convert: {{match: /a}}}}\ntiers: {{t: {{limits: {{x: {{{body}}}}}}}}}");
    check(&text, underlined, message, help);
}

#[track_caller]
fn check_section(section: &str, underlined: &str, message: &str, help: &str) {
    check(
        &format!("tiers: {{free: {{rate: 1}}, inside: {{bypass: true}}}}\n{section}"),
        underlined,
        message,
        help,
    );
}

#[test]
fn unknown_keys_are_refused_at_every_level() {
    check_section("responces: {}", "responces", "unknown key", "did you mean `responses`?");
    check_section("server: {gatewy: 1}", "gatewy", "unknown key", "did you mean `gateway`?");
    check_section("identity: {session_cookie: {nam: x}}", "nam", "unknown key", "did you mean `name`?");
    check_tier("rate: 1, brust: 2", "brust", "unknown key", "did you mean `burst`?");
    check_tier("rate: 1, zzz: 2", "zzz", "unknown key", "rate, burst");
    check_limit("algorithm: fixed_window, limit: 1/s, route: [convert]", "route", "unknown", "`routes`");
}

#[test]
fn whole_numbers_have_one_form() {
    check_tier("rate: 1e6", "1e6", "digits", "write 1000000");
    check_tier("rate: 1.0", "1.0", "digits", "write 1");
    check_tier("rate: 0x10", "0x10", "digits", "write 16");
    check_tier("rate: \"+5\"", "\"+5\"", "digits", "write 5");
    check_tier("rate: -5", "-5", "negative", "without a sign");
    check_tier("rate: fast", "fast", "whole number", "50_000");
    check_tier("rate: [1]", "[1]", "not a list", "10");
    check_tier("rate: ", "rate", "no value", "10");
    check_tier("quota: ", "quota", "no value", "null");
    check_tier("rate: 1, priority: 4294967296", "4294967296", "too large", "4_294_967_295");
}

#[test]
fn numbers_that_could_never_work_are_refused() {
    check_tier("rate: 0", "0", "zero", "from 1");
    check_tier("rate: 1, burst: 0", "0", "zero", "from 1");
    check_tier("quota: 0", "0", "zero", "from 1");
    check_tier("concurrency: 0", "0", "zero", "from 1");
    check_tier("rate: 1_000_000_001", "1_000_000_001", "more than", "1_000_000_000");
    check_tier("rate: 1, burst: 4294967296", "4294967296", "more than", "4_294_967_295");
    check_tier("rate: 1_000_000_000, burst_multiplier: 5", "5", "more than 4_294_967_295", "smaller");
    check_tier("rate: 1/400d, burst: 1000", "1000", "100 years", "smaller");
    check_tier("quota: 9007199254740992", "9007199254740992", "more than", "9_007_199_254_740_991");
    check_tier("quota: 99999999999999999999", "99999999999999999999", "too large", "9_007_199_254_740_991");
    check_tier("concurrency: 100_001", "100_001", "more than", "100_000");
    check_tier("rate: 1/401d", "1/401d", "out of range", "400d");
    check_tier("quota: 1, quota_window: sliding:401d", "sliding:401d", "too long", "400d");
    check_limit("algorithm: sliding_log, limit: 100_001/day", "100_001/day", "more than", "100_000");
    check_limit("algorithm: concurrency, limit: 1, lease: 401d", "401d", "too long", "400d");
    check_limit("algorithm: concurrency, limit: 1, lease: 0s", "0s", "zero", "1s");
}

#[test]
fn tiers_say_one_thing() {
    check("server: {}", "server", "has no `tiers`", "tiers:");
    check("tiers: {}", "tiers", "empty", "rate: 10");
    check("tiers:", "tiers", "empty", "indent");
    check("tiers: {t: {}}", "t", "no limits", "quota: null");
    check("tiers: {t: }", "t", "empty", "indent");
    check_tier("priority: 3", "t", "no limits", "rate");
    check_tier("bypass: true, rate: 1", "bypass", "bypass", "remove");
    check_tier("bypass: yes", "yes", "true or false", "`true`");
    check_tier("rate: 1, burst: 2, burst_multiplier: 2", "burst_multiplier", "both", "one of the two");
    check_tier("burst: 2, quota: 1", "burst", "without a `rate`", "add a `rate`");
    check_tier("rate: 1, quota_pool: key", "quota_pool", "without a `quota`", "null");
    check_tier("rate: 1, burst_multiplier: 0", "0", "from 0.001", "1.5");
    check("tiers: {a b: {rate: 1}}", "a b", "cannot name a tier", "letters");
    check("tiers: {\"custom:\": {rate: 1}}", "\"custom:\"", "cannot name a tier", "custom:");
}

#[test]
fn words_come_from_closed_lists() {
    check_tier("quota: 1, quota_window: calendar-month", "calendar-month", "may not be", "`calendar_month`");
    check_tier("quota: 1, quota_window: fortnight", "fortnight", "may not be", "sliding:<duration>");
    check_tier("quota: 1, on_quota_exceeded: bill", "bill", "may not be", "bill_overage");
    check_tier("quota: 1, quota_status: 500", "500", "402, 403 or 429", "429");
    check_tier("quota: 1, quota_pool: ip", "ip", "may not be", "account");
    check_tier("rate: 1, refund_on: 4xx", "4xx", "may not be", "5xx");
    check_tier("quota: 1, quota_window: sliding:10", "sliding:10", "duration", "10");
    check_limit("algorithm: leaky_bucket, limit: 1/s", "leaky_bucket", "may not be", "token_bucket");
    check_limit(
        "algorithm: fixed_window, limit: 1/s, per: ip",
        "ip",
        "may not be",
        "only `edge` counts addresses",
    );
}

#[test]
fn entries_of_limits_fit_their_algorithm() {
    check_limit("limit: 1/s", "{limit: 1/s}", "has no `algorithm`", "algorithm:");
    check_limit("algorithm: fixed_window", "{algorithm: fixed_window}", "has no `limit`", "limit:");
    check_limit("algorithm: fixed_window, limit: 3", "3", "per how long", "3/minute");
    check_limit("algorithm: calendar_day, limit: 3/day", "3/day", "plain number", "limit: 3");
    check_limit("algorithm: concurrency, limit: 3/s", "3/s", "plain number", "limit: 3");
    check_limit("algorithm: fixed_window, limit: 3/mnute", "3/mnute", "no time", "`minute`");
    check_limit("algorithm: fixed_window, limit: 3/month", "3/month", "no fixed length", "calendar_month");
    check_limit("algorithm: fixed_window, limit: 3/s, burst: 5", "burst", "token bucket", "remove");
    check_limit("algorithm: fixed_window, limit: 3/s, lease: 5s", "lease", "concurrency", "remove");
    check_limit("algorithm: concurrency, limit: 3, axis: rate", "axis", "neither", "remove");
    check_limit(
        "algorithm: fixed_window, limit: 3/s, on_exceeded: block",
        "on_exceeded",
        "for quotas",
        "axis: quota",
    );
    check_limit(
        "algorithm: token_bucket, limit: 3/s, axis: quota, on_exceeded: bill_overage",
        "token_bucket",
        "billed",
        "calendar_month",
    );
    check_limit(
        "algorithm: fixed_window, limit: 3/s, routes: [convrt]",
        "convrt",
        "not defined",
        "`convert`",
    );
    check_limit("algorithm: fixed_window, limit: 3/s, routes: []", "[]", "count nothing", "every request");
    check_limit(
        "algorithm: fixed_window, limit: 3/s, routes: [convert, convert]",
        "convert",
        "twice",
        "remove",
    );
    check_tier(
        "limits: {quota: {algorithm: fixed_window, limit: 1/s}}",
        "quota",
        "is the name",
        "another name",
    );
    check_tier(
        "limits: {strikes: {algorithm: fixed_window, limit: 1/s}}",
        "strikes",
        "remembers of each caller",
        "another name",
    );
    check_tier(
        "limits: {Xx: {algorithm: fixed_window, limit: 1/s}}",
        "Xx",
        "cannot name a limit",
        "lower-case",
    );
    let many: Vec<String> =
        (0..17).map(|n| format!("l{n}: {{algorithm: fixed_window, limit: 1/s}}")).collect();
    check_tier(&format!("limits: {{{}}}", many.join(", ")), "t", "17 limits", "at most 16");
}

#[test]
fn a_limit_that_another_one_shadows_is_refused() {
    let pair = |short: &str, long: &str| {
        let text = format!(
            "routes: {{r: {{match: /r}}}}\ntiers:\n  t:\n    rate: 1\n    limits:\n      \
             short: {{algorithm: {short}}}\n      \
             long: {{algorithm: {long}}}\n"
        );
        problems(&text)
    };
    let shadowed = [
        ("fixed_window, limit: 100/minute", "sliding_window, limit: 50/hour"),
        ("token_bucket, limit: 10/second, burst: 20", "fixed_window, limit: 8/minute"),
        ("fixed_window, limit: 100/minute", "token_bucket, limit: 50/hour"),
        ("fixed_window, limit: 10/day, per: account", "calendar_month, limit: 5"),
        ("fixed_window, limit: 10/day, routes: [r]", "fixed_window, limit: 5/week, routes: [r]"),
    ];
    for (short, long) in shadowed {
        let found = pair(short, long);
        assert_eq!(found.len(), 1, "{short} / {long}: {found:#?}");
        assert!(found[0].message.contains("`short` can never refuse anything: `long` on line 7"));
    }
    let fine = [
        ("fixed_window, limit: 100/minute", "sliding_window, limit: 100/hour"),
        ("fixed_window, limit: 100/minute", "sliding_window, limit: 50/hour, per: account"),
        ("fixed_window, limit: 100/minute, routes: [r]", "sliding_window, limit: 50/hour"),
        ("token_bucket, limit: 10/second, burst: 3", "fixed_window, limit: 5/minute"),
        ("token_bucket, limit: 10/second, burst: 20", "fixed_window, limit: 15/minute"),
        ("fixed_window, limit: 100/minute", "token_bucket, limit: 10_000/hour, burst: 10"),
        ("fixed_window, limit: 100/minute", "token_bucket, limit: 50/hour, burst: 500"),
        ("fixed_window, limit: 10/day, per: account", "calendar_month, limit: 5, on_exceeded: bill_overage"),
        ("fixed_window, limit: 10/30d, per: account", "calendar_month, limit: 5"),
        ("fixed_window, limit: 10/day, per: account", "concurrency, limit: 5"),
    ];
    for (short, long) in fine {
        assert_eq!(pair(short, long), [], "{short} / {long}");
    }
    assert_eq!(problems("tiers: {t: {rate: 100, quota: 50, quota_pool: key}}"), []);
}

#[test]
fn one_problem_does_not_hide_another() {
    let text = "tiers:\n  t:\n    rate: x\n    burst: 0\n    quota: y\n    limits:\n      \
                l: {algorithm: z, limit: w, per: ip, routes: [q]}\nroutes:\n  r: {match: bad, cost: 0}\n\
                identity: {anonymous: u, api_key: [v]}\nserver: {admin: s, trusted_proxies: [k]}\n\
                store: j\nblocks: {after: 0, within: h}\nzz: 1\n";
    assert_eq!(problems(text).len(), 17, "{:#?}", problems(text));
}

#[test]
fn problems_are_sorted_and_bounded() {
    let entries: Vec<String> = (0..150).map(|n| format!("  t{n}: {{rate: 0}}")).collect();
    let found = problems(&format!("tiers:\n{}\n", entries.join("\n")));
    assert_eq!(found.len(), PROBLEMS_MAX);
    assert!(found.is_sorted_by_key(|problem| problem.place));
    assert_eq!(found[PROBLEMS_MAX - 1].message, "and 51 more problems from here on");
}

#[test]
fn a_problem_in_an_aliased_value_is_one_problem() {
    assert_eq!(problems("tiers: {a: &a {rate: 0}, b: *a, c: *a}").len(), 1);
}

#[test]
fn a_cap_on_overage_needs_overage_that_is_billed() {
    let cap = "overage_cap";
    check_tier("quota: 5, overage_cap: 1", cap, "nothing is billed", "`on_quota_exceeded: bill_overage`");
    let blocked = "quota: 5, on_quota_exceeded: block, overage_cap: 1";
    check_tier(blocked, cap, "nothing is billed", "`on_quota_exceeded: bill_overage`");
    check_tier("rate: 1, overage_cap: 1", cap, "without a `quota`", "add a `quota`");
    let billed = "quota: 5, on_quota_exceeded: bill_overage";
    check_tier(&format!("{billed}, overage_cap: 0"), "0", "zero", "from 1");
    check_tier(&format!("{billed}, overage_cap: -1"), "-1", "negative", "without a sign");
    check_tier(&format!("{billed}, overage_cap: 50%"), "50%", "whole number", "50_000");
    let too_large = format!("{billed}, overage_cap: 9_007_199_254_740_987");
    check_tier(&too_large, "9_007_199_254_740_987", "more than", "9_007_199_254_740_986");
    let entry = "algorithm: calendar_day, limit: 5";
    check_limit(&format!("{entry}, overage_cap: 1"), cap, "nothing is billed", "`on_exceeded: bill_overage`");
    let rate = "algorithm: fixed_window, limit: 5/s, overage_cap: 1";
    check_limit(rate, cap, "nothing is billed", "`on_exceeded: bill_overage`");
}

#[test]
fn a_quota_that_is_logged_slides_and_has_an_end() {
    let key = "quota_algorithm";
    for window in ["", ", quota_window: calendar_day", ", quota_window: billing_month"] {
        let body = format!("quota: 5, quota_algorithm: sliding_log{window}");
        check_tier(&body, key, "windows that slide", "`quota_window: sliding_day`");
    }
    check_tier("rate: 1, quota_algorithm: sliding_log", key, "without a `quota`", "add a `quota`");
    let sliding = "quota_window: sliding_day, quota_algorithm";
    let wrong = format!("quota: 5, {sliding}: sliding_window");
    check_tier(&wrong, "sliding_window", "may not be", "sliding_buckets");
    let large = format!("quota: 100_001, {sliding}: sliding_log");
    check_tier(&large, "100_001", "more than 100_000", "use sliding_buckets");
    check_limit("algorithm: sliding_log, limit: 100_001/day", "100_001/day", "more than", "sliding_buckets");
}

#[test]
fn a_window_that_slides_bills_nothing() {
    let (slides, instead) = ("a window that slides has no periods", "`quota_window: calendar_month`");
    for window in ["sliding_day", "sliding:2h", "sliding_day, quota_algorithm: sliding_log"] {
        let body = format!("quota: 5, quota_window: {window}, on_quota_exceeded: bill_overage");
        check_tier(&body, "bill_overage", slides, instead);
        check_tier(&format!("{body}, overage_cap: 3"), "bill_overage", slides, "`on_quota_exceeded: block`");
    }
    for algorithm in ["sliding_window", "sliding_buckets", "sliding_log"] {
        let entry = format!("algorithm: {algorithm}, limit: 3/day, axis: quota, on_exceeded: bill_overage");
        check_limit(&entry, "bill_overage", slides, "calendar_month");
        check_limit(&format!("{entry}, overage_cap: 3"), "bill_overage", slides, "`on_exceeded: block`");
    }
}

#[test]
fn one_quota_of_a_tier_is_billed() {
    let bills = "algorithm: calendar_day, limit: 3, on_exceeded: bill_overage";
    let blocks = "algorithm: calendar_day, limit: 3";
    let both =
        format!("quota: 5, on_quota_exceeded: bill_overage, limits: {{daily: {{{bills}, overage_cap: 9}}}}");
    check_tier(&both, "daily", "`daily` bills overage, and `quota` does already", "`on_exceeded: block`");
    let two = format!("limits: {{first: {{{bills}}}, second: {{{bills}}}}}");
    check_tier(&two, "second", "and `first` does already", "one quota of a tier is billed");
    let fine = [
        format!("quota: 5, limits: {{daily: {{{bills}}}}}"),
        format!("quota: 5, on_quota_exceeded: bill_overage, limits: {{daily: {{{blocks}}}}}"),
    ];
    for body in fine {
        assert_eq!(problems(&format!("tiers: {{t: {{{body}}}}}")), []);
    }
}

#[test]
fn records_are_kept_for_as_long_as_quotas_need_them() {
    let message = "records must be kept for the longest quota window and 3 days";
    check("tiers: {t: {quota: 9}}\nledger: {raw: 33d}", "33d", message, "write at least 34d");
    check(
        "tiers: {t: {quota: 9, quota_window: calendar_day}}\nledger: {raw: 3d}",
        "3d",
        message,
        "at least 4d",
    );
    check("tiers: {t: {rate: 1}}\nledger: {raw: 200000d}", "200000d", "too long", "the longest is 36500d");
    let raw = |text: &str| read(text.as_bytes()).unwrap().policy.ledger.raw.0 / 1_000_000_000 / 86_400;
    assert_eq!(raw("tiers: {t: {quota: 9}}"), 35);
    assert_eq!(raw("tiers: {t: {quota: 9}}\nledger: {raw: 34d}"), 34);
    assert_eq!(raw("tiers: {t: {rate: 9}}\nledger: {raw: 1d}"), 1);
    assert_eq!(raw("tiers: {t: {quota: 9}}\nledger: {retain: 70d}"), 35);
    let retain = |text: &str| read(text.as_bytes()).unwrap().policy.ledger.retain.0 / 1_000_000_000 / 86_400;
    assert_eq!(retain("tiers: {t: {quota: 9}}\nledger: {raw: 500d}"), 500);
    assert_eq!(retain("tiers: {t: {quota: 9}}\nledger: {raw: 70d}"), 400);
    // Nobody has to say it where quotas count for longer.
    let long = "tiers: {t: {limits: {x: {algorithm: fixed_window, limit: 9/90d, axis: quota}}}}";
    assert_eq!(raw(long), 93);
}
