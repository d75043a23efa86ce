//! Notes: audit entries of what was done to callers, and not to accounts and keys.

use serde_json::Value;

use super::audited::Action;
use super::error::WriteError;
use super::record::Writer;
use super::{Directory, Kind};

/// What was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deed {
    /// A caller was blocked.
    Block,
    /// A block was lifted.
    Unblock,
    /// What was held against a client was forgotten.
    ResetClient,
    /// A meter was set to what the ledger says.
    RepairMeter,
    /// A clock that leapt ahead was confirmed.
    ConfirmClock,
    /// A store was taken over that had lost everything, or that was another one.
    AdoptStore,
    /// Roll-ups were counted again from the records.
    RepairRollups,
    /// Wrong tokens were refused.
    RefuseSignIn,
    /// What was charged was given back without a permit.
    GiveBack,
}

impl Deed {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Block => "block.create",
            Self::Unblock => "block.delete",
            Self::ResetClient => "client.reset",
            Self::RepairMeter => "meter.repair",
            Self::ConfirmClock => "clock.confirm",
            Self::AdoptStore => "store.adopt",
            Self::RepairRollups => "rollup.repair",
            Self::RefuseSignIn => "signin.refuse",
            Self::GiveBack => "usage.give_back",
        }
    }
}

/// What was done, and to whom.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// What was done.
    pub deed: Deed,
    /// To whom.
    pub target: String,
    /// What it was before; nothing: it was not there.
    pub before: Option<Value>,
    /// What it was afterwards; nothing: it was not there any more.
    pub after: Option<Value>,
}

impl Note {
    pub(crate) const fn action(&self) -> Action {
        Action::Deed(self.deed)
    }

    /// What is said of it before and afterwards.
    pub(crate) fn says(&self) -> [Option<String>; 2] {
        [&self.before, &self.after].map(|said| said.as_ref().map(Value::to_string))
    }
}

impl Directory {
    /// Enters a note into the audit trail.
    pub async fn note(&self, note: Note, by: &Writer) -> Result<(), WriteError> {
        match &self.kind {
            Kind::Embedded(own) => own.note(note, by).await,
            Kind::Redis(own) => own.note(note, by).await,
        }
    }
}
