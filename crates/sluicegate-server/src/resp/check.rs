//! `SLUICEGATE.CHECK`: may this request pass? What `POST /v1/check` answers, as names and values.

mod answer;
mod asked;

use sluicegate_core::policy::May;
use sluicegate_core::time::Timestamp;
use sluicegate_engine::{Decision, Engine, Hold, Unsettled};

pub(super) use asked::{lacks_value, number, unknown_option};

use super::reply::Reply;
use super::session::Session;
use super::waiting::{Late, Waiting};
use crate::keep::keep;
use asked::Check;

/// Decides, and answers at once where nothing has to be waited for.
pub(super) fn begin<'s: 'b, 'b>(
    session: &mut Session<'s>,
    args: &[&'b [u8]],
    now: Timestamp,
    reply: &mut Reply<'_>,
) -> Option<Waiting<'b>> {
    let check = match Check::read(args) {
        Ok(check) => check,
        Err(wrong) => {
            reply.error(&wrong);
            return None;
        }
    };
    if check.is_vouched_for() && !session.allows(May::Vouch) {
        reply.error("NOPERM naming an account or a tier without its key needs a token that may vouch");
        return None;
    }
    let (engine, hold) = (&*session.service.engine, check.hold());
    if engine.is_shared() {
        return Some(Box::pin(async move {
            let decision = engine.decided(&check.request(), now).await;
            Late::Decided(Box::new(decision), hold)
        }));
    }
    let decision = engine.decide(&check.request(), now);
    if decision.pending.is_none() {
        write(engine, decision, hold, now, reply);
        return None;
    }
    // From here on it is given back if nobody waits for it any more.
    let unsettled = Unsettled::new(engine, decision);
    Some(Box::pin(async move { Late::Decided(Box::new(unsettled.settled().await), hold) }))
}

/// Writes the answer, and keeps the permit.
pub(super) fn write(
    engine: &Engine,
    mut decision: Decision,
    hold: Hold,
    now: Timestamp,
    reply: &mut Reply<'_>,
) {
    let permit = keep(engine, &mut decision, hold, now);
    answer::write(&decision, permit.as_ref(), reply);
}
