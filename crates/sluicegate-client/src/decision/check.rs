//! The requests of the decision API: a check of a caller's request, and its finish.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use http::{Method, StatusCode};

use super::response::Permit;

/// The caller of the request that is checked.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Caller {
    /// A caller with an API key.
    Key(String),
    /// A service with a service token.
    ServiceToken(String),
    /// A caller without a key.
    Visitor(Visitor),
}

/// A caller without a key, and what identifies it.
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
    /// A caller with this API key.
    pub fn key(key: impl Into<String>) -> Self {
        Self::Key(key.into())
    }

    /// A service with this token.
    pub fn service_token(token: impl Into<String>) -> Self {
        Self::ServiceToken(token.into())
    }

    /// A caller without a key, at this address.
    pub fn address(ip: IpAddr) -> Self {
        Self::Visitor(Visitor { ip: Some(ip), ..Visitor::default() })
    }
}

/// Prints no secrets.
impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(_) => write!(f, "Key(***)"),
            Self::ServiceToken(_) => write!(f, "ServiceToken(***)"),
            Self::Visitor(visitor) => write!(f, "Visitor({:?})", visitor.ip),
        }
    }
}

/// A request to check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    pub(super) caller: Caller,
    pub(super) address: Option<IpAddr>,
    pub(super) method: Option<Method>,
    pub(super) path: Option<String>,
    pub(super) cost: Option<u64>,
    pub(super) idempotency_key: Option<String>,
    pub(super) hold: bool,
    pub(super) hold_for: Option<Duration>,
    pub(super) peek: bool,
}

impl Check {
    /// Checks `GET /` by this caller, at the cost of its route.
    pub fn of(caller: Caller) -> Self {
        Self {
            caller,
            address: None,
            method: None,
            path: None,
            cost: None,
            idempotency_key: None,
            hold: false,
            hold_for: None,
            peek: false,
        }
    }

    /// Sets the address of a caller with a key or a token.
    #[must_use]
    pub fn address(self, ip: IpAddr) -> Self {
        Self { address: Some(ip), ..self }
    }

    /// Sets the method.
    #[must_use]
    pub fn method(self, method: Method) -> Self {
        Self { method: Some(method), ..self }
    }

    /// Sets the path.
    #[must_use]
    pub fn path(self, path: impl Into<String>) -> Self {
        Self { path: Some(path.into()), ..self }
    }

    /// Sets the cost.
    #[must_use]
    pub fn cost(self, cost: u64) -> Self {
        Self { cost: Some(cost), ..self }
    }

    /// Sets the idempotency key: checks with the same key are charged once in 24 hours.
    #[must_use]
    pub fn idempotency_key(self, key: impl Into<String>) -> Self {
        Self { idempotency_key: Some(key.into()), ..self }
    }

    /// Requests a permit, because the request will be finished.
    #[must_use]
    pub fn hold(self) -> Self {
        Self { hold: true, ..self }
    }

    /// Requests a permit that lives for so long, from 1 second to 24 hours, unless it is renewed or finished before.
    #[must_use]
    pub fn hold_for(self, span: Duration) -> Self {
        Self { hold: true, hold_for: Some(span), ..self }
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
    /// Finishes the request with this permit, at the cost that was reserved.
    pub fn of(permit: Permit) -> Self {
        Self { permit, status: None, cost: None }
    }

    /// Sets the status that the caller was answered with.
    #[must_use]
    pub fn status(self, status: StatusCode) -> Self {
        Self { status: Some(status), ..self }
    }

    /// Sets the true cost.
    #[must_use]
    pub fn cost(self, cost: u64) -> Self {
        Self { cost: Some(cost), ..self }
    }
}
