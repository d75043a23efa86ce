//! Reads for people: pages of lists, and one thing by its name.

use rusqlite::{Connection, Row, ToSql};

use super::{Embedded, audit, rows};
use crate::database::audit::SELECT as SELECT_AUDIT;
use crate::database::{DatabaseError, Pending};
use crate::directory::account::AccountId;
use crate::directory::error::{ReadError, What};
use crate::directory::page::{Page, Paged};
use crate::directory::record::{AccountRecord, AuditRecord, KeyRecord};
use crate::key_text::KeyId;

impl Embedded {
    pub(crate) async fn list_accounts(&self, page: Page) -> Result<Paged<AccountRecord>, DatabaseError> {
        self.database.read(move |connection| list_accounts(connection, page)).await
    }

    pub(crate) async fn find_account(&self, id: &str) -> Result<Option<AccountRecord>, DatabaseError> {
        let id = id.to_owned();
        self.database.read(move |connection| rows::find_account(connection, &id)).await
    }

    pub(crate) async fn find_account_by_serial(
        &self,
        serial: u64,
    ) -> Result<Option<AccountRecord>, DatabaseError> {
        self.read_account_by_serial(serial).await
    }

    pub(crate) fn read_account_by_serial(&self, serial: u64) -> Pending<Option<AccountRecord>> {
        let sql = format!("{} WHERE serial = ?1", rows::SELECT_ACCOUNT);
        let serial = serial.cast_signed();
        self.database.read(move |connection| rows::one(connection, &sql, &[&serial], rows::account))
    }

    pub(crate) async fn find_deleted_accounts(&self, id: &str) -> Result<Vec<AccountRecord>, DatabaseError> {
        let id = id.to_owned();
        let sql = format!(
            "{} WHERE id = ?1 AND deleted_at IS NOT NULL ORDER BY serial DESC LIMIT 100",
            rows::SELECT_ACCOUNT
        );
        self.database.read(move |connection| list(connection, &sql, &[&id], rows::account)).await
    }

    pub(crate) async fn list_keys(
        &self,
        account: AccountId,
        page: Page,
    ) -> Result<Paged<KeyRecord>, ReadError> {
        self.database.read(move |connection| list_keys(connection, &account, page)).await
    }

    pub(crate) async fn find_key(&self, id: KeyId) -> Result<Option<KeyRecord>, DatabaseError> {
        self.database.read(move |connection| rows::find_key(connection, id)).await
    }

    pub(crate) async fn find_key_by_serial(&self, serial: u64) -> Result<Option<KeyRecord>, DatabaseError> {
        let sql = format!("{} WHERE keys.serial = ?1", rows::SELECT_KEY);
        let serial = serial.cast_signed();
        self.database.read(move |connection| rows::one(connection, &sql, &[&serial], rows::key)).await
    }

    pub(crate) async fn list_audit(&self, page: Page) -> Result<Paged<AuditRecord>, DatabaseError> {
        self.database.read(move |connection| list_audit(connection, page)).await
    }
}

fn list_accounts(connection: &Connection, page: Page) -> Result<Paged<AccountRecord>, DatabaseError> {
    let sql = format!(
        "{} NOT INDEXED WHERE deleted_at IS NULL AND serial > ?1 ORDER BY serial LIMIT ?2",
        rows::SELECT_ACCOUNT
    );
    let values: [&dyn ToSql; 2] = [&page.after(0), &page.rows()];
    let items = list(connection, &sql, &values, rows::account)?;
    Ok(page.of(items, |record| record.serial))
}

fn list_keys(
    connection: &Connection,
    account: &AccountId,
    page: Page,
) -> Result<Paged<KeyRecord>, ReadError> {
    let account = rows::find_account(connection, account.as_str())?;
    let serial = account.ok_or(ReadError::NotFound(What::Account))?.serial.cast_signed();
    let sql = format!(
        "{} WHERE keys.account = ?1 AND keys.number > ?2 ORDER BY keys.number LIMIT ?3",
        rows::SELECT_KEY
    );
    let values: [&dyn ToSql; 3] = [&serial, &page.after(0), &page.rows()];
    let items = list(connection, &sql, &values, rows::key)?;
    Ok(page.of(items, |record| u64::from(record.number)))
}

fn list_audit(connection: &Connection, page: Page) -> Result<Paged<AuditRecord>, DatabaseError> {
    let sql = format!("{SELECT_AUDIT} WHERE seq < ?1 ORDER BY seq DESC LIMIT ?2");
    let values: [&dyn ToSql; 2] = [&page.after(u64::MAX), &page.rows()];
    let items = list(connection, &sql, &values, audit::record)?;
    Ok(page.of(items, |record| record.seq))
}

fn list<T>(
    connection: &Connection,
    sql: &str,
    values: &[&dyn ToSql],
    read: fn(&Row<'_>) -> Result<T, DatabaseError>,
) -> Result<Vec<T>, DatabaseError> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(values)?;
    let mut items = Vec::new();
    while let Some(row) = rows.next()? {
        items.push(read(row)?);
    }
    Ok(items)
}
