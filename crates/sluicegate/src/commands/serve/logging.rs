//! Logs: to standard error, one line for each thing that happens to the server, none for each request.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use crate::cli::LogFormat;

/// What is logged when nobody says otherwise.
const FILTER_DEFAULT: &str = "info";

/// Starts logging.
pub(super) fn start(filter: Option<&str>, format: LogFormat) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(filter.unwrap_or(FILTER_DEFAULT))?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false);
    match format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().init(),
    }
    Ok(())
}
