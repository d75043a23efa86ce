//! Which call of the store has asked for something. A caller that does not know what became of it can say so
//! to the next process, which finds out.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Seq;
use crate::redis::meters::HomeCall;

/// The call that has asked for something, and its place among what that call asks for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SentIn {
    /// The number of the call.
    pub seq: Seq,
    /// The place.
    pub place: u16,
}

/// No call has asked yet.
const WAITS: u64 = 0;
/// The waiter has gone, and no call may ask any more.
const LEFT: u64 = u64::MAX;
/// So many places a call has.
const PLACES: u64 = HomeCall::ASKS_MAX as u64;

/// What the waiter and the task of the home both know of one ask.
#[derive(Debug, Default)]
pub(super) struct Ticket(AtomicU64);

/// Whether something may be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Boarded {
    /// It may.
    Yes,
    /// The waiter has gone, and relies on it that no call asks.
    No,
}

impl Ticket {
    /// This call asks for it now, unless the waiter has gone before.
    pub(super) fn board(&self, sent: SentIn) -> Boarded {
        // Below 2^53 times 256.
        let packed = sent.seq.get() * PLACES + u64::from(sent.place);
        let board = |was| (was != LEFT).then_some(packed);
        match self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, board) {
            Ok(_) => Boarded::Yes,
            Err(_) => Boarded::No,
        }
    }

    /// The waiter goes. Says which call has asked for it; nothing: none has, and none will.
    pub(super) fn leave(&self) -> Option<SentIn> {
        match self.0.compare_exchange(WAITS, LEFT, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) | Err(LEFT) => None,
            Err(packed) => {
                let place = u16::try_from(packed % PLACES).unwrap_or(u16::MAX);
                Seq::new(packed / PLACES).map(|seq| SentIn { seq, place })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_says_in_which_call_it_was_sent_and_nothing_is_sent_behind_its_back() {
        let sent = |seq, place| SentIn { seq: Seq::new(seq).unwrap(), place };
        let ticket = Ticket::default();
        // A batch that was too large is asked again in parts, under other numbers.
        for last in [sent(1, 0), sent(7, 255), sent(Seq::MAX, 3)] {
            assert_eq!(ticket.board(last), Boarded::Yes);
            assert_eq!(ticket.leave(), Some(last));
        }
        let ticket = Ticket::default();
        assert_eq!((ticket.leave(), ticket.leave()), (None, None));
        assert_eq!((ticket.board(sent(1, 0)), ticket.leave()), (Boarded::No, None));
    }
}
