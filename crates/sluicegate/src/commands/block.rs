//! `sluicegate block`: who is blocked by a running server.

mod add;
mod list;
pub(super) mod record;
mod remove;

use crate::admin_client::AdminClient;
use crate::cli::Block;
use crate::exit::Exit;

const BLOCKS: &str = "/admin/v1/blocks";

pub(super) fn run(command: &Block) -> anyhow::Result<Exit> {
    let client = AdminClient::open(command.admin())?;
    client.conclude(match command {
        Block::Add(args) => add::run(&client, args),
        Block::List(args) => list::run(&client, args),
        Block::Remove(args) => remove::run(&client, args),
    })
}
