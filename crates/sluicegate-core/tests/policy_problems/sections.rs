//! Problems outside the tiers: routes, identity, addresses, abuse, answers.

use sluicegate_core::file::render;

use super::{check, check_section, problems};

#[test]
fn routes_can_match() {
    let check_route = |pattern: &str, message: &str| {
        check_section(
            &format!("routes: {{r: {{match: '{pattern}'}}}}"),
            &format!("'{pattern}'"),
            message,
            "",
        );
    };
    check_route("api", "no path");
    check_route("get /api", "capital");
    check_route("/a/**/b", "before the end");
    check_route("/a*", "mixes");
    check_route("/a//b", "no request");
    check_route("/a?b=1", "no request");
    check_section("routes: {r: {cost: 1}}", "{cost: 1}", "has no `match`", "match:");
    check_section("routes: {r: {match: /a, cost: 0}}", "0", "zero", "from 1");
    check_section("routes: {R: {match: /a}}", "R", "cannot name a route", "lower-case");
    check_section("routes: {r: {match: /a, scope: 'a b'}}", "'a b'", "no scope", "convert:write");
    check_section("routes: {r: {match: /a, upstream: ftp://x}}", "ftp://x", "no URL", "http://");
    check_section(
        "routes: {a: {match: /x/**}, b: {match: GET /x/y}}",
        "GET /x/y",
        "`b` can never match: `a` above",
        "move `b` above `a`",
    );
    let many: Vec<String> = (0..1001).map(|n| format!("r{n}: {{match: /{n}}}")).collect();
    check_section(&format!("routes: {{{}}}", many.join(", ")), "routes", "1001 routes", "at most 1000");
}

#[test]
fn identity_names_what_exists() {
    check_section("identity: {anonymous: fre}", "fre", "not defined", "did you mean `free`?");
    check_section("identity: {anonymous: inside}", "inside", "bypass", "with limits");
    check_section("identity: {api_key: [cookie]}", "cookie", "no place", "header:cookie");
    check_section("identity: {api_key: []}", "[]", "no place", "bearer");
    check_section("identity: {api_key: [bearer, bearer]}", "bearer", "twice", "remove");
    check_section("identity: {api_key: ['header:a b']}", "'header:a b'", "name of a header", "X-API-Key");
    check_section(
        "identity: {api_key: ['header:Authorization']}",
        "'header:Authorization'",
        "alone",
        "bearer",
    );
    check_section("identity: {service_token: bearer}", "bearer", "name of a header", "X-Service-Token");
    check_section(
        "identity: {service_token: 'header:x-api-key'}",
        "'header:x-api-key'",
        "both",
        "of its own",
    );
    check_section("identity: {fingerprint: ['a b']}", "'a b'", "no name of a header", "user-agent");
    check_section("identity: {address: {v4: 33}}", "33", "leading bits", "from 8 to 32");
    check_section("identity: {address: {v6: 128}}", "128", "leading bits", "from 16 to 64");
    check_section("identity: {session_cookie: {per_address: 20}}", "20", "per how long", "20/hour");
    check_section("identity: {session_cookie: {per_address: 0/hour}}", "0/hour", "zero", "from 1");
    check_section("identity: {session_cookie: {name: 'a;b'}}", "'a;b'", "cookie", "sg_session");
    check_section("identity: {session_cookie: {max_age: 401d}}", "401d", "browser", "400d");
    check_section(
        "identity: {challenge: {verify_url: 'https://h'}}",
        "{verify_url: 'https://h'}",
        "no `secret`",
        "",
    );
}

#[test]
fn secrets_are_refused_and_never_repeated() {
    let cases = [
        "identity: {challenge: {verify_url: 'https://h', secret: hunter2}}",
        "identity: {challenge: {verify_url: 'https://h', secret: 'env:hunter2-x'}}",
        "store: redis://:hunter2@h",
        "server: {upstream: 'http://u:hunter2@h'}",
        "alerts: {webhook: 'https://hunter2@h'}",
        "alerts: {webhook: 'https://h', secret: hunter2}",
    ];
    for case in cases {
        let found = problems(&format!("tiers: {{a: {{rate: 1}}}}\n{case}"));
        assert_eq!(found.len(), 1, "{case}");
        assert!(!format!("{found:?}").contains("hunter2"), "{found:?}");
    }
    let fine = ["env:TURNSTILE_SECRET", "file:/run/secrets/turnstile"];
    for secret in fine {
        let text = format!(
            "tiers: {{a: {{rate: 1}}}}\nidentity: {{challenge: {{verify_url: 'https://h', secret: '{secret}'}}}}"
        );
        assert_eq!(problems(&text), []);
    }
}

#[test]
fn addresses_and_urls_are_ones() {
    check_section("server: {gateway: 'localhost:80'}", "'localhost:80'", "no address", "127.0.0.1:80");
    check_section("server: {gateway: ':80'}", "':80'", "no address", "0.0.0.0:80");
    check_section("server: {gateway: 8080}", "8080", "no address", "127.0.0.1:8080");
    check_section("server: {decision: '127.0.0.1:9090'}", "'127.0.0.1:9090'", "share", "of their own");
    check_section("server: {upstream: 127.0.0.1}", "127.0.0.1", "no URL", "http://");
    check_section("server: {trusted_proxies: [10.1.2.3/8]}", "10.1.2.3/8", "bits", "10.0.0.0/8");
    check_section("server: {trusted_proxies: [10.0.0.0/40]}", "10.0.0.0/40", "prefix", "32");
    check_section("server: {proxy_protocol: true}", "proxy_protocol", "there are none", "trusted_proxies");
    check_section("server: {proxy_protocol: v2}", "v2", "true or false", "`true` or `false`");
    check_section("server: {forwarded: x-forwarded}", "x-forwarded", "forwarded", "`forwarded`");
    check_section("server: {tls: {cert: a.pem}}", "{cert: a.pem}", "no `key`", "key:");
    check_section("store: embeded", "embeded", "neither embedded nor a URL", "`embedded`");
    check_section("store: mysql://h", "mysql://h", "nor a URL", "redis://");
    check_section("store: redis://", "redis://", "host", "redis://127.0.0.1:6379");
    check_section("ledger: {export: /tmp}", "/tmp", "no place", "file:///");
    check_section("ledger: {retain: 40000d}", "40000d", "too long", "36500d");
    check_section("ledger: {retain: 2d, raw: 40d}", "2d", "as long as single records", "retain: 40d");
    check_section("ledger: {retain: 20d}", "20d", "as long as single records", "retain: 35d");
    check_section("alerts: {webhook: example.com}", "example.com", "no URL", "https://");
}

#[test]
fn abuse_settings_make_sense() {
    check_section("edge: {burst: 5}", "{burst: 5}", "has no `rate`", "rate:");
    check_section("edge: {rate: 5, per: key}", "key", "may not be", "before identity");
    check_section("reputation: {penalty: 101}", "101", "more than 100", "100");
    check_section("reputation: {recover: 1}", "1", "how long", "1/10m");
    check_section("reputation: {recover: 1/400d}", "1/400d", "more than 100 years", "sooner");
    check_section("blocks: {after: 0}", "0", "zero", "from 1");
    check_section("blocks: {for: 2h, max: 1h}", "1h", "shorter", "as long as");
    check_section("blocks: {applies_to: keys}", "keys", "may not be", "all");
    check_section("pressure: {squeeze_to: 50}", "50", "share", "write 50%");
    check_section("pressure: none", "none", "must be off or a mapping", "write off");
    check_section("pressure: {share: 0}", "0", "zero", "from 1");
    check_section("pressure: {window: 10}", "10", "duration", "10m");
    check_section("shedding: {target: 20}", "20", "a short time", "20ms or 20s");
    check_section("shedding: {target: 20 ms}", "20 ms", "a short time", "write 20ms");
    check_section("shedding: {target: 0ms}", "0ms", "zero", "1ms");
    check_section("shedding: {target: 61s}", "61s", "too long", "60s");
    check_section("shedding: {floor: 51%}", "51%", "less to the highest", "50%");
    check_section("shedding: {floors: 5%}", "floors", "unknown key", "`floor`");
    check_section("degraded: {cap: 0%}", "0%", "share", "40%");
    check_section("degraded: {rate: reconcile}", "reconcile", "may not be", "only quotas");
    check_section("responses: {headers: [ietf, ietf]}", "ietf", "twice", "remove");
    check_section("responses: {headers: ietf}", "ietf", "a list", "[a, b]");
    assert_eq!(
        problems("tiers: {a: {rate: 1}}\nblocks: {for: 2h}\nreputation: {}\npressure: {}\nedge: {rate: 1}"),
        []
    );
    assert_eq!(problems("tiers: {a: {rate: 1}}\nshedding: {}"), []);
    assert_eq!(problems("tiers: {a: {rate: 1}}\nshedding: {target: 60s, floor: 50%}"), []);
}

#[test]
fn what_may_be_a_secret_is_repeated_nowhere() {
    for section in [
        "identity: {challenge: {verify_url: https://x.example, secret: hunter2}}",
        "identity: {challenge: {verify_url: https://x.example, secret: 0x48f2}}",
        "server: {upstream: 'http://me:hunter2@h'}",
        "server: {upstream: 'ftp://me:hunter2@h'}",
        "store: redis://:hunter2@h",
        "store: mysql://:hunter2@h",
        "ledger: {export: 's3:/key:hunter2@bucket'}",
        "alerts: {webhook: 'https://me:hunter2@h', wbhook: 1}",
        "alerts: {webhook: 'https://h', secret: hunter2}",
    ] {
        let text = format!("tiers: {{free: {{rate: 1}}}}\n{section}\n");
        let page = render(&problems(&text), "policy.yaml", &text);
        assert!(page.contains("policy.yaml:2:"), "{page}");
        assert!(!page.contains("hunter2") && !page.contains("0x48f2"), "{page}");
    }
}

#[test]
fn descriptors_say_what_they_count() {
    let check = |list: &str, underlined: &str, message: &str, help: &str| {
        check_section(&format!("descriptors: {{edge: {list}}}"), underlined, message, help);
    };
    check("[]", "edge", "no descriptor", "remote_address");
    check("[{key: a}]", "{key: a}", "nothing is said", "limit");
    check("[{limit: 1/s}]", "{limit: 1/s}", "no `key`", "key");
    check("[{key: '', limit: 1/s}]", "''", "empty", "Envoy");
    check("[{key: a, value: '*', limit: 1/s}]", "'*'", "every value", "leave `value` out");
    check("[{key: a, limit: 5}]", "5", "per how long", "5/minute");
    check("[{key: a, limit: 5/s, algorithm: concurrency}]", "concurrency", "may not be", "by a window");
    check("[{key: a, limit: 5/s, burst: 3}]", "burst", "token bucket", "token_bucket");
    check("[{key: a, burst: 3, descriptors: [{key: b, limit: 1/s}]}]", "burst", "belongs", "limit");
    check("[{key: a, limit: 5/s, name: strikes}]", "strikes", "cannot name", "lower-case");
    check(
        "[{key: a, limit: 1/s, rate_limit: {unit: day, requests_per_unit: 2}}]",
        "rate_limit",
        "both say",
        "keep one",
    );
    check("[{key: a, rate_limit: {unit: day}}]", "{unit: day}", "needs", "requests_per_unit");
    check(
        "[{key: a, rate_limit: {unit: fortnight, requests_per_unit: 1}}]",
        "fortnight",
        "may not be",
        "week",
    );
    check("[{key: a, rate_limit: {unlimited: true, unit: day}}]", "unit", "no amount", "remove");
    check("[{key: a, limit: 1/s}, {key: a, limit: 2/s}]", "{key: a, limit: 2/s}", "twice", "one of the two");
    check("[{key: a, descriptors: [{key: b}]}]", "{key: b}", "nothing is said", "limit");
    let fine = "[{key: a, value: x, limit: 1/s}, {key: a, value: x*, limit: 1/s}, {key: a, limit: 1/s},
        {key: b, descriptors: [{key: c, shadow_mode: true, rate_limit: {unlimited: true}}]}]";
    assert_eq!(problems(&format!("tiers: {{a: {{rate: 1}}}}\ndescriptors: {{edge: {fine}}}")), []);
}

#[test]
fn a_cost_that_no_tier_ever_admits_is_refused() {
    let tiers = "tiers: {free: {rate: 1, burst: 5}, pro: {rate: 2, burst: 20, quota: 100}}";
    check(
        &format!("{tiers}\nroutes: {{export: {{match: /export, cost: 21}}}}"),
        "21",
        "costs 21, more than any tier ever admits",
        "at most 20, which `rate` of the tier `pro` admits",
    );
    // What counts only other routes says nothing, and what is billed has no end.
    let other = "tiers: {free: {limits: {few: {algorithm: fixed_window, limit: 3/day, routes: [other]}}}}";
    let routes = "routes: {export: {match: /export, cost: 21}, other: {match: /other, cost: 3}}";
    assert_eq!(problems(&format!("{other}\n{routes}")), []);
    let billed = "tiers: {t: {quota: 5, on_quota_exceeded: bill_overage}}";
    assert_eq!(problems(&format!("{billed}\nroutes: {{a: {{match: /a, cost: 21}}}}")), []);
    let capped = "tiers: {t: {quota: 5, on_quota_exceeded: bill_overage, overage_cap: 10}}";
    assert_eq!(problems(&format!("{capped}\nroutes: {{a: {{match: /a, cost: 15}}}}")), []);
    check(
        &format!("{capped}\nroutes: {{a: {{match: /a, cost: 16}}}}"),
        "16",
        "costs 16, more than any tier ever admits",
        "at most 15, which `quota` of the tier `t` admits",
    );
    // A bypass tier admits every cost.
    assert_eq!(problems("tiers: {t: {rate: 1}, i: {bypass: true}}\nroutes: {a: {match: /a, cost: 9}}"), []);
}
