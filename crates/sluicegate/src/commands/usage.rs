//! `sluicegate usage`: what was used, from the ledger of a running server.

mod export;
mod reconcile;
mod show;

use std::ops::ControlFlow;

use crate::admin_client::{AdminClient, segment};
use crate::cli::{Period, Usage};
use crate::confirm;
use crate::exit::Exit;

const USAGE: &str = "/admin/v1/usage";

pub(super) fn run(command: &Usage) -> anyhow::Result<Exit> {
    if let Usage::Reconcile(args) = command
        && args.repair
    {
        let question = "Set right what does not say what the ledger says?";
        if let ControlFlow::Break(exit) = confirm::ask(question, &args.sure)? {
            return Ok(exit);
        }
    }
    let client = AdminClient::open(command.admin())?;
    let mut exit = Exit::Done;
    let done = client.conclude(match command {
        Usage::Show(args) => show::run(&client, args),
        Usage::Export(args) => export::run(&client, args),
        Usage::Reconcile(args) => reconcile::run(&client, args).map(|agreed| exit = agreed),
    })?;
    Ok(if done == Exit::Done { exit } else { done })
}

/// A query of what was given.
fn query(parameters: &[(&str, Option<&str>)]) -> String {
    let given = parameters.iter().filter_map(|(name, value)| value.map(|value| (name, value)));
    let pairs: Vec<String> = given.map(|(name, value)| format!("{name}={}", segment(value))).collect();
    if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
}

impl Period {
    fn parameters(&self) -> [(&'static str, Option<&str>); 2] {
        [("from", self.from.as_deref()), ("to", self.to.as_deref())]
    }
}
