//! A disk that takes no more records: nothing is admitted, and both ways say so alike.

use crate::side::{Answered, Side, Way};

const POLICY: &str = "{tiers: {wide: {rate: 1_000_000, burst: 1_000_000, quota: 1_000_000}}}";

/// More than the segments hold that are there already.
const REQUESTS_MAX: usize = 1_000;

async fn unavailable(way: Way) -> Answered {
    let side = Side::new(way, POLICY, "wide").await;
    std::fs::remove_dir_all(side.dir.path().join("spool")).unwrap();
    for _ in 0..REQUESTS_MAX {
        let mut answer = side.send("GET /", &[("x-api-key", "<key>")]).await;
        if answer.status != 200 {
            // How many were admitted before is a matter of when the disk was looked at.
            answer.headers.retain(|(name, _)| !name.contains("ratelimit") && !name.contains("x-quota"));
            answer.body.truncate(answer.body.find("\"decision_id\"").unwrap());
            return answer;
        }
    }
    panic!("{way:?}: everything was admitted");
}

#[tokio::test]
async fn what_cannot_be_recorded_is_refused_alike() {
    let one = unavailable(Way::Embedded).await;
    assert_eq!(one.status, 503);
    assert!(one.headers.contains(&("retry-after".to_owned(), "1".to_owned())), "{:?}", one.headers);
    assert!(one.body.contains("\"error\":\"unavailable\""), "{}", one.body);
    assert_eq!(one, unavailable(Way::Remote).await);
}
