//! The audit entries of refused sign-ins and of what was given back.

use serde_json::{Map, Value, json};
use sluicegate_core::time::Timestamp;
use sluicegate_store::directory::{Deed, Note, WriteError, Writer};

use super::SignInPort;
use super::table::EndedMinute;
use crate::engine::Engine;

/// The most entries about refused sign-ins that are written at a time; the rest is one entry.
const ENTRIES_MAX: usize = 64;

/// The actor of entries that nobody has caused by a right credential.
const ACTOR: &str = "sluicegate";

impl Engine {
    /// Writes audit entries for the minutes that are over: one for each peer with wrong tokens, and one for each token
    /// and account with give-backs. With `all`, also for the minute that goes on: the process is ending.
    pub async fn note_access(&self, now: Timestamp, all: bool) -> Result<(), WriteError> {
        let mut ended = self.sign_ins.table.lock().take_ended(now, all);
        let rest = ended.split_off(ended.len().min(ENTRIES_MAX));
        for one in &ended {
            self.note_refused(format!("{:016x}", one.peer), std::slice::from_ref(one), now).await?;
        }
        if !rest.is_empty() {
            self.note_refused("others".to_owned(), &rest, now).await?;
        }
        for ((who, target), given) in self.sign_ins.give_backs.take(now, all) {
            let after = Some(json!({"calls": given.calls, "units": given.units}));
            let note = Note { deed: Deed::GiveBack, target, before: None, after };
            self.directory.note(note, &Writer { who, now }).await?;
        }
        Ok(())
    }

    async fn note_refused(
        &self,
        target: String,
        ended: &[EndedMinute],
        now: Timestamp,
    ) -> Result<(), WriteError> {
        let sum =
            |port: SignInPort| ended.iter().map(|one| u64::from(one.counts[port as usize])).sum::<u64>();
        let counts = SignInPort::ALL.map(|port| (port.as_str().to_owned(), sum(port)));
        let total: u64 = counts.iter().map(|(_, count)| count).sum();
        let ports: Map<_, _> = counts
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(port, n)| (port, Value::from(n)))
            .collect();
        let minute = ended.first().map_or(0, |one| u64::from(one.minute) * 60);
        let after = Some(json!({"count": total, "ports": ports, "minute": minute, "peers": ended.len()}));
        let note = Note { deed: Deed::RefuseSignIn, target, before: None, after };
        self.directory.note(note, &Writer { who: ACTOR.to_owned(), now }).await
    }
}
