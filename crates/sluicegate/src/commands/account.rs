//! `sluicegate account`: the accounts of a running server.

mod create;
mod delete;
mod limits;
mod list;
mod record;
mod set_tier;
mod show;

use std::ops::ControlFlow;

use crate::admin_client::{AdminClient, segment};
use crate::cli::Account;
use crate::confirm;
use crate::exit::Exit;

const ACCOUNTS: &str = "/admin/v1/accounts";

pub(super) fn run(command: &Account) -> anyhow::Result<Exit> {
    if let Account::Delete(args) = command {
        let question = format!("Delete the account {} and revoke its keys?", args.id);
        if let ControlFlow::Break(exit) = confirm::ask(&question, &args.sure)? {
            return Ok(exit);
        }
    }
    let client = AdminClient::open(command.admin())?;
    client.conclude(match command {
        Account::Create(args) => create::run(&client, args),
        Account::List(args) => list::run(&client, args),
        Account::Show(args) => show::run(&client, args),
        Account::SetTier(args) => set_tier::run(&client, args),
        Account::Delete(args) => delete::run(&client, args),
    })
}

/// The path of an account.
fn path(id: &str) -> String {
    format!("{ACCOUNTS}/{}", segment(id))
}
