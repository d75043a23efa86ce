//! Pressure that several nodes notice together: a fingerprint that is new to a node is reported to the store before its
//! request is decided.

use sluicegate_core::time::Nanos;
use sluicegate_store::redis::Expiry;

use super::RequestContext;
use crate::decision::StoreMode;
use crate::engine::Engine;
use crate::identify::ClientKind;
use crate::request::{Credential, Purpose};
use crate::shared::Shared;

impl Engine {
    /// Asks the store whether the address of a caller without a key is under pressure, where this node does not know.
    /// While the store cannot be reached, each node counts by itself.
    pub(super) async fn look_up_pressure(
        &self,
        shared: &Shared,
        context: &mut RequestContext<'_>,
        by: Expiry,
    ) {
        let Some(pressure) = context.policy.policy().pressure else { return };
        let headers = match context.credential {
            Credential::Headers(headers)
            | Credential::Nothing { headers }
            | Credential::Tier { headers, .. } => headers,
            Credential::Key(_)
            | Credential::KeyFrom { .. }
            | Credential::ServiceToken(_)
            | Credential::Account { .. }
            | Credential::Ambiguous => return,
        };
        let client = self.client_of(context, headers);
        context.client = Some(client);
        let is_counted = client.kind != ClientKind::Session && context.request.purpose == Purpose::Charge;
        let Some(address) = client.address.filter(|_| is_counted) else { return };
        let (table, now) = (&self.watch.pressure, context.now);
        let unknown = table.note_unknown(address, client.fingerprint, &pressure, now);
        if unknown.is_empty() || self.store_mode() == StoreMode::Degraded {
            return;
        }
        let reported = shared.pressure.report(address, &unknown, &pressure, by.instant()).await;
        let left = reported.map_or(0, |left| u64::try_from(left.as_nanos()).unwrap_or(u64::MAX));
        if left > 0 {
            table.squeeze(address, now.plus(Nanos(left)));
        }
    }
}
