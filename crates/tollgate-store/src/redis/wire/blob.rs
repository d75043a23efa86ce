//! A home as it is stored: the meters, and what each node did last.

use tollgate_core::image::decode_entry;
use tollgate_core::rule::Rule;

use super::LAYOUT;
use super::limit::{MeterId, width};
use super::number::{Bytes, Malformed, put};

/// One meter of a home.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct StoredMeter {
    pub(crate) id: MeterId,
    /// The image of the limit that it was written under.
    pub(crate) image: Vec<u8>,
    pub(crate) numbers: Vec<u64>,
}

/// A home, taken apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Blob {
    pub(crate) meters: Vec<StoredMeter>,
    nodes: Vec<u8>,
}

impl StoredMeter {
    /// The rule it was written under.
    pub(crate) fn rule(&self) -> Result<Rule, Malformed> {
        let (_, rule) =
            decode_entry(&self.image).map_err(|_| Malformed("a limit that is not known to this version"))?;
        Ok(rule)
    }
}

impl Blob {
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut bytes = Bytes(bytes);
        if bytes.byte()? != LAYOUT {
            return Err(Malformed("a home of another version"));
        }
        let (length, count) = (bytes.short()?, bytes.short()?);
        let mut shape = Bytes(bytes.take(length.into())?);
        let mut meters = Vec::new();
        while !shape.is_empty() {
            let (id, size) = (shape.array()?, shape.byte()?);
            let image = shape.take(size.into())?.to_vec();
            meters.push(StoredMeter { id, image, numbers: Vec::new() });
        }
        let mut left = count;
        for meter in &mut meters {
            let numbers = width(&meter.rule()?);
            left = left.checked_sub(numbers).ok_or(Malformed("a home with too few numbers"))?;
            meter.numbers = (0..numbers).map(|_| bytes.number()).collect::<Result<_, _>>()?;
        }
        if left > 0 {
            return Err(Malformed("a home with too many numbers"));
        }
        Ok(Self { meters, nodes: bytes.0.to_vec() })
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut shape = Vec::new();
        for meter in &self.meters {
            shape.extend(meter.id);
            shape.push(u8::try_from(meter.image.len()).unwrap_or(u8::MAX));
            shape.extend(&meter.image);
        }
        let numbers = self.meters.iter().flat_map(|meter| &meter.numbers);
        let mut blob = front(&shape, u16::try_from(numbers.clone().count()).unwrap_or(u16::MAX));
        numbers.for_each(|number| put(*number, &mut blob));
        blob.extend(&self.nodes);
        blob
    }
}

/// What a home begins with: everything before its numbers.
pub(crate) fn front(shape: &[u8], numbers: u16) -> Vec<u8> {
    let mut front = Vec::with_capacity(shape.len() + 160);
    front.push(LAYOUT);
    front.extend(u16::try_from(shape.len()).unwrap_or(u16::MAX).to_le_bytes());
    front.extend(numbers.to_le_bytes());
    front.extend(shape);
    front
}
