//! What a front end knows of a request before anything is decided.

use std::fmt;
use std::net::IpAddr;

use http::HeaderMap;
pub use sluicegate_core::identify::Name;
use sluicegate_core::rule::Amount;
use sluicegate_core::time::Nanos;

use crate::ids::Finisher;

/// One request, as every front end describes it.
#[derive(Clone, Copy)]
pub struct CallerRequest<'r> {
    /// Who says to be calling.
    pub credential: Credential<'r>,
    /// Where it calls from, as far as that can be believed.
    pub address: Option<IpAddr>,
    /// The method, in capitals.
    pub method: &'r str,
    /// The path, without the query.
    pub path: &'r str,
    /// What it costs; nothing: what its route costs.
    pub cost: Option<Amount>,
    /// The caller's own name for the request: a second one of the same name is not charged again.
    pub idempotency_key: Option<Name<'r>>,
    /// Whether it is charged.
    pub purpose: Purpose,
    /// Whether it will be finished later.
    pub hold: Hold,
    /// Who asks.
    pub front: Front,
}

/// What a caller presents.
#[derive(Clone, Copy)]
pub enum Credential<'r> {
    /// A key, as it was sent.
    Key(&'r str),
    /// A key, as it was sent, and headers that came with it. They are read for what the key demands of them alone.
    KeyFrom {
        /// The key.
        key: &'r str,
        /// What came with it.
        headers: &'r HeaderMap,
    },
    /// A service token, as it was sent.
    ServiceToken(&'r str),
    /// An account that whoever asks vouches for.
    Account {
        /// Its id.
        id: &'r str,
        /// Whose limits hold for this name where the directory does not know it.
        tier: Option<&'r str>,
    },
    /// Whatever its headers say, read by the policy that the request is decided under.
    Headers(&'r HeaderMap),
    /// Nothing; what else is known of it.
    Nothing {
        /// What tells callers behind one address apart.
        headers: &'r HeaderMap,
    },
    /// The same under the limits of a tier that whoever asks has chosen.
    Tier {
        /// The tier.
        tier: &'r str,
        /// What tells callers behind one address apart.
        headers: &'r HeaderMap,
    },
    /// Two keys that differ.
    Ambiguous,
}

/// Without the address, which may not get into a log.
impl fmt::Debug for CallerRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallerRequest")
            .field("credential", &self.credential)
            .field("method", &self.method)
            .field("path", &self.path)
            .field("cost", &self.cost)
            .field("idempotency_key", &self.idempotency_key)
            .field("purpose", &self.purpose)
            .field("hold", &self.hold)
            .field("front", &self.front)
            .finish_non_exhaustive()
    }
}

/// Without the secret, which may not get into a log either.
impl fmt::Debug for Credential<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key(_) => "Key",
            Self::KeyFrom { .. } => "KeyFrom",
            Self::ServiceToken(_) => "ServiceToken",
            Self::Account { .. } => "Account",
            Self::Headers(_) => "Headers",
            Self::Nothing { .. } => "Nothing",
            Self::Tier { .. } => "Tier",
            Self::Ambiguous => "Ambiguous",
        })
    }
}

/// Whether a request is charged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// It is, if it fits.
    Charge,
    /// It is only asked what would be answered.
    Peek,
}

/// Whether a request will be finished later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hold {
    /// Only if a limit needs it.
    IfNeeded,
    /// It will: its true cost may be another.
    Yes,
    /// It will, and what it holds is held for so long unless it is finished or renewed before.
    For(Nanos),
}

impl Hold {
    /// The longest that a permit lives before it is renewed.
    pub const MAX: Nanos = Nanos::from_secs(24 * 60 * 60);
    /// The shortest.
    pub const MIN: Nanos = Nanos::from_secs(1);

    /// Whether it will be finished whatever the limits are.
    pub fn is_asked_for(self) -> bool {
        self != Self::IfNeeded
    }

    /// For how long it is held, if that was said.
    pub(crate) fn span(self) -> Option<Nanos> {
        match self {
            Self::For(span) => Some(span.max(Self::MIN).min(Self::MAX)),
            Self::IfNeeded | Self::Yes => None,
        }
    }
}

/// The front end that asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Front {
    /// The gateway.
    Gateway,
    /// The decision API.
    Decision,
    /// The decision API, as proxies ask it.
    ForwardAuth,
    /// The middleware, in a process of somebody else's.
    Middleware,
    /// The rate limit service that Envoy asks.
    RateLimit,
    /// The authorization service that Envoy asks.
    ExtAuthz,
    /// Clients of Redis.
    Resp,
}

impl Front {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Gateway,
        Self::Decision,
        Self::ForwardAuth,
        Self::Middleware,
        Self::RateLimit,
        Self::ExtAuthz,
        Self::Resp,
    ];

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gateway => "gateway",
            Self::Decision => "decision",
            Self::ForwardAuth => "forward_auth",
            Self::Middleware => "middleware",
            Self::RateLimit => "rate_limit",
            Self::ExtAuthz => "ext_authz",
            Self::Resp => "resp",
        }
    }

    /// Who finishes what is admitted.
    #[inline]
    pub(crate) const fn finisher(self) -> Finisher {
        match self {
            Self::Decision | Self::Resp => Finisher::Service,
            _ => Finisher::Process,
        }
    }

    /// Who forwards what is admitted.
    pub(crate) const fn forwarder(self) -> Forwarder {
        match self {
            Self::Gateway | Self::Middleware => Forwarder::Us,
            Self::Decision | Self::ForwardAuth | Self::RateLimit | Self::ExtAuthz | Self::Resp => {
                Forwarder::Others
            }
        }
    }
}

/// Who forwards a request that is admitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Forwarder {
    /// This process, which sees how long the upstream takes, and may refuse more than it can do.
    Us,
    /// Whoever asks.
    Others,
}
