//! `sluicegate clock`: a clock of a running server that leapt ahead.

mod confirm;

use std::ops::ControlFlow;

use crate::admin_client::AdminClient;
use crate::cli::Clock;
use crate::confirm as consent;
use crate::exit::Exit;

const QUESTION: &str =
    "Follow the clock? Quotas begin anew by it, and records that are too old by it are deleted.";

pub(super) fn run(command: &Clock) -> anyhow::Result<Exit> {
    let client = AdminClient::open(command.admin())?;
    match command {
        Clock::Confirm(args) => {
            if let ControlFlow::Break(exit) = consent::ask(QUESTION, &args.sure)? {
                return Ok(exit);
            }
            client.conclude(confirm::run(&client))
        }
    }
}
