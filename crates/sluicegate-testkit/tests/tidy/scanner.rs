//! Enough of Rust's grammar to find functions and modules: words and signs, without comments and literals.
//!
//! It also sees what stands inside macros, such as the functions of `proptest!`, which a parser does not.

/// A word or a sign, and the line it stands on.
#[derive(Clone, Copy, Debug)]
struct Token<'t> {
    text: &'t str,
    line: usize,
}

impl Token<'_> {
    fn is_word(self) -> bool {
        self.text.starts_with(is_word)
    }
}

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function<'t> {
    pub(crate) name: &'t str,
    pub(crate) line: usize,
    /// Between the braces.
    pub(crate) body_lines: usize,
}

pub(crate) fn functions(source: &str) -> Vec<Function<'_>> {
    let tokens = tokens(source);
    named(&tokens, "fn")
        .filter_map(|(at, name)| {
            let after = &tokens[at..];
            let open = body(after)?;
            let close = close(&after[open..]);
            let body_lines = (close.line - after[open].line).saturating_sub(1);
            Some(Function { name: name.text, line: name.line, body_lines })
        })
        .collect()
}

/// The names after `mod`, with their lines.
pub(crate) fn modules(source: &str) -> Vec<(&str, usize)> {
    named(&tokens(source), "mod").map(|(_, name)| (name.text, name.line)).collect()
}

/// Every word that follows this keyword, with its position.
fn named<'a, 't>(tokens: &'a [Token<'t>], keyword: &'a str) -> impl Iterator<Item = (usize, Token<'t>)> + 'a {
    let pairs = tokens.windows(2).enumerate();
    pairs.filter_map(move |(at, pair)| {
        (pair[0].text == keyword && pair[1].is_word()).then_some((at + 1, pair[1]))
    })
}

/// Where the body opens after a function's name; a semicolon outside of brackets means that there is none.
fn body(tokens: &[Token<'_>]) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            "{" if depth == 0 => return Some(at),
            ";" if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// The brace that closes the first one.
fn close<'t>(tokens: &[Token<'t>]) -> Token<'t> {
    let mut depth = 0_usize;
    for token in tokens {
        match token.text {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return *token;
        }
    }
    tokens[tokens.len() - 1]
}

fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut rest, mut line) = (source, 1);
    while let Some(first) = rest.chars().next() {
        let length = skipped(rest).unwrap_or_else(|| {
            let length = rest.find(|c| !is_word(c)).filter(|&end| end > 0);
            let length = length.unwrap_or(if is_word(first) { rest.len() } else { first.len_utf8() });
            if !first.is_whitespace() {
                tokens.push(Token { text: &rest[..length], line });
            }
            length
        });
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    tokens
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// How many bytes at the start are a comment or a literal, if one starts here.
fn skipped(rest: &str) -> Option<usize> {
    let length = match rest.as_bytes() {
        [b'/', b'/', ..] => rest.find('\n').unwrap_or(rest.len()),
        [b'/', b'*', ..] => block_comment(rest),
        [b'"', ..] => 1 + quoted(&rest[1..], '"'),
        [b'\'', b'\\', ..] => 1 + quoted(&rest[1..], '\''),
        [b'\'', ..] => {
            let c = rest[1..].chars().next()?.len_utf8();
            // Otherwise it is a lifetime.
            rest[1 + c..].starts_with('\'').then_some(c + 2)?
        }
        [b'r', b'"' | b'#', ..] => raw_string(&rest[1..])? + 1,
        [b'b' | b'c', b'r', b'"' | b'#', ..] => raw_string(&rest[2..])? + 2,
        [b'b' | b'c', b'"', ..] => 2 + quoted(&rest[2..], '"'),
        [b'b', b'\'', ..] => 2 + quoted(&rest[2..], '\''),
        _ => return None,
    };
    Some(length)
}

/// Up to and with the quote that no backslash precedes.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// From the number signs on; none if this is a raw identifier.
fn raw_string(rest: &str) -> Option<usize> {
    let signs = rest.find(|c| c != '#')?;
    let end = format!("\"{}", &rest[..signs]);
    let content = rest[signs..].strip_prefix('"')?;
    Some(content.find(&end).map_or(rest.len(), |at| signs + 1 + at + end.len()))
}

/// Block comments nest.
fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        let (step, change) = match &rest.as_bytes()[at..] {
            [b'/', b'*', ..] => (2, 1),
            [b'*', b'/', ..] => (2, -1),
            _ => (1, 0),
        };
        at += step;
        depth += change;
        if depth == 0 {
            break;
        }
    }
    at
}

#[test]
fn a_body_is_counted_between_its_braces() {
    let source = concat!(
        "fn one() {\n    1\n}\n\n",
        "impl X {\n    fn two(a: [u8; 2]) -> u8\n    where\n        u8: Copy,\n    {\n\n        a[0]\n    }\n}\n",
        "fn three() {}\n",
    );
    let found: Vec<_> = functions(source).into_iter().map(|f| (f.name, f.line, f.body_lines)).collect();
    assert_eq!(found, [("one", 1, 1), ("two", 6, 2), ("three", 14, 0)]);
}

#[test]
fn a_declaration_and_a_function_pointer_have_no_body() {
    assert_eq!(
        functions("trait T { fn of(&self, n: [u8; 4]); }\ntype F = fn(u8) -> u8;\nconst C: u8 = { 1 };\n"),
        []
    );
}

#[test]
fn braces_in_literals_and_comments_do_not_count() {
    let source = concat!(
        "fn odd<'a>() {\n",
        "'{'; '\\''; \"{\\\"{\"; r#\"{\"{\"#; b'{'; br\"{\"; // {\n",
        "/* { /* { */ { */ r#type\n}\n",
        "fn next() {\n}\n",
    );
    let found: Vec<_> = functions(source).into_iter().map(|f| (f.name, f.body_lines)).collect();
    assert_eq!(found, [("odd", 2), ("next", 0)]);
}

#[test]
fn functions_inside_macros_are_seen() {
    let source = "proptest! {\n    #[test]\n    fn holds(x in 0..9_u8) {\n        x;\n    }\n}\n";
    assert_eq!(functions(source), [Function { name: "holds", line: 3, body_lines: 1 }]);
}

#[test]
fn modules_are_named_by_the_word_after_mod() {
    assert_eq!(modules("mod one;\n// mod two;\npub(crate) mod three {\n}\n"), [("one", 1), ("three", 3)]);
}
