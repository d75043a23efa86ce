//! Who is calling: keys and tokens as headers carry them, addresses as far as they can be believed, and what stands in
//! for a name where a caller has none.

mod client;
mod cookie;
mod credential;
mod daily;
mod prefix;

pub(crate) use client::client_of;
pub use client::{Client, ClientId, ClientKind};
pub use cookie::{SessionId, SessionKeys};
pub(crate) use credential::credential;
pub use daily::DailyHash;
pub(crate) use prefix::prefix_home;
pub use prefix::{Prefixes, prefixes};
pub use sluicegate_core::identify::{NameHeader, address};
