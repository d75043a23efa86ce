//! `sluicegate key update`: changes what a key is called and may be used for.

use serde_json::{Map, Value, json};

use super::path;
use super::record::KeyRecord;
use crate::admin_client::{AdminClient, read};
use crate::cli::{KeyRestrictions, KeyUpdate};
use crate::output::{self, Format};
use crate::service::about;

pub(super) fn run(client: &AdminClient, args: &KeyUpdate) -> anyhow::Result<()> {
    let mut body = Map::new();
    if let Some(name) = &args.name {
        body.insert("name".to_owned(), json!(name));
    }
    if !args.scopes.is_empty() {
        body.insert("scopes".to_owned(), json!(args.scopes));
    }
    if let Some(end) = &args.expires_at {
        body.insert("expires_at".to_owned(), if end == "never" { Value::Null } else { json!(end) });
    }
    restrict(&mut body, &args.restrictions);
    let changed = about(client.patch(&path(&args.id), &Value::Object(body)), "key", &args.id)?;
    match client.format() {
        Format::Json => output::print_json(&changed),
        Format::Text => output::print(&read::<KeyRecord>(changed)?.facts()),
    }
}

/// Adds what narrows a key, as far as it was given.
pub(super) fn restrict(body: &mut Map<String, Value>, given: &KeyRestrictions) {
    for (field, list) in [("allowed_ips", &given.allowed_ips), ("allowed_origins", &given.allowed_origins)] {
        if list.iter().any(|entry| entry == "any") {
            body.insert(field.to_owned(), json!([]));
        } else if !list.is_empty() {
            body.insert(field.to_owned(), json!(list));
        }
    }
    if let Some(limits) = &given.limits {
        body.insert("limits".to_owned(), limits.clone());
    }
}
