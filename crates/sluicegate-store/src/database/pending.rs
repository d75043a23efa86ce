//! An answer that is still to come: awaited by tasks, waited for by threads.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use tokio::sync::oneshot;

use super::DatabaseError;

/// The answer to something that was asked of the database. It is done whether or not anybody waits for the answer.
#[derive(Debug)]
#[must_use = "the answer says whether it was done"]
pub struct Pending<T, E = DatabaseError>(Kind<T, E>);

#[derive(Debug)]
enum Kind<T, E> {
    Asked(oneshot::Receiver<Result<T, E>>),
    Ready(Option<Result<T, E>>),
}

impl<T, E> Pending<T, E> {
    /// An answer that is there already.
    pub(crate) const fn ready(answer: Result<T, E>) -> Self {
        Self(Kind::Ready(Some(answer)))
    }

    pub(crate) const fn asked(answer: oneshot::Receiver<Result<T, E>>) -> Self {
        Self(Kind::Asked(answer))
    }
}

impl<T: Unpin, E: From<DatabaseError> + Unpin> Pending<T, E> {
    /// Waits on this thread. Not for tasks: they would keep others from running; let them `await` it.
    pub fn wait(mut self) -> Result<T, E> {
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let mut context = Context::from_waker(&waker);
        loop {
            match Pin::new(&mut self).poll(&mut context) {
                Poll::Ready(answer) => return answer,
                Poll::Pending => std::thread::park(),
            }
        }
    }
}

impl<T: Unpin, E: From<DatabaseError> + Unpin> Future for Pending<T, E> {
    type Output = Result<T, E>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let closed = || Err(DatabaseError::Closed.into());
        match &mut self.0 {
            Kind::Asked(answer) => {
                Pin::new(answer).poll(context).map(|came| came.unwrap_or_else(|_| closed()))
            }
            Kind::Ready(answer) => Poll::Ready(answer.take().unwrap_or_else(closed)),
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
