//! What a suite found: rows of one figure of ours beside one of a peer's, as a table or as JSON lines.

use anyhow::Result;
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use std::io::Write;

/// Which direction is an improvement.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Better {
    Lower,
    Higher,
}

/// What a case measures: the same for every contestant.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) suite: &'static str,
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    pub(crate) better: Better,
}

/// One comparison. The order of the fields is the order in the JSON object.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    suite: &'static str,
    case: String,
    unit: &'static str,
    better: Better,
    ours: f64,
    peer: &'static str,
    peer_value: f64,
    ratio: f64,
}

impl Row {
    pub(crate) fn new(case: &Case, ours: f64, peer: &'static str, peer_value: f64) -> Self {
        let Case { suite, name, unit, better } = case.clone();
        Self { suite, case: name, unit, better, ours, peer, peer_value, ratio: ours / peer_value }
    }
}

/// How rows are printed.
#[derive(Clone, Copy)]
pub(crate) enum Format {
    /// At the end, one line per case and one column per peer.
    Table,
    /// As they come, one object per line.
    Json,
}

/// The rows so far.
pub(crate) struct Report {
    format: Format,
    rows: Vec<Row>,
}

impl Report {
    pub(crate) const fn new(format: Format) -> Self {
        Self { format, rows: Vec::new() }
    }

    pub(crate) fn add(&mut self, row: Row) -> Result<()> {
        if matches!(self.format, Format::Json) {
            writeln!(std::io::stdout(), "{}", serde_json::to_string(&row)?)?;
        }
        self.rows.push(row);
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<()> {
        if matches!(self.format, Format::Table) {
            writeln!(std::io::stdout(), "{}", table(&self.rows))?;
        }
        Ok(())
    }
}

/// Something the reader of the figures should know, kept out of the figures.
pub(crate) fn note(text: &str) {
    // A closed stderr is no reason to stop measuring.
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn table(rows: &[Row]) -> Table {
    let mut peers: Vec<&str> = Vec::new();
    for row in rows {
        if !peers.contains(&row.peer) {
            peers.push(row.peer);
        }
    }
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    let mut header = vec!["case".to_owned(), "unit".to_owned(), "better".to_owned(), "ours".to_owned()];
    header.extend(peers.iter().map(|peer| format!("{peer} (ours / it)")));
    table.set_header(header);
    for of_case in rows.chunk_by(|a, b| a.case == b.case) {
        table.add_row(table_line(of_case, &peers));
    }
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn table_line(of_case: &[Row], peers: &[&str]) -> Vec<String> {
    let mut line = Vec::with_capacity(4 + peers.len());
    if let Some(first) = of_case.first() {
        let better = match first.better {
            Better::Lower => "lower",
            Better::Higher => "higher",
        };
        line.extend([first.case.clone(), first.unit.to_owned(), better.to_owned(), figure(first.ours)]);
    }
    line.extend(peers.iter().map(|peer| {
        let row = of_case.iter().find(|row| row.peer == *peer);
        row.map_or_else(|| "–".to_owned(), |row| format!("{} ({:.2})", figure(row.peer_value), row.ratio))
    }));
    line
}

fn figure(value: f64) -> String {
    if value < 10.0 { format!("{value:.2}") } else { format!("{value:.0}") }
}

#[cfg(test)]
mod tests {
    use super::{Better, Case, Row, table};

    fn row(name: &str, peer: &'static str, peer_value: f64) -> Row {
        let case = Case { suite: "core", name: name.to_owned(), unit: "ns", better: Better::Lower };
        Row::new(&case, 50.0, peer, peer_value)
    }

    #[test]
    fn a_row_is_an_object_of_these_fields_in_this_order() {
        assert_eq!(
            serde_json::to_string(&row("decision/1k/uniform/1t", "governor", 100.0)).unwrap(),
            r#"{"suite":"core","case":"decision/1k/uniform/1t","unit":"ns","better":"lower","ours":50.0,"#
                .to_owned()
                + r#""peer":"governor","peer_value":100.0,"ratio":0.5}"#
        );
    }

    #[test]
    fn the_table_has_a_line_per_case_and_a_dash_where_a_peer_was_left_out() {
        let rows = [
            row("a/1k", "governor", 100.0),
            row("a/1k", "limitador", 5000.0),
            row("a/10m", "governor", 900.0),
        ];
        let text = table(&rows).to_string();
        assert_eq!(text.lines().filter(|line| line.contains("a/1")).count(), 2, "{text}");
        let left_out = text.lines().find(|line| line.contains("a/10m")).unwrap();
        assert!(left_out.contains("900 (0.06)") && left_out.contains('–'), "{text}");
    }
}
