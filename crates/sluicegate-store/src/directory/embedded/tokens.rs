//! Tokens in the database, and all of them in memory.

use std::sync::Arc;

use rusqlite::{Connection, Row};

use super::{Embedded, audit};
use crate::database::column::{instant, instant_or_null, nanos};
use crate::database::{Database, DatabaseError};
use crate::directory::audited::{Action, Audited as _};
use crate::directory::error::{What, WriteError};
use crate::directory::record::Writer;
use crate::key_text::{KeyHash, KeyId};
use crate::token::{May, Role, StoredToken, TOKENS_MAX, TokenId, TokenName, TokenRecord, TokenSet};

const SELECT: &str = "SELECT id, name, role, may, expires_at, created_at, hash FROM tokens";

impl Embedded {
    pub(crate) fn tokens(&self) -> &TokenSet {
        &self.tokens
    }

    pub(crate) async fn create_token(&self, token: StoredToken, by: &Writer) -> Result<(), WriteError> {
        let (by, tokens, stored) = (by.clone(), Arc::clone(&self.tokens), token.clone());
        let run = move |connection: &Connection| create(connection, &stored, &by);
        self.database.write(run, move |()| tokens.change(token.record.id, Some(&token))).await
    }

    pub(crate) async fn revoke_token(&self, id: TokenId, by: &Writer) -> Result<TokenRecord, WriteError> {
        let (by, tokens) = (by.clone(), Arc::clone(&self.tokens));
        let run = move |connection: &Connection| revoke(connection, id, &by);
        self.database.write(run, move |_: &TokenRecord| tokens.change(id, None)).await
    }
}

/// All tokens of the database.
pub(super) fn load(database: &Database) -> Result<TokenSet, DatabaseError> {
    let connection = database.connect()?;
    let mut statement = connection.prepare(SELECT)?;
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(token(row)?);
    }
    let tokens = TokenSet::default();
    tokens.replace(all);
    Ok(tokens)
}

fn token(row: &Row<'_>) -> Result<StoredToken, DatabaseError> {
    let text = row.get_ref(0)?.as_str()?;
    let nonsense = |what: &str| DatabaseError::Nonsense(format!("token {text}: {what}"));
    let may = row.get_ref(3)?.as_str()?.split_ascii_whitespace();
    let may: Option<_> = may.map(May::parse).collect();
    let record = TokenRecord {
        id: KeyId::parse(text).ok_or_else(|| nonsense("its id"))?,
        name: TokenName::new(row.get_ref(1)?.as_str()?).map_err(|_| nonsense("its name"))?,
        role: Role::parse(row.get_ref(2)?.as_str()?).ok_or_else(|| nonsense("its role"))?,
        may: may.ok_or_else(|| nonsense("its permissions"))?,
        expires_at: instant_or_null(row, 4)?,
        created_at: instant(row, 5)?,
    };
    Ok(StoredToken { record, hash: KeyHash::from_bytes(row.get(6)?) })
}

fn create(connection: &Connection, token: &StoredToken, by: &Writer) -> Result<(), WriteError> {
    let record = &token.record;
    let (count, taken): (u32, u32) = connection.query_row(
        "SELECT count(*), count(CASE WHEN name = ?1 THEN 1 END) FROM tokens",
        [record.name.as_str()],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    if taken > 0 {
        return Err(WriteError::TokenExists(record.name.clone()));
    }
    if count as usize >= TOKENS_MAX {
        return Err(WriteError::TooManyTokens);
    }
    let may = record.may.iter().map(May::as_str).collect::<Vec<_>>().join(" ");
    let sql = "INSERT INTO tokens (id, name, role, may, expires_at, created_at, hash) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let (id, name, role) = (record.id.as_str(), record.name.as_str(), record.role.as_str());
    let at = (record.expires_at.map(nanos), nanos(record.created_at));
    connection.execute(sql, (id, name, role, may, at.0, at.1, token.hash.as_bytes()))?;
    audit::enter(connection, by, Action::TokenCreate, None, record)?;
    Ok(())
}

fn revoke(connection: &Connection, id: TokenId, by: &Writer) -> Result<TokenRecord, WriteError> {
    let mut statement = connection.prepare(&format!("{SELECT} WHERE id = ?1"))?;
    let mut rows = statement.query([id.as_str()])?;
    let Some(row) = rows.next()? else { return Err(WriteError::NotFound(What::Token)) };
    let before = token(row)?.record;
    connection.execute("DELETE FROM tokens WHERE id = ?1", [id.as_str()])?;
    let says = [Some(before.says()), None];
    audit::insert(connection, by, Action::TokenRevoke, before.target(), says)?;
    Ok(before)
}
