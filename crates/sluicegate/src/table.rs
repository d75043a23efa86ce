//! Tables for people: as wide as the terminal, or as wide as they like where there is none.

use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};

/// A narrower terminal gets tables of this width: narrower columns could not be read.
const WIDTH_MIN: u16 = 40;

/// A table with these columns. The first is never broken: there are the names and ids that people copy.
pub(crate) fn with_columns<const COLUMNS: usize>(columns: [&str; COLUMNS]) -> Table {
    let mut table = bare();
    table.set_header(columns);
    if let Some(first) = table.column_mut(0) {
        first.set_constraint(ColumnConstraint::ContentWidth);
    }
    table
}

/// What is known of one thing, a line for each: its name and its value.
pub(crate) fn facts(facts: &[(&str, String)]) -> String {
    let mut table = bare();
    for (name, value) in facts {
        table.add_row([*name, &cell(value)]);
    }
    text(&table)
}

/// The table as it is printed.
pub(crate) fn text(table: &Table) -> String {
    format!("{}\n", table.trim_fmt())
}

/// A value as it may be printed: nothing in it moves the cursor or colours the terminal.
pub(crate) fn cell(value: &str) -> String {
    value.replace(char::is_control, "\u{fffd}")
}

fn bare() -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    if let Some((terminal_size::Width(width), _)) = terminal_size::terminal_size_of(std::io::stdout()) {
        wrap(&mut table, width);
    }
    table
}

fn wrap(table: &mut Table, width: u16) {
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width.max(WIDTH_MIN));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_no_wider_than_the_terminal() {
        for (terminal, widest) in [(60, 60), (10, 40)] {
            let mut table = with_columns(["name", "what it is for"]);
            table.add_row(["4fVZ8pQ2mX0c-4fVZ8pQ2mX0c", &"many words ".repeat(30)]);
            wrap(&mut table, terminal);
            let text = text(&table);
            let width = text.lines().map(|line| line.chars().count()).max();
            assert!(width.is_some_and(|width| width > 30 && width <= widest), "{width:?}");
            assert!(text.contains("4fVZ8pQ2mX0c-4fVZ8pQ2mX0c"), "{text}");
        }
    }

    #[test]
    fn no_value_speaks_to_the_terminal() {
        assert_eq!(cell("a\u{1b}[31mb\n"), "a\u{fffd}[31mb\u{fffd}");
    }
}
