//! What a decision leaves for the rules when it is made: where it came from, if it is a refusal.

use crate::decide::Way;
use crate::decision::Decision;
use crate::engine::Engine;
use crate::identify;
use crate::request::Purpose;

impl Engine {
    /// Notes where a refusal came from. What was admitted is counted elsewhere.
    #[inline]
    pub(crate) fn observe(&self, way: &Way<'_>, decision: &Decision) {
        if !decision.is_admitted() {
            self.observe_refusal(way);
        }
    }

    #[cold]
    fn observe_refusal(&self, way: &Way<'_>) {
        // Who only looks is not refused.
        let address = way.request.address.filter(|_| way.request.purpose == Purpose::Charge);
        if let Some(address) = address {
            self.alerting.refused.note(identify::prefixes(&self.homes, address).own);
        }
    }
}
