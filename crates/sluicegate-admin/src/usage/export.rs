//! `GET /admin/v1/usage/export`: usage as a file for other programs.
#![expect(
    unused_qualifications,
    reason = "the macro that describes a call with several parameters writes them"
)]

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use sluicegate_engine::Books;
use sluicegate_ledger::export::{ExportError, Format, StripeEvents};
use sluicegate_ledger::usage::Query;
use utoipa::IntoParams;

use super::asked::{UsageParams, UsageQuery};
use super::sheet::{SheetWriter, sheet};
use super::{AskError, failed};
use crate::Shared;
use crate::auth::Call;
use crate::input::{QueryPairs, wrong_query};
use crate::problem::Problem;

/// The header that says how many rows there are, for whoever shows how far it is.
const ROWS_HEADER: &str = "sluicegate-rows";

/// The parameters of an export, for the description of the API.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "it describes what is read by hand")]
pub(crate) struct ExportParams {
    /// `csv`, `jsonl`, `parquet`, `cloudevents` or `stripe`.
    #[param(required = false, example = "csv")]
    format: String,
    /// The name of the meter's events, for `stripe`.
    #[param(required = false, example = "sluicegate_usage")]
    event_name: String,
    /// Under which name the meter looks for the customer, for `stripe`.
    #[param(required = false, example = "stripe_customer_id")]
    customer_key: String,
}

/// Export usage
///
/// A row for each hour, account, key, route and tier. CloudEvents and Stripe's meter events are made of closed hours
/// only, with ids that follow from what they are about: sent twice, they count once.
#[utoipa::path(
    get,
    path = "/admin/v1/usage/export",
    tag = "usage",
    operation_id = "exportUsage",
    params(UsageParams, ExportParams),
    responses(
        (status = 200, description = "The file", content(
            (String = "text/csv"),
            (String = "application/x-ndjson"),
            (String = "application/cloudevents+json"),
            (String = "application/vnd.apache.parquet"),
        )),
        (status = 404, description = "There is no such account, key or route"),
    )
)]
pub(crate) async fn export(
    State(admin): State<Shared>,
    call: Call,
    QueryPairs(pairs): QueryPairs,
) -> Result<Response, Problem> {
    let query = UsageQuery::read(pairs, ["format", "event_name", "customer_key"], call.now)?;
    let format = format(&query)?;
    let books = Arc::clone(&admin.books);
    let asked = books.query(&query.asked).await?;
    let (books, asked, rows) = count(books, asked).await?;
    let (kind, ending) = kind(&format);
    let (writer, body) = sheet();
    tokio::task::spawn_blocking(move || write(&books, &asked, &format, writer));
    let disposition = format!("attachment; filename=\"usage.{ending}\"");
    let response = Response::builder()
        .header(CONTENT_TYPE, kind)
        .header(CONTENT_DISPOSITION, disposition)
        .header(ROWS_HEADER, rows)
        .body(Body::new(body));
    response.map_err(|error| failed(&error))
}

/// Counts what was recorded so far, so that all of it is exported, and says how many rows that is.
async fn count(books: Arc<Books>, query: Query) -> Result<(Arc<Books>, Query, u64), Problem> {
    let work = move || {
        let spool = books.engine().spool();
        spool.flush().map_err(|error| failed(&error))?;
        books.ledger().roll(spool).map_err(|error| failed(&error))?;
        let rows = books.ledger().book().count_rows(&query).map_err(|error| failed(&error))?;
        Ok((books, query, rows))
    };
    tokio::task::spawn_blocking(work).await.map_err(|_| failed(&AskError::Ending))?
}

fn write(books: &Books, query: &Query, format: &Format, writer: SheetWriter) {
    let pieces = writer.pieces();
    match books.ledger().export(query, format, books.names(), writer) {
        Ok(_) => {}
        Err(ExportError::Io(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        Err(error) => {
            tracing::error!(%error, "an export broke off");
            SheetWriter::fail(&pieces, &error);
        }
    }
}

fn format(query: &UsageQuery<3>) -> Result<Format, Problem> {
    let [event_name, customer_key] = [1, 2].map(|place| query.own(place).map(str::to_owned));
    let is_stripe = query.own(0) == Some("stripe");
    for (name, value) in [("event_name", &event_name), ("customer_key", &customer_key)] {
        if value.is_some() && !is_stripe {
            return Err(wrong_query(name, "belongs to \"format=stripe\""));
        }
    }
    let usual = StripeEvents::default();
    Ok(match query.own(0).unwrap_or("csv") {
        "csv" => Format::Csv,
        "jsonl" => Format::JsonLines,
        "parquet" => Format::Parquet,
        "cloudevents" => Format::CloudEvents,
        "stripe" => Format::Stripe(StripeEvents {
            event_name: event_name.unwrap_or(usual.event_name),
            customer_key: customer_key.unwrap_or(usual.customer_key),
        }),
        _ => {
            let problem = "is not \"csv\", \"jsonl\", \"parquet\", \"cloudevents\" or \"stripe\"";
            return Err(wrong_query("format", problem));
        }
    })
}

/// The media type of a format, and what files of it end with.
const fn kind(format: &Format) -> (&'static str, &'static str) {
    match format {
        Format::Csv => ("text/csv; charset=utf-8", "csv"),
        Format::JsonLines | Format::Stripe(_) => ("application/x-ndjson", "jsonl"),
        Format::Parquet => ("application/vnd.apache.parquet", "parquet"),
        Format::CloudEvents => ("application/cloudevents+json", "jsonl"),
    }
}
