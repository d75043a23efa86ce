//! Sessions from end to end: a challenge is answered, a cookie issued, and whoever sends it is the same client.

pub(crate) mod verifier;

use std::net::SocketAddr;
use std::time::Duration;

use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::place::{Place, wait};
use crate::wire::{exchange, start};
use verifier::{Behaviour, Verifier, closed_port, json};

/// A place whose challenges are verified at this URL.
struct Bed {
    place: Place,
    secret: TempDir,
}

fn bed(verify_url: &str) -> Bed {
    bed_with(verify_url, "{}")
}

/// The same, with more about the cookie.
fn bed_with(verify_url: &str, cookie: &str) -> Bed {
    let secret = tempfile::tempdir().unwrap();
    let path = secret.path().join("secret");
    std::fs::write(&path, "the secret\n").unwrap();
    let policy = format!(
        "identity: {{anonymous: free, session_cookie: {cookie}, \
         challenge: {{verify_url: '{verify_url}', secret: 'file:{}'}}}}\n\
         tiers: {{free: {{rate: 1/hour, burst: 1}}}}\n",
        path.display()
    );
    Bed { place: Place::new(&policy), secret }
}

/// What is answered to whoever sends this answer to the challenge.
async fn ask(address: SocketAddr, body: &str) -> String {
    let request = format!(
        "POST /v1/sessions HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Forwarded-For: 198.51.100.7\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    exchange(address, request.as_bytes()).await
}

const ANSWERED: &str = r#"{"response":"the answer"}"#;

/// The value of the cookie that an answer sets.
fn cookie_of(answer: &str) -> Option<&str> {
    let line = answer.lines().find_map(|line| line.strip_prefix("set-cookie: sg_session="))?;
    Some(line.split(';').next().unwrap())
}

#[test]
fn who_passes_the_challenge_gets_a_cookie_and_is_the_same_client_everywhere() {
    wait(async {
        let verifier = Verifier::start(Behaviour::Reply(json(r#"{"success":true}"#))).await;
        let bed = bed(&verifier.url());
        let address = start(&bed.place);
        let answer = ask(address, ANSWERED).await;
        assert!(answer.starts_with("HTTP/1.1 204 No Content\r\n"), "{answer}");
        assert!(answer.contains("; Max-Age=2592000; Path=/; HttpOnly; Secure; SameSite=Lax\r\n"), "{answer}");
        assert!(answer.contains("cache-control: no-store\r\n"), "{answer}");
        let (head, form) = verifier.asked().remove(0);
        assert!(head.starts_with("POST /siteverify?v=0 HTTP/1.1\r\n"), "{head}");
        assert_eq!(form, "secret=the%20secret&response=the%20answer&remoteip=198.51.100.7");

        // One charge is all this client has, whatever it calls from, with or through.
        let cookie = cookie_of(&answer).unwrap().to_owned();
        let check = async |client: &str| {
            let body = format!("{{\"client\":{}}}", client.replace("<cookie>", &cookie));
            let head = "POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nConnection: close\r\n\
                        Content-Length: ";
            let answer = exchange(address, format!("{head}{}\r\n\r\n{body}", body.len()).as_bytes()).await;
            answer.contains("\"allowed\":true")
        };
        assert!(
            check(r#"{"ip":"192.0.2.1","cookie":"sg_session=<cookie>","headers":{"User-Agent":"one"}}"#)
                .await
        );
        for again in [
            r#"{"ip":"192.0.2.2","cookie":"a=b; sg_session=<cookie>","headers":{"User-Agent":"two"}}"#,
            r#"{"ip":"2001:db8::1","cookie":"<cookie>"}"#,
            r#"{"headers":{"Cookie":"sg_session=<cookie>"}}"#,
        ] {
            assert!(!check(again).await, "{again}");
        }
        assert!(
            check(r#"{"ip":"192.0.2.1","headers":{"User-Agent":"one"}}"#).await,
            "without it, it is another"
        );
        let forward = format!(
            "GET /v1/forward-auth HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Forwarded-Method: GET\r\n\
             X-Forwarded-Uri: /\r\nX-Forwarded-For: 192.0.2.3\r\nCookie: sg_session={cookie}\r\n\r\n"
        );
        let answer = exchange(address, forward.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 429 "), "{answer}");

        // Another session is another client.
        let other = ask(address, "name=x&cf-turnstile-response=the+answer").await;
        assert_ne!(cookie_of(&other).unwrap(), cookie);
        assert_eq!(verifier.asked().remove(0).1, form);
    });
}

#[test]
fn cookies_that_are_forged_cut_off_or_over_are_as_if_they_were_not_there() {
    wait(async {
        let verifier = Verifier::start(Behaviour::Reply(json(r#"{"success":true}"#))).await;
        let bed = bed(&verifier.url());
        let address = start(&bed.place);
        let cookie = cookie_of(&ask(address, ANSWERED).await).unwrap().to_owned();
        let mut allowed = Vec::new();
        let last = if cookie.ends_with('0') { "1" } else { "0" };
        let forged = format!("{}{last}", &cookie[..cookie.len() - 1]);
        let plain = r#"{"client":{"ip":"192.0.2.1"}}"#.to_owned();
        let with = |cookie: &str| {
            format!("{{\"client\":{{\"ip\":\"192.0.2.1\",\"cookie\":\"sg_session={cookie}\"}}}}")
        };
        let long = "x".repeat(4_096);
        // All of them are the client that has no cookie, which has one charge.
        for body in [plain, with(&forged), with(&cookie[..40]), with(""), with("v1.a.b.c"), with(&long)] {
            let answer = crate::place::answered(
                &bed.place.service,
                http::Request::post("/v1/check")
                    .header("content-type", "application/json")
                    .body(http_body_util::Full::new(body.into()))
                    .unwrap(),
            );
            let answer = answer.await;
            assert_eq!(answer.status, 200);
            allowed.push(answer.member("/allowed"));
        }
        assert_eq!(allowed, [true, false, false, false, false, false].map(serde_json::Value::from));
        let valid = |at: u32| {
            bed.place.engine.clock().set(sluicegate_core::time::Timestamp::from_secs(at));
            bed.place.engine.sessions().verify(&cookie, bed.place.engine.now()).is_some()
        };
        let end = cookie.split('.').nth(2).unwrap().parse::<u32>().unwrap();
        assert!(valid(end - 1));
        assert!(!valid(end));
    });
}

/// Who fails whom, and what the caller is told.
async fn refused(behaviour: Behaviour, status: &str, error: &str) {
    let verifier = Verifier::start(behaviour).await;
    let bed = bed(&verifier.url());
    let answer = ask(start(&bed.place), ANSWERED).await;
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    assert!(answer.contains(&format!("\"error\":\"{error}\"")), "{answer}");
    assert!(!answer.contains("set-cookie"), "{answer}");
    assert_eq!(answer.contains("retry-after: "), status == "503", "{answer}");
}

#[test]
fn who_does_not_pass_the_challenge_gets_no_cookie() {
    wait(async {
        for no in [r#"{"success":false}"#, r#"{"success":false,"error-codes":["timeout-or-duplicate"]}"#] {
            refused(Behaviour::Reply(json(no)), "403", "challenge_failed").await;
        }
    });
}

#[test]
fn a_verifier_that_makes_no_sense_lets_nobody_in() {
    wait(async {
        let endless = format!("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n{}", " ".repeat(1_000_000));
        for nonsense in [
            json(""),
            json("true"),
            json("{\"success\":\"true\"}"),
            json("{\"success\":true"),
            json(r#"{"success":false,"error-codes":["invalid-input-secret"]}"#),
            json(r#"{"success":true}"#).replace("200 OK", "500 Internal Server Error"),
            json(r#"{"success":true}"#).replace("200 OK", "302 Found"),
            "success: true\r\n\r\n".to_owned(),
            "HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{\"success\":".to_owned(),
            endless,
        ] {
            refused(Behaviour::Reply(nonsense), "503", "unavailable").await;
        }
        refused(Behaviour::Close, "503", "unavailable").await;
    });
}

#[test]
fn nobody_waits_long_for_a_verifier_that_hangs() {
    wait(async {
        for behaviour in [Behaviour::Hang, Behaviour::Trickle] {
            let began = Instant::now();
            refused(behaviour, "503", "unavailable").await;
            let took = began.elapsed();
            assert!((4..10).contains(&took.as_secs()), "{took:?}");
        }
    });
}

#[test]
fn a_verifier_that_is_gone_or_that_nobody_can_vouch_for_lets_nobody_in() {
    wait(async {
        let gone = closed_port().await;
        let unknown = Verifier::start(Behaviour::Reply(json(r#"{"success":true}"#))).await.under_tls();
        for url in [format!("http://{gone}/siteverify"), unknown, "http://name.invalid/".to_owned()] {
            let answer = ask(start(&bed(&url).place), ANSWERED).await;
            assert!(answer.starts_with("HTTP/1.1 503 ") && !answer.contains("set-cookie"), "{url}: {answer}");
        }
    });
}

#[test]
fn without_the_secret_nobody_is_asked() {
    wait(async {
        let verifier = Verifier::start(Behaviour::Reply(json(r#"{"success":true}"#))).await;
        let bed = bed(&verifier.url());
        std::fs::remove_file(bed.secret.path().join("secret")).unwrap();
        let answer = ask(start(&bed.place), ANSWERED).await;
        assert!(answer.starts_with("HTTP/1.1 503 ") && !answer.contains("set-cookie"), "{answer}");
        assert!(!answer.contains("secret"), "{answer}");
        assert_eq!(verifier.asked().len(), 0);
    });
}

#[test]
fn what_is_no_answer_to_a_challenge_is_not_passed_on() {
    wait(async {
        let verifier = Verifier::start(Behaviour::Reply(json(r#"{"success":true}"#))).await;
        let bed = bed(&verifier.url());
        let address = start(&bed.place);
        for body in ["", "{}", r#"{"response":""}"#, r#"{"response":"a","response":"b"}"#, "response=", "x=y"]
        {
            let answer = ask(address, body).await;
            assert!(answer.starts_with("HTTP/1.1 400 "), "{body}: {answer}");
        }
        let large = format!("response={}", "x".repeat(16 * 1_024));
        assert!(ask(address, &large).await.starts_with("HTTP/1.1 413 "));
        assert_eq!(verifier.asked().len(), 0);
    });
}

#[test]
fn callers_cannot_make_it_call_the_verifier_without_end() {
    wait(async {
        let verifier = Verifier::start(Behaviour::Gate(json(r#"{"success":true}"#))).await;
        let bed = bed_with(&verifier.url(), "{per_address: 1_000/hour}");
        let address = start(&bed.place);
        let mut waiting = JoinSet::new();
        for _ in 0..64 {
            waiting.spawn(ask(address, ANSWERED));
        }
        while verifier.asked_so_far() < 64 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let answer = ask(address, ANSWERED).await;
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
        verifier.open();
        while let Some(answer) = waiting.join_next().await {
            assert!(answer.unwrap().starts_with("HTTP/1.1 204 "));
        }
        assert_eq!(verifier.asked_so_far(), 64);
        assert!(ask(address, ANSWERED).await.starts_with("HTTP/1.1 204 "));
    });
}

#[test]
fn an_address_is_issued_so_many_sessions_in_any_hour() {
    wait(async {
        let verifier = Verifier::start(Behaviour::Reply(json(r#"{"success":true}"#))).await;
        let bed = bed_with(&verifier.url(), "{per_address: 2/hour}");
        let (address, clock) = (start(&bed.place), bed.place.engine.clock());
        let begin = bed.place.engine.now();
        let later = |secs| clock.set(begin.plus(sluicegate_core::time::Nanos::from_secs(secs)));
        assert!(ask(address, ANSWERED).await.starts_with("HTTP/1.1 204 "));
        later(1_000);
        assert!(ask(address, ANSWERED).await.starts_with("HTTP/1.1 204 "));
        let refused = ask(address, ANSWERED).await;
        assert!(refused.starts_with("HTTP/1.1 429 "), "{refused}");
        assert!(refused.contains("retry-after: 2600\r\n") && !refused.contains("set-cookie"), "{refused}");
        assert!(refused.contains("\"limit\":\"sessions\""), "{refused}");
        assert_eq!(verifier.asked_so_far(), 2, "the answer was not looked at");
        later(3_599);
        assert!(ask(address, ANSWERED).await.starts_with("HTTP/1.1 429 "));
        later(3_600);
        assert!(ask(address, ANSWERED).await.starts_with("HTTP/1.1 204 "));
        assert!(ask(address, ANSWERED).await.starts_with("HTTP/1.1 429 "));
    });
}
