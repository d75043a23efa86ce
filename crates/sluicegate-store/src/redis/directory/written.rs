//! What a write says to its script, and what it is answered.

use super::error::RedisError;
use super::layout::{ANSWERED, CHANNEL};
use super::reply::Reply;
use crate::directory::audited::Action;
use crate::directory::record::Writer;
use crate::key_text::{NoRandomness, random_base62};

/// How often a write is tried when others change the same thing in between.
pub(super) const TRIES_MAX: u32 = 32;

/// A write, by the key under which its answer is kept for a minute: it may be sent twice, and is done once.
pub(super) struct WriteId(String);

impl WriteId {
    pub(super) fn random() -> Result<Self, NoRandomness> {
        let name = random_base62::<22>()?.map(char::from);
        Ok(Self(ANSWERED.chars().chain(name).collect()))
    }

    pub(super) fn key(&self) -> &str {
        &self.0
    }
}

/// The arguments of a script that writes: those that every one has, and its own.
pub(super) fn arguments<const N: usize>(by: &Writer, action: Action, own: [&str; N]) -> Vec<String> {
    let every = [CHANNEL, &by.now.as_nanos().to_string(), &by.who, action.as_str()].map(str::to_owned);
    every.into_iter().chain(own.map(str::to_owned)).collect()
}

/// What became of a write.
pub(super) enum Written {
    /// It is done.
    Done {
        /// The number of the change.
        change: u64,
        /// The numbers that were given.
        given: Vec<u64>,
    },
    /// The account or key was changed since it was read. Nothing was done.
    Changed,
    /// The id is taken. Nothing was done.
    Exists,
    /// There is no such account. Nothing was done.
    NoAccount,
    /// The account has made as many keys as there are numbers. Nothing was done.
    TooMany,
}

impl Written {
    pub(super) fn of(reply: &Reply) -> Result<Self, RedisError> {
        match reply.text(0)?.unwrap_or_default() {
            "done" => {
                let given = (2..reply.len()).map(|place| reply.number(place)).collect::<Result<_, _>>()?;
                Ok(Self::Done { change: reply.number(1)?, given })
            }
            "changed" => Ok(Self::Changed),
            "exists" => Ok(Self::Exists),
            "no-account" => Ok(Self::NoAccount),
            "too-many" => Ok(Self::TooMany),
            other => Err(RedisError::Nonsense(format!("an answer `{other}`"))),
        }
    }

    /// An answer that the script does not give.
    pub(super) fn odd() -> RedisError {
        RedisError::Nonsense("an answer to another question".to_owned())
    }
}
