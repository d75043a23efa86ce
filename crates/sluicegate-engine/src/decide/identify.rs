//! Who is calling, and under which plan.

use std::sync::Arc;

use sluicegate_core::plan::{HomeId, Sharer};
use sluicegate_core::policy::Bypass;
use sluicegate_core::tariff::Plan;
use sluicegate_core::time::Timestamp;
use sluicegate_store::directory::{Account, Key, KeyRestrictions, Looked, LookedAccount, Verified};
use sluicegate_store::key_text::PresentedKey;

use super::RequestContext;
use crate::ErrorCode;
use crate::decision::{Denial, Who};
use crate::engine::Engine;
use crate::identify::{Client, ClientId, client_of};
use crate::jwt::VerifiedToken;
use crate::request::{Credential, Purpose};
use crate::watch::Watched;

/// Who is calling, once that is settled.
pub(crate) struct Caller {
    /// What it bought.
    pub(crate) plan: Arc<Plan>,
    pub(crate) home: HomeId,
    pub(crate) watched: Watched,
    pub(super) account: Option<Arc<Account>>,
    pub(super) key: Option<Arc<Key>>,
    /// What people call it, without a key. Its home may be one that it shares.
    pub(crate) client: Option<ClientId>,
    /// The token that it presents in the place of a key.
    pub(super) token: Option<Arc<VerifiedToken>>,
}

impl Caller {
    /// Whether it is an account that presents no key.
    pub(super) fn is_asserted(&self) -> bool {
        self.account.is_some() && self.key.is_none()
    }
}

/// Why a key may not be used for this request.
#[cold]
fn refused_by(restrictions: &KeyRestrictions, context: &RequestContext<'_>) -> Option<ErrorCode> {
    if !restrictions.allowed_ips.admit(context.request.address) {
        return Some(ErrorCode::AddressNotAllowed);
    }
    let origins = match context.request.credential {
        Credential::Headers(headers) | Credential::KeyFrom { headers, .. } => {
            Some(headers.get_all(http::header::ORIGIN))
        }
        // Who asks for a caller by its key alone knows no header.
        _ => None,
    };
    let origins = origins.into_iter().flatten().map(|value| value.to_str().ok());
    (!restrictions.allowed_origins.admit(origins)).then_some(ErrorCode::OriginNotAllowed)
}

/// Why it is not settled who is calling.
pub(super) enum IdentifyError {
    /// It is not known.
    Error(ErrorCode),
    /// Whoever it is, it is blocked.
    Refused(Box<(Denial, Who)>),
}

impl Engine {
    /// Who is calling, and under which plan. Whoever is blocked is not looked at any further.
    pub(super) fn identify(&self, context: &RequestContext<'_>) -> Result<Caller, IdentifyError> {
        if let Some(token) = &context.token {
            return self.identify_token(context, token.as_ref().map_err(|error| *error));
        }
        let (text, wanted) = match context.credential {
            Credential::Key(text) | Credential::KeyFrom { key: text, .. } => (text, Bypass::No),
            // A service token is a key of an account whose tier is a bypass, in a header of its own. Neither kind is
            // accepted in the other's place: a leaked API key never becomes a bypass.
            Credential::ServiceToken(text) => (text, Bypass::Yes),
            Credential::Ambiguous => return Err(IdentifyError::Error(ErrorCode::AmbiguousKey)),
            Credential::Account { id, tier } => return self.identify_account(context, id, tier),
            // Resolved when the request began, by the policy of the request.
            Credential::Headers(headers) | Credential::Nothing { headers } => {
                let plan = context.policy.anonymous_plan(&self.meters, &self.names);
                return self.identify_client(
                    context,
                    headers,
                    plan.ok_or(IdentifyError::Error(ErrorCode::MissingKey))?,
                );
            }
            Credential::Tier { tier, headers } => {
                return self.identify_client(context, headers, self.plan_of_tier(context, tier)?);
            }
        };
        let presented = PresentedKey::parse(text).map_err(|_| IdentifyError::Error(ErrorCode::InvalidKey))?;
        let verified = match &context.verified {
            Some(verified) => Some(verified.clone()),
            None => self.verify_cached(&presented, context.now),
        };
        let key = match verified {
            Some(Verified::Key(key)) => key,
            Some(Verified::Invalid) => return Err(IdentifyError::Error(ErrorCode::InvalidKey)),
            // It cannot be told from a key that was made a moment ago.
            None => return Err(IdentifyError::Error(ErrorCode::Unavailable)),
        };
        let account = Arc::clone(&key.account);
        let plan = context
            .policy
            .plan_of(&account.standing.load(), &self.meters, &self.names, &self.counters)
            .and_then(|plan| context.policy.plan_of_key(plan, &key, &self.meters))
            .ok_or(IdentifyError::Error(ErrorCode::Unavailable))?;
        if plan.bypass != wanted {
            return Err(IdentifyError::Error(ErrorCode::InvalidKey));
        }
        if let Some(restrictions) = &key.restrictions
            && let Some(error) = refused_by(&restrictions.of, context)
        {
            let who = Who { key: Some(key), ..Who::default() };
            return Err(IdentifyError::Refused(Box::new((Denial::of(error), who))));
        }
        let watched = Watched::key(account.home, Sharer::key(key.number));
        // A bypass is for our own services: nothing stands in their context.
        if wanted == Bypass::No
            && let Some(denial) = self.blocked(watched.home, watched.sharer, context.now)
        {
            let who = Who { key: Some(key), ..Who::default() };
            return Err(IdentifyError::Refused(Box::new((denial, who))));
        }
        if context.request.purpose == Purpose::Charge {
            self.directory.note_used(&key, context.now);
        }
        let home = account.home;
        Ok(Caller { plan, home, watched, account: Some(account), key: Some(key), client: None, token: None })
    }

    /// Resolves the account that a token names.
    #[cold]
    fn identify_token(
        &self,
        context: &RequestContext<'_>,
        token: Result<&Arc<VerifiedToken>, ErrorCode>,
    ) -> Result<Caller, IdentifyError> {
        let token = token.map_err(IdentifyError::Error)?;
        let mut caller = self.identify_account(context, &token.account, token.tier.as_deref())?;
        caller.token = Some(Arc::clone(token));
        Ok(caller)
    }

    /// Resolves an account that a trusted front end asserts.
    fn identify_account(
        &self,
        context: &RequestContext<'_>,
        id: &str,
        tier: Option<&str>,
    ) -> Result<Caller, IdentifyError> {
        let looked = match &context.account {
            Some(looked) => looked.clone(),
            None => self.directory.account_here(id),
        };
        let (plan, home, account, client) = match looked {
            LookedAccount::Known(account) => {
                let plan = context
                    .policy
                    .plan_of(&account.standing.load(), &self.meters, &self.names, &self.counters)
                    .ok_or(IdentifyError::Error(ErrorCode::Unavailable))?;
                (plan, account.home, Some(account), None)
            }
            LookedAccount::Stranger => {
                let tier = tier.ok_or(IdentifyError::Error(ErrorCode::InvalidKey))?;
                let home = self.homes.of_parts(&[b"vouched for", id.as_bytes()]);
                (self.plan_of_tier(context, tier)?, home, None, Some(ClientId(home)))
            }
            // It cannot be told from an account that was made a moment ago.
            LookedAccount::Ask => return Err(IdentifyError::Error(ErrorCode::Unavailable)),
        };
        // Only a service token leads past the limits.
        if plan.bypass == Bypass::Yes {
            return Err(IdentifyError::Error(ErrorCode::InvalidKey));
        }
        if let Some(denial) = self.blocked(home, Sharer::ALL, context.now) {
            let who = Who { client, ..Who::default() };
            return Err(IdentifyError::Refused(Box::new((denial, who))));
        }
        let watched = match account {
            Some(_) => Watched::key(home, Sharer::ALL),
            None => self.watch_stranger(context, home, &plan),
        };
        Ok(Caller { plan, home: watched.home, watched, account, key: None, client, token: None })
    }

    /// The plan of callers whom whoever asks has put into a tier.
    fn plan_of_tier(&self, context: &RequestContext<'_>, tier: &str) -> Result<Arc<Plan>, IdentifyError> {
        context
            .policy
            .client_plan(tier, &self.meters, &self.names, &self.counters)
            .filter(|plan| plan.bypass == Bypass::No)
            .ok_or(IdentifyError::Error(ErrorCode::InvalidKey))
    }

    /// Who a caller without a key is.
    fn identify_client(
        &self,
        context: &RequestContext<'_>,
        headers: &http::HeaderMap,
        plan: Arc<Plan>,
    ) -> Result<Caller, IdentifyError> {
        let client = context.client.unwrap_or_else(|| self.client_of(context, headers));
        if let Some(denial) = self.blocked(client.home, Sharer::ALL, context.now) {
            let who = Who { client: Some(client.id()), ..Who::default() };
            return Err(IdentifyError::Refused(Box::new((denial, who))));
        }
        let watched = self.watch_client(context, &client, &plan);
        let (home, client) = (watched.home, Some(client.id()));
        Ok(Caller { plan, home, watched, account: None, key: None, client, token: None })
    }

    /// Who a caller is that presents these headers and no key.
    pub(super) fn client_of(&self, context: &RequestContext<'_>, headers: &http::HeaderMap) -> Client {
        let identity = &context.policy.policy().identity;
        client_of(&self.homes, &self.sessions, identity, context.request.address, headers, context.now)
    }

    /// What is known of a key without asking anybody.
    #[inline]
    fn verify_cached(&self, presented: &PresentedKey<'_>, now: Timestamp) -> Option<Verified> {
        match self.directory.verify(presented, now) {
            Looked::Known(verified) => Some(verified),
            Looked::Ask => self.directory.known_while_away(presented, now),
        }
    }
}
