//! What a decision leaves for the rules when it is made.

use crate::decide::Way;
use crate::decision::Decision;
use crate::engine::Engine;
use crate::identify;
use crate::request::Purpose;

impl Engine {
    /// Counts a decision. Who only looks is not counted.
    #[inline]
    pub(crate) fn observe(&self, way: &Way<'_>, decision: &Decision) {
        if way.request.purpose == Purpose::Peek {
            return;
        }
        if decision.is_admitted() {
            self.alerting.counts.admitted(way.slot.0);
        } else {
            self.observe_refusal(way);
        }
    }

    #[cold]
    fn observe_refusal(&self, way: &Way<'_>) {
        self.alerting.counts.refused(way.slot.0);
        if let Some(address) = way.request.address {
            self.alerting.refused.note(identify::prefixes(&self.homes, address).own);
        }
    }
}
