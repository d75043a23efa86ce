//! `sluicegate key show`: what is known of a key. A whole key may be given, and is never printed.

use std::io::{self, Read as _};

use anyhow::Context as _;

use super::record::KeyRecord;
use super::{given, path};
use crate::admin_client::{AdminClient, read};
use crate::cli::KeyShow;
use crate::output::{self, Format};
use crate::service::about;

pub(super) fn run(client: &AdminClient, args: &KeyShow) -> anyhow::Result<()> {
    let id = given::id_of(&text(args)?)?;
    let key = about(client.get(&path(&id)), "key", &id)?;
    match client.format() {
        Format::Json => output::print_json(&key),
        Format::Text => output::print(&read::<KeyRecord>(key)?.facts()),
    }
}

/// The most bytes that are read from standard input: a key is much shorter.
const TEXT_BYTES_MAX: u64 = 1_024;

/// What was given: the argument, or standard input for `-`.
fn text(args: &KeyShow) -> anyhow::Result<String> {
    if args.id != "-" {
        return Ok(args.id.clone());
    }
    let mut text = String::new();
    let read = io::stdin().lock().take(TEXT_BYTES_MAX).read_to_string(&mut text);
    read.context("cannot read standard input")?;
    Ok(text)
}
