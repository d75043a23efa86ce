//! `sluicegate usage export`: usage as a file.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{USAGE, query};
use crate::admin_client::AdminClient;
use crate::cli::{ExportFormat, UsageExport};
use crate::output;

pub(super) fn run(client: &AdminClient, args: &UsageExport) -> anyhow::Result<()> {
    let [from, to] = args.period.parameters();
    let asked = query(&[
        ("format", Some(args.format.as_str())),
        ("account", args.account.as_deref()),
        from,
        to,
        ("event_name", args.event_name.as_deref()),
        ("customer_key", args.customer_key.as_deref()),
    ]);
    let path = format!("{USAGE}/export{asked}");
    match &args.out {
        Some(file) => to_file(client, &path, file, args.format),
        None if args.format == ExportFormat::Parquet && io::stdout().is_terminal() => {
            bail!("Parquet is not for terminals: name a file with --out")
        }
        None => to_stdout(client, &path),
    }
}

fn to_stdout(client: &AdminClient, path: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    client.download(path, |download| out.write_all(download.piece))?;
    Ok(out.flush()?)
}

/// Under another name first: a file that is there is whole.
fn to_file(client: &AdminClient, path: &str, file: &Path, format: ExportFormat) -> anyhow::Result<()> {
    let unfinished = unfinished(file);
    let cannot = || format!("cannot write {}", unfinished.display());
    let mut out = File::create(&unfinished).with_context(cannot)?;
    let progress = Progress::new(format);
    let (mut bytes, mut rows) = (0, 0);
    let fetched = client.download(path, |download| {
        out.write_all(download.piece)?;
        bytes += download.piece.len() as u64;
        rows += download.piece.iter().filter(|byte| **byte == b'\n').count() as u64;
        progress.show(rows, download.rows, bytes);
        Ok(())
    });
    progress.end();
    if let Err(error) = fetched {
        let _ = std::fs::remove_file(&unfinished);
        return Err(error);
    }
    out.sync_all().and_then(|()| std::fs::rename(&unfinished, file)).with_context(cannot)?;
    output::print(&format!("{} bytes written to {}\n", bytes, file.display()))
}

fn unfinished(file: &Path) -> PathBuf {
    let mut name: OsString = file.as_os_str().to_owned();
    name.push(".unfinished");
    name.into()
}

/// How far it is, on a terminal.
struct Progress {
    bar: ProgressBar,
    /// Rows can be counted in what comes.
    by_rows: bool,
}

impl Progress {
    fn new(format: ExportFormat) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        Self { bar, by_rows: format != ExportFormat::Parquet }
    }

    fn show(&self, rows: u64, of: Option<u64>, bytes: u64) {
        match of.filter(|_| self.by_rows) {
            Some(of) => {
                if self.bar.length() != Some(of) {
                    self.bar.set_length(of);
                    self.style("{bar:40} {pos} of {len} rows, {eta} left");
                }
                self.bar.set_position(rows.min(of));
            }
            None => {
                self.style("{spinner} {bytes}");
                self.bar.set_position(bytes);
            }
        }
    }

    fn style(&self, template: &str) {
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style);
        }
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}
