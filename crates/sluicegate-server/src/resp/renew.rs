//! `SLUICEGATE.RENEW permit HOLD_FOR duration`: a request takes longer; its permit and its slot are held for longer.

use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_engine::{FinishError, HandedPermit};

use super::check::{lacks_value, unknown_option};
use super::finish::refuse;
use super::reply::Reply;
use super::session::Session;
use super::waiting::{Late, Waiting};
use crate::field;

const NAME: &str = "SLUICEGATE.RENEW";

/// Renews, and answers at once where no store has to be asked.
pub(super) fn begin<'s: 'b, 'b>(
    session: &mut Session<'s>,
    args: &[&'b [u8]],
    now: Timestamp,
    reply: &mut Reply<'_>,
) -> Option<Waiting<'b>> {
    let (permit, hold) = match read(args) {
        Ok(asked) => asked,
        Err(wrong) => {
            reply.error(&wrong);
            return None;
        }
    };
    let engine = &*session.service.engine;
    if engine.is_shared() {
        return Some(Box::pin(async move {
            Late::Renewed(engine.renew_kept(permit, hold, now).await.map(Box::new))
        }));
    }
    write(engine.renew_kept_here(permit, hold, now).as_ref().map_err(|error| *error), reply);
    None
}

/// Writes the answer.
pub(super) fn write(renewed: Result<&HandedPermit, FinishError>, reply: &mut Reply<'_>) {
    match renewed {
        Ok(permit) => {
            reply.map(2);
            reply.text("permit");
            reply.text(&permit.text);
            reply.text("permit_expires_ms");
            reply.unsigned(permit.lives.as_millis_ceil());
        }
        Err(error) => refuse(error, reply),
    }
}

fn read<'b>(args: &[&'b [u8]]) -> Result<(&'b str, Nanos), String> {
    let [permit, option, rest @ ..] = args else { return Err(lacks_value(NAME, "HOLD_FOR")) };
    if !option.eq_ignore_ascii_case(b"hold_for") {
        return Err(unknown_option(NAME, option, &["HOLD_FOR"]));
    }
    let [span] = rest else { return Err(lacks_value(NAME, "HOLD_FOR")) };
    let span = str::from_utf8(span).unwrap_or_default();
    let hold =
        field::hold_for(span).map_err(|expected| format!("ERR {NAME}: HOLD_FOR must be {expected}"))?;
    // What is no text is no permit.
    Ok((str::from_utf8(permit).unwrap_or_default(), hold))
}
