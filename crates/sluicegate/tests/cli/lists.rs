//! Lists that do not fit into one answer.

use serde_json::{Value, json};

use crate::run::{Ended, command, ended};
use crate::stub::{self, Stub};

const TOKEN: &str = "a-token-of-the-stub";

fn list(stub: &Stub, args: &[&str]) -> Ended {
    let mut list = command(&[&["account", "list", "--admin-url", stub.url()], args].concat());
    list.env("SLUICEGATE_ADMIN_TOKEN", TOKEN);
    ended(list)
}

fn account(id: &str) -> Value {
    json!({"id": id, "name": id, "tier": "pro", "custom": null, "billing_day": null, "timezone": null,
        "created_at": "2026-11-01T12:00:00.000Z"})
}

fn page(ids: &[&str], next: Option<&str>) -> String {
    let items: Vec<Value> = ids.iter().copied().map(account).collect();
    stub::json(&json!({"items": items, "next": next}).to_string())
}

fn ids(ended: &Ended) -> Vec<String> {
    let printed: Value = serde_json::from_str(&ended.stdout).unwrap();
    printed["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_page_is_asked_for() {
    let pages = [page(&["a", "b"], Some("c2")), page(&["c"], Some("c3")), page(&["d"], None)];
    let stub = Stub::answering(&pages.each_ref().map(String::as_str));
    let ended = list(&stub, &["--json"]);
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
    assert_eq!(ids(&ended), ["a", "b", "c", "d"]);
    assert_eq!(serde_json::from_str::<Value>(&ended.stdout).unwrap()["next"], Value::Null);
    let asked = [
        "GET /admin/v1/accounts?limit=1000 HTTP/1.1",
        "GET /admin/v1/accounts?limit=1000&cursor=c2 HTTP/1.1",
        "GET /admin/v1/accounts?limit=1000&cursor=c3 HTTP/1.1",
    ];
    assert_eq!(stub.asked(), asked);
}

#[test]
fn a_list_that_is_cut_says_where_it_goes_on() {
    let stub = Stub::answering(&[&page(&["a", "b"], Some("c2")), &page(&["c"], Some("c3"))]);
    let ended = list(&stub, &["--limit", "3"]);
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
    assert!(ended.stdout.ends_with("\nThere are more: go on with --cursor c3\n"), "{}", ended.stdout);
    assert_eq!(stub.asked()[1], "GET /admin/v1/accounts?limit=1&cursor=c2 HTTP/1.1");

    let stub = Stub::answering(&[&page(&["d"], None)]);
    assert_eq!(ids(&list(&stub, &["--json", "--cursor", "c3"])), ["d"]);
    assert_eq!(stub.asked(), ["GET /admin/v1/accounts?limit=1000&cursor=c3 HTTP/1.1"]);
}

#[test]
fn an_empty_page_that_claims_to_go_on_ends_the_list() {
    let stub = Stub::answering(&[&page(&[], Some("c2"))]);
    assert_eq!(ids(&list(&stub, &["--json"])), [""; 0]);
}

#[test]
fn no_name_speaks_to_the_terminal() {
    let stub = Stub::answering(&[&page(&["a\u{1b}[31m"], None)]);
    let ended = list(&stub, &[]);
    assert!(ended.status == 0 && ended.stdout.contains("a\u{fffd}[31m"), "{}", ended.stdout);
    assert!(!ended.stdout.contains('\u{1b}'));
}

#[test]
fn an_answer_of_another_version_is_not_understood() {
    let stub = Stub::answering(&[&stub::json("{\"accounts\":[]}")]);
    let ended = list(&stub, &[]);
    assert_eq!(ended.status, 1);
    assert!(ended.stderr.contains("is the server of another version?"), "{ended:?}");
}

#[test]
fn an_answer_without_end_is_given_up() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n".to_owned();
    let stub = Stub::answering(&[&(head + &" ".repeat(65 << 20))]);
    let ended = list(&stub, &[]);
    assert_eq!(ended.status, 1);
    assert!(ended.stderr.contains("the answer is larger than 64 MiB"), "{ended:?}");
}
