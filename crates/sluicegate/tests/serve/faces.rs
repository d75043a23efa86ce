//! The four faces of one decision: the gateway, the decision API, and forward-auth in its two dialects.

use serde_json::{Value, json};
use sluicegate_testkit::http::{Answer, Asked, Caller};

use crate::bed::{Bed, check};

/// Where a decision is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Face {
    Gateway,
    Check,
    ForwardAuth,
    Nginx,
}

pub(crate) const FACES: [Face; 4] = [Face::Gateway, Face::Check, Face::ForwardAuth, Face::Nginx];

/// One and the same request, whichever face it meets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Knock {
    /// The keys it carries, each in another place.
    pub(crate) keys: Vec<String>,
    pub(crate) path: &'static str,
    /// Only the decision API can be told one.
    pub(crate) cost: Option<u64>,
}

impl Face {
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Gateway => "the gateway",
            Self::Check => "POST /v1/check",
            Self::ForwardAuth => "/v1/forward-auth",
            Self::Nginx => "/v1/forward-auth?dialect=nginx",
        }
    }

    pub(crate) fn ask(self, bed: &Bed, knock: &Knock) -> Answer {
        let (address, asked) = match self {
            Self::Gateway => (bed.server.gateway(), keyed(Asked::get(knock.path), knock)),
            Self::Check => (bed.server.decision(), check(&checked(knock))),
            Self::ForwardAuth => {
                let asked = Asked::get("/v1/forward-auth").header("X-Forwarded-Method", "GET");
                (bed.server.decision(), keyed(asked.header("X-Forwarded-Uri", knock.path), knock))
            }
            Self::Nginx => {
                let asked = Asked::get("/v1/forward-auth?dialect=nginx").header("X-Original-Method", "GET");
                (bed.server.decision(), keyed(asked.header("X-Original-URI", knock.path), knock))
            }
        };
        Caller::new(address).send(&asked).unwrap()
    }
}

fn keyed(asked: Asked, knock: &Knock) -> Asked {
    let asked = match knock.keys.first() {
        Some(key) => asked.key(key),
        None => asked,
    };
    match knock.keys.get(1) {
        Some(key) => asked.header("Authorization", &format!("Bearer {key}")),
        None => asked,
    }
}

fn checked(knock: &Knock) -> Value {
    let mut body = json!({"method": "GET", "path": knock.path});
    if let Some(key) = knock.keys.first() {
        body["key"] = json!(key);
    }
    if let Some(key) = knock.keys.get(1) {
        body["service_token"] = json!(key);
    }
    if let Some(cost) = knock.cost {
        body["cost"] = json!(cost);
    }
    body
}
