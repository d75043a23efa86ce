//! One command, parsed where it was read: its arguments are slices of what came.
//!
//! Nothing is remembered between two attempts. A command that is not there as a whole is looked at again when more has
//! come: the lengths in it are few, and what they stand before is skipped.

use std::fmt;

use arrayvec::ArrayVec;

/// The most arguments of a command, with its name.
pub(super) const ARGUMENTS_MAX: usize = 64;

/// The most bytes of one argument.
const ARGUMENT_BYTES_MAX: usize = 64 * 1024;

/// The most bytes of a command, with all of its lengths.
pub(super) const COMMAND_BYTES_MAX: usize = 128 * 1024;

/// The most bytes of a command that somebody types.
const INLINE_BYTES_MAX: usize = 16 * 1024;

/// The most bytes of a line with a length in it.
pub(super) const LENGTH_LINE_BYTES_MAX: usize = 32;

/// The name of a command, and what follows it.
pub(super) type Arguments<'b> = ArrayVec<&'b [u8], ARGUMENTS_MAX>;

/// What was found at the beginning of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Parsed {
    /// A command of so many bytes. One without arguments is no command, and has no answer.
    Whole(usize),
    /// The beginning of one, perhaps.
    Partial,
}

/// Why bytes cannot be the beginning of a command. What comes after them cannot be made out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Malformed {
    /// The number of arguments is none, or too large.
    Count,
    /// An argument does not start as one.
    NoArgument(u8),
    /// The length of an argument is none, or too large.
    Length,
    /// An argument is longer than its length.
    NoEnd,
    /// All arguments together are too large.
    TooLarge,
    /// A line that somebody typed is too long.
    LongLine,
    /// It has a quote without an end.
    Quotes,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count => f.write_str("invalid multibulk length"),
            Self::NoArgument(found) if found.is_ascii_graphic() => {
                write!(f, "expected '$', got '{}'", char::from(*found))
            }
            Self::NoArgument(found) => write!(f, "expected '$', got byte {found}"),
            Self::Length => f.write_str("invalid bulk length"),
            Self::NoEnd => f.write_str("expected CRLF after bulk"),
            Self::TooLarge => f.write_str("too big command"),
            Self::LongLine => f.write_str("too big inline request"),
            Self::Quotes => f.write_str("unbalanced quotes in request"),
        }
    }
}

/// Parses the first command of `input` into `args`, which are empty.
pub(super) fn parse<'b>(input: &'b [u8], args: &mut Arguments<'b>) -> Result<Parsed, Malformed> {
    match input.first() {
        None => Ok(Parsed::Partial),
        Some(b'*') => array(input, args),
        Some(_) => inline(input, args),
    }
}

/// `*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n`
fn array<'b>(input: &'b [u8], args: &mut Arguments<'b>) -> Result<Parsed, Malformed> {
    let Some((count, mut at)) = length_line(input, 1, Malformed::Count)? else { return Ok(Parsed::Partial) };
    // Less than nothing is nothing, as Redis has it.
    let count = usize::try_from(count).unwrap_or(0);
    if count > ARGUMENTS_MAX {
        return Err(Malformed::Count);
    }
    for _ in 0..count {
        match input.get(at) {
            None => return Ok(Parsed::Partial),
            Some(b'$') => {}
            Some(other) => return Err(Malformed::NoArgument(*other)),
        }
        let Some((length, start)) = length_line(input, at + 1, Malformed::Length)? else {
            return Ok(Parsed::Partial);
        };
        let length = usize::try_from(length).map_err(|_| Malformed::Length)?;
        if length > ARGUMENT_BYTES_MAX {
            return Err(Malformed::Length);
        }
        let end = start + length;
        if end + 2 > COMMAND_BYTES_MAX {
            return Err(Malformed::TooLarge);
        }
        let Some(after) = input.get(end..end + 2) else { return Ok(Parsed::Partial) };
        if after != b"\r\n" {
            return Err(Malformed::NoEnd);
        }
        args.push(&input[start..end]);
        at = end + 2;
    }
    Ok(Parsed::Whole(at))
}

/// The number in the line that goes on at `at`, and where the next one begins. Nothing: it has not ended yet.
#[inline]
fn length_line(input: &[u8], at: usize, wrong: Malformed) -> Result<Option<(i64, usize)>, Malformed> {
    let rest = input.get(at..).unwrap_or_default();
    let line = &rest[..rest.len().min(LENGTH_LINE_BYTES_MAX)];
    let Some(end) = line.iter().position(|byte| *byte == b'\r') else {
        return if line.len() < LENGTH_LINE_BYTES_MAX { Ok(None) } else { Err(wrong) };
    };
    match rest.get(end + 1) {
        None => Ok(None),
        Some(b'\n') => {
            let number = whole_number(&rest[..end]).ok_or(wrong)?;
            Ok(Some((number, at + end + 2)))
        }
        Some(_) => Err(wrong),
    }
}

/// A number of digits, with a minus before them if it is below zero.
fn whole_number(text: &[u8]) -> Option<i64> {
    let (digits, sign) = match text {
        [b'-', digits @ ..] => (digits, -1),
        digits => (digits, 1),
    };
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_i64, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| i64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(sign * digit)
    })
}

/// `ECHO "hi there"`, as people type it. Quotes keep blanks together; there are no escapes.
fn inline<'b>(input: &'b [u8], args: &mut Arguments<'b>) -> Result<Parsed, Malformed> {
    let line = &input[..input.len().min(INLINE_BYTES_MAX)];
    let Some(end) = line.iter().position(|byte| *byte == b'\n') else {
        return if line.len() < INLINE_BYTES_MAX { Ok(Parsed::Partial) } else { Err(Malformed::LongLine) };
    };
    let mut rest = line[..end].trim_ascii();
    while let Some(first) = rest.first() {
        let (arg, after) = match first {
            b'"' | b'\'' => {
                let close = rest[1..].iter().position(|byte| byte == first).ok_or(Malformed::Quotes)? + 1;
                (&rest[1..close], &rest[close + 1..])
            }
            _ => rest.split_at(rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len())),
        };
        if after.first().is_some_and(|next| !next.is_ascii_whitespace()) {
            return Err(Malformed::Quotes);
        }
        args.try_push(arg).map_err(|_| Malformed::Count)?;
        rest = after.trim_ascii_start();
    }
    Ok(Parsed::Whole(end + 1))
}

#[cfg(test)]
mod tests;
