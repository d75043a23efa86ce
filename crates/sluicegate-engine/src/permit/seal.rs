//! Permits as text: everything that a finish needs, authenticated, so that every node with the same secret and every
//! process after a restart can finish what another has admitted.
//!
//! `permit_` and base64url of: version, payload, and the first 16 bytes of a keyed hash of both. The payload has 128
//! random bits, no secret and no address. Numbers are little endian; names stand behind their length.

use std::num::NonZeroU32;

use sluicegate_core::plan::HomeId;
use sluicegate_core::policy::{RefundOn, TierName};
use sluicegate_core::rule::Amount;
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::{Flags, Idempotency};
use sluicegate_store::key_text::NoRandomness;

use super::base64url;
use super::limit_print::LimitPrint;
use super::{Kept, Settles};
use crate::ids::DecisionId;

/// What the key is made for. Changing it ends all permits.
const PERMITS: &str = "sluicegate 2026-11-18 permits";
const PREFIX: &str = "permit_";
const VERSION: u8 = 1;
const MAC_LENGTH: usize = 16;

/// The longest text that is looked at: two names of 255 bytes and as many limits as a tier may have are less.
const LENGTH_MAX: usize = 2_048;

const LOCAL: u8 = 1;
const REPLAY: u8 = 1 << 1;
const NAMED: u8 = 1 << 2;
const REFUNDS: u8 = 1 << 3;

/// The key that permits are authenticated with.
#[derive(Clone)]
pub struct PermitKey {
    sealing: [u8; 32],
    /// Those that sealed before: what they sealed is accepted.
    previous: Vec<[u8; 32]>,
}

/// Without the key.
impl std::fmt::Debug for PermitKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PermitKey").finish_non_exhaustive()
    }
}

/// What a permit says. Names instead of numbers, which are a node's own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SealedPermit {
    pub(crate) decision: DecisionId,
    pub(crate) home: HomeId,
    /// The node that has charged it.
    pub(crate) node: u64,
    pub(crate) account: u64,
    pub(crate) key: u64,
    pub(crate) key_number: Option<NonZeroU32>,
    pub(crate) tier: TierName,
    pub(crate) route: Option<String>,
    pub(crate) cost: Option<Amount>,
    pub(crate) settles: Settles,
    pub(crate) refund_on: RefundOn,
    pub(crate) charged_at: Timestamp,
    /// When its lease ends.
    pub(crate) ends: Timestamp,
    pub(crate) holder: u64,
    pub(crate) slot: SlotId,
    pub(crate) name: Option<Idempotency>,
    pub(crate) kept: Kept,
    pub(crate) flags: Flags,
    pub(crate) limits: Vec<LimitPrint>,
}

impl PermitKey {
    /// The key that is made from this secret.
    pub fn new(secret: &[u8]) -> Self {
        Self { sealing: blake3::derive_key(PERMITS, secret), previous: Vec::new() }
    }

    /// The same, and permits that were sealed under one of these earlier secrets are accepted.
    #[must_use]
    pub fn with_previous<'s>(mut self, secrets: impl IntoIterator<Item = &'s [u8]>) -> Self {
        self.previous = secrets.into_iter().map(|secret| blake3::derive_key(PERMITS, secret)).collect();
        self
    }

    /// The text of a permit.
    pub(crate) fn seal(&self, permit: &SealedPermit) -> Result<String, NoRandomness> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|_| NoRandomness)?;
        let mut bytes = Vec::with_capacity(224);
        permit.write(random, &mut bytes);
        let mac = blake3::keyed_hash(&self.sealing, &bytes);
        bytes.extend(&mac.as_bytes()[..MAC_LENGTH]);
        let mut text = String::with_capacity(PREFIX.len() + bytes.len().div_ceil(3) * 4);
        text.push_str(PREFIX);
        base64url::encode(&bytes, &mut text);
        Ok(text)
    }

    /// What a text says, if it was sealed with this key.
    pub(crate) fn open(&self, text: &str) -> Option<SealedPermit> {
        let text = text.strip_prefix(PREFIX).filter(|text| text.len() <= LENGTH_MAX)?;
        let bytes = base64url::decode(text.as_bytes())?;
        let (said, mac) = bytes.split_at_checked(bytes.len().checked_sub(MAC_LENGTH)?)?;
        let is_sealed_with = |key: &[u8; 32]| {
            let expected = blake3::keyed_hash(key, said);
            // In the same time whatever they are: all bytes are compared, and none is told.
            let bytes = expected.as_bytes().iter().zip(mac);
            bytes.fold(0, |differ, (one, other)| differ | (one ^ other)) == 0
        };
        let is_sealed = is_sealed_with(&self.sealing) || self.previous.iter().any(is_sealed_with);
        is_sealed.then(|| SealedPermit::read(said))?
    }
}

impl SealedPermit {
    fn write(&self, random: [u8; 16], into: &mut Vec<u8>) {
        let bit = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        into.push(VERSION);
        into.push(
            bit(self.kept == Kept::Here, LOCAL)
                | bit(self.settles == Settles::Nothing, REPLAY)
                | bit(self.name.is_some(), NAMED)
                | bit(self.refund_on == RefundOn::ServerError, REFUNDS),
        );
        into.extend(random);
        into.extend(self.decision.0.to_le_bytes());
        into.extend(self.home.0.to_le_bytes());
        for number in [
            self.node,
            self.account,
            self.key,
            self.cost.map_or(0, Amount::get),
            self.charged_at.as_nanos(),
            self.ends.as_nanos(),
            self.holder,
            self.slot.0,
        ] {
            into.extend(number.to_le_bytes());
        }
        into.extend(self.key_number.map_or(0, NonZeroU32::get).to_le_bytes());
        into.extend(self.flags.to_bits().to_le_bytes());
        if let Some(name) = self.name {
            into.extend(name.key.to_le_bytes());
            into.extend(name.request.to_le_bytes());
        }
        put_text(self.tier.as_str(), into);
        put_text(self.route.as_deref().unwrap_or_default(), into);
        into.push(u8::try_from(self.limits.len()).unwrap_or(u8::MAX));
        for limit in self.limits.iter().take(u8::MAX.into()) {
            into.extend(limit.algorithm.to_le_bytes());
            into.extend(limit.state.to_le_bytes());
        }
    }

    /// What was written, if nothing is missing and nothing is left over.
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut bytes = Fields(bytes);
        if bytes.take()? != [VERSION] {
            return None;
        }
        let [bits] = bytes.take()?;
        let _random: [u8; 16] = bytes.take()?;
        let decision = DecisionId(u128::from_le_bytes(bytes.take()?));
        let home = HomeId(u128::from_le_bytes(bytes.take()?));
        let (node, account, key) = (bytes.number()?, bytes.number()?, bytes.number()?);
        let cost = Amount::new(bytes.number()?);
        let charged_at = Timestamp::from_nanos(bytes.number()?);
        let ends = Timestamp::from_nanos(bytes.number()?);
        let (holder, slot) = (bytes.number()?, SlotId(bytes.number()?));
        let key_number = NonZeroU32::new(u32::from_le_bytes(bytes.take()?));
        let flags = Flags::from_bits(u16::from_le_bytes(bytes.take()?));
        let name = match bits & NAMED {
            0 => None,
            _ => Some(Idempotency { key: bytes.number()?, request: bytes.number()? }),
        };
        let tier = TierName::new(bytes.text()?)?;
        let route = Some(bytes.text()?).filter(|route| !route.is_empty()).map(str::to_owned);
        let [count] = bytes.take()?;
        let mut limits = Vec::new();
        for _ in 0..count {
            let algorithm = u32::from_le_bytes(bytes.take()?);
            limits.push(LimitPrint { algorithm, state: u32::from_le_bytes(bytes.take()?) });
        }
        bytes.0.is_empty().then_some(Self {
            decision,
            home,
            node,
            account,
            key,
            key_number,
            tier,
            route,
            cost,
            settles: if bits & REPLAY == 0 { Settles::TrueCost } else { Settles::Nothing },
            refund_on: if bits & REFUNDS == 0 { RefundOn::Nothing } else { RefundOn::ServerError },
            charged_at,
            ends,
            holder,
            slot,
            name,
            kept: if bits & LOCAL == 0 { Kept::Store } else { Kept::Here },
            flags,
            limits,
        })
    }
}

/// Appends a name behind its length. None is longer than 255 bytes.
fn put_text(text: &str, into: &mut Vec<u8>) {
    let length = u8::try_from(text.len()).unwrap_or(0);
    into.push(length);
    into.extend(&text.as_bytes()[..length.into()]);
}

/// Bytes that are read from the front.
struct Fields<'b>(&'b [u8]);

impl<'b> Fields<'b> {
    fn take<const LENGTH: usize>(&mut self) -> Option<[u8; LENGTH]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn number(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Option<&'b str> {
        let [length] = self.take()?;
        let (text, rest) = self.0.split_at_checked(length.into())?;
        self.0 = rest;
        str::from_utf8(text).ok()
    }
}

#[cfg(test)]
mod tests;
