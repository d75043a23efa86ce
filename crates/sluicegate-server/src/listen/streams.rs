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
use super::reader::{Reader, ReaderLimits, TimedStream};

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
    Apart(Arc<Next>),
    Together(Arc<Arrived>),
}

/// The stream that hyper hands out next: how its caller takes its answer.
pub(super) struct Next {
    limits: ReaderLimits,
    reader: Mutex<Option<Arc<Reader>>>,
}

type Stream = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Streams that have come, and were not looked at yet.
#[derive(Default)]
pub(super) struct Arrived(Mutex<Vec<Stream>>);

impl Streams {
    pub(super) fn new(tasks: StreamTasks, limits: ReaderLimits) -> Self {
        match tasks {
            StreamTasks::Apart => Self::Apart(Arc::new(Next { limits, reader: Mutex::default() })),
            StreamTasks::Together => Self::Together(Arc::default()),
        }
    }

    /// A request has come. Its stream is the next one to be executed: hyper does both in one step. Nothing where
    /// streams are not timed.
    pub(super) fn begin(&self) -> Option<Arc<Reader>> {
        let Self::Apart(next) = self else { return None };
        let reader = Arc::<Reader>::default();
        *next.reader.lock() = Some(Arc::clone(&reader));
        Some(reader)
    }

    /// The connection whose streams these are.
    pub(super) fn of<C>(&self, connection: C) -> WithStreams<C> {
        let arrived = match self {
            Self::Apart(_) => None,
            Self::Together(arrived) => Some(Arc::clone(arrived)),
        };
        WithStreams { connection, arrived }
    }
}

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Streams {
    fn execute(&self, stream: F) {
        match self {
            Self::Apart(next) => match next.reader.lock().take() {
                Some(reader) => drop(tokio::spawn(TimedStream::new(stream, reader, next.limits))),
                None => drop(tokio::spawn(stream)),
            },
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
    use std::time::Duration;

    use super::*;

    const LIMITS: ReaderLimits =
        ReaderLimits { idle: Duration::from_secs(60), min_rate: None, request: None };

    #[tokio::test]
    async fn streams_that_need_not_wait_are_done_where_they_came_and_others_elsewhere() {
        let streams = Streams::new(StreamTasks::Together, LIMITS);
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
