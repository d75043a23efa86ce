//! The task of a home: calls the store for those who wait, until nobody does.

use std::sync::Arc;

use sluicegate_core::plan::{HomeId, Mode};
use tokio::time::Instant;

use super::active::Item;
use super::mend::{Doubt, Mending, Part, mend};
use super::owed::{Away, Owed};
use super::split::split;
use super::ticket::{Boarded, SentIn};
use super::{CallError, Seq, Settled, Shared};

/// How it goes on after a call.
enum Next {
    /// With those who came meanwhile.
    Ask,
    /// With finding out what was done, and undoing it.
    Mend(Mending),
}

pub(super) async fn pump(shared: Arc<Shared>, home: HomeId, mut items: Vec<Item>) {
    while !items.is_empty() {
        match shared.ask(home, items).await {
            Next::Ask => items = shared.active.next(home, shared.settings.batch_max),
            Next::Mend(mending) => return mend(&shared, home, mending).await,
        }
    }
}

impl Shared {
    async fn ask(self: &Arc<Self>, home: HomeId, mut items: Vec<Item>) -> Next {
        loop {
            let asked = Instant::now();
            let Some(seq) = self.next_seq() else {
                return self.turn_away(home, items, &CallError::Late(Seq::MAX), None);
            };
            self.active.ask(home, seq);
            board(&mut items, seq);
            if items.is_empty() {
                return Next::Ask;
            }
            let error = match self.call(home, seq, items.iter().map(|item| &item.owed)).await {
                Ok(settled) => {
                    self.deliver(home, items, settled, asked);
                    return Next::Ask;
                }
                Err(error) => error,
            };
            let rest = split(&mut items, &error);
            if !rest.is_empty() {
                self.active.put_back(home, rest);
                continue;
            }
            let writes = items.iter().any(|item| item.owed.request.mode != Mode::Peek);
            let doubt = (writes && is_unknown(&error)).then_some(Doubt { seq, parts: Vec::new() });
            if is_unknown(&error) {
                self.counters.unknown.add(1);
            }
            return self.turn_away(home, items, &error, doubt);
        }
    }

    /// Tells everybody what became of it. What nobody is there to hear of is undone with the next call.
    fn deliver(self: &Arc<Self>, home: HomeId, items: Vec<Item>, settled: Vec<Settled>, asked: Instant) {
        if items.len() > 1 {
            self.counters.coalesced.add(items.len());
        }
        let answered = Instant::now();
        let mut undoings = Vec::new();
        for (item, settled) in items.into_iter().zip(settled) {
            self.refusals.learn(&item.owed, &settled, asked, answered);
            match item.seat {
                None => {
                    self.counters.undone.add(1);
                    self.undone.settled(&item.owed, &settled);
                }
                Some(seat) => {
                    if let Err(Ok(settled)) = seat.send(Ok(settled)) {
                        undoings.extend(item.owed.undoing(&settled).map(Item::correction));
                    }
                }
            }
        }
        if undoings.is_empty() {
            self.active.done(home);
        }
        self.active.put_back(home, undoings);
    }

    /// Tells everybody that it was not settled, those who wait for the next call as well if that would fare no better.
    fn turn_away(
        self: &Arc<Self>,
        home: HomeId,
        items: Vec<Item>,
        error: &CallError,
        doubt: Option<Doubt>,
    ) -> Next {
        self.refusals.forget(home);
        let away = Away::from(error.clone());
        let parts: Vec<Part> = items.into_iter().map(|item| tell(item, &away)).collect();
        if doubt.is_none() && !parts.iter().any(Part::is_ours) {
            if *error != CallError::NotSent {
                return Next::Ask;
            }
            let left: Vec<Owed> = corrections(self.active.drain(home), &away);
            if left.is_empty() {
                return Next::Ask;
            }
            return self.mend_next(home, None, left, &away);
        }
        match doubt {
            Some(doubt) => {
                let parts = parts.into_iter().enumerate().collect();
                self.mend_next(home, Some(Doubt { parts, ..doubt }), Vec::new(), &away)
            }
            None => self.mend_next(home, None, parts.into_iter().filter_map(Part::if_ours).collect(), &away),
        }
    }

    fn mend_next(&self, home: HomeId, doubt: Option<Doubt>, mut left: Vec<Owed>, away: &Away) -> Next {
        left.extend(corrections(self.active.doubt(home), away));
        Next::Mend(Mending { doubt, corrections: left })
    }
}

/// Leaves those in the batch that are still wanted, and tells them which call it is.
fn board(items: &mut Vec<Item>, seq: Seq) {
    let mut place = 0;
    items.retain(|item| {
        let boarded = item.ticket.board(SentIn { seq, place });
        // What is given back is wanted also when nobody waits to hear of it.
        let stays = boarded == Boarded::Yes || item.owed.is_refund();
        place += u16::from(stays);
        stays
    });
}

fn is_unknown(error: &CallError) -> bool {
    matches!(error, CallError::Unknown | CallError::Garbled(_))
}

/// Tells who waits, and says what is to be done about it.
fn tell(item: Item, away: &Away) -> Part {
    let Item { owed, seat, .. } = item;
    match seat {
        None => Part::Ours(owed),
        Some(seat) => match seat.send(Err(away.clone())) {
            // Nobody will ask for it again.
            Err(_) if owed.is_refund() => Part::Ours(owed),
            Ok(()) | Err(_) => Part::Told(owed),
        },
    }
}

/// Tells those who wait, and returns what is to be done although nobody waits.
fn corrections(items: impl IntoIterator<Item = Item>, away: &Away) -> Vec<Owed> {
    items.into_iter().filter_map(|item| tell(item, away).if_ours()).collect()
}
