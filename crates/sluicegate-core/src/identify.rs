//! Who is calling, as far as the headers of a request say: keys and tokens, addresses that can be believed, and what
//! the caller calls its request.

mod address;
mod credential;
mod forwarded;
mod name;

pub use address::address;
pub use credential::{Presented, presented};
pub use name::{Name, NameHeader};
