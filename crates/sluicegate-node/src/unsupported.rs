//! What a policy asks for and this build cannot do. It is refused, never ignored: a policy that exports usage or sends
//! alerts is a promise to someone.

use sluicegate_core::policy::{Document, JwksSource, Policy, RedisLayout, StoreSettings};

/// The settings of this document that need a feature this build lacks, as sentences.
pub(crate) fn settings(document: &Document) -> Vec<String> {
    let mut missing = store(&document.store);
    missing.extend(policy(&document.policy));
    missing
}

/// The same for what a reload changes.
pub(crate) fn policy(policy: &Policy) -> Vec<String> {
    let mut missing = Vec::new();
    if policy.ledger.export.is_some() && !cfg!(feature = "export") {
        missing.push(lacks("`ledger.export`", "export"));
    }
    if let Some(jwt) = &policy.identity.jwt {
        if !sluicegate_engine::jwt::IS_BUILT {
            missing.push(lacks("`identity.jwt`", "jwt"));
        }
        if matches!(&jwt.jwks, JwksSource::Url(url) if url.as_str().starts_with("https:")) {
            missing.extend(tls_for("`identity.jwt.jwks` with https"));
        }
    }
    let webhook = policy.alerts.webhook.as_ref();
    if webhook.is_some_and(|url| url.as_str().starts_with("https:")) {
        missing.extend(tls_for("`alerts.webhook` with https"));
    }
    missing
}

/// Why this setting cannot use TLS, if it cannot.
#[cfg(feature = "tls")]
fn tls_for(setting: &str) -> Option<String> {
    crate::net::provider().err().map(|error| format!("the policy has {setting}: {error}"))
}

#[cfg(not(feature = "tls"))]
fn tls_for(setting: &str) -> Option<String> {
    Some(lacks(setting, "tls"))
}

fn store(store: &StoreSettings) -> Vec<String> {
    let StoreSettings::Redis { layout, .. } = store else { return Vec::new() };
    let mut missing = Vec::new();
    if !cfg!(feature = "redis") {
        missing.push(lacks("`store: redis://…`", "redis"));
    }
    if *layout == RedisLayout::StandaloneTls && !cfg!(feature = "tls") {
        missing.push(lacks("`store: rediss://…`", "tls"));
    }
    missing
}

fn lacks(setting: &str, feature: &str) -> String {
    format!("the policy has {setting}, and this program was built without the feature `{feature}`: enable it")
}
