//! `SLUICEGATE.FINISH permit [STATUS n] [COST n]`: a request has ended; what it cost in the end.

use sluicegate_core::rule::Amount;
use sluicegate_core::time::Timestamp;
use sluicegate_engine::{Engine, FinishError, PermitId};

use super::check::{number, unknown_option};
use super::reply::Reply;

const NAME: &str = "SLUICEGATE.FINISH";

pub(super) fn finish(engine: &Engine, args: &[&[u8]], now: Timestamp, reply: &mut Reply<'_>) {
    let (permit, status, cost) = match read(args) {
        Ok(asked) => asked,
        Err(wrong) => return reply.error(&wrong),
    };
    // What is no permit is one that nobody has.
    let permit = std::str::from_utf8(permit).ok().and_then(PermitId::parse).ok_or(FinishError::Unknown);
    let finished = permit
        .and_then(|permit| engine.finish_kept(permit, status, cost, now).map(|finished| (permit, finished)));
    match finished {
        Ok((permit, finished)) => {
            reply.map(3);
            reply.text("permit");
            reply.text(&permit.to_string());
            reply.text("reserved");
            reply.unsigned(finished.reserved);
            reply.text("settled");
            reply.unsigned(finished.settled);
        }
        Err(error @ FinishError::Unknown) => reply.error(&format!("NOPERMIT {error}")),
        Err(error @ FinishError::Unavailable) => reply.error(&format!("UNAVAILABLE {error}")),
    }
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
