//! The image of an entry of the book: a limit's name and rule, and from where on it is billed.

use jiff::tz::TimeZone;

use super::{BadImage, Reader, put_number};
use crate::calendar::{BillingDay, Calendar, CalendarUnit};
use crate::limit::LimitName;
use crate::meter::Terms;
use crate::rule::{Amount, Rule, TokenBucket, Windowed};
use crate::time::{Nanos, Window};

const VERSION: u8 = 1;
/// Of limits whose overage is billed.
const VERSION_BILLED: u8 = 2;
/// Of windows and calendars whose meters keep the period before, and whose overage is not billed. Billed ones always
/// keep it.
const VERSION_KEPT: u8 = 3;

const TOKEN_BUCKET: u8 = 1;
const FIXED_WINDOW: u8 = 2;
const CALENDAR: u8 = 3;
const SLIDING_WINDOW: u8 = 4;
const SLIDING_BUCKETS: u8 = 5;
const SLIDING_LOG: u8 = 6;
const CONCURRENCY: u8 = 7;
const FIXED_WINDOW_BILLED: u8 = 8;
const CALENDAR_BILLED: u8 = 9;
const FIXED_WINDOW_KEPT: u8 = 10;
const CALENDAR_KEPT: u8 = 11;

/// A limit as far as meters depend on it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EntryImage {
    /// What it is called.
    pub name: LimitName,
    /// The algorithm and its numbers.
    pub rule: Rule,
    /// What is included in each period before overage is billed. Nothing: none is billed, or it was written by a
    /// version that did not say.
    pub included: Option<Amount>,
    /// Whether its meters keep the period before the one they count in: not if it was written by a version that did not
    /// say.
    pub keeps_past: bool,
}

impl EntryImage {
    /// What meters that were written under it depend on.
    pub fn terms(&self) -> Terms<'_> {
        Terms { rule: &self.rule, included: self.included, keeps_past: self.keeps_past }
    }
}

/// Appends the image of a limit, as far as meters depend on it. Equal limits have equal images.
pub fn encode_entry(name: &LimitName, terms: Terms<'_>, into: &mut Vec<u8>) {
    let Terms { rule, included, keeps_past } = terms;
    let (version, kind) = match (included, rule) {
        (Some(_), Rule::FixedWindow(_)) => (VERSION_BILLED, FIXED_WINDOW_BILLED),
        (Some(_), Rule::Calendar { .. }) => (VERSION_BILLED, CALENDAR_BILLED),
        (None, Rule::FixedWindow(_)) if keeps_past => (VERSION_KEPT, FIXED_WINDOW_KEPT),
        (None, Rule::Calendar { .. }) if keeps_past => (VERSION_KEPT, CALENDAR_KEPT),
        _ => (VERSION, kind_of(rule)),
    };
    into.extend([version, kind]);
    put_text(name.as_str(), into);
    match rule {
        Rule::TokenBucket(bucket) => {
            put_number(bucket.amount(), into);
            put_number(bucket.window().as_secs().into(), into);
            put_number(bucket.burst(), into);
        }
        Rule::FixedWindow(rule)
        | Rule::SlidingWindow(rule)
        | Rule::SlidingBuckets(rule)
        | Rule::SlidingLog(rule) => {
            put_number(rule.limit.get(), into);
            put_number(rule.window.as_secs().into(), into);
        }
        Rule::Calendar { limit, calendar } => {
            put_number(limit.get(), into);
            let unit = match calendar.unit() {
                CalendarUnit::Day => 1,
                CalendarUnit::Month => 2,
                CalendarUnit::BillingMonth => 3,
            };
            into.extend([unit, calendar.billing_day().get()]);
            put_text(calendar.zone_name(), into);
        }
        Rule::Concurrency { limit, lease } => {
            put_number(limit.get(), into);
            put_number(lease.0, into);
        }
    }
    if let (VERSION_BILLED, Some(included)) = (version, included) {
        put_number(included.get(), into);
    }
}

/// The limit whose image this is.
pub fn decode_entry(image: &[u8]) -> Result<EntryImage, BadImage> {
    let mut reader = Reader::new(image);
    let version = reader.byte()?;
    let kind = match (version, reader.byte()?) {
        (VERSION, kind) => kind,
        (VERSION_BILLED, FIXED_WINDOW_BILLED) => FIXED_WINDOW,
        (VERSION_BILLED, CALENDAR_BILLED) => CALENDAR,
        (VERSION_KEPT, FIXED_WINDOW_KEPT) => FIXED_WINDOW,
        (VERSION_KEPT, CALENDAR_KEPT) => CALENDAR,
        (VERSION_BILLED | VERSION_KEPT, other) => return Err(BadImage::Kind(other)),
        (other, _) => return Err(BadImage::Version(other)),
    };
    let name = LimitName::new(reader.text()?).ok_or(BadImage::Range("a name"))?;
    let rule = match kind {
        TOKEN_BUCKET => {
            let (amount, window, burst) = (reader.number()?, window(&mut reader)?, reader.number()?);
            let bucket = TokenBucket::new(amount, window, burst);
            Rule::TokenBucket(bucket.map_err(|_| BadImage::Range("a bucket"))?)
        }
        FIXED_WINDOW => Rule::FixedWindow(windowed(&mut reader)?),
        SLIDING_WINDOW => Rule::SlidingWindow(windowed(&mut reader)?),
        SLIDING_BUCKETS => Rule::SlidingBuckets(windowed(&mut reader)?),
        SLIDING_LOG => Rule::SlidingLog(windowed(&mut reader)?),
        CALENDAR => Rule::Calendar { limit: amount(&mut reader)?, calendar: calendar(&mut reader)? },
        CONCURRENCY => Rule::Concurrency { limit: amount(&mut reader)?, lease: Nanos(reader.number()?) },
        other => return Err(BadImage::Kind(other)),
    };
    let included = if version == VERSION_BILLED { Some(amount(&mut reader)?) } else { None };
    reader.end()?;
    Ok(EntryImage { name, rule, included, keeps_past: version != VERSION })
}

fn kind_of(rule: &Rule) -> u8 {
    match rule {
        Rule::TokenBucket(_) => TOKEN_BUCKET,
        Rule::FixedWindow(_) => FIXED_WINDOW,
        Rule::Calendar { .. } => CALENDAR,
        Rule::SlidingWindow(_) => SLIDING_WINDOW,
        Rule::SlidingBuckets(_) => SLIDING_BUCKETS,
        Rule::SlidingLog(_) => SLIDING_LOG,
        Rule::Concurrency { .. } => CONCURRENCY,
    }
}

/// Names of limits and of time zones are far below 255 bytes. One that is not would be cut, and then refused
/// or unknown when it is read.
fn put_text(text: &str, into: &mut Vec<u8>) {
    let text = &text.as_bytes()[..text.len().min(u8::MAX.into())];
    into.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
    into.extend(text);
}

fn amount(reader: &mut Reader<'_>) -> Result<Amount, BadImage> {
    Amount::new(reader.number()?).ok_or(BadImage::Range("an amount"))
}

fn window(reader: &mut Reader<'_>) -> Result<Window, BadImage> {
    Window::from_secs(reader.number()?).ok_or(BadImage::Range("a window"))
}

fn windowed(reader: &mut Reader<'_>) -> Result<Windowed, BadImage> {
    Ok(Windowed { limit: amount(reader)?, window: window(reader)? })
}

fn calendar(reader: &mut Reader<'_>) -> Result<Calendar, BadImage> {
    let unit = match reader.byte()? {
        1 => CalendarUnit::Day,
        2 => CalendarUnit::Month,
        3 => CalendarUnit::BillingMonth,
        _ => return Err(BadImage::Range("a calendar unit")),
    };
    let day = BillingDay::new(reader.byte()?).ok_or(BadImage::Range("a billing day"))?;
    let name = reader.text()?;
    let zone = TimeZone::get(name).map_err(|_| BadImage::Zone(name.into()))?;
    let calendar = Calendar::utc(unit).for_account(zone, day);
    // Only what would be written again as it was read: names of zones in other spellings are not.
    if calendar.billing_day() != day || calendar.zone_name() != name {
        return Err(BadImage::Range("a calendar"));
    }
    Ok(calendar)
}
