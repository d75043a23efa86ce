//! A policy as it was meant: tiers with their limits, routes with their costs, and the settings around them.
//!
//! Values of these types are already checked against each other: the text of a policy file becomes one, or a list of
//! problems, in [`crate::file`].

pub mod abuse;
pub mod clock;
pub mod degraded;
pub mod descriptor;
pub mod identity;
pub mod jwt;
pub mod ledger;
pub mod percent;
pub mod responses;
pub mod route;
pub mod server;
pub mod shedding;
pub mod store;
pub mod tier;
pub mod tiers;
pub mod url;

pub use abuse::{AppliesTo, Blocks, Bucket, Conduct, Edge, Pressure, Reputation};
pub use clock::ClockSettings;
pub use degraded::{Degraded, DegradedQuota, DegradedRate};
pub use descriptor::{DescriptorLimit, Descriptors, Enforcement};
pub use identity::{AddressPrefix, Challenge, HeaderName, Identity, KeyPlace, SecretSource, SessionCookie};
pub use jwt::{JwksSource, Jwt};
pub use ledger::{Alerts, Durability, ExportTarget, LedgerSettings};
pub use percent::Percent;
pub use responses::{HeaderFamily, QuotaReset, Responses};
pub use route::{Case, Repeats, Route, RouteIndex, Routes};
pub use server::{
    BadNetwork, DecisionAuth, ForwardedHeader, Maxima, May, Network, PassHeaders, PerAddress, Permissions,
    Proxies, ProxyProtocol, ServerSettings, Timeouts, TlsFiles, TunnelSettings, UpstreamHost,
    UpstreamProtocol,
};
pub use shedding::Shedding;
pub use store::{RedisLayout, StoreSettings};
pub use tier::{Bypass, RefundOn, Tier, TierLimit, TierName};
pub use tiers::Tiers;
pub use url::HttpUrl;

/// Everything a policy file says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Document {
    /// Addresses: read once, at start.
    pub server: ServerSettings,
    /// Where meters live: read once, at start.
    pub store: StoreSettings,
    /// What may change while the process runs.
    pub policy: Policy,
}

/// The part of the file that is swapped as a whole when the file changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Policy {
    /// How callers are told apart.
    pub identity: Identity,
    /// The plans.
    pub tiers: Tiers,
    /// Kinds of requests.
    pub routes: Routes,
    /// The scope that a key must have for requests that match no route.
    pub default_scope: Option<String>,
    /// Limits for those who ask by descriptors.
    pub descriptors: Descriptors,
    /// The coarse limit for each address.
    pub edge: Option<Edge>,
    /// Smaller limits for callers that are refused often.
    pub reputation: Option<Reputation>,
    /// Blocks for callers that are refused again and again.
    pub blocks: Option<Blocks>,
    /// Smaller limits behind addresses with too many fingerprints.
    pub pressure: Option<Pressure>,
    /// What is refused while the upstream cannot keep up.
    pub shedding: Option<Shedding>,
    /// What is decided while the store cannot be reached.
    pub degraded: Degraded,
    /// What answers say about limits.
    pub responses: Responses,
    /// The record of what was used.
    pub ledger: LedgerSettings,
    /// Where alerts are sent.
    pub alerts: Alerts,
    /// When a clock that leaps is followed.
    pub clock: ClockSettings,
}
