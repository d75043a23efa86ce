//! A key as people give it: its id, or the whole key, of which only the id is used. It is never repeated.

use anyhow::bail;
use sluicegate_store::key_text::PresentedKey;

/// What the text of a key begins with.
const PREFIX: &str = "sg_";

/// The id of what was given. What looks like a key and is none is refused without being shown.
pub(super) fn id_of(given: &str) -> anyhow::Result<String> {
    let given = given.trim();
    if !given.starts_with(PREFIX) {
        return Ok(given.to_owned());
    }
    match PresentedKey::parse(given) {
        Ok(key) => Ok(key.id.to_string()),
        Err(why) => bail!("what was given is no whole key: {why}"),
    }
}
