//! Who is calling: keys and tokens as headers carry them, addresses as far as they can be believed, and what stands in
//! for a name where a caller has none.

mod address;
mod client;
mod cookie;
mod credential;
mod daily;
mod forwarded;
mod name;
mod prefix;

pub use address::address;
pub(crate) use client::client_of;
pub use client::{Client, ClientId, ClientKind};
pub use cookie::{SessionId, SessionKeys};
pub use credential::credential;
pub use daily::DailyHash;
pub use name::NameHeader;
pub use prefix::{Prefixes, prefixes};
