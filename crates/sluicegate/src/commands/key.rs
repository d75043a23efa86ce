//! `sluicegate key`: the keys of the accounts of a running server.

mod create;
mod list;
mod record;
mod revoke;
mod rotate;
mod show;

use std::ops::ControlFlow;

use crate::admin_client::{AdminClient, segment};
use crate::cli::Key;
use crate::confirm;
use crate::exit::Exit;

pub(super) use list::keys_table;

pub(super) fn run(command: &Key) -> anyhow::Result<Exit> {
    if let Key::Revoke(args) = command {
        let question = format!("Revoke the key {}, for good?", args.id);
        if let ControlFlow::Break(exit) = confirm::ask(&question, &args.sure)? {
            return Ok(exit);
        }
    }
    let client = AdminClient::open(command.admin())?;
    client.conclude(match command {
        Key::Create(args) => create::run(&client, args),
        Key::List(args) => list::run(&client, args),
        Key::Show(args) => show::run(&client, args),
        Key::Rotate(args) => rotate::run(&client, args),
        Key::Revoke(args) => revoke::run(&client, args),
    })
}

/// The path of a key.
fn path(id: &str) -> String {
    format!("/admin/v1/keys/{}", segment(id))
}

/// The path of the keys of an account.
fn path_of_account(account: &str) -> String {
    format!("/admin/v1/accounts/{}/keys", segment(account))
}
