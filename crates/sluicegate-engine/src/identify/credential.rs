//! What a caller presents, by the headers of its request.

use http::HeaderMap;
use sluicegate_core::identify::{Presented, presented};
use sluicegate_core::policy::Identity;

use crate::request::Credential;

/// What the headers of a request present.
pub(crate) fn credential<'h>(identity: &Identity, headers: &'h HeaderMap) -> Credential<'h> {
    match presented(identity, headers) {
        Presented::Key(key) => Credential::Key(key),
        Presented::ServiceToken(token) => Credential::ServiceToken(token),
        Presented::Nothing => Credential::Nothing { headers },
        Presented::Ambiguous => Credential::Ambiguous,
    }
}
