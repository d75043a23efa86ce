//! Sentinels, clusters and TLS.

use std::time::Duration;

use sluicegate_core::plan::{HomeId, Mode};
use sluicegate_core::settle::Outcome;
use sluicegate_store::redis::check::check;
use sluicegate_store::redis::{Address, CallError, Link, LinkOptions, Meters, Seq};
use sluicegate_testkit::redis::{Cluster, Engine, RedisLaunch, Sentinels};
use tokio::time::Instant;

use crate::bed::{NODE, PATIENT, ask_as, link, monthly, plan, rate, runtime};
use crate::on_each_engine;

on_each_engine!(
    sentinels_lead_to_the_primary_and_to_the_next_one,
    a_cluster_serves_every_home_also_after_a_failover,
);

/// Waits for nothing but what was sent.
pub(crate) async fn a_message_arrives(url: &str) {
    let link = link(url, PATIENT);
    let mut subscriber = link.subscriber().await.unwrap();
    subscriber.subscribe("changes").await.unwrap();
    let heard = async {
        let mut messages = subscriber.on_message();
        std::future::poll_fn(|context| {
            futures_core::Stream::poll_next(std::pin::Pin::new(&mut messages), context)
        })
        .await
    };
    let mut publish = redis::cmd("PUBLISH");
    publish.arg("changes").arg("now");
    let (heard, published) = tokio::join!(heard, link.query::<i64>(&publish));
    assert_eq!(heard.unwrap().get_payload_bytes(), b"now");
    published.unwrap();
}

/// Charges a home until that succeeds.
async fn charge(meters: &Meters, seq: &mut u64, home: u128) -> u64 {
    let (rate, quota) = (rate(1_000, 1_000), monthly(1_000_000));
    let start = Instant::now();
    loop {
        *seq += 1;
        let owed = plan(home, &[&rate, &quota], 1, Mode::Charge);
        match ask_as(meters, Seq::new(*seq).unwrap(), &owed).await {
            Ok(settled) => {
                assert_eq!(settled.outcome, Outcome::Admitted { overage: 0 });
                return settled.readings[1].used;
            }
            Err(CallError::NotSent | CallError::Unknown | CallError::Refused(_)) => {
                assert!(start.elapsed() < Duration::from_secs(30), "it is not back");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
}

fn sentinels_lead_to_the_primary_and_to_the_next_one(engine: Engine) {
    let mut group = Sentinels::start(engine);
    let runtime = runtime();
    let link = runtime.block_on(async { link(&group.url(), Duration::from_millis(50)) });
    runtime.block_on(link.ready(PATIENT)).unwrap();
    runtime.block_on(check(&link)).unwrap();
    runtime.block_on(a_message_arrives(&group.url()));
    let (meters, mut seq) = (Meters::new(link, NODE), 1);
    assert_eq!(runtime.block_on(charge(&meters, &mut seq, 1)), 1);
    let old = group.kill_primary();
    group.wait_for_failover(old);
    let after = runtime.block_on(charge(&meters, &mut seq, 1));
    assert!(after >= 1);
    assert_eq!(runtime.block_on(charge(&meters, &mut seq, 1)), after + 1);
}

fn a_cluster_serves_every_home_also_after_a_failover(engine: Engine) {
    let mut cluster = Cluster::start(engine);
    let runtime = runtime();
    let link = runtime.block_on(async { link(&cluster.url(), Duration::from_millis(100)) });
    runtime.block_on(link.ready(PATIENT)).unwrap();
    runtime.block_on(check(&link)).unwrap();
    runtime.block_on(a_message_arrives(&cluster.url()));
    let (meters, mut seq) = (Meters::new(link, NODE), 1);
    for home in 1..=50 {
        assert_eq!(runtime.block_on(charge(&meters, &mut seq, home)), 1);
        assert_eq!(runtime.block_on(charge(&meters, &mut seq, home)), 2);
    }
    let slot = cluster.slot_of(&format!("sg1:{{{:032x}}}", HomeId(1).0));
    let old = cluster.kill_primary_of(slot);
    cluster.wait_for_failover(slot, old);
    let after = runtime.block_on(charge(&meters, &mut seq, 1));
    assert_eq!(runtime.block_on(charge(&meters, &mut seq, 1)), after + 1);
    for home in 2..=50 {
        runtime.block_on(charge(&meters, &mut seq, home));
    }
}

#[test]
fn tls_is_spoken_to_a_server_whose_certificate_is_trusted_and_to_no_other() {
    let ours = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let theirs = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let server =
        RedisLaunch::new(Engine::Redis).tls(&ours.cert.pem(), &ours.signing_key.serialize_pem()).start();
    let runtime = runtime();
    let ready = |pem: String| {
        let options =
            LinkOptions { deadline: PATIENT, trusted_pem: Some(pem.into_bytes()), ..LinkOptions::default() };
        runtime.block_on(async {
            let link = Link::open(&Address::parse(&server.url()).unwrap(), &options).unwrap();
            link.ready(Duration::from_secs(1)).await.map(|()| link)
        })
    };
    let link = ready(ours.cert.pem()).unwrap();
    runtime.block_on(check(&link)).unwrap();
    let (meters, mut seq) = (Meters::new(link, NODE), 1);
    assert_eq!(runtime.block_on(charge(&meters, &mut seq, 1)), 1);
    assert!(ready(theirs.cert.pem()).is_err());
}
