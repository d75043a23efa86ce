//! Asking once for all who want to know the same at the same time.

use std::collections::HashMap;
use std::hash::RandomState;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::OnceCell;

use super::error::RedisError;
use crate::directory::key::Key;
use crate::key_text::KeyId;

/// The most keys that are asked for at once.
const FLIGHTS_MAX: usize = 10_000;

type Answer = Result<Option<Arc<Key>>, RedisError>;
type Flight = Arc<OnceCell<Answer>>;

/// The questions under way.
#[derive(Debug, Default)]
pub(super) struct Flights(Mutex<HashMap<KeyId, Flight, RandomState>>);

impl Flights {
    /// The answer to `ask`, or to the same question if it is under way. If whoever asks gives up, the next who waits
    /// asks instead.
    pub(super) async fn join<F>(&self, id: KeyId, ask: impl FnOnce() -> F) -> Answer
    where
        F: Future<Output = Answer>,
    {
        let Some(seat) = self.board(id) else { return Err(RedisError::Overloaded) };
        let answer = seat.flight.get_or_init(ask).await.clone();
        drop(seat);
        answer
    }

    fn board(&self, id: KeyId) -> Option<Seat<'_>> {
        let mut flights = self.0.lock();
        if let Some(flight) = flights.get(&id).filter(|flight| !flight.initialized()) {
            return Some(Seat { flights: self, id, flight: Arc::clone(flight) });
        }
        if flights.len() >= FLIGHTS_MAX {
            return None;
        }
        let flight = Flight::default();
        flights.insert(id, Arc::clone(&flight));
        Some(Seat { flights: self, id, flight })
    }
}

/// A place among those who wait. Who gets up, however that happens, clears the table.
struct Seat<'f> {
    flights: &'f Flights,
    id: KeyId,
    flight: Flight,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let mut flights = self.flights.0.lock();
        // An answer is for those who wait already; and what the last who waited gives up nobody waits for.
        let is_over = self.flight.initialized() || Arc::strong_count(&self.flight) == 2;
        if is_over && flights.get(&self.id).is_some_and(|flight| Arc::ptr_eq(flight, &self.flight)) {
            flights.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests;
