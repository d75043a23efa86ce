//! Internal to Sluicegate: no semver promise. Use `sluicegate-tower`.
//!
//! Decides whether a caller may pass.
//!
//! Every front end builds the same [`CallerRequest`], calls the one [`Engine::decide`] and renders the one
//! [`Decision`]. None of them knows a limit. The steps of a decision are the list in `decide.rs`.

pub mod abuse;
mod alerting;
pub mod audit;
pub mod books;
pub mod clock;
mod clock_keeping;
pub mod clustered;
mod decide;
pub mod decision;
pub mod embedded;
pub mod engine;
mod finish;
mod hand_out;
mod hold_times;
mod idempotency;
pub mod identify;
mod ids;
mod in_flight;
pub mod jwt;
mod key_plan;
mod lines;
mod look;
mod minting;
mod names;
mod overload;
pub mod permit;
pub mod problem;
pub mod pulse;
mod record;
mod recover;
pub mod request;
mod save;
mod settlement;
mod shared;
pub mod shed;
mod sign_ins;
pub mod snapshot;
mod sold;
mod thresholds;
pub mod throttle;
mod unsettled;
mod watch;

pub use alerting::{Observed, Rejected};
pub use books::Books;
pub use clock::Clock;
pub use clustered::{Clustered, ClusteredError};
pub use decide::Continuation;
pub use decision::{Answer, Decision, Denial, StoreMode};
pub use embedded::{Embedded, EmbeddedError};
pub use engine::{Engine, EngineParts};
pub use finish::{FinishError, Finished};
pub use ids::{DecisionId, DecisionText};
pub use in_flight::Renewed;
pub use key_plan::BadKeyLimits;
pub use lines::{HeaderLines, name_of};
pub use look::AccountLimit;
pub use minting::Minting;
pub use permit::{HandedPermit, Permit, PermitKey};
pub use pulse::Pulse;
pub use recover::{Progress, RecoverError, Recovered};
pub use request::{CallerRequest, Credential, Front, Hold, Name, Purpose};
pub use save::SaveError;
pub use shared::SharedParts;
pub use sign_ins::{RefusedSignIn, SignInPort};
pub use sluicegate_core::answer::{self, ErrorCode};
pub use sluicegate_store::directory::Account;
pub use snapshot::{PolicySnapshot, ReloadError};
pub use thresholds::Level;
pub use throttle::{Throttle, ThrottleAnswer, ThrottleAsk, Throttled};
pub use unsettled::Unsettled;
pub use watch::Standing;
