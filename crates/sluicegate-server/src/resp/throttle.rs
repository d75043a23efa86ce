//! `CL.THROTTLE key max_burst count_per_period period [quantity]`: a limit that is given with every command.
//!
//! Arguments, errors and replies are those of redis-cell. What differs, and why, stands in `docs/resp.md`.

mod answer;
mod asked;

use arrayvec::ArrayVec;
use sluicegate_core::time::Timestamp;
use sluicegate_engine::{Engine, Throttle};

pub(super) use answer::write;
pub(super) use asked::Asked;

use super::reply::Reply;
use super::session::Session;
use super::waiting::{Late, Waiting};
use asked::{Bucket, Numbers, Read, Wrong};

/// How many limits a connection has at hand. Most use one, or one for each kind of thing they do.
const AT_HAND: usize = 8;

/// The limits that a connection has used last, made ready.
#[derive(Default)]
pub(super) struct Throttles {
    at_hand: ArrayVec<Ready, AT_HAND>,
    /// Which one makes room for the next.
    oldest: usize,
}

struct Ready {
    numbers: Numbers,
    bucket: Bucket,
    throttle: Throttle,
}

impl Throttles {
    /// The limit with these numbers.
    #[inline]
    fn ready(&mut self, engine: &Engine, numbers: Numbers) -> Result<&Ready, Wrong<'static>> {
        match self.at_hand.iter().position(|ready| ready.numbers == numbers) {
            Some(index) => Ok(&self.at_hand[index]),
            None => self.make(engine, numbers),
        }
    }

    #[cold]
    fn make(&mut self, engine: &Engine, numbers: Numbers) -> Result<&Ready, Wrong<'static>> {
        let (bucket, name, rule) = numbers.limit()?;
        let throttle = engine.throttle(&name, &rule);
        let ready = Ready { numbers, bucket, throttle };
        let index = if self.at_hand.is_full() {
            let index = self.oldest;
            self.oldest = (index + 1) % AT_HAND;
            self.at_hand[index] = ready;
            index
        } else {
            self.at_hand.push(ready);
            self.at_hand.len() - 1
        };
        Ok(&self.at_hand[index])
    }
}

/// Decides, and answers at once where the meters are here.
#[inline]
pub(super) fn begin<'s: 'b, 'b>(
    session: &mut Session<'s>,
    args: &[&'b [u8]],
    now: Timestamp,
    reply: &mut Reply<'_>,
) -> Option<Waiting<'b>> {
    let engine = &*session.service.engine;
    let Read { key, numbers, quantity } = match asked::read(args) {
        Ok(read) => read,
        Err(wrong) => {
            reply.error(&wrong.to_string());
            return None;
        }
    };
    if let Some(bottomless) = numbers.without_burst(quantity) {
        answer::write_five(bottomless, reply);
        return None;
    }
    let Ready { bucket, throttle, .. } = match session.throttles.ready(engine, numbers) {
        Ok(ready) => ready,
        Err(wrong) => {
            reply.error(&wrong.to_string());
            return None;
        }
    };
    let asked = Asked { bucket: *bucket, quantity };
    let (subject, ask) = (engine.subject(&[b"throttle", key]), asked.ask());
    if let Some(throttled) = engine.throttled_here(throttle, subject, ask, now) {
        write(&asked, &throttled, reply);
        return None;
    }
    let throttle = throttle.clone();
    Some(Box::pin(async move {
        let throttled = engine.throttled(&throttle, subject, ask, now).await;
        Late::Throttled(asked, throttled)
    }))
}
