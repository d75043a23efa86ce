//! Characters that are not seen, or change how the text around them is seen.
//!
//! A name with them looks like another name in a list, a log or an e-mail.

/// Whether a character is a control character, changes the direction of text, or has no width.
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Soft hyphen, combining grapheme joiner, Arabic letter mark, Hangul fillers, Khmer inherent vowels.
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            // Mongolian variation selectors and vowel separator.
            | '\u{180b}'..='\u{180f}'
            // Zero-width characters, directional marks, line and paragraph separators, embeddings and overrides.
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            // Word joiner, invisible operators, isolates, deprecated format characters.
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            // Musical format characters, tags.
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::is_invisible;

    #[test]
    fn what_is_seen_is_not_invisible() {
        assert!(!"Müller & Söhne 東京 العربية שלום 🎉 a\u{fe0f}".chars().any(is_invisible));
        for c in ['\u{202e}', '\u{2066}', '\u{200b}', '\u{feff}', '\u{7}', '\n', '\u{85}', '\u{e0041}'] {
            assert!(is_invisible(c), "{c:?}");
        }
    }
}
