//! `sluicegate token`: the named tokens of a running server.

mod create;
mod list;
mod record;
mod revoke;

use std::ops::ControlFlow;

use crate::admin_client::AdminClient;
use crate::cli::Token;
use crate::confirm;
use crate::exit::Exit;

/// The path of all tokens.
const PATH: &str = "/admin/v1/tokens";

pub(super) fn run(command: &Token) -> anyhow::Result<Exit> {
    if let Token::Revoke(args) = command {
        let question = format!("Revoke the token {}, for good?", args.id);
        if let ControlFlow::Break(exit) = confirm::ask(&question, &args.sure)? {
            return Ok(exit);
        }
    }
    let client = AdminClient::open(command.admin())?;
    client.conclude(match command {
        Token::Create(args) => create::run(&client, args),
        Token::List(_) => list::run(&client),
        Token::Revoke(args) => revoke::run(&client, args),
    })
}
