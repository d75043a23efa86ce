//! Hours that a server sealed to a bucket that then forgets them: whoever compares is told which.

use serde_json::json;
use sluicegate_testkit::bucket::{BUCKET, BucketServer};
use sluicegate_testkit::server::Launch;
use sluicegate_testkit::wait;

use crate::bed::Bed;
use crate::settling::reconcile;

fn at_ten_past(launch: Launch, hour: u32) -> Launch {
    launch.clock(&format!("2026-11-10 {hour:02}:10:00"))
}

/// Starts it again at another hour.
fn restart(bed: &mut Bed, hour: u32) {
    bed.server.terminate();
    assert!(bed.server.wait().success(), "{}", bed.server.said());
    bed.launch = at_ten_past(bed.launch.clone(), hour);
    bed.restart();
}

#[test]
fn hours_that_a_bucket_has_forgotten_are_named() {
    let mut bucket = BucketServer::start();
    let policy =
        format!("tiers: {{metered: {{quota: 1_000}}}}\nledger: {{export: \"s3://{BUCKET}/of/ours\"}}\n");
    let mut bed = Bed::start_with(&policy, |launch| {
        at_ten_past(launch, 8)
            .variable("AWS_ENDPOINT_URL", format!("http://{}", bucket.address()))
            .variable("AWS_ALLOW_HTTP", "true")
            .variable("AWS_REGION", "us-east-1")
            .variable("AWS_ACCESS_KEY_ID", "key")
            .variable("AWS_SECRET_ACCESS_KEY", "secret")
    });
    let key = bed.customer("acme", "metered");
    for hour in [9, 12] {
        assert_eq!(bed.check(&json!({"key": key, "cost": 7})).json()["allowed"], true);
        restart(&mut bed, hour);
    }
    wait::until("the hours are closed", || {
        (bed.get("/admin/v1/usage")["open_from"] == "2026-11-10T12:00:00Z").then_some(())
    });
    restart(&mut bed, 13);
    wait::until("the hours are sealed", || (bucket.written().len() == 2).then_some(()));
    let (agreed, said) = reconcile(&bed, &["--against", "sealed"]);
    assert!(agreed.status.success() && said["compared"] == 2, "{agreed:?}");

    bucket.kill();
    let (away, said) = reconcile(&bed, &["--against", "sealed"]);
    assert_eq!((away.status.code(), &said["error"]), (Some(1), &json!("unavailable")), "{away:?}");
    bucket.restart();
    let (forgotten, said) = reconcile(&bed, &["--against", "sealed"]);
    assert_eq!(forgotten.status.code(), Some(1), "{forgotten:?}");
    assert_eq!(said["missing"], json!(["2026-11-10T08:00:00Z", "2026-11-10T09:00:00Z"]), "{said}");
}
