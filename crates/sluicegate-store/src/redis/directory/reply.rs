//! What the scripts answer.

use crate::redis::driver::Value;

use super::error::RedisError;

/// The parts of an answer.
pub(super) struct Reply(Vec<Value>);

impl Reply {
    pub(super) fn of(value: Value) -> Result<Self, RedisError> {
        match value {
            Value::Array(parts) => Ok(Self(parts)),
            Value::ServerError(error) => Err(RedisError::Refused(error.to_string())),
            _ => Err(nonsense()),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The text at this place, if there is one.
    pub(super) fn text(&self, place: usize) -> Result<Option<&str>, RedisError> {
        match self.0.get(place) {
            None | Some(Value::Nil) => Ok(None),
            Some(Value::BulkString(bytes)) => str::from_utf8(bytes).map(Some).map_err(|_| nonsense()),
            Some(_) => Err(nonsense()),
        }
    }

    /// The whole number at this place.
    pub(super) fn number(&self, place: usize) -> Result<u64, RedisError> {
        match self.0.get(place) {
            Some(Value::Int(number)) => u64::try_from(*number).map_err(|_| nonsense()),
            Some(Value::BulkString(bytes)) => {
                str::from_utf8(bytes).ok().and_then(|text| text.parse().ok()).ok_or_else(nonsense)
            }
            _ => Err(nonsense()),
        }
    }

    /// The parts of the answer at this place.
    pub(super) fn into_parts(self) -> impl Iterator<Item = Result<Self, RedisError>> {
        self.0.into_iter().map(Self::of)
    }

    pub(super) fn part(&self, place: usize) -> Result<Self, RedisError> {
        Self::of(self.0.get(place).cloned().ok_or_else(nonsense)?)
    }

    /// Every text of the answer, in order.
    pub(super) fn texts(&self) -> impl Iterator<Item = Result<&str, RedisError>> {
        (0..self.0.len()).map(|place| self.text(place)?.ok_or_else(nonsense))
    }
}

fn nonsense() -> RedisError {
    RedisError::Nonsense("an answer of another form".to_owned())
}
