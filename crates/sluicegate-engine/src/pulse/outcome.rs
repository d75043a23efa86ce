//! What became of a request, as a small number.

use crate::ErrorCode;
use crate::decision::Answer;

/// What became of a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Outcome {
    /// It was admitted.
    Admitted,
    /// It was refused.
    Refused(ErrorCode),
}

impl Outcome {
    /// How many there are.
    pub const COUNT: usize = ErrorCode::COUNT + 1;

    #[inline]
    pub(crate) fn of(answer: &Answer) -> Self {
        match answer {
            Answer::Admitted => Self::Admitted,
            Answer::Denied(denial) => Self::Refused(denial.error),
        }
    }

    /// Its number: 0 for admitted, then the codes in their order.
    #[inline]
    pub const fn index(self) -> usize {
        match self {
            Self::Admitted => 0,
            Self::Refused(code) => code as usize + 1,
        }
    }

    /// All of them, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        std::iter::once(Self::Admitted).chain(ErrorCode::all().map(Self::Refused))
    }

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admitted => "admitted",
            Self::Refused(code) => code.as_str(),
        }
    }
}

/// How often which outcome was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outcomes([u64; Outcome::COUNT]);

impl Outcomes {
    /// How often this one was.
    pub const fn get(&self, outcome: Outcome) -> u64 {
        self.0[outcome.index()]
    }

    /// Requests that were admitted.
    pub const fn admitted(&self) -> u64 {
        self.0[0]
    }

    /// Requests that were refused, by why; only what has been seen.
    pub fn refused(&self) -> impl Iterator<Item = (ErrorCode, u64)> {
        ErrorCode::all().zip(self.0.into_iter().skip(1)).filter(|(_, count)| *count > 0)
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    pub(crate) fn add(&mut self, index: usize, more: u64) {
        self.0[index] += more;
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|index| self.0[index].saturating_add(other.0[index])))
    }

    /// What has come since.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self(std::array::from_fn(|index| self.0[index].saturating_sub(earlier.0[index])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_numbered_from_admitted_on_without_a_gap() {
        let indexes: Vec<usize> = Outcome::all().map(Outcome::index).collect();
        assert_eq!(indexes, (0..Outcome::COUNT).collect::<Vec<_>>());
    }
}
