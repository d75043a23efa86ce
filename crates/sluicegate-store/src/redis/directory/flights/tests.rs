//! Asking once: who waits, who gives up, and what is left behind.

use std::cell::Cell;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use tokio::sync::oneshot;

use super::*;

fn id(number: usize) -> KeyId {
    KeyId::parse(&format!("{number:012}")).unwrap()
}

fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn those_who_ask_meanwhile_share_the_answer() {
    let flights = Flights::default();
    let asked = Cell::new(0);
    let (answer, answered) = oneshot::channel::<()>();
    let mut first = pin!(flights.join(id(1), async || {
        asked.set(asked.get() + 1);
        answered.await.unwrap();
        Err(RedisError::Contended)
    }));
    let mut second = pin!(flights.join(id(1), async || {
        asked.set(asked.get() + 1);
        Ok(None)
    }));
    assert!(poll(first.as_mut()).is_pending() && poll(second.as_mut()).is_pending());
    let mut other = pin!(flights.join(id(2), async || Ok(None)));
    assert!(matches!(poll(other.as_mut()), Poll::Ready(Ok(None))));
    answer.send(()).unwrap();
    assert!(matches!(poll(first.as_mut()), Poll::Ready(Err(RedisError::Contended))));
    assert!(matches!(poll(second.as_mut()), Poll::Ready(Err(RedisError::Contended))));
    assert_eq!(asked.get(), 1);
    // Who comes later asks anew.
    let mut late = pin!(flights.join(id(1), async || Ok(None)));
    assert!(matches!(poll(late.as_mut()), Poll::Ready(Ok(None))));
    assert!(flights.0.lock().is_empty());
}

#[test]
fn when_the_first_gives_up_the_next_asks() {
    let flights = Flights::default();
    let mut second = pin!(flights.join(id(1), async || Ok(None)));
    {
        let mut first = pin!(flights.join(id(1), std::future::pending));
        assert!(poll(first.as_mut()).is_pending() && poll(second.as_mut()).is_pending());
    }
    assert!(matches!(poll(second.as_mut()), Poll::Ready(Ok(None))));
    {
        let mut alone = pin!(flights.join(id(1), std::future::pending));
        assert!(poll(alone.as_mut()).is_pending());
    }
    assert!(flights.0.lock().is_empty());
}

#[test]
fn there_is_a_most_to_what_is_asked_at_once() {
    let flights = Flights::default();
    let seats: Vec<_> = (0..FLIGHTS_MAX).map(|number| flights.board(id(number)).unwrap()).collect();
    let mut refused = pin!(flights.join(id(FLIGHTS_MAX), async || Ok(None)));
    assert!(matches!(poll(refused.as_mut()), Poll::Ready(Err(RedisError::Overloaded))));
    // What is under way already may be joined.
    assert!(flights.board(id(7)).is_some());
    drop(seats);
    assert!(flights.0.lock().is_empty());
}
