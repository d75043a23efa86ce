//! The image of a home: its meters, each with the number of its limit and who shares it.

use sluicegate_core::book::{LimitBook, LimitId};
use sluicegate_core::image::{BadImage, Reader, Written, decode_meter, encode_meter, put_number};

use super::list::Entry;

const VERSION: u8 = 1;

/// Begins the image of a home.
pub(crate) fn begin(into: &mut Vec<u8>) {
    into.push(VERSION);
}

/// Appends one meter, if it has an image.
pub(crate) fn encode(entry: &Entry, book: &LimitBook, into: &mut Vec<u8>) -> Written {
    let Some(rule) = book.rule(entry.limit) else { return Written::Nothing };
    let before = into.len();
    put_number(entry.limit.get().into(), into);
    put_number(entry.sharer.into(), into);
    let written = encode_meter(&entry.meter, rule, into);
    if written == Written::Nothing {
        into.truncate(before);
    }
    written
}

/// The meters of a home, of which there is at least one.
pub(crate) fn decode(image: &[u8], book: &LimitBook) -> Result<Vec<Entry>, BadImage> {
    let mut reader = Reader::new(image);
    reader.version(VERSION)?;
    let mut entries = Vec::new();
    loop {
        let (number, sharer) = (reader.number32()?, reader.number32()?);
        let limit = LimitId::from_number(number);
        let rule = book.rule(limit).ok_or(BadImage::Limit(number.into()))?;
        entries.push(Entry { limit, sharer, meter: decode_meter(&mut reader, rule)? });
        if reader.left() == 0 {
            return Ok(entries);
        }
    }
}
