//! Who may ask for decisions: tokens with the role `decide`, and what each of them may do beyond asking.

use std::net::IpAddr;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use sluicegate_core::policy::{DecisionAuth, May, Permissions, ServerSettings};
use sluicegate_core::time::Timestamp;
use sluicegate_engine::{Engine, RefusedSignIn, SignInPort};
use sluicegate_store::token::{Role, TokenId, TokenName};

/// The header of the port's token, where `Authorization` is the caller's.
pub(crate) const TOKEN_HEADER: &str = "x-sluicegate-token";

/// What callers without a token are called in the audit.
const ANONYMOUS: &str = "anonymous";

/// Who may ask at a port.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// Whether a token is needed.
    is_required: bool,
    /// What callers without one may do.
    anonymous: Permissions,
}

impl Access {
    /// Nobody needs a token; callers without one may do this.
    pub const fn open(may: Permissions) -> Self {
        Self { is_required: false, anonymous: may }
    }

    /// Everybody needs a token.
    pub const fn required() -> Self {
        Self { is_required: true, anonymous: Permissions::NONE }
    }

    /// What the policy says of a port at this address. A certificate that every caller has to show is a credential.
    pub fn new(server: &ServerSettings, address: IpAddr, has_client_ca: bool) -> Self {
        let is_required = match server.decision_auth {
            DecisionAuth::None => false,
            _ if has_client_ca => false,
            DecisionAuth::Required => true,
            DecisionAuth::OffLoopback => !address.is_loopback(),
        };
        Self { is_required, anonymous: server.decision_may }
    }

    /// Whether a token is needed.
    pub const fn is_required(self) -> bool {
        self.is_required
    }

    /// What callers with the password of the port may do: as much as those without a token.
    pub(crate) const fn with_password(self) -> Grant {
        Grant { may: self.anonymous, token: None }
    }

    /// What callers without a token may do, if they may ask.
    pub(crate) fn without_token(self) -> Option<Grant> {
        (!self.is_required).then_some(Grant { may: self.anonymous, token: None })
    }
}

/// What a caller of the port may do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Grant {
    may: Permissions,
    token: Option<(TokenId, TokenName)>,
}

/// Why a caller may not ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unauthorized {
    /// A token is needed.
    Missing,
    /// The token is wrong, expired or revoked.
    Wrong,
    /// So are too many others of this peer.
    TooMany,
    /// The token is right, and for something else.
    Role,
}

impl Grant {
    /// Nothing beyond asking.
    pub(crate) const NONE: Self = Self { may: Permissions::NONE, token: None };

    /// Whether this is allowed.
    #[inline]
    pub(crate) fn allows(&self, may: May) -> bool {
        self.may.has(may)
    }

    /// What the audit calls the caller.
    pub(crate) fn actor(&self) -> &str {
        self.token.as_ref().map_or(ANONYMOUS, |(_, name)| name.as_str())
    }

    /// Whether the token behind it can still be used.
    #[inline]
    pub(crate) fn is_live(&self, engine: &Engine, now: Timestamp) -> bool {
        self.token.as_ref().is_none_or(|(id, _)| engine.directory().is_token_live(*id, now))
    }
}

/// Where a call carries the port's token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TokenPlace {
    /// In `Authorization`, or in `X-Sluicegate-Token`.
    Authorization,
    /// In `X-Sluicegate-Token` alone: `Authorization` is the caller's.
    OwnHeader,
}

/// What the caller of a request may do.
#[inline]
pub(crate) async fn check(
    engine: &Engine,
    access: Access,
    headers: &HeaderMap,
    place: TokenPlace,
    peer: Option<IpAddr>,
) -> Result<Grant, Unauthorized> {
    match presented(headers, place) {
        None => access.without_token().ok_or(Unauthorized::Missing),
        Some(token) => check_token(engine, token, peer, SignInPort::Decision).await,
    }
}

/// What the holder of a token may do. A wrong one is delayed.
pub(crate) async fn check_token(
    engine: &Engine,
    token: &[u8],
    peer: Option<IpAddr>,
    port: SignInPort,
) -> Result<Grant, Unauthorized> {
    let now = engine.now();
    match find(engine, token, now) {
        Err(Unauthorized::Wrong) => Err(match engine.refuse_sign_in(peer, port, now).await {
            RefusedSignIn::Wrong => Unauthorized::Wrong,
            RefusedSignIn::TooMany => Unauthorized::TooMany,
        }),
        found => found,
    }
}

/// What the holder of a token may do. Never waits.
pub(crate) fn find(engine: &Engine, token: &[u8], now: Timestamp) -> Result<Grant, Unauthorized> {
    let token = engine.directory().verify_token(token, now).ok_or(Unauthorized::Wrong)?;
    if !token.role.includes(Role::Decide) {
        return Err(Unauthorized::Role);
    }
    Ok(Grant { may: token.may, token: Some((token.id, token.name)) })
}

fn presented(headers: &HeaderMap, place: TokenPlace) -> Option<&[u8]> {
    if let Some(own) = headers.get(TOKEN_HEADER) {
        return Some(own.as_bytes().trim_ascii());
    }
    if place == TokenPlace::OwnHeader {
        return None;
    }
    let value = headers.get(AUTHORIZATION)?.as_bytes();
    let (scheme, token) = value.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| token.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_off_loopback_needs_a_token_unless_the_policy_opens_it() {
        let of = |auth, address: &str, has_client_ca| {
            let server = ServerSettings { decision_auth: auth, ..ServerSettings::default() };
            Access::new(&server, address.parse().unwrap(), has_client_ca).is_required()
        };
        assert!(!of(DecisionAuth::OffLoopback, "127.0.0.1", false));
        assert!(!of(DecisionAuth::OffLoopback, "::1", false));
        assert!(of(DecisionAuth::OffLoopback, "0.0.0.0", false));
        assert!(of(DecisionAuth::OffLoopback, "10.1.2.3", false));
        assert!(!of(DecisionAuth::OffLoopback, "10.1.2.3", true));
        assert!(of(DecisionAuth::Required, "127.0.0.1", false));
        assert!(!of(DecisionAuth::None, "0.0.0.0", false));
    }
}
