//! Whole numbers as the doubles that a script counts in.

use sluicegate_core::rule::Amount;
use sluicegate_core::time::{Nanos, Timestamp};

/// A microsecond, in nanoseconds.
pub(crate) const MICRO: u64 = 1_000;

/// A reply, or a home, that is not what the script writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Malformed(pub(crate) &'static str);

/// Appends a number. None here is above 2^53.
pub(crate) fn put(number: u64, into: &mut Vec<u8>) {
    into.extend((number as f64).to_le_bytes());
}

/// An instant in microseconds.
pub(crate) fn micros(at: Timestamp) -> u64 {
    at.as_nanos() / MICRO
}

/// The instant so many microseconds after the epoch.
pub(crate) fn instant(micros: u64) -> Timestamp {
    Timestamp::from_nanos(micros.saturating_mul(MICRO))
}

/// A duration in microseconds, rounded up: whoever waits that long has waited long enough.
pub(crate) fn micros_ceil(span: Nanos) -> Nanos {
    Nanos(span.0.div_ceil(MICRO).saturating_mul(MICRO))
}

/// Bytes that are read from the front.
#[derive(Clone, Debug)]
pub(crate) struct Bytes<'b>(pub(crate) &'b [u8]);

impl<'b> Bytes<'b> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn take(&mut self, length: usize) -> Result<&'b [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Malformed("it ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Malformed("it ends too early"))?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    pub(crate) fn short(&mut self) -> Result<u16, Malformed> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// A whole number, or nothing where the script writes one below zero for it.
    pub(crate) fn optional(&mut self) -> Result<Option<u64>, Malformed> {
        let value = f64::from_le_bytes(self.array()?);
        if value < 0.0 {
            return Ok(None);
        }
        #[expect(clippy::cast_possible_truncation, reason = "checked to be whole, and at most 2^53")]
        #[expect(clippy::cast_sign_loss, reason = "checked not to be below zero")]
        let number = value as u64;
        if number > Amount::MAX + 1 || number as f64 != value {
            return Err(Malformed("a number is not whole"));
        }
        Ok(Some(number))
    }

    /// A whole number.
    pub(crate) fn number(&mut self) -> Result<u64, Malformed> {
        self.optional()?.ok_or(Malformed("a number is below zero"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_come_back_and_others_are_refused() {
        let mut bytes = Vec::new();
        for number in [0, 1, 1_790_000_000_123_456, Amount::MAX] {
            put(number, &mut bytes);
        }
        let mut reader = Bytes(&bytes);
        let read: Vec<u64> = (0..4).map(|_| reader.number().unwrap()).collect();
        assert_eq!(read, [0, 1, 1_790_000_000_123_456, Amount::MAX]);
        assert!(reader.is_empty() && reader.number().is_err());
        for odd in [0.5, f64::NAN, f64::INFINITY, 1e17] {
            assert!(Bytes(&odd.to_le_bytes()).number().is_err(), "{odd}");
        }
        assert_eq!(Bytes(&(-1.0f64).to_le_bytes()).optional(), Ok(None));
        assert!(Bytes(&(-1.0f64).to_le_bytes()).number().is_err());
    }
}
