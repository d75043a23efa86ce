//! Of two requests with one name, one waits until the other is decided. Nobody else waits: with a store that does not
//! answer, each that came before would cost whoever waits the whole deadline.

use std::collections::HashMap;
use std::hash::RandomState;
use std::sync::Arc;

use parking_lot::Mutex;
use sluicegate_core::plan::HomeId;
use tokio::sync::{Mutex as Queue, OwnedMutexGuard};

/// A name within a home.
type Name = (HomeId, u64);

/// The names that are being decided right now. One that is decided leaves nothing behind.
#[derive(Debug, Default)]
pub(crate) struct Turns(Mutex<HashMap<Name, Arc<Queue<()>>, RandomState>>);

impl Turns {
    /// Waits until nobody else has this name.
    pub(crate) async fn take(&self, home: HomeId, key: u64) -> Turn<'_> {
        let name = (home, key);
        let queue = Arc::clone(self.0.lock().entry(name).or_default());
        // Made before it is waited, so that whoever goes away meanwhile clears up as well.
        let mut turn = Turn { turns: self, name, held: None };
        turn.held = Some(queue.lock_owned().await);
        turn
    }
}

/// The turn of one request. It ends when this is dropped.
pub(crate) struct Turn<'t> {
    turns: &'t Turns,
    name: Name,
    held: Option<OwnedMutexGuard<()>>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        drop(self.held.take());
        let mut names = self.turns.0.lock();
        // Everybody else who has this name, or waits for it, holds on to the queue.
        if names.get(&self.name).is_some_and(|queue| Arc::strong_count(queue) == 1) {
            names.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn only_the_same_name_waits_and_nothing_is_left_behind() {
        let turns = Turns::default();
        let Poll::Ready(first) = poll(pin!(turns.take(HomeId(1), 7))) else { panic!("nobody has it") };
        let mut second = Box::pin(turns.take(HomeId(1), 7));
        assert!(poll(second.as_mut()).is_pending());
        for (home, key) in [(2, 7), (1, 8)] {
            assert!(poll(pin!(turns.take(HomeId(home), key))).is_ready());
        }
        drop(first);
        assert!(poll(second.as_mut()).is_ready());
        assert!(turns.0.lock().is_empty());
    }

    #[test]
    fn whoever_goes_away_while_it_waits_is_forgotten() {
        let turns = Turns::default();
        let Poll::Ready(first) = poll(pin!(turns.take(HomeId(1), 7))) else { panic!("nobody has it") };
        let mut second = Box::pin(turns.take(HomeId(1), 7));
        assert!(poll(second.as_mut()).is_pending());
        drop(second);
        drop(first);
        assert!(turns.0.lock().is_empty());
    }
}
