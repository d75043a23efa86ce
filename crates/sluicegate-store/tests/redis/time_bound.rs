//! The clock of a server that is ahead of what its node finds plausible.

use std::sync::Arc;

use sluicegate_core::limit::Limit;
use sluicegate_core::plan::{ChargePlan, HomeId, Mode};
use sluicegate_core::settle::Outcome;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_store::redis::{Meters, Resolved, Settled, TimeBound};
use sluicegate_testkit::redis::Engine;

use crate::bed::{Bed, ask_as, monthly, plan, rate};
use crate::on_each_engine;

on_each_engine!(
    past_the_bound_the_instant_of_the_node_decides,
    up_to_the_bound_the_clock_of_the_server_decides,
    what_became_of_a_call_is_asked_within_the_bound_too,
);

/// 2026-01-01: the clock of the server is later.
const THEN: Timestamp = Timestamp::from_secs(1_767_225_600);

/// A node whose clock is bounded.
struct Node {
    bed: Bed,
    meters: Meters,
    bound: Arc<TimeBound>,
    limits: [Limit; 2],
}

impl Node {
    fn new(engine: Engine) -> Self {
        let (bed, bound) = (Bed::new(engine), Arc::new(TimeBound::default()));
        let meters = bed.meters.clone().with_time_bound(Arc::clone(&bound));
        Self { bed, meters, bound, limits: [rate(1, 10), monthly(10)] }
    }

    fn plan(&self, mode: Mode, now: Timestamp) -> ChargePlan<'_> {
        let [rate, quota] = &self.limits;
        let mut plan = plan(1, &[rate, quota], 1, mode);
        plan.now = now;
        plan
    }

    fn ask(&self, mode: Mode, now: Timestamp) -> Settled {
        let plan = self.plan(mode, now);
        self.bed.runtime.block_on(ask_as(&self.meters, self.bed.seq(), &plan)).unwrap()
    }

    fn server_time(&self) -> Timestamp {
        self.bed.runtime.block_on(self.meters.server_time()).unwrap()
    }
}

fn past_the_bound_the_instant_of_the_node_decides(engine: Engine) {
    let node = Node::new(engine);
    node.bound.set(THEN, Nanos::ZERO);
    for second in 0..3 {
        let now = THEN.plus(Nanos::from_secs(second));
        let settled = node.ask(Mode::Charge, now);
        assert_eq!((settled.outcome, settled.now), (Outcome::Admitted { overage: 0 }, now));
    }
    // A call about something long past is decided by what the node said last.
    assert_eq!(node.ask(Mode::Force, Timestamp::from_secs(1_700_000_000)).now, THEN);
}

fn up_to_the_bound_the_clock_of_the_server_decides(engine: Engine) {
    let node = Node::new(engine);
    let server = node.server_time();
    let behind = |secs: u32| Timestamp::from_nanos(server.as_nanos() - Nanos::from_secs(secs).0);
    assert!(node.ask(Mode::Peek, THEN).now >= server, "there is no bound before it is set");
    node.bound.set(behind(3_500), Nanos::ZERO);
    assert!(node.ask(Mode::Peek, behind(3_500)).now >= server, "it is within an hour");
    node.bound.set(THEN, server.since(THEN));
    assert!(node.ask(Mode::Peek, THEN).now >= server, "its lead was confirmed");
    let now = Timestamp::from_secs(behind(3_601).as_secs());
    node.bound.set(now, Nanos::ZERO);
    assert_eq!(node.ask(Mode::Peek, now).now, now);
}

fn what_became_of_a_call_is_asked_within_the_bound_too(engine: Engine) {
    let node = Node::new(engine);
    node.bound.set(THEN, Nanos::ZERO);
    let seq = node.bed.seq();
    let runtime = &node.bed.runtime;
    runtime.block_on(ask_as(&node.meters, seq, &node.plan(Mode::Charge, THEN))).unwrap();
    let resolved = runtime.block_on(node.meters.resolve(HomeId(1), seq, node.bed.seq())).unwrap();
    assert!(matches!(resolved, Resolved::Applied { at: THEN, .. }), "{resolved:?}");
    // What it wrote lives on by the time of the node: the call behind it finds its meters.
    assert_eq!(node.ask(Mode::Charge, THEN).now, THEN);
}
