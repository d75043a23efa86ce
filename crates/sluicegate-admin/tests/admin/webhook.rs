//! Alerts are delivered signed and in order, whatever the receiver does, on a clock that stands still.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sluicegate_node::webhook::{Delivery, SigningSecret};
use sluicegate_store::alerts::{AlertKind, News, Tell};
use sluicegate_testkit::receiver::{Reaction, Receiver};

use crate::place::{NOW, Place, wait};

const POSTED: Tell = Tell { post: true, nodes: false };
/// How long a try may take here.
const SHORT: Duration = Duration::from_millis(300);

struct Post {
    place: Place,
    receiver: Receiver,
    delivery: Delivery,
}

impl Post {
    fn new(reactions: &[Reaction]) -> Self {
        let receiver = Receiver::start(reactions.iter().copied());
        let place = Place::with(&policy(&receiver.url(), ""));
        let delivery = delivery(&place);
        Self { place, receiver, delivery }
    }

    /// Something happens that is to be delivered.
    fn happen(&self, number: u32) {
        let kind = AlertKind::LedgerDrift { quotas: 1, units: number.into() };
        let news = News { id: format!("alr_{number}"), at: self.place.engine.now(), resolved_at: None, kind };
        wait(self.place.engine.alerts().fire(&format!("s{number}"), &news, POSTED)).unwrap();
    }

    /// What is due is tried, so many seconds after the start.
    fn tend(&self, secs: u32) {
        self.place.later(secs);
        wait(self.delivery.tend());
    }

    /// The numbers that were accepted, in order.
    fn accepted(&self) -> Vec<u64> {
        let unit =
            |body: &str| serde_json::from_str::<Value>(body).unwrap()["data"]["units"].as_u64().unwrap();
        self.receiver.accepted().iter().map(|received| unit(&received.body)).collect()
    }

    fn tries(&self) -> usize {
        self.receiver.received().len()
    }

    fn state(&self) -> Value {
        self.place.get("/admin/v1/webhook").expect(200)
    }
}

fn policy(url: &str, more: &str) -> String {
    format!("tiers: {{free: {{rate: 10}}}}\nalerts: {{webhook: \"{url}\"{more}}}\n")
}

fn delivery(place: &Place) -> Delivery {
    let secret = SigningSecret::parse(&SigningSecret::text_of(&[7; 32])).unwrap();
    Delivery::new(Arc::clone(&place.engine), secret).waiting(SHORT)
}

#[test]
fn a_receiver_that_fails_hangs_resets_and_returns_gets_all_in_order() {
    let bad =
        [Reaction::Answer(500), Reaction::Hang, Reaction::Reset, Reaction::Redirect, Reaction::Answer(404)];
    let post = Post::new(&bad);
    (1..=3).for_each(|number| post.happen(number));
    let mut secs = 0;
    for (tries, pause) in (1..).zip([5, 300, 1_800, 3_600, 3_600]) {
        post.tend(secs);
        assert_eq!((post.tries(), post.accepted()), (tries, vec![]), "only the first is tried");
        post.tend(secs + pause - 1);
        assert_eq!(post.tries(), tries, "not before {pause} s have passed");
        secs += pause;
    }
    assert_eq!(
        (&post.state()["pending"], &post.state()["last_error"]),
        (&json!(3), &json!("it answered 404"))
    );
    post.happen(4);
    post.tend(secs);
    assert_eq!(post.accepted(), [1, 2, 3, 4]);
    let ids: Vec<String> =
        post.receiver.received().iter().map(|it| it.headers["webhook-id"].clone()).collect();
    assert!(ids[..6].iter().all(|id| id == "alr_1_firing"), "a repeat is known by its id: {ids:?}");
    let state = post.state();
    assert_eq!(
        (&state["pending"], &state["delivered"], &state["dropped"]),
        (&json!(0), &json!(4), &json!(0))
    );
    assert_eq!((&state["last_error"], &state["url"]), (&Value::Null, &json!(post.receiver.url())));
    // After a success, the next failure is waited for as the first was.
    post.receiver.react([Reaction::Answer(503)]);
    post.happen(5);
    post.tend(secs + 1);
    post.tend(secs + 6);
    assert_eq!(post.accepted(), [1, 2, 3, 4, 5]);
}

#[test]
fn nobody_who_listens_is_a_failure_too() {
    let place = Place::with(&policy("http://127.0.0.1:1/hook", ""));
    let post = Post { delivery: delivery(&place), place, receiver: Receiver::start([]) };
    post.happen(1);
    post.tend(0);
    let error = post.state()["last_error"].as_str().unwrap().to_owned();
    assert!(error.starts_with("it cannot be reached: "), "{error}");
}

#[test]
fn what_cannot_be_delivered_for_three_days_is_given_up_and_what_is_younger_is_not() {
    let post = Post::new(&[Reaction::Answer(500); 3]);
    post.happen(1);
    post.tend(0);
    post.place.later(86_400);
    post.happen(2);
    post.tend(3 * 86_400);
    assert_eq!(post.state()["pending"], 2, "three days are not more than three days");
    post.tend(3 * 86_400 + 3_600);
    let state = post.state();
    assert_eq!((&state["pending"], &state["dropped"]), (&json!(1), &json!(1)));
    post.tend(3 * 86_400 + 7_200);
    assert_eq!(post.accepted(), [2]);
}

#[test]
fn messages_are_signed_and_what_happened_stands_in_them() {
    let post = Post::new(&[]);
    post.happen(9);
    let over = sluicegate_core::time::Timestamp::from_secs(NOW.as_secs() + 60);
    wait(post.place.engine.alerts().resolve("s9", over, POSTED)).unwrap();
    post.tend(61);
    let received = post.receiver.accepted();
    let [first, second] = &received[..] else { panic!("{received:?}") };
    assert_eq!(first.line, "POST /hook HTTP/1.1");
    assert_eq!(first.headers["content-type"], "application/json");
    assert_eq!(first.headers["webhook-timestamp"], (NOW.as_secs() + 61).to_string(), "of this try");
    let body: Value = serde_json::from_str(&first.body).unwrap();
    assert_eq!(
        (&body["type"], &body["timestamp"]),
        (&json!("ledger.drift"), &json!("2026-10-05T12:00:00.000Z"))
    );
    assert_eq!((&body["data"]["state"], &body["data"]["id"]), (&json!("firing"), &json!("alr_9")));
    let body: Value = serde_json::from_str(&second.body).unwrap();
    assert_eq!(
        (&body["data"]["state"], &body["timestamp"]),
        (&json!("resolved"), &json!("2026-10-05T12:01:00.000Z"))
    );
    assert_ne!(first.headers["webhook-id"], second.headers["webhook-id"]);
    assert_eq!(verified(&received), json!([true, true, false]));
}

/// What the example of the page says of messages, and of one that was changed on the way.
fn verified(received: &[sluicegate_testkit::receiver::Received]) -> Value {
    let page = include_str!("../../../../docs/alerts.md");
    let example = page.split("```python\n").nth(1).unwrap().split("```").next().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("verify.py");
    let calls =
        "import json, sys\nprint(json.dumps([verify(*call) for call in json.load(open(sys.argv[1]))]))\n";
    std::fs::write(&script, format!("{example}\n{calls}")).unwrap();
    let secret = SigningSecret::text_of(&[7; 32]);
    let now = NOW.as_secs() + 62;
    let mut asked: Vec<Value> = received.iter().map(|it| json!([secret, it.headers, it.body, now])).collect();
    asked.push(json!([secret, received[0].headers, received[0].body.replace('9', "8"), now]));
    let messages = dir.path().join("messages.json");
    std::fs::write(&messages, Value::from(asked).to_string()).unwrap();
    python(&script, &messages)
}

fn python(script: &Path, messages: &Path) -> Value {
    let output = std::process::Command::new("python3").arg(script).arg(messages).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_secret_of_the_policy_is_used_and_one_that_is_none_holds_messages_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret");
    let receiver = Receiver::start([]);
    let place = Place::with(&policy(&receiver.url(), &format!(", secret: 'file:{}'", path.display())));
    let post = Post { delivery: delivery(&place), place, receiver };
    post.happen(1);
    post.tend(0);
    assert!(post.state()["last_error"].as_str().unwrap().starts_with("cannot read the secret"));
    std::fs::write(&path, "hunter2").unwrap();
    post.tend(5);
    let error = post.state()["last_error"].as_str().unwrap().to_owned();
    assert!(error.contains("whsec_") && !error.contains("hunter2"), "{error}");
    assert_eq!(post.tries(), 0);
    let two = format!("{} {}", SigningSecret::text_of(&[1; 32]), SigningSecret::text_of(&[7; 32]));
    std::fs::write(&path, two).unwrap();
    post.tend(305);
    let received = post.receiver.accepted();
    assert_eq!(received[0].headers["webhook-signature"].split(' ').count(), 2);
}

#[test]
fn without_a_url_nothing_is_kept_for_delivery_and_the_state_says_so() {
    let place = Place::new();
    let state = place.get("/admin/v1/webhook").expect(200);
    let nothing = json!({
        "url": null, "pending": 0, "delivered": 0, "dropped": 0, "last_error": null, "last_at": null,
    });
    assert_eq!(state, nothing);
}
