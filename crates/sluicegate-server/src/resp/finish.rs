//! `SLUICEGATE.FINISH permit [STATUS n] [COST n]`: a request has ended; what it cost in the end.

use sluicegate_core::rule::Amount;
use sluicegate_core::time::Timestamp;
use sluicegate_engine::{FinishError, Finished};

use super::check::{number, unknown_option};
use super::reply::Reply;
use super::session::Session;
use super::waiting::{Late, Waiting};

const NAME: &str = "SLUICEGATE.FINISH";

/// Finishes, and answers at once where no store has to be asked.
pub(super) fn begin<'s: 'b, 'b>(
    session: &mut Session<'s>,
    args: &[&'b [u8]],
    now: Timestamp,
    reply: &mut Reply<'_>,
) -> Option<Waiting<'b>> {
    let (permit, status, cost) = match read(args) {
        Ok(asked) => asked,
        Err(wrong) => {
            reply.error(&wrong);
            return None;
        }
    };
    // What is no text is no permit.
    let permit = str::from_utf8(permit).unwrap_or_default();
    let engine = &*session.service.engine;
    if engine.is_shared() {
        return Some(Box::pin(async move {
            let finished = engine.finish_kept(permit, status, cost, now).await;
            Late::Finished(permit.to_owned(), finished)
        }));
    }
    write(permit, engine.finish_kept_here(permit, status, cost, now), reply);
    None
}

/// Writes the answer.
pub(super) fn write(permit: &str, finished: Result<Finished, FinishError>, reply: &mut Reply<'_>) {
    match finished {
        Ok(finished) => {
            reply.map(3);
            reply.text("permit");
            reply.text(permit);
            reply.text("reserved");
            reply.unsigned(finished.reserved);
            reply.text("settled");
            reply.unsigned(finished.settled);
        }
        Err(error) => refuse(error, reply),
    }
}

/// Says why a permit was neither finished nor renewed.
pub(super) fn refuse(error: FinishError, reply: &mut Reply<'_>) {
    let code = match error {
        FinishError::Unknown => "NOPERMIT",
        FinishError::TooLate | FinishError::Expired => "EXPIRED",
        FinishError::Finished => "FINISHED",
        FinishError::OtherNode | FinishError::Unavailable => "UNAVAILABLE",
    };
    reply.error(&format!("{code} {error}"));
}

type Finish<'b> = (&'b [u8], Option<u16>, Option<u64>);

fn read<'b>(args: &[&'b [u8]]) -> Result<Finish<'b>, String> {
    let Some((permit, mut rest)) = args.split_first() else {
        return Err(format!("ERR {NAME} needs the permit of a check"));
    };
    let (mut status, mut cost) = (None, None);
    while let Some((option, values)) = rest.split_first() {
        let value = values.first().copied();
        if option.eq_ignore_ascii_case(b"status") {
            let number = number(NAME, "STATUS", value, 100..=599)?;
            status = u16::try_from(number).ok();
        } else if option.eq_ignore_ascii_case(b"cost") {
            cost = Some(number(NAME, "COST", value, 0..=Amount::MAX)?);
        } else {
            return Err(unknown_option(NAME, option, &["STATUS", "COST"]));
        }
        rest = values.get(1..).unwrap_or_default();
    }
    Ok((permit, status, cost))
}
