//! What an address may do before it has a session: the per-IP limit, and how many sessions it is issued.

use std::net::IpAddr;

use sluicegate_core::limit::LimitName;
use sluicegate_core::rule::{Amount, Rule};
use sluicegate_core::time::Timestamp;

use crate::ErrorCode;
use crate::decision::Denial;
use crate::engine::Engine;
use crate::throttle::{ThrottleAnswer, ThrottleAsk};

/// The limit on sessions of one address, as answers name it.
const SESSIONS: &str = "sessions";

/// Whether a session is issued, or only asked about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Minting {
    /// Whether one could be.
    Peek,
    /// One is.
    Issue,
}

impl Engine {
    /// Whether an address has sent too much for the per-IP limit, with this request.
    pub fn check_ip_limit(&self, address: IpAddr, now: Timestamp) -> Option<Denial> {
        self.ip_denial(&self.snapshot.load(), address, now)
    }

    /// Counts a session that is issued to an address, or says why none is. Addresses of IPv6 count by /64.
    pub async fn mint_session(
        &self,
        address: IpAddr,
        minting: Minting,
        now: Timestamp,
    ) -> Result<(), Denial> {
        let rule = Rule::SlidingLog(self.snapshot.load().policy().identity.session_cookie.per_address);
        let Some(name) = LimitName::new(SESSIONS) else { return Ok(()) };
        let throttle = self.throttle(&name, &rule);
        let prefix = self.prefixes_of(address).own.to_le_bytes();
        let subject = self.subject(&[b"sessions", &prefix]);
        let ask = match minting {
            Minting::Peek => ThrottleAsk::Peek(Amount::ONE),
            Minting::Issue => ThrottleAsk::Take(Amount::ONE),
        };
        match self.throttled(&throttle, subject, ask, now).await.answer {
            ThrottleAnswer::Fits => Ok(()),
            ThrottleAnswer::Wait(retry_after) => {
                let denial = Denial::of(ErrorCode::RateLimited);
                Err(Denial { limit: Some(name), retry_after, ..denial })
            }
            ThrottleAnswer::Never | ThrottleAnswer::Unavailable => Err(Denial::of(ErrorCode::Unavailable)),
        }
    }
}
