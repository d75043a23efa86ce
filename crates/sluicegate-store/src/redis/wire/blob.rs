//! A home as it is stored: the meters, and what each node did last.

use sluicegate_core::image::{EntryImage, decode_entry};

use super::limit::{MeterId, width};
use super::number::{Bytes, Malformed, put};
use super::{HOME_VERSION, HOME_VERSION_BEFORE};

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
    /// Until when its key lives.
    lives: u64,
    nodes: Vec<u8>,
}

impl StoredMeter {
    /// The limit it was written under.
    pub(crate) fn limit(&self) -> Result<EntryImage, Malformed> {
        decode_entry(&self.image).map_err(|_| Malformed("a limit that is not known to this version"))
    }

    /// A meter as a field of a home with many has it.
    pub(crate) fn from_field(id: MeterId, field: &[u8]) -> Result<Self, Malformed> {
        let mut bytes = Bytes(field);
        let size = bytes.byte()?;
        let mut meter = Self { id, image: bytes.take(size.into())?.to_vec(), numbers: Vec::new() };
        for _ in 0..width(meter.limit()?.terms()) {
            meter.numbers.push(bytes.number()?);
        }
        if bytes.is_empty() { Ok(meter) } else { Err(Malformed("a meter with too many numbers")) }
    }

    /// What a field of a home with many has of it.
    pub(crate) fn field(&self) -> Vec<u8> {
        let mut field = vec![u8::try_from(self.image.len()).unwrap_or(u8::MAX)];
        field.extend(&self.image);
        self.numbers.iter().for_each(|number| put(*number, &mut field));
        field
    }
}

impl Blob {
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut bytes = Bytes(bytes);
        if !matches!(bytes.byte()?, HOME_VERSION_BEFORE | HOME_VERSION) {
            return Err(Malformed("a home of another version"));
        }
        let (length, count) = (bytes.short()?, bytes.short()?);
        let mut shape = Bytes(bytes.take(length.into())?);
        let lives = bytes.number()?;
        let numbers = (0..count).map(|_| bytes.number()).collect::<Result<Vec<u64>, _>>()?;
        let mut meters = Vec::new();
        while !shape.is_empty() {
            let (id, place, size) = (shape.array()?, usize::from(shape.short()?), shape.byte()?);
            let mut meter = StoredMeter { id, image: shape.take(size.into())?.to_vec(), numbers: Vec::new() };
            let its = numbers.get(place..place + usize::from(width(meter.limit()?.terms())));
            meter.numbers = its.ok_or(Malformed("a home with too few numbers"))?.to_vec();
            meters.push(meter);
        }
        Ok(Self { meters, lives, nodes: bytes.0.to_vec() })
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let (mut shape, mut place) = (Vec::new(), 0);
        for meter in &self.meters {
            shape.extend(meter.id);
            shape.extend(u16::try_from(place).unwrap_or(u16::MAX).to_le_bytes());
            place += meter.numbers.len();
            shape.push(u8::try_from(meter.image.len()).unwrap_or(u8::MAX));
            shape.extend(&meter.image);
        }
        let numbers = self.meters.iter().flat_map(|meter| &meter.numbers);
        let mut blob = front(&shape, u16::try_from(place).unwrap_or(u16::MAX));
        put(self.lives, &mut blob);
        numbers.for_each(|number| put(*number, &mut blob));
        blob.extend(&self.nodes);
        blob
    }
}

/// What a home begins with: everything before the instant until which it lives.
pub(crate) fn front(shape: &[u8], numbers: u16) -> Vec<u8> {
    let mut front = Vec::with_capacity(shape.len() + 160);
    front.push(HOME_VERSION);
    front.extend(u16::try_from(shape.len()).unwrap_or(u16::MAX).to_le_bytes());
    front.extend(numbers.to_le_bytes());
    front.extend(shape);
    front
}
