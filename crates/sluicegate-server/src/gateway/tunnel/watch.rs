//! Why a tunnel ends although both of its ends go on: it is silent, too old, unpaid, or its caller lost its rights.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Method, request};
use sluicegate_core::policy::TunnelSettings;
use sluicegate_core::rule::Amount;
use sluicegate_engine::{
    Answer, CallerRequest, Continuation, Credential, Engine, ErrorCode, Front, Hold, Purpose,
};
use tokio::time::{Instant, sleep_until};

use super::traffic::Traffic;
use crate::listen::Peer;

/// How often a tunnel is looked at. A revocation, a block or a deletion ends it within this time of reaching the node.
const CHECK_EVERY: Duration = Duration::from_secs(1);

const MIB: u64 = 1024 * 1024;

/// Why a tunnel was closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TunnelEnd {
    /// No byte passed for too long.
    Idle,
    /// It has reached its maximum age.
    MaxAge,
    /// Its caller may not go on.
    Caller(ErrorCode),
    /// What it uses could not be charged.
    Refused(ErrorCode),
}

impl TunnelEnd {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::MaxAge => "max_age",
            Self::Caller(error) | Self::Refused(error) => error.as_str(),
        }
    }
}

/// The caller of a tunnel as the engine knows it: the request that opened the tunnel.
pub(in crate::gateway) struct TunnelCaller {
    engine: Arc<Engine>,
    headers: HeaderMap,
    address: Option<IpAddr>,
    method: Method,
    path: String,
}

impl TunnelCaller {
    /// The caller of this request, before its headers are made those for the upstream.
    pub(in crate::gateway) fn new(engine: &Arc<Engine>, parts: &request::Parts, peer: Option<&Peer>) -> Self {
        let address = peer.map(|peer| engine.address_of(peer.address().ip(), &parts.headers));
        Self {
            engine: Arc::clone(engine),
            headers: parts.headers.clone(),
            address,
            method: parts.method.clone(),
            path: parts.uri.path().to_owned(),
        }
    }

    fn request(&self, cost: Option<Amount>) -> CallerRequest<'_> {
        CallerRequest {
            credential: Credential::Headers(&self.headers),
            address: self.address,
            method: self.method.as_str(),
            path: &self.path,
            cost,
            idempotency_key: None,
            purpose: Purpose::Charge,
            hold: Hold::IfNeeded,
            front: Front::Gateway,
        }
    }

    async fn may_go_on(&self) -> Result<(), TunnelEnd> {
        match self.engine.continuation(&self.request(None), self.engine.now()).await {
            Continuation::Allowed => Ok(()),
            Continuation::Ended(error) => Err(TunnelEnd::Caller(error)),
        }
    }

    async fn charge(&self, cost: Amount) -> Result<Charge, TunnelEnd> {
        let decision = self.engine.charge_quota(&self.request(Some(cost)), self.engine.now()).await;
        match &decision.answer {
            Answer::Admitted => Ok(Charge::Done),
            // An outage ends no tunnel.
            Answer::Denied(denial) if denial.error == ErrorCode::Unavailable => Ok(Charge::Later),
            Answer::Denied(denial) => Err(TunnelEnd::Refused(denial.error)),
        }
    }
}

/// What became of a charge that no limit has refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Charge {
    Done,
    /// It could not be recorded, or the store cannot be reached. It is due at the next check.
    Later,
}

/// What a tunnel has cost so far: every minute and every MiB that has begun.
fn cost_of(settings: &TunnelSettings, age: Duration, bytes: u64) -> u64 {
    let of = |cost: Option<Amount>, begun: u64| cost.map_or(0, Amount::get).saturating_mul(begun);
    let minutes = (age.as_secs() / 60).saturating_add(1);
    of(settings.cost_per_minute, minutes).saturating_add(of(settings.cost_per_mib, bytes.div_ceil(MIB)))
}

/// Looks at a tunnel until it may not go on.
pub(super) async fn watch(
    traffic: &Traffic,
    settings: &TunnelSettings,
    caller: Option<&TunnelCaller>,
) -> TunnelEnd {
    let began = Instant::now();
    let (mut moved, mut bytes, mut charged) = (began, 0, 0);
    loop {
        let now = Instant::now();
        let passed = traffic.bytes();
        if passed != bytes {
            (moved, bytes) = (now, passed);
        }
        if let Err(end) = check(settings, caller, now - began, bytes, &mut charged).await {
            return end;
        }
        let mut next = now + CHECK_EVERY;
        if let Some(max_age) = settings.max_age {
            if began.elapsed() >= max_age {
                return TunnelEnd::MaxAge;
            }
            next = next.min(began + max_age);
        }
        if moved.elapsed() >= settings.idle && traffic.bytes() == bytes {
            return TunnelEnd::Idle;
        }
        sleep_until(next).await;
    }
}

/// Asks the engine whether the tunnel may go on, and charges what it has used since it was last asked.
async fn check(
    settings: &TunnelSettings,
    caller: Option<&TunnelCaller>,
    age: Duration,
    bytes: u64,
    charged: &mut u64,
) -> Result<(), TunnelEnd> {
    let Some(caller) = caller else { return Ok(()) };
    caller.may_go_on().await?;
    let cost = cost_of(settings, age, bytes);
    if let Some(due) = Amount::new(cost.saturating_sub(*charged))
        && caller.charge(due).await? == Charge::Done
    {
        *charged = cost;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_minute_and_every_mib_that_begins_costs() {
        let settings = TunnelSettings {
            cost_per_minute: Amount::new(3),
            cost_per_mib: Amount::new(10),
            ..TunnelSettings::default()
        };
        let cost = |secs, bytes| cost_of(&settings, Duration::from_secs(secs), bytes);
        assert_eq!([cost(0, 0), cost(59, 0), cost(60, 0), cost(125, 0)], [3, 3, 6, 9]);
        assert_eq!([cost(0, 1), cost(0, MIB), cost(0, MIB + 1)], [13, 13, 23]);
        assert_eq!(cost_of(&TunnelSettings::default(), Duration::from_secs(600), 5 * MIB), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_tunnel_ends_and_one_that_flows_does_not() {
        let settings = TunnelSettings { idle: Duration::from_secs(30), ..TunnelSettings::default() };
        let (traffic, began) = (Traffic::default(), Instant::now());
        assert_eq!(watch(&traffic, &settings, None).await, TunnelEnd::Idle);
        assert_eq!(began.elapsed().as_secs(), 30);
        let flowing = async {
            loop {
                tokio::time::sleep(Duration::from_secs(20)).await;
                traffic.add(1);
            }
        };
        let watched = tokio::time::timeout(Duration::from_secs(3_600), watch(&traffic, &settings, None));
        tokio::select! {
            () = flowing => {}
            ended = watched => assert!(ended.is_err(), "{ended:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_tunnel_ends_at_its_maximum_age_whatever_passes_through_it() {
        let settings =
            TunnelSettings { max_age: Some(Duration::from_millis(90_500)), ..TunnelSettings::default() };
        let (traffic, began) = (Traffic::default(), Instant::now());
        assert_eq!(watch(&traffic, &settings, None).await, TunnelEnd::MaxAge);
        assert_eq!(began.elapsed().as_millis() / 10, 9_050);
    }
}
