//! The examples of the documentation, run in the order in which they stand there.

use std::path::Path;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;

use crate::place::{Place, answered, wait};
use crate::sessions::verifier::{Behaviour, Verifier, json};

/// A fenced block of JSON, with the line of text before it.
struct Example {
    before: String,
    json: String,
}

fn examples(page: &str) -> Vec<Example> {
    let mut examples = Vec::new();
    let mut before = "";
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if line == "```json" {
            let json: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
            examples.push(Example { before: std::mem::take(&mut before).to_owned(), json: json.join("\n") });
        } else if !line.is_empty() {
            before = line;
        }
    }
    examples
}

fn page(name: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    std::fs::read_to_string(page).unwrap()
}

/// The first fenced block of YAML.
fn policy(page: &str) -> String {
    let lines = page.lines().skip_while(|line| *line != "```yaml").skip(1);
    lines.take_while(|line| *line != "```").collect::<Vec<_>>().join("\n")
}

#[test]
fn sessions_are_given_and_used_as_their_page_says() {
    let page = page("clients.md");
    let secret = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(secret.path(), "secret").unwrap();
    wait(async {
        let verifier = Verifier::start(Behaviour::Reply(json(r#"{"success":true}"#))).await;
        let policy = policy(&page)
            .replace("https://challenges.cloudflare.com/turnstile/v0/siteverify", &verifier.url())
            .replace("env:TURNSTILE_SECRET", &format!("file:{}", secret.path().display()));
        let place = Place::new(&policy);
        let mut cookie = String::new();
        for Example { before, json } in examples(&page) {
            let uri = before.strip_prefix("`POST ").and_then(|rest| rest.split('`').next()).unwrap();
            let body = json.replace("sg_session=v1.…", cookie.split(';').next().unwrap());
            let request = Request::post(uri)
                .header("content-type", "application/json")
                .body(Full::new(Bytes::from(body)))
                .unwrap();
            let answer = answered(&place.service, request).await;
            if let Some(given) = answer.header("set-cookie") {
                assert_eq!((uri, answer.status), ("/v1/sessions", 204));
                given.clone_into(&mut cookie);
            } else {
                assert_eq!((uri, answer.status), ("/v1/check", 200), "{}", answer.body);
                assert_eq!(answer.member("/allowed"), true);
            }
        }
        let (value, attributes) = cookie.split_once(';').unwrap();
        assert!(page.contains(&format!("Set-Cookie: sg_session=v1.…;{attributes}\n")), "{cookie}");
        // What was asked was that session, and no other client.
        let headers = [("cookie", value), ("x-forwarded-method", "GET"), ("x-forwarded-uri", "/")];
        let mut request = Request::get("/v1/forward-auth");
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let answer = answered(&place.service, request.body(Full::new(Bytes::new())).unwrap()).await;
        assert_eq!((answer.status, answer.header("ratelimit-remaining")), (200, Some("18")));
    });
}

/// The permit in an answer.
fn permit_of(answer: &str) -> Option<String> {
    let answer: serde_json::Value = serde_json::from_str(answer).unwrap();
    answer["permit"].as_str().map(str::to_owned)
}

#[test]
fn every_example_of_the_page_is_answered_as_it_says() {
    let page = page("decision-api.md");
    let policy = "tiers: {pro: {rate: 100, burst: 300, quota: 5_000_000, quota_window: calendar_month}}";
    let place = Place::new(policy).caller("pro");
    let mut answered = None;
    let (mut asked, mut permit) = (0, String::new());
    for Example { before, json } in examples(&page) {
        let json = json.replace("sg_live_…", "<pro>");
        if let Some(given) = answered.as_deref().and_then(permit_of) {
            permit = given;
        }
        let json = json.replace("permit_…", &permit);
        if let Some(uri) = before.strip_prefix("`POST ").and_then(|rest| rest.split('`').next()) {
            let answer = place.ask("POST", uri, &[], &json);
            assert_eq!(answer.status, 200, "{json}\n{}", answer.body);
            answered = Some(answer.body);
            asked += 1;
        } else {
            let answer: String = answered.take().unwrap();
            let (told, said): (serde_json::Value, serde_json::Value) =
                (serde_json::from_str(&json).unwrap(), serde_json::from_str(&answer).unwrap());
            assert_eq!(told, said, "the page does not say what is answered:\n{answer}");
        }
    }
    assert!(asked >= 5 && !permit.is_empty());
}
