//! Addresses under pressure where several nodes share a Redis: they count and limit as one.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use sluicegate_engine::{CallerRequest, Decision, Engine, Minting};
use sluicegate_testkit::redis::{Engine as Kind, RedisServer};
use tempfile::TempDir;

use crate::place::nobody;
use crate::shared_place;

const THREE_A_DAY: &str = "
identity: {anonymous: free}
tiers:
  free: {limits: {conversions: {algorithm: sliding_window, limit: 3/day, per: client}}}
";

struct Nodes {
    nodes: Vec<Arc<Engine>>,
    _redis: RedisServer,
    _dirs: Vec<TempDir>,
}

impl Nodes {
    async fn start(plans: &str) -> Self {
        let redis = RedisServer::new(Kind::Redis);
        let (mut nodes, mut dirs) = (Vec::new(), Vec::new());
        for _ in 0..2 {
            let dir = tempfile::tempdir().unwrap();
            nodes.push(shared_place::node(plans, &redis.url(), Duration::from_secs(10), &dir).await);
            dirs.push(dir);
        }
        Self { nodes, _redis: redis, _dirs: dirs }
    }

    /// Asks one of the nodes, under this name.
    async fn ask(&self, node: usize, name: &str) -> Decision {
        let mut headers = HeaderMap::new();
        headers.insert("user-agent", HeaderValue::from_str(name).unwrap());
        let request: CallerRequest<'_> = nobody(&headers);
        self.nodes[node].decided(&request, self.nodes[node].now()).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_that_goes_from_node_to_node_gets_no_more_than_from_one() {
    let nodes = Nodes::start(THREE_A_DAY).await;
    let mut admitted = 0;
    for number in 0..300 {
        admitted += usize::from(nodes.ask(number % 2, &format!("script {number}")).await.is_admitted());
    }
    assert_eq!(admitted, 19 + 5);
    for node in &nodes.nodes {
        let (now, squeezed) = (node.now(), node.squeezed(None, node.now(), 10));
        assert_eq!(squeezed.len(), 1);
        assert!(squeezed[0].until.since(now).as_secs_ceil() > 3_500);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_script_that_sends_all_at_once_gets_no_more_than_a_start_for_each_node_besides() {
    let nodes = Arc::new(Nodes::start(THREE_A_DAY).await);
    let mut asked = tokio::task::JoinSet::new();
    for number in 0..200 {
        let nodes = Arc::clone(&nodes);
        asked.spawn(async move { nodes.ask(number % 2, &format!("script {number}")).await.is_admitted() });
    }
    let admitted = asked.join_all().await.into_iter().filter(|admitted| *admitted).count();
    assert!((5..=19 + 5 + 2).contains(&admitted), "{admitted}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_household_that_is_seen_by_two_nodes_is_not_counted_twice() {
    let nodes = Nodes::start(THREE_A_DAY).await;
    for round in 0..4 {
        for household in 0..15 {
            let decision = nodes.ask((household + round) % 2, &format!("household {household}")).await;
            assert_eq!(decision.is_admitted(), round < 3, "{household}, {round}");
            assert!(!decision.standing.squeezed);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_notice_the_pressure_at_different_times_share_one_meter() {
    let nodes = Nodes::start(THREE_A_DAY).await;
    // One node alone sees the script, and uses all that is shared.
    let mut admitted = 0;
    for number in 0..40 {
        admitted += usize::from(nodes.ask(0, &format!("script {number}")).await.is_admitted());
    }
    assert_eq!(admitted, 19 + 5);
    // The other has seen nobody of this address: its first caller is new, and alone as far as it knows.
    assert!(!nodes.ask(1, "resident").await.standing.squeezed);
    // From the second on it knows.
    let second = nodes.ask(1, "guest").await;
    assert!(second.standing.squeezed && !second.is_admitted());
    let resident = nodes.ask(1, "resident").await;
    assert!(resident.standing.squeezed && !resident.is_admitted());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_are_counted_over_all_nodes() {
    let nodes = Nodes::start(THREE_A_DAY).await;
    let mint = async |node: usize, address: &str| {
        let (engine, address) = (&nodes.nodes[node], address.parse().unwrap());
        engine.mint_session(address, Minting::Issue, engine.now()).await
    };
    for number in 0..20 {
        assert!(mint(number % 2, "192.0.2.1").await.is_ok(), "{number}");
    }
    for node in 0..2 {
        let denial = mint(node, "192.0.2.1").await.unwrap_err();
        assert_eq!((denial.status, denial.limit.unwrap().as_str()), (429, "sessions"));
        assert!((3_500..=3_600).contains(&denial.retry_after.as_secs_ceil()));
    }
    assert!(mint(0, "192.0.2.2").await.is_ok());
}
