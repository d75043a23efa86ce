//! Answers that come later, and their places among those that are written already.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use sluicegate_engine::{Decision, FinishError, Finished, HandedPermit, Hold, Throttled};

use super::reply::Protocol;
use super::throttle::Asked;

/// Something that was begun and is waited for.
pub(super) type Waiting<'b> = Pin<Box<dyn Future<Output = Late> + Send + 'b>>;

/// An answer that came later.
pub(super) enum Late {
    /// What a limit says.
    Throttled(Asked, Throttled),
    /// A decision, and whether somebody will finish it.
    Decided(Box<Decision>, Hold),
    /// A permit, and what became of it.
    Finished(String, Result<Finished, FinishError>),
    /// A permit that replaces another.
    Renewed(Result<Box<HandedPermit>, FinishError>),
}

/// The commands of one turn that are waited for. All are begun before any is waited for.
#[derive(Default)]
pub(super) struct Queue<'b>(Vec<Place<'b>>);

struct Place<'b> {
    /// Behind how many bytes of the other answers this one belongs.
    at: usize,
    /// The form in which it is answered: the command after it may have chosen another.
    protocol: Protocol,
    state: State<'b>,
}

enum State<'b> {
    Waits(Waiting<'b>),
    Came(Late),
    Written,
}

impl<'b> Queue<'b> {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn push(&mut self, at: usize, protocol: Protocol, waiting: Waiting<'b>) {
        self.0.push(Place { at, protocol, state: State::Waits(waiting) });
    }

    /// Waits for all of them. They are begun in their order.
    pub(super) async fn wait(&mut self) {
        poll_fn(|cx| {
            let mut all = Poll::Ready(());
            for place in &mut self.0 {
                if let State::Waits(waiting) = &mut place.state {
                    match waiting.as_mut().poll(cx) {
                        Poll::Ready(late) => place.state = State::Came(late),
                        Poll::Pending => all = Poll::Pending,
                    }
                }
            }
            all
        })
        .await;
    }

    /// Puts the answers that came into their places: `written` are the others, `merged` will be all of them.
    pub(super) fn merge(
        &mut self,
        written: &[u8],
        merged: &mut Vec<u8>,
        write: impl Fn(Late, Protocol, &mut Vec<u8>),
    ) {
        merged.clear();
        let mut from = 0;
        for place in &mut self.0 {
            merged.extend_from_slice(&written[from..place.at]);
            from = place.at;
            if let State::Came(late) = std::mem::replace(&mut place.state, State::Written) {
                write(late, place.protocol, merged);
            }
        }
        merged.extend_from_slice(&written[from..]);
    }
}
