//! What is asked: who calls, and for what.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use http::{Method, StatusCode};

use super::answer::Permit;

/// Who calls.
#[derive(Clone, PartialEq, Eq)]
pub enum Caller {
    /// Somebody with an API key.
    Key(String),
    /// One of our own services.
    ServiceToken(String),
    /// Somebody without a key.
    Visitor(Visitor),
}

/// Somebody without a key, and what tells it from others.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Visitor {
    /// Its address.
    pub ip: Option<IpAddr>,
    /// Its `Cookie` header, or its session cookie alone.
    pub cookie: Option<String>,
    /// Its headers.
    pub headers: BTreeMap<String, String>,
}

impl Caller {
    /// Somebody with this API key.
    pub fn key(key: impl Into<String>) -> Self {
        Self::Key(key.into())
    }

    /// A service with this token.
    pub fn service_token(token: impl Into<String>) -> Self {
        Self::ServiceToken(token.into())
    }

    /// Somebody without a key who calls from this address.
    pub fn address(ip: IpAddr) -> Self {
        Self::Visitor(Visitor { ip: Some(ip), ..Visitor::default() })
    }
}

/// Secrets are not shown.
impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(_) => write!(f, "Key(***)"),
            Self::ServiceToken(_) => write!(f, "ServiceToken(***)"),
            Self::Visitor(visitor) => write!(f, "Visitor({:?})", visitor.ip),
        }
    }
}

/// A request to be decided on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    pub(super) caller: Caller,
    pub(super) address: Option<IpAddr>,
    pub(super) method: Option<Method>,
    pub(super) path: Option<String>,
    pub(super) cost: Option<u64>,
    pub(super) idempotency_key: Option<String>,
    pub(super) hold: bool,
    pub(super) peek: bool,
}

impl Check {
    /// `GET /` by this caller, at what its route costs.
    pub fn of(caller: Caller) -> Self {
        Self {
            caller,
            address: None,
            method: None,
            path: None,
            cost: None,
            idempotency_key: None,
            hold: false,
            peek: false,
        }
    }

    /// Where a caller with a key or a token calls from.
    #[must_use]
    pub fn address(self, ip: IpAddr) -> Self {
        Self { address: Some(ip), ..self }
    }

    /// Its method.
    #[must_use]
    pub fn method(self, method: Method) -> Self {
        Self { method: Some(method), ..self }
    }

    /// Its path.
    #[must_use]
    pub fn path(self, path: impl Into<String>) -> Self {
        Self { path: Some(path.into()), ..self }
    }

    /// What it costs.
    #[must_use]
    pub fn cost(self, cost: u64) -> Self {
        Self { cost: Some(cost), ..self }
    }

    /// Its name: charged once in 24 hours, however often it is asked for.
    #[must_use]
    pub fn idempotency_key(self, name: impl Into<String>) -> Self {
        Self { idempotency_key: Some(name.into()), ..self }
    }

    /// Asks for a permit: it will be finished.
    #[must_use]
    pub fn hold(self) -> Self {
        Self { hold: true, ..self }
    }

    pub(super) fn peeking(self) -> Self {
        Self { peek: true, ..self }
    }
}

/// The end of a request that holds a permit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finish {
    pub(super) permit: Permit,
    pub(super) status: Option<StatusCode>,
    pub(super) cost: Option<u64>,
}

impl Finish {
    /// The request with this permit has ended, at the cost that was reserved.
    pub fn of(permit: Permit) -> Self {
        Self { permit, status: None, cost: None }
    }

    /// It was answered with this.
    #[must_use]
    pub fn status(self, status: StatusCode) -> Self {
        Self { status: Some(status), ..self }
    }

    /// It cost this much in the end.
    #[must_use]
    pub fn cost(self, cost: u64) -> Self {
        Self { cost: Some(cost), ..self }
    }
}
