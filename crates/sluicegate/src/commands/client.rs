//! `sluicegate client`: what a running server holds against a caller without a key.

mod reset;
mod show;

use crate::admin_client::{AdminClient, segment};
use crate::cli::Client;
use crate::exit::Exit;

pub(super) fn run(command: &Client) -> anyhow::Result<Exit> {
    let client = AdminClient::open(command.admin())?;
    client.conclude(match command {
        Client::Show(args) => show::run(&client, args),
        Client::Reset(args) => reset::run(&client, args),
    })
}

/// The path of a client.
fn path(id: &str) -> String {
    format!("/admin/v1/clients/{}", segment(id))
}
