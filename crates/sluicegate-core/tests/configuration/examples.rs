//! Sections of `examples/full.yaml`, as they stand there.

/// The lines of a section, without the remark above it and without blank lines around it.
pub(crate) fn of(full: &str, section: &str) -> Option<String> {
    let head = format!("{section}:");
    let mut lines = full.lines().skip_while(|line| !line.starts_with(&head));
    let first = lines.next()?;
    let inner = lines.take_while(|line| line.is_empty() || line.starts_with(' '));
    let text: Vec<&str> = std::iter::once(first).chain(inner).collect();
    Some(text.join("\n").trim_end().to_owned())
}

#[test]
fn a_section_ends_where_the_next_one_begins() {
    let full = "# a\na:\n  b: 1   # c\n\n  d: 2\n\n# e\nee: 3\ne: 4\n";
    assert_eq!(of(full, "a").unwrap(), "a:\n  b: 1   # c\n\n  d: 2");
    assert_eq!(of(full, "e").unwrap(), "e: 4");
    assert_eq!(of(full, "f"), None);
}
