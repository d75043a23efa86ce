//! What the layer tells whoever stands around it about a decision.

use std::sync::{Arc, OnceLock};

use tollgate_engine::{Answer, Decision};

/// Left in the extensions of a request, it is given what was decided about it.
#[derive(Clone, Default, Debug)]
pub struct Noted(Arc<OnceLock<Note>>);

/// What was decided.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// The id of the decision.
    pub decision: String,
    /// The account, if the caller has one.
    pub account: Option<String>,
    /// The tier, if the caller is known.
    pub tier: Option<String>,
    /// The route, if one matched.
    pub route: Option<String>,
    /// Why it was refused; nothing if it was admitted.
    pub error: Option<&'static str>,
}

impl Noted {
    /// What was decided, once it was.
    pub fn get(&self) -> Option<&Note> {
        self.0.get()
    }

    pub(crate) fn set(&self, decision: &Decision) {
        let route = decision.route.and_then(|route| decision.policy.policy().routes.get(route));
        let error = match &decision.answer {
            Answer::Admitted => None,
            Answer::Denied(denial) => Some(denial.error.as_str()),
        };
        let _ = self.0.set(Note {
            decision: decision.id.text().to_string(),
            account: decision.account.as_ref().map(|account| account.id.to_string()),
            tier: decision.tier().map(str::to_owned),
            route: route.map(|route| route.name.to_string()),
            error,
        });
    }
}
