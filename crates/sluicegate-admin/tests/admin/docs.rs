//! The page about the API: every line that it says to type works, in its order.

use axum::body::Body;
use http::Request;

use crate::place::{Place, TOKEN};

const PAGE: &str = include_str!("../../../../docs/admin-api.md");

/// The client of the page.
const CLIENT: &str = "cl_0f1e2d3c4b5a69788796a5b4c3d2e1f0";

/// A line `curl …` of the page as a request. It knows what the page uses.
pub(crate) fn request(line: &str) -> Request<Body> {
    let (mut method, mut url, mut body, mut headers) = (None, None, None, Vec::new());
    let mut words = words(line).into_iter().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "-s" | "-i" => {}
            "-X" => method = words.next(),
            "-H" => headers.push(words.next().unwrap()),
            "-d" | "--data-binary" => body = words.next(),
            _ => {
                assert!(!word.starts_with('-'), "{word} is not known to this test: {line}");
                url = Some(word);
            }
        }
    }
    let method = method.unwrap_or_else(|| if body.is_some() { "POST" } else { "GET" }.to_owned());
    let mut request = Request::builder().method(method.as_str()).uri(url.unwrap().replace("$ADMIN", ""));
    for header in headers {
        let (name, value) = header.split_once(": ").unwrap();
        request = request.header(name, value.replace("$SLUICEGATE_ADMIN_TOKEN", TOKEN));
    }
    let body = body.map(|body| if body == "@policy.yaml" { crate::place::POLICY.to_owned() } else { body });
    request.body(body.map_or_else(Body::empty, Body::from)).unwrap()
}

/// The words of a line as a shell splits it.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, ' ') => words.push(String::new()),
            (_, c) => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn every_line_of_the_page_works() {
    let place = Place::new();
    let page = PAGE.replace("\\\n", "");
    let mut key = String::new();
    let mut lines = 0;
    for line in page.lines().filter(|line| line.starts_with("curl ")) {
        let reply = place.send(request(&line.replace("$KEY", &key).replace("$CLIENT", CLIENT)));
        assert!((200..300).contains(&reply.status), "{line}\n{}", reply.text);
        if line.contains("/keys'") || line.contains("/keys -") || line.contains("/keys\"") {
            let made: Option<serde_json::Value> = serde_json::from_str(&reply.text).ok();
            let id = made.and_then(|made| Some(made["id"].as_str()?.to_owned()));
            key = id.unwrap_or(key);
        }
        lines += 1;
    }
    assert!(lines >= 15, "{lines}");
}

#[test]
fn the_page_names_every_call() {
    let document = crate::openapi::document();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            let call = format!("`{} {path}`", method.to_uppercase());
            assert!(PAGE.contains(&call), "{call}");
        }
    }
}
