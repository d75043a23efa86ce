//! Audit entries: made by the script that writes, and read from the stream they are kept in.

use super::error::RedisError;
use super::layout::VERSION;
use super::reply::Reply;
use crate::audit::AuditEntry;
use crate::directory::audited::Audited;
use crate::directory::record::{AccountRecord, KeyRecord};

/// What is said of an account that is new, around its serial.
pub(super) fn account_parts(record: &AccountRecord) -> Result<[String; 2], RedisError> {
    let says = record.says();
    let tail = says.strip_prefix("{\"serial\":0").ok_or_else(odd)?;
    Ok(["{\"serial\":".to_owned(), tail.to_owned()])
}

/// What is said of a key that is new, around its serial and its number.
pub(super) fn key_parts(record: &KeyRecord) -> Result<[String; 3], RedisError> {
    let says = record.says();
    let tail = says.strip_prefix("{\"serial\":0").ok_or_else(odd)?;
    // Nothing that people may choose freely comes before the number.
    let (middle, tail) = tail.split_once("\"number\":0").ok_or_else(odd)?;
    Ok(["{\"serial\":".to_owned(), format!("{middle}\"number\":"), tail.to_owned()])
}

fn odd() -> RedisError {
    RedisError::Nonsense("a record that has its numbers already".to_owned())
}

/// One entry of the stream.
pub(super) fn entry(entry: &Reply) -> Result<AuditEntry, RedisError> {
    let id = entry.text(0)?.unwrap_or_default();
    let nonsense = || RedisError::Nonsense(format!("audit entry {id}"));
    let seq = id.strip_prefix("0-").and_then(|seq| seq.parse().ok()).ok_or_else(nonsense)?;
    let fields = entry.part(1)?;
    let fields: Vec<&str> = fields.texts().collect::<Result<_, _>>().map_err(|_| nonsense())?;
    let field = |name: &str| {
        let pair = fields.chunks_exact(2).find(|pair| pair[0] == name);
        pair.map(|pair| pair[1]).ok_or_else(nonsense)
    };
    let version: u64 = field("v")?.parse().map_err(|_| nonsense())?;
    if version != VERSION {
        return Err(RedisError::Newer { what: format!("audit entry {seq}"), found: version });
    }
    let says = |name: &str| -> Result<Option<String>, RedisError> {
        Ok(Some(field(name)?).filter(|text| !text.is_empty()).map(str::to_owned))
    };
    Ok(AuditEntry {
        seq,
        at: field("at")?.parse().map_err(|_| nonsense())?,
        who: field("who")?.to_owned(),
        action: field("action")?.to_owned(),
        target: field("target")?.to_owned(),
        before: says("before")?,
        after: says("after")?,
        link: None,
    })
}
