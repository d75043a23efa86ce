//! What the layer tells whoever stands around it about a decision.

use std::sync::{Arc, OnceLock};

/// Left in the extensions of a request, it is given what was decided about it.
#[derive(Clone, Default, Debug)]
pub struct DecisionSlot(Arc<OnceLock<DecisionSummary>>);

/// What was decided.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecisionSummary {
    /// The id of the decision.
    pub decision: String,
    /// The account, if the caller has one.
    pub account: Option<String>,
    /// The tier, if the caller is known.
    pub tier: Option<String>,
    /// The route, if one matched and the decision was made in this process.
    pub route: Option<String>,
    /// Why it was refused; nothing if it was admitted.
    pub error: Option<&'static str>,
}

impl DecisionSlot {
    /// What was decided, once it was.
    pub fn get(&self) -> Option<&DecisionSummary> {
        self.0.get()
    }

    #[cfg(feature = "embedded")]
    pub(crate) fn set(&self, decision: &sluicegate_engine::Decision) {
        let route = decision.route.and_then(|route| decision.policy.policy().routes.get(route));
        let error = match &decision.answer {
            sluicegate_engine::Answer::Admitted => None,
            sluicegate_engine::Answer::Denied(denial) => Some(denial.error.as_str()),
        };
        let _ = self.0.set(DecisionSummary {
            decision: decision.id.text().to_string(),
            account: decision.account.as_ref().map(|account| account.id.to_string()),
            tier: decision.tier().map(str::to_owned),
            route: route.map(|route| route.name.to_string()),
            error,
        });
    }

    #[cfg(feature = "remote")]
    pub(crate) fn set_remote(&self, decision: &sluicegate_client::decision::Decision) {
        use sluicegate_core::answer::ErrorCode;
        // A word that is not known here is one of a Sluicegate that is newer than this.
        let error = |word: &String| ErrorCode::parse(word).map_or("other", ErrorCode::as_str);
        let _ = self.0.set(DecisionSummary {
            decision: decision.decision_id.clone(),
            account: decision.account.clone(),
            tier: decision.tier.clone(),
            route: None,
            error: decision.error.as_ref().map(error),
        });
    }
}
