//! `sluicegate key revoke`: makes a key invalid, for good; or many that have leaked. Whole keys are never printed.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde_json::json;

use super::{given, path};
use crate::admin_client::{AdminClient, read};
use crate::cli::KeyRevoke;
use crate::http_client::Content;
use crate::output::{self, Format};
use crate::service::about;

/// The most bytes of a file: a thousand keys, and comments in between.
const FILE_BYTES_MAX: u64 = 256 * 1024;
/// The most keys of a file.
const KEYS_MAX: usize = 1_000;

/// What is to be revoked.
#[derive(Default)]
pub(super) enum Leaked {
    /// Nothing.
    #[default]
    Nothing,
    /// The key of this id.
    One(String),
    /// The lines of a file, each with its number.
    Many(Vec<(usize, String)>),
}

/// What became of keys.
#[derive(Deserialize)]
struct Revoked {
    revoked: Vec<String>,
    already_revoked: Vec<String>,
    other_secret: Vec<String>,
    unknown: Vec<usize>,
}

impl Leaked {
    pub(super) fn of(args: &KeyRevoke) -> anyhow::Result<Self> {
        match (&args.file, &args.id) {
            (Some(file), _) => lines(file),
            (None, Some(id)) => given::id_of(id).map(Self::One),
            (None, None) => Ok(Self::Nothing),
        }
    }

    pub(super) fn question(&self) -> String {
        match self {
            Self::Nothing => "Revoke nothing?".to_owned(),
            Self::One(id) => format!("Revoke the key {id}, for good?"),
            Self::Many(lines) => format!("Revoke {} keys, for good?", lines.len()),
        }
    }
}

/// The lines of a file that say something; those that begin with `#` are comments.
fn lines(path: &Path) -> anyhow::Result<Leaked> {
    let mut text = String::new();
    if path.as_os_str() == "-" {
        io::stdin().lock().take(FILE_BYTES_MAX + 1).read_to_string(&mut text)
    } else {
        File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text))
    }
    .with_context(|| format!("cannot read {}", path.display()))?;
    let numbered = (1..).zip(text.lines().map(str::trim));
    let keys: Vec<(usize, String)> = numbered
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(number, line)| (number, line.to_owned()))
        .collect();
    if text.len() as u64 > FILE_BYTES_MAX || keys.len() > KEYS_MAX {
        bail!("{} has more than {KEYS_MAX} keys: split it", path.display());
    }
    if keys.is_empty() {
        bail!("{} has no keys", path.display());
    }
    Ok(Leaked::Many(keys))
}

pub(super) fn run(client: &AdminClient, leaked: &Leaked) -> anyhow::Result<()> {
    match leaked {
        Leaked::Nothing => Ok(()),
        Leaked::One(id) => {
            about(client.delete(&path(id)), "key", id)?;
            match client.format() {
                // The server says nothing more either.
                Format::Json => Ok(()),
                Format::Text => output::print(&format!("{id} is revoked.\n")),
            }
        }
        Leaked::Many(lines) => run_many(client, lines),
    }
}

fn run_many(client: &AdminClient, lines: &[(usize, String)]) -> anyhow::Result<()> {
    let keys: Vec<&str> = lines.iter().map(|(_, key)| key.as_str()).collect();
    let body = json!({"keys": keys});
    let answer = client.post_long("/admin/v1/keys/revoke", Content::Json(&body))?;
    if client.format() == Format::Json {
        return output::print_json(&answer);
    }
    let done: Revoked = read(answer)?;
    let mut text = String::new();
    let known = [
        ("is revoked", &done.revoked),
        ("was revoked before", &done.already_revoked),
        ("has another secret now, and is left as it is", &done.other_secret),
    ];
    for (what, ids) in known {
        text.extend(ids.iter().map(|id| format!("{id} {what}.\n")));
    }
    let unknown = done.unknown.iter().filter_map(|place| lines.get(*place));
    text.extend(unknown.map(|(number, _)| format!("line {number} is no key of this server.\n")));
    output::print(&text)
}
