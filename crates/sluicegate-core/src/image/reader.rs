//! Numbers to bytes and back: seven bits to the byte, the lowest first.

use super::BadImage;

/// Appends a number: one byte for each seven bits it has.
pub fn put_number(mut number: u64, into: &mut Vec<u8>) {
    while number >= 0x80 {
        into.push(low_bits(number) | 0x80);
        number >>= 7;
    }
    into.push(low_bits(number));
}

fn low_bits(number: u64) -> u8 {
    (number & 0x7f) as u8
}

/// Bytes that are read from the front.
#[derive(Clone, Debug)]
pub struct Reader<'i> {
    rest: &'i [u8],
}

impl<'i> Reader<'i> {
    /// Starts at the first byte.
    pub fn new(image: &'i [u8]) -> Self {
        Self { rest: image }
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// That everything has been read.
    pub fn end(&self) -> Result<(), BadImage> {
        if self.rest.is_empty() { Ok(()) } else { Err(BadImage::Long) }
    }

    /// That the next byte is this version.
    pub fn version(&mut self, known: u8) -> Result<(), BadImage> {
        match self.byte()? {
            version if version == known => Ok(()),
            other => Err(BadImage::Version(other)),
        }
    }

    /// A number as [`put_number`] wrote it, and in no other way: equal values have equal images.
    pub fn number(&mut self) -> Result<u64, BadImage> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits || (byte == 0 && shift > 0) {
                return Err(BadImage::Range("a number"));
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(BadImage::Range("a number"))
    }

    /// A number of 32 bits at the most.
    pub fn number32(&mut self) -> Result<u32, BadImage> {
        u32::try_from(self.number()?).map_err(|_| BadImage::Range("a number"))
    }

    pub(super) fn byte(&mut self) -> Result<u8, BadImage> {
        let (byte, rest) = self.rest.split_first().ok_or(BadImage::Short)?;
        self.rest = rest;
        Ok(*byte)
    }

    pub(super) fn bytes<const N: usize>(&mut self) -> Result<[u8; N], BadImage> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(BadImage::Short)?;
        self.rest = rest;
        Ok(*bytes)
    }

    /// A text behind its length.
    pub(super) fn text(&mut self) -> Result<&'i str, BadImage> {
        let length = self.byte()?;
        let (text, rest) = self.rest.split_at_checked(length.into()).ok_or(BadImage::Short)?;
        self.rest = rest;
        std::str::from_utf8(text).map_err(|_| BadImage::Range("a text"))
    }
}
