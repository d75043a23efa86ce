//! Golden files: the reviewed answers of the API. `SLUICEGATE_BLESS=1` rewrites them.

use std::path::Path;

use serde_json::Value;

/// The same text with zeros for unique ids, which differ from run to run: numbers of sixteen digits.
pub(crate) fn same_uids(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for word in bytes.split_mut(|byte| !byte.is_ascii_alphanumeric()) {
        if word.len() == 16 && word.iter().all(u8::is_ascii_digit) {
            // Not all of them: no number begins with a zero.
            word.fill(b'0');
            word[0] = b'1';
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// Fails if `tests/admin/golden/{name}` does not hold exactly this.
#[track_caller]
pub(crate) fn check(name: &str, actual: &str) {
    let expected = read(name, actual);
    assert!(expected == actual, "{name} is stale\n--- golden\n{expected}\n--- answered now\n{actual}");
}

/// The same for JSON, indented so that people can read it. The order of members is that of the answer.
#[track_caller]
pub(crate) fn check_json(name: &str, answer: &str) {
    check(name, &indented(&same_uids(answer)));
}

/// The same where the order of members depends on the features of `serde_json`.
#[track_caller]
pub(crate) fn check_members(name: &str, answer: &str) {
    let answer = &*same_uids(answer);
    let expected = read(name, &indented(answer));
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    assert!(
        value(&expected) == value(answer),
        "{name} is stale\n--- golden\n{expected}\n--- answered now\n{answer}"
    );
}

/// What the file holds, after it was rewritten if that is wanted.
fn read(name: &str, actual: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/admin/golden").join(name);
    #[expect(clippy::disallowed_methods, reason = "the switch that rewrites golden files")]
    let blessing = std::env::var_os("SLUICEGATE_BLESS").is_some_and(|value| value == "1");
    if blessing {
        std::fs::write(&path, actual).unwrap();
    }
    std::fs::read_to_string(&path).unwrap_or_default()
}

/// Compact JSON with line breaks and indentation. It is not parsed, so that members stay in their order.
pub(crate) fn indented(compact: &str) -> String {
    let (mut text, mut depth, mut in_text, mut escaped) = (String::new(), 0_usize, false, false);
    let line = |depth: usize| format!("\n{}", "  ".repeat(depth));
    let mut letters = compact.chars().peekable();
    while let Some(letter) = letters.next() {
        if in_text {
            text.push(letter);
            in_text = escaped || letter != '"';
            escaped = letter == '\\' && !escaped;
            continue;
        }
        match letter {
            '{' | '[' if matches!(letters.peek(), Some('}' | ']')) => {
                text.push(letter);
                text.extend(letters.next());
            }
            '{' | '[' => {
                depth += 1;
                text.push(letter);
                text.push_str(&line(depth));
            }
            '}' | ']' => {
                depth -= 1;
                text.push_str(&line(depth));
                text.push(letter);
            }
            ',' => text.push_str(&format!(",{}", line(depth))),
            ':' => text.push_str(": "),
            _ => {
                in_text = letter == '"';
                text.push(letter);
            }
        }
    }
    text.push('\n');
    text
}
