//! `sluicegate directory adopt`: takes over a store, through the server that runs on it or before the next start.

use std::ops::ControlFlow;

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::{Value, json};
use sluicegate_node::{DataDir, DataDirError};
use sluicegate_store::identity::StoreMemory;

use crate::admin_client::{AdminClient, read};
use crate::cli::DirectoryAdopt;
use crate::confirm;
use crate::exit::Exit;
use crate::output::{self, Format};

const QUESTION: &str =
    "Take over the store as it is? Accounts and keys that it does not have are gone for good.";

/// What the server answers.
#[derive(Deserialize)]
struct Adopted {
    before: String,
    accounts: u64,
    keys: u64,
}

pub(super) fn run(args: &DirectoryAdopt) -> anyhow::Result<Exit> {
    if let ControlFlow::Break(exit) = confirm::ask(QUESTION, &args.sure)? {
        return Ok(exit);
    }
    let dir = &args.admin.data_dir;
    // A directory without a database was never used by a server: the server is on another machine.
    if !dir.join("sluicegate.db").is_file() {
        return ask_server(args);
    }
    match DataDir::open(dir) {
        Ok(open) => {
            let memory = StoreMemory::of_directory(open.path())?;
            memory.adopt_next().context("cannot write down that the next store is adopted")?;
            tell_next(args)?;
            Ok(Exit::Done)
        }
        Err(DataDirError::Busy(..)) => ask_server(args),
        Err(error) => Err(error.into()),
    }
}

fn ask_server(args: &DirectoryAdopt) -> anyhow::Result<Exit> {
    let client = AdminClient::open(&args.admin)?;
    client.conclude(adopt(&client))
}

fn adopt(client: &AdminClient) -> anyhow::Result<()> {
    let answer = client.post("/admin/v1/directory/adopt", &Value::Null)?;
    if client.format() == Format::Json {
        return output::print_json(&answer);
    }
    let Adopted { before, accounts, keys } = read(answer)?;
    output::print(&match before.as_str() {
        "known" => "Nothing had to be done: it is the store that the server knows.\n".to_owned(),
        _ => format!("The store is adopted. It has {accounts} accounts and {keys} keys.\n"),
    })
}

fn tell_next(args: &DirectoryAdopt) -> anyhow::Result<()> {
    match args.admin.format() {
        Format::Json => output::print_json(&json!({"adopts": "next"})),
        Format::Text => output::print("The next start takes over the store that it finds.\n"),
    }
}
