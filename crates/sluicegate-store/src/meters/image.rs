//! The image of a home: its class, and its meters, each with the number of its limit and who shares it.

use sluicegate_core::book::{LimitBook, LimitId};
use sluicegate_core::image::{BadImage, Reader, Written, decode_meter, encode_meter, put_number};

use sluicegate_core::plan::SubjectClass;

use super::entries::Entry;

/// Of an account, or of a home whose class is not known: images have not always had one.
const VERSION: u8 = 1;
/// Of any other: the number of its class comes next.
const VERSION_WITH_CLASS: u8 = 2;

/// Begins the image of a home.
pub(crate) fn begin(class: SubjectClass, into: &mut Vec<u8>) {
    match class {
        SubjectClass::Account => into.push(VERSION),
        class => {
            into.push(VERSION_WITH_CLASS);
            put_number(u64::from(class as u8), into);
        }
    }
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

/// The class of a home, and its meters, of which there is at least one.
pub(crate) fn decode(image: &[u8], book: &LimitBook) -> Result<(SubjectClass, Vec<Entry>), BadImage> {
    let mut reader = Reader::new(image);
    let mut class = SubjectClass::Account;
    if image.first() == Some(&VERSION_WITH_CLASS) {
        reader.version(VERSION_WITH_CLASS)?;
        let class_of = |number: u32| SubjectClass::from_number(u8::try_from(number).ok()?);
        class = class_of(reader.number32()?).ok_or(BadImage::Range("a class of subjects"))?;
    } else {
        reader.version(VERSION)?;
    }
    let mut entries = Vec::new();
    loop {
        let (number, sharer) = (reader.number32()?, reader.number32()?);
        let limit = LimitId::from_number(number);
        let rule = book.rule(limit).ok_or(BadImage::Limit(number.into()))?;
        entries.push(Entry { limit, sharer, meter: decode_meter(&mut reader, rule)? });
        if reader.left() == 0 {
            return Ok((class, entries));
        }
    }
}
