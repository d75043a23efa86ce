//! Fingerprints behind addresses, as all nodes together have seen them.
//!
//! A node reports a fingerprint that is new to it before it decides, and hears whether the address is squeezed. So the
//! nodes together give no more fresh starts than one would. Addresses and fingerprints are parts of keyed hashes.

use std::fmt;
use std::time::Duration;

use sluicegate_core::policy::Pressure;
use tokio::time::Instant;

use super::kept_script::KeptScript;
use super::link::{Link, QueryError};

static COUNT: KeptScript = KeptScript::new(include_str!("pressure/count.lua"));

/// The fingerprints of all nodes.
#[derive(Clone)]
pub struct SharedPressure {
    link: Link,
}

impl fmt::Debug for SharedPressure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedPressure").field("link", &self.link).finish()
    }
}

impl SharedPressure {
    /// Those behind a link.
    pub const fn new(link: Link) -> Self {
        Self { link }
    }

    /// Reports fingerprints behind an address. For how long the address is squeezed; zero: it is not.
    pub async fn report(
        &self,
        address: u64,
        fingerprints: &[u32],
        pressure: &Pressure,
        expires: Instant,
    ) -> Result<Duration, QueryError> {
        // Both keys are in the hash slot of the address.
        let keys = [
            format!("sg1:{{pressure:{address:016x}}}:fingerprints"),
            format!("sg1:{{pressure:{address:016x}}}:until"),
        ];
        let window = pressure.window.as_nanos() / 1_000_000;
        let settings = [window, pressure.length.as_millis_ceil(), pressure.fingerprints.into()];
        let arguments = settings.into_iter().chain(fingerprints.iter().map(|number| u64::from(*number)));
        let arguments: Vec<String> = arguments.map(|number| number.to_string()).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let left: u64 = COUNT.run(&self.link, &[&keys[0], &keys[1]], &arguments, expires).await?;
        Ok(Duration::from_millis(left))
    }
}
