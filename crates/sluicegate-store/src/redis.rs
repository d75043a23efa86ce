//! Meters, and the directory, in a Redis or Valkey that several nodes share.
//!
//! A home is one string and settling is one script, so all charges of a request are atomic and cost one round trip.
//! What a call that was cut off has done is never guessed: [`Meters::resolve`] asks, and settles it for good.

pub mod alerts;
pub mod blocks;
mod channel;
pub mod check;
pub(crate) mod directory;
mod driver;
mod homes;
mod kept_script;
pub mod link;
mod meters;
mod permits;
mod pressure;
mod time_bound;
mod wire;

pub use homes::{
    Away, Billed, BreakerSettings, Count, Expiry, Homes, HomesCounters, HomesSettings, NotSettled, Owed,
    SentIn, StoreMode, Undone,
};
pub use link::{Address, BadAddress, Link, LinkError, LinkOptions, Password, QueryError};
pub use meters::{
    Applied, Ask, CallError, HomeCall, Meters, NameUse, NodeId, RequestName, Resolved, Seq, Settled,
};
pub use permits::{PermitClaim, PermitClaims};
pub use pressure::SharedPressure;
pub use time_bound::TimeBound;
