//! `sluicegate audit`: proof of what was recorded, made from files alone.

mod log;
mod progress;
mod report;
mod verify;

use crate::cli::Audit;
use crate::exit::Exit;

pub(super) fn run(command: &Audit) -> anyhow::Result<Exit> {
    match command {
        Audit::Verify(args) => verify::run(args),
    }
}
