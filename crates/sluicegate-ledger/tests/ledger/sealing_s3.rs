//! Sealing to a bucket whose server breaks in the middle: nothing is lost, nothing is there twice.

use std::sync::Arc;

use sluicegate_ledger::hour::ALL_HOURS;
use sluicegate_ledger::reconcile::{Totals, compare};
use sluicegate_ledger::seal::{Destination, S3Access, Sealed, Sealer};

use crate::bucket::{Bucket, Fault};
use crate::fixtures::{Bed, at, names};

async fn start(bed: &Bed) -> (Arc<Bucket>, Sealer) {
    let bucket = Arc::new(Bucket::default());
    let address = Arc::clone(&bucket).serve().await;
    let access = S3Access {
        endpoint: Some(format!("http://{address}")),
        region: Some("eu-test-1".to_owned()),
        key: Some(("key".to_owned(), "secret".to_owned())),
    };
    let destination = Destination::open("s3://usage-bucket/some/prefix", &access).unwrap();
    (bucket, bed.ledger.sealer(destination, names()))
}

/// Seals until everything is, however often that takes.
async fn seal_all(sealer: &Sealer) -> Sealed {
    let mut all = Sealed::default();
    for _ in 0..100 {
        if let Ok(sealed) = sealer.seal_due(at(9, 0), |_| {}).await {
            all.found += sealed.found;
            return all;
        }
    }
    unreachable!("a hundred times is enough");
}

#[tokio::test]
async fn closed_hours_get_to_the_bucket_under_the_prefix() {
    let bed = Bed::with_hours(3);
    let (bucket, sealer) = start(&bed).await;
    assert_eq!(sealer.seal_due(at(3, 0), |_| {}).await.unwrap().hours, 3);
    let names: Vec<String> = bucket.objects.lock().unwrap().keys().cloned().collect();
    assert_eq!(names.len(), 3);
    assert_eq!(names[0], "/usage-bucket/some/prefix/usage/v1/dt%3D2026-09-21/hour%3D13/node%3Dn1.parquet");
    let read = sealer.read_back(ALL_HOURS).await.unwrap();
    let ours = Totals::recorded(bed.ledger.book(), ALL_HOURS, &*crate::fixtures::names()).unwrap();
    assert_eq!(compare(&ours, &read.totals), []);
}

#[tokio::test]
async fn a_server_that_breaks_before_or_after_keeping_an_object_costs_nothing() {
    let bed = Bed::with_hours(9);
    let (bucket, sealer) = start(&bed).await;
    use Fault::{BreakAfter, BreakBefore, None, Unavailable};
    *bucket.faults.lock().unwrap() = vec![
        BreakAfter,
        None,
        BreakBefore,
        BreakAfter,
        Unavailable,
        None,
        BreakBefore,
        BreakBefore,
        BreakAfter,
        None,
    ];
    seal_all(&sealer).await;
    let written = bucket.written.lock().unwrap().clone();
    assert_eq!(written.len(), 9);
    assert!(written.values().all(|count| *count == 1), "{written:?}");
    let read = sealer.read_back(ALL_HOURS).await.unwrap();
    let ours = Totals::recorded(bed.ledger.book(), ALL_HOURS, &*names()).unwrap();
    assert_eq!(compare(&ours, &read.totals), []);
    assert!(read.missing.is_empty() && read.damaged.is_empty());
}

#[tokio::test]
async fn a_server_that_is_away_is_an_error_and_the_hours_wait() {
    let bed = Bed::with_hours(2);
    let access = S3Access {
        // Nobody listens there.
        endpoint: Some("http://127.0.0.1:9".to_owned()),
        region: Some("eu-test-1".to_owned()),
        key: Some(("key".to_owned(), "secret".to_owned())),
    };
    let destination = Destination::open("s3://bucket", &access).unwrap();
    let sealer = bed.ledger.sealer(destination, names());
    assert!(sealer.seal_due(at(2, 0), |_| {}).await.is_err());
    assert!(bed.ledger.book().sealed(ALL_HOURS).unwrap().is_empty());
    let (bucket, sealer) = start(&bed).await;
    assert_eq!(sealer.seal_due(at(2, 0), |_| {}).await.unwrap().hours, 2);
    assert_eq!(bucket.objects.lock().unwrap().len(), 2);
}
