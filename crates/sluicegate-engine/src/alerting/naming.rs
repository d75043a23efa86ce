//! From what the rules know to what people are told.

use sluicegate_store::alerts::{AlertKind, RateCaller, RateUse};
use sluicegate_store::directory::StoreError;

use super::caller_rate::RateMeter;
use super::rules::Wanted;
use crate::engine::Engine;
use crate::identify::ClientId;

impl Engine {
    /// What an alert says; nothing if its caller does not exist any more.
    pub(super) async fn alert_kind(&self, wanted: Wanted) -> Result<Option<AlertKind>, StoreError> {
        let (meter, used) = match wanted {
            Wanted::Kind(kind) => return Ok(Some(kind)),
            Wanted::Before => return Ok(None),
            Wanted::Caller(meter, used) => (meter, used),
        };
        let Some(caller) = self.rate_caller(&meter).await? else { return Ok(None) };
        let per_minute = meter.pace.per_minute();
        Ok(Some(AlertKind::CallerRate(RateUse { caller, limit: meter.limit, used, per_minute })))
    }

    async fn rate_caller(&self, meter: &RateMeter) -> Result<Option<RateCaller>, StoreError> {
        if meter.account == 0 {
            return Ok(Some(RateCaller::Client(ClientId(meter.home).to_string())));
        }
        let Some(id) = self.account_id(meter.account).await? else { return Ok(None) };
        let key = match meter.key {
            0 => None,
            key => self.directory.find_key_by_serial(key).await?.map(|key| key.id.to_string()),
        };
        Ok(Some(RateCaller::Account { id, key }))
    }
}
