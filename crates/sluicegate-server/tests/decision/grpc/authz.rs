//! External authorization: the head of a request in, the answer of a gateway out.

use super::client::{CHECK, Client};
use crate::place::{Place, wait};

const PLANS: &str = "
tiers:
  free: {rate: 10, burst: 2, quota: 50, quota_window: calendar_day}
  small: {rate: 1_000, burst: 1_000, quota: 1, quota_window: calendar_day}
  single: {rate: 100, burst: 100, concurrency: 1}
routes:
  write: {match: 'POST /write', scope: 'data:write'}
";

fn get(headers: &[(&str, &str)]) -> String {
    request("GET", "/a?b=c", headers)
}

fn request(method: &str, path: &str, headers: &[(&str, &str)]) -> String {
    let headers: String = headers
        .iter()
        .map(|(name, value)| format!("headers {{ key: '{name}' value: '{value}' }} "))
        .collect();
    format!("method: '{method}' path: '{path}' {headers}")
}

#[test]
fn a_proxy_gets_the_answer_of_a_gateway() {
    let place = Place::new(PLANS).caller("free").caller("small");
    wait(async {
        let mut client = Client::of(&place).await;
        let key = get(&[(":authority", "api.example.com"), ("x-api-key", "<free>")]);
        for _ in 0..2 {
            let admitted = client.check(&place, &key).await;
            admitted.has(&["ok_response", "x-sluicegate-account", "acct_free", "ratelimit-limit"]);
        }
        client.check(&place, &key).await.has(&["code: TooManyRequests", "retry-after", "rate_limited"]);
        let small = get(&[("authorization", "Bearer <small>")]);
        client.check(&place, &small).await.has(&["ok_response"]);
        client.check(&place, &small).await.has(&["code: PaymentRequired", "quota_exceeded"]);
        client.check(&place, &get(&[])).await.has(&["code: Unauthorized", "www-authenticate", "Bearer"]);
        client.check(&place, &get(&[("x-api-key", "junk")])).await.has(&["code: Forbidden", "invalid_key"]);
        let two = get(&[("x-api-key", "<free>"), ("authorization", "Bearer other")]);
        client.check(&place, &two).await.has(&["code: BadRequest", "ambiguous_key"]);
        let scope = request("post", "/write", &[("x-api-key", "<small>")]);
        client.check(&place, &scope).await.has(&["code: Forbidden", "insufficient_scope"]);
        crate::golden::check("grpc_authz.txt", &client.transcript);
    });
    assert_eq!(place.used("free"), 2);
    assert_eq!(place.used("small"), 1);
}

#[test]
fn what_a_caller_says_of_itself_reaches_no_upstream() {
    let place =
        Place::new("{identity: {anonymous: open}, tiers: {open: {rate: 100, burst: 100}}}").caller("open");
    wait(async {
        let mut client = Client::of(&place).await;
        let spoofed =
            [("x-sluicegate-account", "acct_other"), ("X-Sluicegate-Zone", "yes"), ("x-other", "a")];
        let anonymous = client.check(&place, &get(&spoofed)).await;
        anonymous.has(&[
            "ok_response",
            "\"x-sluicegate-account\"",
            "\"x-sluicegate-zone\"",
            "x-sluicegate-tier",
        ]);
        assert!(!anonymous.text.contains("acct_other") && !anonymous.text.contains("x-other"));
        assert_eq!(anonymous.text.matches("x-sluicegate-account").count(), 1, "it is removed, and not set");
        let known = client.check(&place, &get(&[&spoofed[..], &[("x-api-key", "<open>")]].concat())).await;
        known.has(&["acct_open", "OVERWRITE_IF_EXISTS_OR_ADD", "\"x-sluicegate-zone\""]);
        assert_eq!(known.text.matches("x-sluicegate-account").count(), 1, "it is set, and so not removed");
    });
}

#[test]
fn headers_are_read_byte_for_byte_where_they_are_sent_so() {
    let place = Place::new(PLANS).caller("free");
    wait(async {
        let mut client = Client::of(&place).await;
        let raw = "method: 'GET' path: '/' header_map { headers { key: 'x-api-key' raw_value: '<free>' } \
                   headers { key: 'x-junk' raw_value: '\\377\\376' } }";
        client.check(&place, raw).await.has(&["ok_response", "acct_free"]);
        let twice = "method: 'GET' path: '/' header_map { headers { key: 'x-api-key' raw_value: '<free>' } \
                     headers { key: 'x-api-key' raw_value: 'other' } }";
        client.check(&place, twice).await.has(&["ambiguous_key"]);
        let junk = "method: 'GET' path: '/' header_map { headers { key: 'x-api-key' raw_value: '\\377' } }";
        client.check(&place, junk).await.has(&["invalid_key"]);
    });
}

#[test]
fn a_request_that_no_gateway_would_forward_is_refused() {
    let place = Place::new(PLANS).caller("free");
    wait(async {
        let mut client = Client::of(&place).await;
        for path in ["/a/../b", "/a//b", "a", "", "/a%2fb"] {
            let refused = client.check(&place, &request("GET", path, &[("x-api-key", "<free>")])).await;
            refused.has(&["code: BadRequest", "invalid_request"]);
        }
        client.check(&place, &request("G T", "/", &[])).await.has(&["code: BadRequest"]);
        client.call(CHECK, "").await.failed(3, "HTTP request");
        client.call(CHECK, "attributes { request {} }").await.failed(3, "HTTP request");
    });
    assert_eq!(place.used("free"), 0);
}

#[test]
fn a_caller_without_a_key_is_known_by_where_it_comes_from() {
    let place = Place::new("{identity: {anonymous: free}, tiers: {free: {rate: 1, burst: 1}}}");
    let from = |peer: &str, forwarded: &str| {
        format!(
            "attributes {{ source {{ address {{ socket_address {{ address: '{peer}' }} }} }} \
             request {{ http {{ {} }} }} }}",
            get(&[("x-forwarded-for", forwarded)])
        )
    };
    wait(async {
        let mut client = Client::of(&place).await;
        for (peer, forwarded, said) in [
            ("192.0.2.1", "", "ok_response"),
            ("192.0.2.1", "198.51.100.1", "TooManyRequests"),
            ("192.0.2.2", "192.0.2.1", "ok_response"),
            ("127.0.0.1", "198.51.100.7", "ok_response"),
            ("127.0.0.1", "192.0.2.3, 198.51.100.7, 127.0.0.9", "TooManyRequests"),
        ] {
            client.call(CHECK, &from(peer, forwarded)).await.has(&[said]);
        }
    });
}

#[test]
fn a_request_with_a_name_is_charged_once_where_the_route_says_so_and_no_place_is_held() {
    let policy = format!("{PLANS}\nroutes: {{named: {{match: /a, repeats: free}}}}");
    let place = Place::new(&policy).caller("free").caller("single");
    wait(async {
        let mut client = Client::of(&place).await;
        let named = |key| request("POST", "/a", &[("x-api-key", key), ("idempotency-key", "order 7")]);
        for _ in 0..2 {
            client.check(&place, &named("<free>")).await.has(&["ok_response"]);
        }
        for _ in 0..3 {
            client.check(&place, &get(&[("x-api-key", "<single>")])).await.has(&["ok_response"]);
        }
    });
    assert_eq!(place.used("free"), 1);
}
