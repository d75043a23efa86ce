//! The text that Prometheus reads: families of numbers, each with what it means.

use std::fmt::Write as _;

use sluicegate_core::histogram::{Histogram, Lengths};

/// The text so far.
#[derive(Default)]
pub(super) struct Page(String);

/// What a label says.
pub(super) type Label<'l> = (&'static str, &'l str);

impl Page {
    /// A number that goes up and down.
    pub(super) fn gauge(&mut self, name: &str, help: &str, value: u64) {
        self.gauges(name, help, [([], value)]);
    }

    /// A number that only grows.
    pub(super) fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.counters(name, help, [([], value)]);
    }

    /// Several of one family that go up and down.
    pub(super) fn gauges<'l, const LABELS: usize>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = ([Label<'l>; LABELS], u64)>,
    ) {
        self.begin(name, help, "gauge");
        rows.into_iter().for_each(|(labels, value)| self.row(name, &labels, value));
    }

    /// Several of one family that only grow.
    pub(super) fn counters<'l, const LABELS: usize>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = ([Label<'l>; LABELS], u64)>,
    ) {
        self.begin(name, help, "counter");
        rows.into_iter().for_each(|(labels, value)| self.row(name, &labels, value));
    }

    /// How long things take, in seconds.
    pub(super) fn histograms<'l, const LABELS: usize>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = ([Label<'l>; LABELS], Lengths)>,
    ) {
        self.begin(name, help, "histogram");
        for (labels, lengths) in rows {
            let (bucket, count) = (format!("{name}_bucket"), lengths.count());
            for bound_ns in Histogram::SHOWN_NS {
                let (bound, below) = (seconds(bound_ns), lengths.at_most(bound_ns));
                let labels: Vec<Label<'_>> = labels.iter().copied().chain([("le", bound.as_str())]).collect();
                self.row(&bucket, &labels, below);
            }
            let labelled: Vec<Label<'_>> = labels.iter().copied().chain([("le", "+Inf")]).collect();
            self.row(&bucket, &labelled, count);
            self.write_row(&format!("{name}_sum"), &labels, &seconds(lengths.sum.0));
            self.row(&format!("{name}_count"), &labels, count);
        }
    }

    pub(super) fn into_text(self) -> String {
        self.0
    }

    fn begin(&mut self, name: &str, help: &str, kind: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn row(&mut self, name: &str, labels: &[Label<'_>], value: u64) {
        self.write_row(name, labels, &value.to_string());
    }

    fn write_row(&mut self, name: &str, labels: &[Label<'_>], value: &str) {
        self.0.push_str(name);
        for (place, (label, text)) in labels.iter().enumerate() {
            self.0.push(if place == 0 { '{' } else { ',' });
            let _ = write!(self.0, "{label}=\"");
            push_escaped(&mut self.0, text);
            self.0.push('"');
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        let _ = writeln!(self.0, " {value}");
    }
}

/// What would end a label, or its line, is written in another way.
fn push_escaped(out: &mut String, text: &str) {
    for letter in text.chars() {
        match letter {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            _ => out.push(letter),
        }
    }
}

/// Nanoseconds as seconds: `0.000005`.
fn seconds(nanos: u64) -> String {
    let (whole, part) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    let text = format!("{whole}.{part:09}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicegate_core::time::Nanos;

    #[test]
    fn seconds_are_written_without_a_float_and_without_zeros_at_the_end() {
        let written = [0, 1, 500, 1_000, 20_000_000, 1_000_000_000, 61_500_000_000].map(seconds);
        assert_eq!(written, ["0", "0.000000001", "0.0000005", "0.000001", "0.02", "1", "61.5"]);
    }

    #[test]
    fn labels_cannot_be_broken_out_of() {
        let mut page = Page::default();
        page.counters("n", "Help.", [([("tier", "a\"b\\c\nd"), ("x", "y")], 7)]);
        assert_eq!(
            page.into_text(),
            "# HELP n Help.\n# TYPE n counter\nn{tier=\"a\\\"b\\\\c\\nd\",x=\"y\"} 7\n"
        );
    }

    #[test]
    fn a_histogram_has_every_bound_and_the_last_is_all() {
        let histogram = Histogram::default();
        histogram.add(Nanos(1_500), 2);
        histogram.add(Nanos::from_secs(5), 1);
        let mut page = Page::default();
        page.histograms("t", "Help.", [([("front", "gateway")], histogram.read())]);
        let text = page.into_text();
        for line in [
            "t_bucket{front=\"gateway\",le=\"0.000001\"} 0",
            "t_bucket{front=\"gateway\",le=\"0.000002\"} 2",
            "t_bucket{front=\"gateway\",le=\"1\"} 2",
            "t_bucket{front=\"gateway\",le=\"+Inf\"} 3",
            "t_sum{front=\"gateway\"} 5.000003",
            "t_count{front=\"gateway\"} 3",
        ] {
            assert!(text.lines().any(|it| it == line), "{line}\n{text}");
        }
    }
}
