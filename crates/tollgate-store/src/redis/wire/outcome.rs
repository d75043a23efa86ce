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
}

impl Told {
    /// How many charges of a plan can be named as what refuses it. Those that only refusals are charged to come behind.
    pub(crate) const CHARGES_MAX: usize = 16;

    pub(crate) fn read(bytes: &mut Bytes<'_>) -> Result<Self, Malformed> {
        Ok(match bytes.byte()? {
            0 => Self::Admitted { overage: 0 },
            1 => Self::Admitted { overage: bytes.number()? },
            code @ 2..=17 => Self::Refused { by: usize::from(code) - 2 },
            code @ 18..=33 => Self::NeverFits { by: usize::from(code) - 18 },
            34 => Self::Elsewhere { remaining: bytes.number()? },
            _ => return Err(Malformed("an outcome that does not exist")),
        })
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
        match self {
            Self::Admitted { overage } => Applied::Admitted { overage },
            Self::Refused { .. } | Self::NeverFits { .. } | Self::Elsewhere { .. } => Applied::Refused,
        }
    }
}
