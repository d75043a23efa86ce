//! `sluicegate config schema`: the JSON Schema of policy files.

use sluicegate_core::file;

use crate::exit::Exit;
use crate::output;

pub(super) fn run() -> anyhow::Result<Exit> {
    output::print_json(&file::schema())?;
    Ok(Exit::Done)
}
