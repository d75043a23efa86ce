//! Permits that were finished: of all nodes, one settles a permit, and every other gets its answer.
//!
//! A claim is a key in the hash slot of the account, written only if there is none. It has the answer, and who claims:
//! a claim whose reply was lost is made again, and recognised as the own one.

use std::fmt;
use std::time::Duration;

use sluicegate_core::plan::HomeId;

use super::driver::cmd;
use super::link::{Link, QueryError};
use super::meters::NodeId;
use super::wire::call::permit_key;

/// The layout of a claim.
const VERSION: u8 = 1;
const LENGTH: usize = 33;

/// That a permit is finished, and with what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PermitClaim {
    /// The node that settles it.
    pub node: NodeId,
    /// What tells this claim of the node from its others.
    pub token: u64,
    /// What was charged at first.
    pub reserved: u64,
    /// What the request cost in the end.
    pub settled: u64,
}

impl PermitClaim {
    fn to_bytes(self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        for number in [self.node.0, self.token, self.reserved, self.settled] {
            bytes.extend(number.to_le_bytes());
        }
        bytes
    }

    /// A claim as it was written. What a later version wrote begins the same.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let number = |place: usize| {
            let bytes = bytes.get(1 + 8 * place..9 + 8 * place)?;
            Some(u64::from_le_bytes(bytes.try_into().ok()?))
        };
        if bytes.len() < LENGTH || bytes[0] < VERSION {
            return None;
        }
        Some(Self { node: NodeId(number(0)?), token: number(1)?, reserved: number(2)?, settled: number(3)? })
    }
}

/// The claims of all nodes.
#[derive(Clone)]
pub struct PermitClaims {
    link: Link,
}

impl fmt::Debug for PermitClaims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermitClaims").field("link", &self.link).finish()
    }
}

impl PermitClaims {
    /// The claims behind a link.
    pub fn new(link: Link) -> Self {
        Self { link }
    }

    /// Claims the permit of a decision, if nobody has, and remembers that for so long. Returns the claim that stands:
    /// this one, or an earlier one.
    pub async fn claim(
        &self,
        home: HomeId,
        decision: u128,
        claim: PermitClaim,
        remembered: Duration,
    ) -> Result<PermitClaim, QueryError> {
        let mut set = cmd("SET");
        set.arg(permit_key(home, decision)).arg(claim.to_bytes()).arg("NX").arg("GET").arg("PX");
        set.arg(u64::try_from(remembered.as_millis()).unwrap_or(u64::MAX));
        let earlier: Option<Vec<u8>> = self.link.query(&set).await?;
        match earlier {
            None => Ok(claim),
            Some(bytes) => read(&bytes),
        }
    }

    /// The claim of a permit, if there is one.
    pub async fn find(&self, home: HomeId, decision: u128) -> Result<Option<PermitClaim>, QueryError> {
        let mut get = cmd("GET");
        get.arg(permit_key(home, decision));
        let found: Option<Vec<u8>> = self.link.query(&get).await?;
        found.as_deref().map(read).transpose()
    }
}

fn read(bytes: &[u8]) -> Result<PermitClaim, QueryError> {
    PermitClaim::from_bytes(bytes).ok_or_else(|| QueryError::Garbled("a claim that cannot be read".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_read_as_it_was_written_and_nothing_else_is() {
        let claim = PermitClaim { node: NodeId(u64::MAX), token: 7, reserved: 1 << 52, settled: 0 };
        let bytes = claim.to_bytes();
        assert_eq!((bytes.len(), PermitClaim::from_bytes(&bytes)), (LENGTH, Some(claim)));
        (0..LENGTH).for_each(|length| assert_eq!(PermitClaim::from_bytes(&bytes[..length]), None));
    }
}
