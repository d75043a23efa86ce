//! A file from a running server: handed over piece by piece, however large it is.

use std::io;

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::time::timeout;

use super::{Answer, CONNECT_TIME_MAX, Call, CallError, Endpoint, broken, request, send};
use serde_json::Value;

/// The header that says how many rows there are.
const ROWS_HEADER: &str = "sluicegate-rows";

/// A piece of a file.
#[derive(Clone, Copy)]
pub(crate) struct Download<'d> {
    pub(crate) piece: &'d [u8],
    /// How many rows the whole has, if that is known.
    pub(crate) rows: Option<u64>,
}

/// Fetches a file. What is no success is given as it was answered, and nothing is handed over.
pub(crate) fn download(
    endpoint: &Endpoint,
    call: &Call<'_>,
    mut each: impl FnMut(Download<'_>) -> io::Result<()>,
) -> Result<Option<Answer>, CallError> {
    let asked = request(endpoint, call)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(CallError::Unreachable)?;
    let done = runtime.block_on(async {
        let limit = call.patience.limit();
        let (head, body) = match timeout(limit, send(endpoint, asked)).await {
            Ok(answer) => answer?.into_parts(),
            Err(_) => return Err(CallError::Late(limit)),
        };
        if !head.status.is_success() {
            let bytes = body.collect().await.map_err(broken)?.to_bytes();
            let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
            return Ok(Some(Answer { status: head.status, body }));
        }
        let rows = head.headers.get(ROWS_HEADER).and_then(|value| value.to_str().ok()?.parse().ok());
        pieces(body, rows, &mut each).await.map(|()| None)
    });
    runtime.shutdown_background();
    done
}

async fn pieces(
    mut body: Incoming,
    rows: Option<u64>,
    each: &mut impl FnMut(Download<'_>) -> io::Result<()>,
) -> Result<(), CallError> {
    each(Download { piece: &[], rows }).map_err(CallError::Unwritten)?;
    loop {
        // A file may take long; a piece of it may not.
        let frame = match timeout(CONNECT_TIME_MAX * 12, body.frame()).await {
            Ok(frame) => frame,
            Err(_) => return Err(CallError::Late(CONNECT_TIME_MAX * 12)),
        };
        let Some(frame) = frame else { return Ok(()) };
        if let Some(piece) = frame.map_err(broken)?.data_ref() {
            each(Download { piece, rows }).map_err(CallError::Unwritten)?;
        }
    }
}
