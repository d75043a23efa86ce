//! How a plan came out, as the script says and remembers it.

use super::number::{Bytes, Malformed};
use crate::redis::meters::Applied;

/// How a plan came out. How long a refusal lasts is for the node to say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Told {
    Admitted { overage: u64 },
    Refused { by: usize },
    NeverFits { by: usize },
    Elsewhere { remaining: u64 },
    Conflicts,
}

/// How a plan came out, and the decision that it repeats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fate {
    pub(crate) told: Told,
    pub(crate) repeats: Option<u128>,
}

/// What stands before the outcome of a repeat, and the decision behind it.
const REPEATS: u8 = 35;

impl Fate {
    pub(crate) fn read(bytes: &mut Bytes<'_>) -> Result<Self, Malformed> {
        let mut repeats = None;
        if bytes.clone().byte()? == REPEATS {
            bytes.byte()?;
            repeats = Some(u128::from_le_bytes(bytes.array()?));
        }
        Ok(Self { told: Told::read(bytes)?, repeats })
    }

    /// All of them.
    pub(crate) fn read_all(mut bytes: Bytes<'_>) -> Result<Vec<Self>, Malformed> {
        let mut all = Vec::new();
        while !bytes.is_empty() {
            all.push(Self::read(&mut bytes)?);
        }
        Ok(all)
    }

    pub(crate) fn applied(self) -> Applied {
        match (self.told, self.repeats) {
            (Told::Admitted { overage }, None) => Applied::Admitted { overage },
            (Told::Admitted { .. }, Some(_)) => Applied::Repeated,
            _ => Applied::Refused,
        }
    }
}

impl Told {
    /// How many charges of a plan can be named as what refuses it. Those that only refusals are charged to come behind.
    pub(crate) const CHARGES_MAX: usize = 16;

    fn read(bytes: &mut Bytes<'_>) -> Result<Self, Malformed> {
        Ok(match bytes.byte()? {
            0 => Self::Admitted { overage: 0 },
            1 => Self::Admitted { overage: bytes.number()? },
            code @ 2..=17 => Self::Refused { by: usize::from(code) - 2 },
            code @ 18..=33 => Self::NeverFits { by: usize::from(code) - 18 },
            34 => Self::Elsewhere { remaining: bytes.number()? },
            36 => Self::Conflicts,
            _ => return Err(Malformed("an outcome that does not exist")),
        })
    }
}
