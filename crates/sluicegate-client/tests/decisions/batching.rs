//! Checks that are asked for at the same time.

use std::time::Duration;

use serde_json::{Value, json};
use sluicegate_client::decision::{CallError, Caller, Check, Decision, DecisionClient};
use tokio::task::JoinSet;

use crate::decider::{Asked, admit, decision, sizes, start};
use crate::server::Server;

/// Longer than it takes to ask for a few checks, on any machine.
const TICK: Duration = Duration::from_millis(200);

fn client(server: &Server, max: usize, delay: Duration) -> DecisionClient {
    DecisionClient::new(&server.url("")).unwrap().batching(max, delay)
}

/// Asks for all of them at the same time.
async fn ask(client: &DecisionClient, checks: Vec<Check>) -> Vec<Result<Decision, CallError>> {
    let mut running = JoinSet::new();
    for (index, check) in checks.into_iter().enumerate() {
        let client = client.clone();
        running.spawn(async move { (index, client.check(check).await) });
    }
    let mut answers = running.join_all().await;
    answers.sort_by_key(|(index, _)| *index);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

fn checks(count: usize) -> Vec<Check> {
    (0..count).map(|n| Check::of(Caller::key("k")).path(format!("/{n}"))).collect()
}

fn each_has_its_own(answers: &[Result<Decision, CallError>]) -> bool {
    answers.iter().enumerate().all(|(n, it)| it.as_ref().is_ok_and(|it| it.decision_id == format!("/{n}")))
}

/// Which paths each call had.
fn paths(asked: &Asked) -> Vec<Vec<Value>> {
    let paths = |(_, body): &(String, Value)| {
        let checks = body["checks"].as_array().unwrap();
        checks.iter().map(|check| check["path"].clone()).collect()
    };
    asked.lock().unwrap().iter().map(paths).collect()
}

#[tokio::test]
async fn checks_of_one_tick_are_one_call_and_each_has_its_own_answer() {
    let (server, asked) = start(admit).await;
    let client = client(&server, 100, TICK);
    assert!(each_has_its_own(&ask(&client, checks(20)).await));
    assert_eq!(sizes(&asked), [20]);
    assert!(each_has_its_own(&ask(&client, checks(3)).await));
    assert_eq!(sizes(&asked), [20, 3]);
}

#[tokio::test]
async fn a_full_batch_does_not_wait() {
    let (server, asked) = start(admit).await;
    let client = client(&server, 4, Duration::from_secs(600));
    assert!(each_has_its_own(&ask(&client, checks(8)).await));
    assert_eq!(sizes(&asked), [4, 4]);
}

#[tokio::test]
async fn the_end_of_a_tick_leaves_the_next_batch_alone() {
    let (server, asked) = start(admit).await;
    let client = client(&server, 2, TICK);
    // The first two fill a batch; its tick ends while the third waits for its own.
    assert!(each_has_its_own(&ask(&client, checks(2)).await));
    tokio::time::sleep(TICK / 2).await;
    assert!(each_has_its_own(&ask(&client, checks(1)).await));
    assert_eq!(sizes(&asked), [2, 1]);
}

#[tokio::test]
async fn a_check_that_is_wrong_is_an_error_of_its_caller_alone() {
    let (server, asked) = start(|path, body| {
        let wrong = body["checks"].as_array().unwrap().iter().position(|check| check["cost"] == 0);
        match wrong {
            Some(index) => {
                let field = format!("checks[{index}].cost");
                (400, json!({"error": "invalid_request", "field": field, "detail": "From 1 on."}))
            }
            None => admit(path, body),
        }
    })
    .await;
    let client = client(&server, 100, TICK);
    let mut checks = checks(5);
    for wrong in [1, 3] {
        checks[wrong] = checks[wrong].clone().cost(0);
    }
    let answers = ask(&client, checks).await;
    for (n, answer) in answers.iter().enumerate() {
        match (n, answer) {
            (1 | 3, Err(CallError::Refused(problem))) => assert_eq!(problem.field.as_deref(), Some("cost")),
            (_, answer) => assert_eq!(answer.as_ref().unwrap().decision_id, format!("/{n}")),
        }
    }
    assert_eq!(sizes(&asked), [5, 4, 3]);
}

#[tokio::test]
async fn a_batch_that_is_too_large_goes_in_halves() {
    let (server, asked) = start(|path, body| match body["checks"].as_array().unwrap().len() {
        3.. => (413, json!({"error": "body_too_large"})),
        _ => admit(path, body),
    })
    .await;
    assert!(each_has_its_own(&ask(&client(&server, 100, TICK), checks(5)).await));
    assert_eq!(sizes(&asked), [5, 2, 3, 1, 2]);
}

#[tokio::test]
async fn a_lost_answer_is_an_error_for_everybody_and_never_a_guess() {
    let (server, _) = start(|_, body| {
        let first = decision(&body["checks"][0]);
        (200, json!({"results": [first]}))
    })
    .await;
    let answers = ask(&client(&server, 100, TICK), checks(3)).await;
    assert!(answers.iter().all(|answer| matches!(answer, Err(CallError::Unreadable(_)))), "{answers:?}");
    let (server, _) = start(|_, _| (503, json!({"error": "unavailable"}))).await;
    let answers = ask(&client(&server, 100, TICK), checks(3)).await;
    assert!(answers.iter().all(|answer| matches!(answer, Err(CallError::Refused(_)))), "{answers:?}");
}

#[tokio::test]
async fn who_goes_away_before_the_call_is_not_asked_for() {
    let (server, asked) = start(admit).await;
    let client = client(&server, 100, TICK);
    let gone = tokio::time::timeout(TICK / 10, client.check(Check::of(Caller::key("k")).path("/gone")));
    gone.await.unwrap_err();
    let answer = client.check(Check::of(Caller::key("k")).path("/here")).await.unwrap();
    assert_eq!(answer.decision_id, "/here");
    assert_eq!(paths(&asked), [[json!("/here")]]);
}
