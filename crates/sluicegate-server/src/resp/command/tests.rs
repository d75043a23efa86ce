//! Commands, whole and in parts, and bytes that are none.

use proptest::prelude::*;

use super::*;

/// Everything that is found in these bytes, with how it ends.
#[derive(PartialEq, Eq, Debug, Default)]
struct Found {
    commands: Vec<Vec<Vec<u8>>>,
    malformed: Option<Malformed>,
    left: usize,
}

/// Parses what comes in these parts.
fn found<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> Found {
    let (mut found, mut buffer) = (Found::default(), Vec::<u8>::new());
    for part in parts {
        buffer.extend_from_slice(part);
        let mut at = 0;
        loop {
            let mut args = Arguments::new();
            match parse(&buffer[at..], &mut args) {
                Ok(Parsed::Whole(length)) => {
                    assert!(length > 0 && at + length <= buffer.len());
                    found.commands.push(args.iter().map(|arg| arg.to_vec()).collect());
                    at += length;
                }
                Ok(Parsed::Partial) => break,
                Err(malformed) => return Found { malformed: Some(malformed), ..found },
            }
        }
        buffer.drain(..at);
    }
    Found { left: buffer.len(), ..found }
}

fn args(text: &str) -> Vec<Vec<u8>> {
    text.split(' ').map(|arg| arg.as_bytes().to_vec()).collect()
}

fn whole(input: &str) -> Vec<Vec<Vec<u8>>> {
    let found = found([input.as_bytes()]);
    assert_eq!((found.malformed, found.left), (None, 0), "{input:?}");
    found.commands
}

#[test]
fn commands_are_arrays_or_lines() {
    assert_eq!(whole("*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n"), [args("ECHO hi")]);
    assert_eq!(whole("PING\r\nECHO hi\n"), [args("PING"), args("ECHO hi")]);
    assert_eq!(whole("*1\r\n$0\r\n\r\n"), [vec![Vec::<u8>::new()]]);
    assert_eq!(whole("*1\r\n$2\r\n\r\n\r\n"), [vec![b"\r\n".to_vec()]]);
    assert_eq!(
        whole("ECHO \"hi there\"  'a \"b\"' \"\"\r\n")[0][1..],
        [b"hi there".to_vec(), b"a \"b\"".to_vec(), Vec::new()]
    );
}

#[test]
fn what_has_no_arguments_has_no_answer() {
    for nothing in ["\r\n", "\n", "  \r\n", "*0\r\n", "*-1\r\n"] {
        assert_eq!(whole(nothing), [Vec::<Vec<u8>>::new()], "{nothing:?}");
    }
}

#[test]
fn what_is_malformed_is_said() {
    for (input, expected) in [
        ("*x\r\n", "invalid multibulk length"),
        ("*\r\n", "invalid multibulk length"),
        ("*+1\r\n", "invalid multibulk length"),
        ("*1\rx", "invalid multibulk length"),
        ("*65\r\n", "invalid multibulk length"),
        ("*9223372036854775808\r\n", "invalid multibulk length"),
        ("*00000000000000000000000000000001\r\n", "invalid multibulk length"),
        ("*1\r\nPING\r\n", "expected '$', got 'P'"),
        ("*1\r\n\0", "expected '$', got byte 0"),
        ("*1\r\n$-1\r\n", "invalid bulk length"),
        ("*1\r\n$65537\r\n", "invalid bulk length"),
        ("*1\r\n$1\r\nab\r\n", "expected CRLF after bulk"),
        ("ECHO \"hi\r\n", "unbalanced quotes in request"),
        ("ECHO \"hi\"there\r\n", "unbalanced quotes in request"),
    ] {
        let malformed = found([input.as_bytes()]).malformed;
        assert_eq!(malformed.map(|malformed| malformed.to_string()).as_deref(), Some(expected), "{input:?}");
    }
}

#[test]
fn nothing_is_larger_than_it_may_be() {
    let line = |length: usize| found([&vec![b'a'; length][..]]);
    assert_eq!(line(INLINE_BYTES_MAX - 1).malformed, None);
    assert_eq!(line(INLINE_BYTES_MAX).malformed, Some(Malformed::LongLine));

    let arguments = |count: usize, bytes: usize| {
        let argument = format!("${bytes}\r\n{}\r\n", "a".repeat(bytes));
        found([format!("*{count}\r\n{}", argument.repeat(count)).as_bytes()])
    };
    assert_eq!(arguments(ARGUMENTS_MAX, 2_000).commands.len(), 1);
    assert_eq!(arguments(ARGUMENTS_MAX + 1, 1).malformed, Some(Malformed::Count));
    assert_eq!(arguments(1, ARGUMENT_BYTES_MAX).commands.len(), 1);
    assert_eq!(arguments(1, ARGUMENT_BYTES_MAX + 1).malformed, Some(Malformed::Length));
    assert_eq!(arguments(2, ARGUMENT_BYTES_MAX).malformed, Some(Malformed::TooLarge));
    assert_eq!(arguments(ARGUMENTS_MAX, 2_048).malformed, Some(Malformed::TooLarge));

    let words = |count: usize| found([format!("{}\n", "a ".repeat(count)).as_bytes()]);
    assert_eq!(words(ARGUMENTS_MAX).commands.len(), 1);
    assert_eq!(words(ARGUMENTS_MAX + 1).malformed, Some(Malformed::Count));
}

/// Bytes that are commands more often than not.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let argument = prop::collection::vec(any::<u8>(), 0..9).prop_map(|bytes| {
        let mut argument = format!("${}\r\n", bytes.len()).into_bytes();
        argument.extend(bytes);
        argument.extend(b"\r\n");
        argument
    });
    let array = prop::collection::vec(argument, 0..5).prop_map(|arguments| {
        [format!("*{}\r\n", arguments.len()).into_bytes(), arguments.concat()].concat()
    });
    let line = "[a-c \"']{0,12}\r?\n".prop_map(String::into_bytes);
    let bits =
        prop::sample::select(vec!["*", "$", "\r\n", "\r", "\n", "-1", "3", "*2\r\n", "$1\r\na", "9999"]);
    let bits = bits.prop_map(|bit| bit.as_bytes().to_vec());
    let junk = prop::collection::vec(any::<u8>(), 0..6);
    prop::collection::vec(prop_oneof![5 => array, 2 => line, 1 => bits, 1 => junk], 0..12)
        .prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_bytes_in_any_parts_are_the_same_commands(
        bytes in stream(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let at_once = found([&bytes[..]]);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        prop_assert_eq!(&found(cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]])), &at_once);
        prop_assert_eq!(&found(bytes.chunks(1)), &at_once);
    }
}
