//! The connection: one for all callers, kept up in the background, with a deadline for every query.
//!
//! A caller never waits longer than the deadline, whatever the server or the network does. While there is no
//! connection a query fails at once, except right after one was lost: then it waits for the first attempt to replace
//! it.

use std::fmt;
use std::time::Duration;

mod address;
#[cfg(not(feature = "redis"))]
#[path = "link/absent.rs"]
mod connection;
#[cfg(feature = "redis")]
mod connection;
#[cfg(feature = "redis")]
mod dial;
mod error;
#[cfg(feature = "redis")]
mod keep;
#[cfg(feature = "redis")]
mod line;

pub use address::{Address, BadAddress, Eviction};
pub use connection::Link;
pub use error::{LinkError, QueryError, ServerAnswer};

/// How long a query may take unless the options say otherwise.
pub const DEADLINE_DEFAULT: Duration = Duration::from_millis(50);

/// A password. It prints as stars.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// Takes the password as it is.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    #[cfg(feature = "redis")]
    fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(***)")
    }
}

/// What is not in the address.
#[derive(Clone, Debug)]
pub struct LinkOptions {
    /// How long a query may take.
    pub deadline: Duration,
    /// Who to be; the name in the address, or the default user, if absent.
    pub username: Option<String>,
    /// The password of the servers.
    pub password: Option<Password>,
    /// The password of the sentinels, which need not have one when the servers do.
    pub sentinel_password: Option<Password>,
    /// The certificate in PEM that a server must present or be signed by, instead of those that the system trusts.
    pub trusted_pem: Option<Vec<u8>>,
}

impl Default for LinkOptions {
    fn default() -> Self {
        Self {
            deadline: DEADLINE_DEFAULT,
            username: None,
            password: None,
            sentinel_password: None,
            trusted_pem: None,
        }
    }
}
