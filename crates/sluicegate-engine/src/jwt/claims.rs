//! What the claims of a token have to say, and whom they name.

use serde_json::{Map, Value};
use sluicegate_core::policy::{Jwt, TierName};
use sluicegate_core::time::Timestamp;
use sluicegate_store::directory::Scopes;

/// The longest name of an account that a token may give, in bytes.
const ACCOUNT_BYTES_MAX: usize = 128;
/// A scope of this name would admit to everything: no provider is asked about that.
const EVERY_SCOPE: &str = "*";

/// Who a token stands for.
#[derive(Debug)]
pub(crate) struct VerifiedToken {
    pub(crate) account: Box<str>,
    /// The tier of the account where the directory does not know it.
    pub(crate) tier: Option<Box<str>>,
    pub(crate) scopes: Scopes,
    /// With the leeway.
    not_before: Timestamp,
    ends: Timestamp,
}

impl VerifiedToken {
    /// Who claims stand for that are signed. Nothing if they are not for us, or do not say who.
    pub(super) fn of(claims: &Map<String, Value>, jwt: &Jwt) -> Option<Self> {
        if claims.get("iss")?.as_str()? != jwt.issuer || !is_for(claims.get("aud")?, &jwt.audience) {
            return None;
        }
        let begins = [optional_date(claims, "nbf")?, optional_date(claims, "iat")?];
        let begins = begins.into_iter().flatten().max().unwrap_or(0);
        let leeway = jwt.leeway.0;
        let not_before = Timestamp::from_nanos(nanos(begins).saturating_sub(leeway));
        let ends = Timestamp::from_nanos(nanos(date(claims.get("exp")?)?).saturating_add(leeway));
        let account = name(claims.get(&jwt.account)?)?;
        let tier = jwt.tier.as_ref().and_then(|claim| tier(claims.get(claim)?));
        let scopes = jwt.scopes.as_ref().and_then(|claim| claims.get(claim));
        let scopes = scopes.map_or_else(Scopes::default, self::scopes);
        Some(Self { account, tier, scopes, not_before, ends })
    }

    pub(super) fn is_valid_at(&self, now: Timestamp) -> bool {
        self.not_before <= now && !self.has_ended_at(now)
    }

    pub(super) fn has_ended_at(&self, now: Timestamp) -> bool {
        self.ends <= now
    }

    #[cfg(test)]
    pub(super) fn for_tests(account: &str, ends: Timestamp) -> Self {
        let not_before = Timestamp::EPOCH;
        Self { account: account.into(), tier: None, scopes: Scopes::default(), not_before, ends }
    }
}

/// Whether `aud`, one text or a list of them, holds one of these.
fn is_for(audience: &Value, ours: &[String]) -> bool {
    let is_ours = |value: &Value| value.as_str().is_some_and(|text| ours.iter().any(|own| own == text));
    match audience {
        Value::Array(all) => all.iter().any(is_ours),
        one => is_ours(one),
    }
}

/// A date in whole seconds since 1970. Fractions are cut off.
fn date(value: &Value) -> Option<u64> {
    let Value::Number(number) = value else { return None };
    number.as_u64().or_else(|| number.to_string().split('.').next()?.parse().ok())
}

/// A date that may be absent, but not be something else.
fn optional_date(claims: &Map<String, Value>, claim: &str) -> Option<Option<u64>> {
    match claims.get(claim) {
        None => Some(None),
        Some(value) => date(value).map(Some),
    }
}

fn nanos(seconds: u64) -> u64 {
    seconds.saturating_mul(1_000_000_000)
}

/// The name of an account: a text, or a whole number.
fn name(value: &Value) -> Option<Box<str>> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.as_u64()?.to_string(),
        _ => return None,
    };
    let fits = !text.is_empty() && text.len() <= ACCOUNT_BYTES_MAX && !text.chars().any(char::is_control);
    fits.then(|| text.into())
}

/// The name of a tier of the policy. A negotiated one belongs to an account of the directory.
fn tier(value: &Value) -> Option<Box<str>> {
    let name = TierName::new(value.as_str()?)?;
    (!name.is_custom()).then(|| name.as_str().into())
}

/// The scopes of a text or a list. Those that no route can demand are left out.
fn scopes(value: &Value) -> Scopes {
    let names: Vec<&str> = match value {
        Value::String(text) => text.split_ascii_whitespace().collect(),
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let known = names.into_iter().filter(|name| *name != EVERY_SCOPE && Scopes::new([*name]).is_ok());
    Scopes::new(known.take(Scopes::COUNT_MAX)).unwrap_or_default()
}
