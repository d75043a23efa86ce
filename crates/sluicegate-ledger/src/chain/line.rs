//! One line of the chain, as text: what it says, its link, and the signature of that.
//!
//! ```text
//! key <public key> <link> <signature>
//! segment <first> <slots> <whole records> <digest of the file> <digest of the sums> <link> <signature>
//! pruned <before> <nanoseconds since 1970> <link> <signature>
//! rollup <from hour> <until hour> <records before> <closed at> <hourly before> <rows> <digest> [<recorded before>]
//!        <link> <signature>
//! shed <before hour> <nanoseconds since 1970> <link> <signature>
//! reopened <from hour> <nanoseconds since 1970> <link> <signature>
//! ```

use std::fmt;
use std::str::FromStr;

use super::error::ChainError;
use super::key::{PublicKey, Signature, SigningKey};
use super::rollup::SignedRollup;
use crate::hour::Hour;
use crate::spool::Position;
use sluicegate_core::digest::{Digest, parse_hex, write_hex};
use sluicegate_core::time::Timestamp;

const CONTEXT: &str = "sluicegate 2026 ledger chain line v1";

/// What a line says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Line {
    /// With this key everything is signed. The first line, and only that.
    Key(PublicKey),
    /// A segment that is full.
    Segment(SegmentLine),
    /// Segments before this position may be removed.
    Pruned { before: Position, at: u64 },
    /// The rows of hours that were closed.
    Rollup(SignedRollup),
    /// Rows of hours before this one may be removed.
    Shed { before: Hour, at: u64 },
    /// Hours from this one on are open again: they were closed by a clock that was wrong.
    Reopened { from: Hour, at: u64 },
}

/// A segment that is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SegmentLine {
    pub(super) first: Position,
    pub(super) slots: u32,
    /// How many of its slots hold a whole record.
    pub(super) whole: u32,
    /// Of all bytes of the file.
    pub(super) content: Digest,
    /// Of the sums beside it.
    pub(super) sums: Digest,
}

impl SegmentLine {
    pub(super) fn end(&self) -> Position {
        Position(self.first.0.saturating_add(u64::from(self.slots)))
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => write!(f, "key {key}"),
            Self::Segment(SegmentLine { first, slots, whole, content, sums }) => {
                write!(f, "segment {} {slots} {whole} {content} {sums}", first.0)
            }
            Self::Pruned { before, at } => write!(f, "pruned {} {at}", before.0),
            Self::Rollup(rollup) => {
                let SignedRollup { from, until, position, at, hourly_before, rows, digest, recorded_before } =
                    rollup;
                write!(f, "rollup {} {} {} {}", from.number(), until.number(), position.0, at.as_nanos())?;
                write!(f, " {} {rows} {digest}", hourly_before.0)?;
                recorded_before.map_or(Ok(()), |position| write!(f, " {}", position.0))
            }
            Self::Shed { before, at } => write!(f, "shed {} {at}", before.number()),
            Self::Reopened { from, at } => write!(f, "reopened {} {at}", from.number()),
        }
    }
}

/// The end of a chain: what the next line is linked to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Head {
    /// How many lines there are.
    pub(super) lines: u64,
    /// The link of the last.
    pub(super) link: Digest,
}

impl Head {
    /// The line with its link and signature, and the head behind it.
    pub(super) fn write(self, line: &Line, key: &SigningKey) -> Result<(String, Self), ChainError> {
        let body = line.to_string();
        let head = self.after(&body);
        Ok((format!("{}\n", signed(&body, &head.link, key)), head))
    }

    /// The head behind a line that says this.
    pub(super) fn after(self, body: &str) -> Self {
        Self { lines: self.lines + 1, link: Digest::link(CONTEXT, &self.link, body.as_bytes()) }
    }
}

/// What is written of a body: with its link, and the signature of that.
pub(super) fn signed(body: &str, link: &Digest, key: &SigningKey) -> String {
    struct Hex(Signature);
    impl fmt::Display for Hex {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write_hex(&self.0, f)
        }
    }
    format!("{body} {link} {}", Hex(key.sign(link)))
}

/// A line as it was found.
pub(super) struct Found<'t> {
    pub(super) body: &'t str,
    pub(super) link: Digest,
    pub(super) signature: Signature,
}

impl<'t> Found<'t> {
    /// Takes a line apart; it is without its end.
    pub(super) fn parse(text: &'t str) -> Option<Self> {
        let (rest, signature) = text.rsplit_once(' ')?;
        let (body, link) = rest.rsplit_once(' ')?;
        Some(Self { body, link: link.parse().ok()?, signature: parse_hex(signature).ok()? })
    }

    /// What it says. Numbers have one way to be written: what is written of them again is the same.
    pub(super) fn line(&self) -> Option<Line> {
        let line = parse_body(self.body)?;
        (line.to_string() == self.body).then_some(line)
    }
}

fn parse_body(body: &str) -> Option<Line> {
    let mut parts = body.split(' ');
    let line = match parts.next()? {
        "key" => Line::Key(next(&mut parts)?),
        "segment" => Line::Segment(SegmentLine {
            first: Position(next(&mut parts)?),
            slots: next(&mut parts)?,
            whole: next(&mut parts)?,
            content: next(&mut parts)?,
            sums: next(&mut parts)?,
        }),
        "pruned" => Line::Pruned { before: Position(next(&mut parts)?), at: next(&mut parts)? },
        "rollup" => Line::Rollup(SignedRollup {
            from: Hour::new(next(&mut parts)?)?,
            until: Hour::new(next(&mut parts)?)?,
            position: Position(next(&mut parts)?),
            at: Timestamp::from_nanos(next(&mut parts)?),
            hourly_before: Position(next(&mut parts)?),
            rows: next(&mut parts)?,
            digest: next(&mut parts)?,
            recorded_before: match parts.next() {
                Some(part) => Some(Position(part.parse().ok()?)),
                None => None,
            },
        }),
        "shed" => Line::Shed { before: Hour::new(next(&mut parts)?)?, at: next(&mut parts)? },
        "reopened" => Line::Reopened { from: Hour::new(next(&mut parts)?)?, at: next(&mut parts)? },
        _ => return None,
    };
    parts.next().is_none().then_some(line)
}

/// The next part of a body, as what it is meant to be.
pub(super) fn next<'t, T: FromStr>(parts: &mut impl Iterator<Item = &'t str>) -> Option<T> {
    parts.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Earlier versions signed roll-ups without the last number: their lines stay what they are.
    #[test]
    fn a_rollup_says_since_when_charges_are_told_unless_an_earlier_version_signed_it() {
        let digest = "ab".repeat(32);
        for (more, expected) in [("", None), (" 0", Some(Position(0))), (" 7", Some(Position(7)))] {
            let body = format!("rollup 1 2 3 4 0 5 {digest}{more}");
            let Some(Line::Rollup(rollup)) = parse_body(&body) else { panic!("{body}") };
            assert_eq!((rollup.recorded_before, rollup.rows), (expected, 5));
            assert_eq!(Line::Rollup(rollup).to_string(), body);
        }
        for wrong in [" ", " x", " 7 8", " -1"] {
            assert_eq!(parse_body(&format!("rollup 1 2 3 4 0 5 {digest}{wrong}")), None, "{wrong}");
        }
    }
}
