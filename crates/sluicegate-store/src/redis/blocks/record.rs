//! Blocks as nodes tell them to each other: one line of text, the version first.
//!
//! Nodes tell how long a block still lasts, not when it ends: their clocks differ.

use std::num::NonZeroU32;

use sluicegate_core::block::{Block, Caller, Origin, Reason};
use sluicegate_core::plan::{HomeId, Sharer};
use sluicegate_core::time::{Nanos, Timestamp};

use super::layout::VERSION;

const MILLI: u64 = 1_000_000;

/// A block that all nodes share.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SharedBlock {
    /// Who is blocked.
    pub caller: Caller,
    /// How long it lasts in all.
    pub length: Nanos,
    /// How long it still lasts.
    pub remaining: Nanos,
    /// Who has blocked.
    pub origin: Origin,
    /// What the administrator had to say.
    pub reason: Option<Reason>,
}

impl SharedBlock {
    /// The block, by the clock of a node.
    pub fn at(self, now: Timestamp) -> Block {
        let until = now.plus(self.remaining);
        let since = Timestamp::from_nanos(until.as_nanos().saturating_sub(self.length.0));
        let Self { caller, origin, reason, .. } = self;
        Block { caller, since, until, origin, reason }
    }

    /// What other nodes are told of a block at this instant by the clock of a node.
    pub fn of(block: Block, now: Timestamp) -> Self {
        let (length, remaining) = (block.until.since(block.since), block.until.since(now));
        let Block { caller, origin, reason, .. } = block;
        Self { caller, length, remaining, origin, reason }
    }

    /// What the script that writes it is given: who, for how long still and in all, by whom, why.
    pub(super) fn arguments(&self) -> [String; 5] {
        let reason = self.reason.as_ref().map_or("", Reason::as_str);
        [
            caller_text(self.caller),
            self.remaining.as_millis_ceil().max(1).to_string(),
            self.length.as_millis_ceil().to_string(),
            origin_text(self.origin).to_owned(),
            reason.to_owned(),
        ]
    }

    /// The block of a record, read at this millisecond of the server's clock. Nothing: it is over, or of a version
    /// that this program does not know.
    pub(super) fn of_record(caller: &str, record: &str, now_ms: u64) -> Option<Self> {
        let mut words = record.splitn(5, ' ');
        let (VERSION, end_ms) = (words.next()?, words.next()?.parse::<u64>().ok()?) else {
            return None;
        };
        let remaining = end_ms.checked_sub(now_ms).filter(|left| *left > 0)?;
        Self::of_words(caller, remaining, words)
    }

    /// The block of what is left of a line: how long in all, by whom, why.
    fn of_words<'t>(
        caller: &str,
        remaining_ms: u64,
        mut words: impl Iterator<Item = &'t str>,
    ) -> Option<Self> {
        let length = words.next()?.parse::<u64>().ok()?;
        let origin = origin_of(words.next()?)?;
        let reason = match words.next() {
            None | Some("") => None,
            Some(text) => Some(Reason::new(text).ok()?),
        };
        let nanos = |millis: u64| Nanos(millis.saturating_mul(MILLI));
        Some(Self {
            caller: caller_of(caller)?,
            length: nanos(length),
            remaining: nanos(remaining_ms),
            origin,
            reason,
        })
    }
}

/// What a node is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum News {
    Blocked(SharedBlock),
    Lifted(Caller),
}

impl News {
    /// The news of one line. Nothing: a version of the program that this one does not know wrote it.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let mut words = line.splitn(7, ' ');
        let (VERSION, what, caller) = (words.next()?, words.next()?, words.next()?) else {
            return None;
        };
        match what {
            "put" => {
                let remaining = words.next()?.parse().ok()?;
                SharedBlock::of_words(caller, remaining, words).map(Self::Blocked)
            }
            "lift" if words.next().is_none() => caller_of(caller).map(Self::Lifted),
            _ => None,
        }
    }
}

/// The home, and the number of the key where it is one.
pub(super) fn caller_text(caller: Caller) -> String {
    match caller.sharer.get() {
        0 => format!("{:032x}", caller.home.0),
        key => format!("{:032x}.{key}", caller.home.0),
    }
}

fn caller_of(text: &str) -> Option<Caller> {
    let (home, key) = match text.split_once('.') {
        Some((home, key)) => (home, Some(key)),
        None => (text, None),
    };
    // The parser of numbers would take a sign, and fewer digits.
    if home.len() != 32 || !home.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let home = HomeId(u128::from_str_radix(home, 16).ok()?);
    match key {
        None => Some(Caller::client(home)),
        Some(key) => Some(Caller::key(home, Sharer::key(key.parse::<NonZeroU32>().ok()?))),
    }
}

fn origin_text(origin: Origin) -> &'static str {
    match origin {
        Origin::Automatic => "a",
        Origin::Manual => "m",
    }
}

fn origin_of(text: &str) -> Option<Origin> {
    match text {
        "a" => Some(Origin::Automatic),
        "m" => Some(Origin::Manual),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: &str = "0123456789abcdef0123456789abcdef";

    fn block(reason: Option<&str>) -> SharedBlock {
        SharedBlock {
            caller: Caller::client(HomeId(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef)),
            length: Nanos::from_secs(60),
            remaining: Nanos::from_secs(45),
            origin: Origin::Manual,
            reason: reason.map(|text| Reason::new(text).unwrap()),
        }
    }

    #[test]
    fn news_say_who_for_how_long_by_whom_and_why() {
        let parsed = |line: &str| News::parse(&line.replace("HOME", HOME));
        let told = Some(News::Blocked(block(Some("scrapes the catalogue"))));
        assert_eq!(parsed("1 put HOME 45000 60000 m scrapes the catalogue"), told);
        let told = Some(News::Blocked(block(None)));
        assert_eq!(parsed("1 put HOME 45000 60000 m "), told);
        assert_eq!(parsed("1 put HOME 45000 60000 m"), told);
        assert_eq!(parsed("1 lift HOME"), Some(News::Lifted(block(None).caller)));
        let key = Caller { sharer: Sharer::key(7.try_into().unwrap()), ..block(None).caller };
        assert_eq!(parsed("1 lift HOME.7"), Some(News::Lifted(key)));
        assert_eq!(caller_text(key), format!("{HOME}.7"));
    }

    #[test]
    fn what_is_of_another_version_is_no_news() {
        for line in [
            "",
            "1",
            "2 lift HOME",
            "1 raise HOME",
            "1 lift 12",
            "1 lift HOME more",
            "1 lift HOME.0",
            "1 lift +HOME",
            "1 put HOME",
            "1 put HOME 1 1 x ",
            "1 put HOME -1 1 a ",
            "1 put HOME 1 1 a \u{7}",
        ] {
            assert_eq!(News::parse(&line.replace("HOME", HOME)), None, "{line}");
        }
    }

    #[test]
    fn a_record_is_read_against_the_clock_of_the_server() {
        let read = |record: &str| SharedBlock::of_record(HOME, record, 1_000_000);
        assert_eq!(read("1 1045000 60000 m why"), Some(block(Some("why"))));
        assert_eq!(read("1 1000000 60000 m "), None, "it is over");
        assert_eq!(read("2 1045000 60000 m "), None);
        assert_eq!(read("nonsense"), None);
    }

    #[test]
    fn a_block_is_told_by_what_is_left_of_it() {
        let (start, now) = (Timestamp::from_secs(1_000), Timestamp::from_secs(1_015));
        let told = block(None).at(now);
        assert_eq!((told.since, told.until), (start, Timestamp::from_secs(1_060)));
        assert_eq!(SharedBlock::of(told, now), block(None));
        assert_eq!(block(Some("why")).arguments(), [HOME, "45000", "60000", "m", "why"]);
    }
}
