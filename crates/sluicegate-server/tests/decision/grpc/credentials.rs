//! What callers of the rate limit service may do with and without a token.

use sluicegate_core::policy::{May, Permissions};
use sluicegate_server::Access;
use sluicegate_store::directory::{Page, PageLimit, Writer};
use sluicegate_store::token::{NewToken, Role, TokenName};

use super::client::{Client, descriptor};
use crate::place::{Place, wait};

const PLANS: &str = "
tiers: {free: {rate: 1_000, burst: 1_000, quota: 50, quota_window: calendar_day}}
descriptors: {api: [{key: generic_key, rate_limit: {unit: minute, requests_per_unit: 10}}]}
";

const PERMISSION_DENIED: u8 = 7;
const UNAUTHENTICATED: u8 = 16;

fn without_permissions(access: Access) -> Place {
    let mut place = Place::new(PLANS).caller("free");
    place.service = place.service.clone().with_access(access);
    place
}

fn token(place: &Place, name: &str, may: &[May]) -> String {
    let by = Writer { who: "test".to_owned(), now: place.engine.now() };
    let (name, may) = (TokenName::new(name).unwrap(), may.iter().copied().collect());
    let new = NewToken { name, role: Role::Decide, may, expires_at: None };
    wait(place.engine.directory().create_token(new, &by)).unwrap().1.expose().to_owned()
}

#[test]
fn a_foreign_account_is_not_charged_without_the_permission_to_vouch() {
    let place = without_permissions(Access::open(Permissions::NONE));
    let (vouching, plain) = (token(&place, "vouches", &[May::Vouch]), token(&place, "plain", &[]));
    wait(async {
        let mut client = Client::of(&place).await;
        for entries in [&[("account", "acct_free")][..], &[("tier", "free")]] {
            let named = descriptor(entries, "");
            client.limit(&place, &named).await.failed(PERMISSION_DENIED, "vouch");
            client.bearer = Some(plain.clone());
            client.limit(&place, &named).await.failed(PERMISSION_DENIED, "vouch");
            client.bearer = None;
        }
        // With its own key a caller needs nobody's word.
        client.limit(&place, &descriptor(&[("api_key", "<free>")], "")).await.has(&["overall_code: OK"]);
        client.bearer = Some(vouching);
        client.limit(&place, &descriptor(&[("account", "acct_free")], "")).await.has(&["overall_code: OK"]);
    });
    assert_eq!(place.used("free"), 2);
}

#[test]
fn negative_hits_give_nothing_back_without_the_permission_to_refund() {
    let place = without_permissions(Access::open(Permissions::NONE));
    let refunding = token(&place, "refunds", &[May::Refund]);
    let charged = descriptor(&[("api_key", "<free>")], "hits_addend { value: 5 }");
    let back = descriptor(&[("api_key", "<free>")], "hits_addend { value: 5 } is_negative_hits: true");
    let of_descriptor = descriptor(&[("generic_key", "x")], "is_negative_hits: true");
    wait(async {
        let mut client = Client::of(&place).await;
        client.limit(&place, &charged).await.has(&["overall_code: OK"]);
        client.limit(&place, &back).await.failed(PERMISSION_DENIED, "refund");
        client.limit(&place, &of_descriptor).await.failed(PERMISSION_DENIED, "refund");
        // A call that is half forbidden charges nothing.
        client.limit(&place, &format!("{charged} {back}")).await.failed(PERMISSION_DENIED, "refund");
    });
    assert_eq!(place.used("free"), 5);
    wait(async {
        let mut client = Client::of(&place).await;
        client.bearer = Some(refunding);
        client.limit(&place, &back).await.has(&["overall_code: OK"]);
        client.limit(&place, &of_descriptor).await.has(&["overall_code: OK"]);
    });
    assert_eq!(place.used("free"), 0);
    wait(place.engine.note_access(place.engine.now(), true)).unwrap();
    let page = Page { limit: PageLimit::new(100).unwrap(), cursor: None };
    let audit = wait(place.engine.directory().list_audit(page)).unwrap().items;
    let given: Vec<_> = audit.iter().filter(|entry| entry.action == "usage.give_back").collect();
    assert_eq!(given.len(), 2, "{audit:?}");
    assert!(given.iter().all(|entry| entry.who == "refunds"), "{given:?}");
    let of_account = given.iter().find(|entry| entry.target == "acct_free").unwrap();
    assert_eq!(of_account.after.as_ref().unwrap()["units"], 5, "{given:?}");
}

#[test]
fn a_port_that_needs_a_token_answers_health_alone_without_one() {
    let place = without_permissions(Access::required());
    let (right, named) = (token(&place, "envoy", &[]), descriptor(&[("api_key", "<free>")], ""));
    wait(async {
        let mut client = Client::of(&place).await;
        client.limit(&place, &named).await.failed(UNAUTHENTICATED, "token");
        client.check(&place, "path: '/'").await.failed(UNAUTHENTICATED, "token");
        client.call("grpc.health.v1.Health/Check", "").await.has(&["SERVING"]);
        client.bearer = Some(format!("{right}x"));
        client.limit(&place, &named).await.failed(UNAUTHENTICATED, "wrong");
        client.bearer = Some(right);
        client.limit(&place, &named).await.has(&["overall_code: OK"]);
    });
}
