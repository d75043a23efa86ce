//! Tells the service who is calling, in headers that only Sluicegate may set.

use http::{HeaderMap, HeaderName, HeaderValue};

/// What the names of headers start with that only Sluicegate may set.
const OURS: &str = "x-sluicegate-";

const ACCOUNT: HeaderName = HeaderName::from_static("x-sluicegate-account");
const TIER: HeaderName = HeaderName::from_static("x-sluicegate-tier");
const DECISION: HeaderName = HeaderName::from_static("x-sluicegate-decision");

/// Who is calling, as far as that is known.
pub(crate) struct Introduction<'d> {
    pub(crate) account: Option<&'d str>,
    pub(crate) tier: Option<&'d str>,
    pub(crate) decision: &'d str,
}

/// Puts who is calling into the headers of its request.
pub(crate) fn introduce(who: &Introduction<'_>, headers: &mut HeaderMap) {
    strip(headers);
    let text = |text: &str| HeaderValue::from_str(text).ok();
    let (account, tier) = (who.account.and_then(text), who.tier.and_then(text));
    for (name, value) in [(ACCOUNT, account), (TIER, tier), (DECISION, text(who.decision))] {
        if let Some(value) = value {
            headers.insert(name, value);
        }
    }
}

/// Removes what the caller itself says about who it is.
pub(crate) fn strip(headers: &mut HeaderMap) {
    if headers.keys().any(is_ours) {
        let theirs: Vec<HeaderName> = headers.keys().filter(|name| is_ours(name)).cloned().collect();
        theirs.iter().for_each(|name| drop(headers.remove(name)));
    }
}

/// Whether a header speaks of what only we may say, to a service that takes `_` for `-` as well.
fn is_ours(name: &HeaderName) -> bool {
    let ours = OURS.bytes();
    name.as_str().len() >= OURS.len()
        && name
            .as_str()
            .bytes()
            .map(|byte| if byte == b'_' { b'-' } else { byte })
            .zip(ours)
            .all(|(a, b)| a == b)
}
