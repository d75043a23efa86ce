//! `sluicegate key`: the keys of the accounts of a running server.

mod create;
mod given;
mod list;
mod record;
mod revoke;
mod rotate;
mod show;
mod update;

use std::ops::ControlFlow;

use crate::admin_client::{AdminClient, segment};
use crate::cli::Key;
use crate::confirm;
use crate::exit::Exit;

pub(super) use list::keys_table;

pub(super) fn run(command: &Key) -> anyhow::Result<Exit> {
    let mut revoked = None;
    if let Key::Revoke(args) = command {
        let leaked = revoke::Leaked::of(args)?;
        if let ControlFlow::Break(exit) = confirm::ask(&leaked.question(), &args.sure)? {
            return Ok(exit);
        }
        revoked = Some(leaked);
    }
    let client = AdminClient::open(command.admin())?;
    client.conclude(match command {
        Key::Create(args) => create::run(&client, args),
        Key::List(args) => list::run(&client, args),
        Key::Show(args) => show::run(&client, args),
        Key::Rotate(args) => rotate::run(&client, args),
        Key::Update(args) => update::run(&client, args),
        Key::Revoke(_) => revoke::run(&client, &revoked.unwrap_or_default()),
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
