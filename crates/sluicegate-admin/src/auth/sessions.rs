//! Sessions of the dashboard, in memory: bounded in number and in time, and kept as hashes.
//!
//! Whoever reads the memory of the process learns no id that opens anything.

use std::fmt;

use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_store::token::{Role, TokenId};

/// The most sessions at a time. Beyond them, the one that was idle longest ends.
pub(crate) const SESSIONS_MAX: usize = 64;

/// How long a session lasts, whatever is done with it.
pub(crate) const LENGTH: Nanos = Nanos::from_secs(12 * 3_600);

/// How long it lasts when nothing is done with it.
const IDLE: Nanos = Nanos::from_secs(3_600);

/// What the token against forged requests is derived under.
const CSRF_CONTEXT: &str = "sluicegate 2026-11 dashboard csrf";

/// What a cookie holds: 256 random bits.
#[derive(Clone, Copy)]
pub(crate) struct SessionId([u8; 32]);

/// The system gives no random bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoRandomness;

impl SessionId {
    fn random() -> Result<Self, NoRandomness> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|_| NoRandomness)?;
        Ok(Self(bytes))
    }

    /// The id that this text is.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        blake3::Hash::from_hex(text).ok().map(|bytes| Self(bytes.into()))
    }

    /// The id as its cookie has it.
    pub(crate) fn text(self) -> String {
        blake3::Hash::from(self.0).to_hex().to_string()
    }

    /// What requests that change something have to send along.
    pub(crate) fn csrf(self) -> String {
        self.csrf_hash().to_hex().to_string()
    }

    /// Whether this is what had to be sent along. Compared in constant time.
    pub(crate) fn is_csrf(self, presented: &[u8]) -> bool {
        blake3::Hash::from_hex(presented).is_ok_and(|presented| presented == self.csrf_hash())
    }

    fn csrf_hash(self) -> blake3::Hash {
        blake3::derive_key(CSRF_CONTEXT, &self.0).into()
    }

    fn hash(self) -> blake3::Hash {
        blake3::hash(&self.0)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionId(***)")
    }
}

/// Everybody who is signed in.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Vec<Session>);

/// Who holds a token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Holder {
    /// What audit entries call them: the name of the token.
    pub(crate) name: String,
    pub(crate) role: Role,
    /// The named token; nothing: the owner's, which is not kept in the store.
    pub(crate) token: Option<TokenId>,
}

#[derive(Debug)]
struct Session {
    holder: Holder,
    hash: blake3::Hash,
    made: Timestamp,
    seen: Timestamp,
}

/// How long a session lasts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lasts {
    /// Until then if it is used.
    pub(crate) until: Timestamp,
    /// Until then if it is not.
    pub(crate) idle_until: Timestamp,
}

impl Session {
    fn lasts(&self) -> Lasts {
        let until = self.made.plus(LENGTH);
        Lasts { until, idle_until: self.seen.plus(IDLE).min(until) }
    }
}

impl Sessions {
    /// A new one.
    pub(crate) fn open(
        &mut self,
        holder: Holder,
        now: Timestamp,
    ) -> Result<(SessionId, Lasts), NoRandomness> {
        let id = SessionId::random()?;
        self.forget(now);
        if self.0.len() >= SESSIONS_MAX
            && let Some((longest, _)) = self.0.iter().enumerate().min_by_key(|(_, session)| session.seen)
        {
            self.0.swap_remove(longest);
        }
        let session = Session { holder, hash: id.hash(), made: now, seen: now };
        let lasts = session.lasts();
        self.0.push(session);
        Ok((id, lasts))
    }

    /// The session of this id, which is used now; nothing if there is none, or none any more.
    pub(crate) fn find(&mut self, id: SessionId, now: Timestamp) -> Option<(Lasts, Holder)> {
        self.forget(now);
        let hash = id.hash();
        let mut found = None;
        // All are compared, each in constant time.
        for session in &mut self.0 {
            if session.hash == hash {
                session.seen = session.seen.max(now);
                found = Some((session.lasts(), session.holder.clone()));
            }
        }
        found
    }

    /// Ends the session of this id.
    pub(crate) fn close(&mut self, id: SessionId) {
        let hash = id.hash();
        self.0.retain(|session| session.hash != hash);
    }

    fn forget(&mut self, now: Timestamp) {
        self.0.retain(|session| now < session.lasts().idle_until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner() -> Holder {
        Holder { name: "admin".to_owned(), role: Role::Owner, token: None }
    }

    fn at(secs: u32) -> Timestamp {
        Timestamp::from_secs(1_000_000 + secs)
    }

    #[test]
    fn a_session_ends_an_hour_after_its_last_use_and_twelve_after_its_first() {
        let mut sessions = Sessions::default();
        let (id, lasts) = sessions.open(owner(), at(0)).unwrap();
        assert_eq!(lasts, Lasts { until: at(43_200), idle_until: at(3_600) });
        assert_eq!(sessions.find(id, at(3_599)).unwrap().0.idle_until, at(7_199));
        assert!(sessions.find(id, at(7_199)).is_none());

        let (id, _) = sessions.open(owner(), at(0)).unwrap();
        for hour in 1..=12 {
            assert!(sessions.find(id, at(hour * 3_599)).is_some(), "{hour}");
        }
        assert_eq!(sessions.find(id, at(43_199)).unwrap().0.idle_until, at(43_200));
        assert!(sessions.find(id, at(43_200)).is_none());
    }

    #[test]
    fn one_too_many_ends_the_one_that_was_idle_longest() {
        let mut sessions = Sessions::default();
        let first = sessions.open(owner(), at(0)).unwrap().0;
        let second = sessions.open(owner(), at(1)).unwrap().0;
        for _ in 2..SESSIONS_MAX {
            sessions.open(owner(), at(2)).unwrap();
        }
        assert!(sessions.find(first, at(3)).is_some());
        sessions.open(owner(), at(4)).unwrap();
        assert!(sessions.find(first, at(5)).is_some());
        assert!(sessions.find(second, at(5)).is_none());
        assert_eq!(sessions.0.len(), SESSIONS_MAX);
    }

    #[test]
    fn an_id_reads_as_it_is_written_and_prints_as_stars() {
        let id = SessionId::random().unwrap();
        assert_eq!(SessionId::parse(&id.text()).unwrap().0, id.0);
        assert!(SessionId::parse("").is_none() && SessionId::parse(&id.text()[1..]).is_none());
        assert_eq!(format!("{id:?}"), "SessionId(***)");
        assert!(id.is_csrf(id.csrf().as_bytes()) && !id.is_csrf(id.text().as_bytes()) && !id.is_csrf(b""));
    }

    #[test]
    fn what_is_closed_is_gone() {
        let mut sessions = Sessions::default();
        let (one, other) =
            (sessions.open(owner(), at(0)).unwrap().0, sessions.open(owner(), at(0)).unwrap().0);
        sessions.close(one);
        assert!(sessions.find(one, at(1)).is_none() && sessions.find(other, at(1)).is_some());
    }
}
