//! How long something takes, for people: its two largest units, rounded up.

/// The units, the largest first, in seconds.
const UNITS: [(&str, u64); 4] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];

/// `now`, `250 ms`, `3 s`, `2 h 5 m`, `16 d 1 h`.
pub(crate) fn wait_text(ms: u64) -> String {
    match ms {
        0 => "now".to_owned(),
        1..1_000 => format!("{ms} ms"),
        _ => secs_text(ms.div_ceil(1_000)),
    }
}

fn secs_text(secs: u64) -> String {
    let largest = UNITS.iter().position(|(_, length)| secs >= *length).unwrap_or(UNITS.len() - 1);
    let (name, length) = UNITS[largest];
    let Some(&(lesser_name, lesser)) = UNITS.get(largest + 1) else { return format!("{secs} {name}") };
    let (count, rest) = (secs / length, (secs % length).div_ceil(lesser));
    match rest {
        0 => format!("{count} {name}"),
        // Rounded up to a whole one of the larger, or of one larger still.
        _ if rest * lesser == length => secs_text((count + 1) * length),
        _ => format!("{count} {name} {rest} {lesser_name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::wait_text;

    #[test]
    fn a_wait_is_never_shown_as_shorter_than_it_is() {
        let shown = [
            (0, "now"),
            (1, "1 ms"),
            (999, "999 ms"),
            (1_000, "1 s"),
            (1_001, "2 s"),
            (59_999, "1 m"),
            (60_000, "1 m"),
            (61_000, "1 m 1 s"),
            (3_599_999, "1 h"),
            (7_500_000, "2 h 5 m"),
            (86_399_999, "1 d"),
            (2 * 86_400_000 - 1, "2 d"),
            (16 * 86_400_000 + 1, "16 d 1 h"),
        ];
        for (ms, text) in shown {
            assert_eq!(wait_text(ms), text, "{ms}");
        }
        assert!(wait_text(u64::MAX).starts_with("213503982334 d"));
    }
}
