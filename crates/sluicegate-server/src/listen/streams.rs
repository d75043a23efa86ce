//! Where the streams of an HTTP/2 connection run.
//!
//! A task for each is what most servers do. But a task that answers at once wakes the connection, which writes that one
//! answer before the next task runs: a write for each, however many came in one read. Run by the connection itself,
//! what came together is answered together.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use hyper::rt::Executor;
use parking_lot::Mutex;
use pin_project_lite::pin_project;

use super::connection::Served;

/// Where the streams of a connection run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamTasks {
    /// Each in a task of its own: for answers that take long, or much work.
    Apart,
    /// With their connection, as long as they need not wait: for answers that are there at once.
    Together,
}

/// The streams of one connection, as hyper hands them out.
#[derive(Clone)]
pub(super) enum Streams {
    Apart,
    Together(Arc<Arrived>),
}

type Stream = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Streams that have come, and were not looked at yet.
#[derive(Default)]
pub(super) struct Arrived(Mutex<Vec<Stream>>);

impl Streams {
    pub(super) fn new(tasks: StreamTasks) -> Self {
        match tasks {
            StreamTasks::Apart => Self::Apart,
            StreamTasks::Together => Self::Together(Arc::default()),
        }
    }

    /// The connection whose streams these are.
    pub(super) fn of<C>(&self, connection: C) -> WithStreams<C> {
        let arrived = match self {
            Self::Apart => None,
            Self::Together(arrived) => Some(Arc::clone(arrived)),
        };
        WithStreams { connection, arrived }
    }
}

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Streams {
    fn execute(&self, stream: F) {
        match self {
            Self::Apart => drop(tokio::spawn(stream)),
            Self::Together(arrived) => arrived.0.lock().push(Box::pin(stream)),
        }
    }
}

impl Arrived {
    /// Looks at all of them once. Those that wait for something go on in tasks of their own.
    fn run(&self) -> Ran {
        let arrived = mem::take(&mut *self.0.lock());
        if arrived.is_empty() {
            return Ran::Nothing;
        }
        for mut stream in arrived {
            // Nobody has to be woken: whatever is not done is looked at again by its task.
            if stream.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
                tokio::spawn(stream);
            }
        }
        Ran::Some
    }
}

#[derive(PartialEq, Eq)]
enum Ran {
    Nothing,
    Some,
}

pin_project! {
    /// A connection that runs its streams.
    pub(super) struct WithStreams<C> {
        #[pin]
        connection: C,
        arrived: Option<Arc<Arrived>>,
    }
}

impl<C: Future> Future for WithStreams<C> {
    type Output = C::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<C::Output> {
        let mut this = self.project();
        loop {
            let polled = this.connection.as_mut().poll(cx);
            let ran = this.arrived.as_ref().map_or(Ran::Nothing, |arrived| arrived.run());
            // What the streams have answered is still to be written.
            if polled.is_ready() || ran == Ran::Nothing {
                return polled;
            }
        }
    }
}

impl<C: Served> Served for WithStreams<C> {
    fn leave(self: Pin<&mut Self>) {
        self.project().connection.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn streams_that_need_not_wait_are_done_where_they_came_and_others_elsewhere() {
        let streams = Streams::new(StreamTasks::Together);
        let said = Arc::new(Mutex::new(Vec::new()));
        let (send, receive) = tokio::sync::oneshot::channel::<()>();
        let (ended, end) = tokio::sync::oneshot::channel::<()>();
        let say = |word: &'static str| {
            let said = Arc::clone(&said);
            move || said.lock().push(word)
        };
        let (first, second, last) = (say("first"), say("second"), say("last"));
        streams.execute(async move { first() });
        streams.execute(async move {
            let _ = receive.await;
            last();
            let _ = ended.send(());
        });
        streams.execute(async move { second() });
        assert!(said.lock().is_empty(), "nothing runs before the connection does");
        let polls = Arc::new(Mutex::new(0));
        let counted = Arc::clone(&polls);
        let connection = std::future::poll_fn(move |_| {
            *counted.lock() += 1;
            Poll::<()>::Pending
        });
        let mut connection = Box::pin(streams.of(connection));
        let polled = connection.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending());
        assert_eq!(*said.lock(), ["first", "second"]);
        assert_eq!(*polls.lock(), 2, "what was answered is written");
        send.send(()).unwrap();
        end.await.unwrap();
        assert_eq!(*said.lock(), ["first", "second", "last"]);
    }
}
