//! One connection: reads what comes, answers every whole command of it, and writes all answers at once.
//!
//! While answers are written nothing is read: who does not take them is not read from.

use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use sluicegate_engine::RefusedSignIn;
use tokio::io::{AsyncReadExt as _, AsyncWrite as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::RespService;
use super::command::{Arguments, Parsed, parse};
use super::input::Input;
use super::reply::Reply;
use super::session::{Begun, Session};
use super::waiting::Queue;
use crate::listen::{Alarm, Ending, Phase, ServeSettings, Shutdown, Wire};

/// From so many bytes on, answers are written before more commands are looked at.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// The most commands of one connection that are waited for at a time.
const WAITING_MAX: usize = 256;

/// What is read at the most once the end has begun: what was on its way.
const LAST_BYTES_MAX: usize = 256 * 1024;

/// How long, and how much, is read from whoever goes on sending after its last answer. Without that, the system would
/// throw away the answer as well.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES_MAX: usize = 1024 * 1024;

/// What a connection keeps for answers while it is idle.
const ANSWER_BYTES_KEPT: usize = 16 * 1024;

/// How long a client may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waits {
    /// For the next command.
    keep_alive: Duration,
    /// For the rest of a command that has begun.
    command: Duration,
    /// For taking the next part of its answers.
    idle: Duration,
}

impl Waits {
    pub(super) fn of(settings: &ServeSettings) -> Self {
        Self { keep_alive: settings.keep_alive, command: settings.header, idle: settings.idle }
    }
}

/// Serves a connection until it ends, or the listener does.
pub(super) async fn serve(
    stream: Wire,
    peer: IpAddr,
    service: &RespService,
    waits: Waits,
    shutdown: &Shutdown,
) {
    let mut cut = Ending::of(shutdown);
    let mut talk = pin!(Connection::new(stream, peer, service, waits, shutdown).talk());
    poll_fn(|cx| match cut.poll(cx) {
        Phase::Cut => Poll::Ready(()),
        Phase::Serving | Phase::Draining => talk.as_mut().poll(cx),
    })
    .await;
}

struct Connection<'s> {
    stream: Wire,
    session: Session<'s>,
    input: Input,
    answers: Vec<u8>,
    /// Where answers are put together with those that came later.
    merged: Vec<u8>,
    waits: Waits,
    alarm: Alarm,
    ending: Ending,
    /// What may still be read, once the end has begun.
    last_bytes: usize,
    /// Whether the time for the rest of a command runs already.
    rest_is_timed: bool,
}

/// How much of what was read is answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Turn {
    /// All whole commands.
    All,
    /// There may be more of them.
    Some,
    /// The last one that is.
    Last,
}

/// What becomes of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    /// It goes on.
    Stay,
    /// It has had its last answer.
    Leave,
    /// Nobody is there any more, or somebody who takes too long.
    Drop,
}

impl<'s> Connection<'s> {
    fn new(stream: Wire, peer: IpAddr, service: &'s RespService, waits: Waits, shutdown: &Shutdown) -> Self {
        Self {
            stream,
            session: Session::new(service, peer),
            input: Input::new(),
            answers: Vec::new(),
            merged: Vec::new(),
            waits,
            alarm: Alarm::after(waits.keep_alive),
            ending: Ending::of(shutdown),
            last_bytes: LAST_BYTES_MAX,
            rest_is_timed: false,
        }
    }

    async fn talk(mut self) {
        loop {
            let heard = self.hear().await;
            let next = if heard == Next::Stay { self.answer_all().await } else { heard };
            match next {
                Next::Stay => {}
                Next::Leave => return self.leave().await,
                Next::Drop => return,
            }
        }
    }

    /// Waits for more to read.
    async fn hear(&mut self) -> Next {
        self.input.make_room();
        let mut to_set = match (self.input.is_empty(), self.rest_is_timed) {
            (true, _) => Some(self.waits.keep_alive),
            (false, false) => Some(self.waits.command),
            // Its time runs from its first byte on, however slowly the others come.
            (false, true) => None,
        };
        self.rest_is_timed = !self.input.is_empty();
        poll_fn(|cx| {
            let phase = self.ending.poll(cx);
            match self.input.poll_read(&mut self.stream, cx) {
                Poll::Ready(Ok(0) | Err(_)) => Poll::Ready(Next::Drop),
                Poll::Ready(Ok(_)) if phase == Phase::Serving => Poll::Ready(Next::Stay),
                Poll::Ready(Ok(length)) => Poll::Ready(match self.last_bytes.checked_sub(length) {
                    None => Next::Leave,
                    Some(left) => {
                        self.last_bytes = left;
                        Next::Stay
                    }
                }),
                // All that came was answered.
                Poll::Pending if phase != Phase::Serving => Poll::Ready(Next::Drop),
                Poll::Pending => {
                    if let Some(wait) = to_set.take() {
                        self.alarm.set(wait);
                    }
                    self.alarm.poll(cx).map(|()| Next::Drop)
                }
            }
        })
        .await
    }

    /// Answers everything that was read.
    async fn answer_all(&mut self) -> Next {
        loop {
            let turn = self.answer().await;
            if self.write().await.is_err() {
                return Next::Drop;
            }
            match turn {
                Turn::All => return Next::Stay,
                Turn::Some => {}
                Turn::Last => return Next::Leave,
            }
        }
    }

    /// Answers as many commands as one write should hold.
    async fn answer(&mut self) -> Turn {
        let Self { session, input, answers, merged, .. } = self;
        // What came together is decided at one instant.
        let now = session.service.engine.now();
        session.end_revoked(now);
        let unread = input.unread();
        let (mut at, mut queue) = (0, Queue::default());
        let turn = loop {
            if answers.len() >= ANSWER_BYTES_MAX || queue.len() == WAITING_MAX {
                break Turn::Some;
            }
            let mut args = Arguments::new();
            match parse(&unread[at..], &mut args) {
                Ok(Parsed::Partial) => break Turn::All,
                Ok(Parsed::Whole(length)) => at += length,
                Err(malformed) => {
                    let mut reply = Reply::new(answers, session.protocol);
                    reply.error(&format!("ERR Protocol error: {malformed}"));
                    break Turn::Last;
                }
            }
            let (place, protocol) = (answers.len(), session.protocol);
            match session.begin(&args, now, answers) {
                Begun::Answered => {}
                Begun::Waits(waiting) => queue.push(place, protocol, waiting),
                Begun::Leave => break Turn::Last,
            }
            if session.take_refused() && session.wait_for_refusal(now).await == RefusedSignIn::TooMany {
                break Turn::Last;
            }
        };
        if queue.len() > 0 {
            queue.wait().await;
            queue.merge(answers, merged, |late, protocol, out| session.write_late(late, protocol, now, out));
            std::mem::swap(answers, merged);
        }
        drop(queue);
        input.consume(at);
        if at > 0 {
            self.rest_is_timed = false;
        }
        turn
    }

    /// Writes all answers. An error, too, if they are not taken for too long.
    async fn write(&mut self) -> io::Result<()> {
        let (mut written, mut is_stuck) = (0, false);
        poll_fn(|cx| {
            while written < self.answers.len() {
                match Pin::new(&mut self.stream).poll_write(cx, &self.answers[written..]) {
                    Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                    Poll::Ready(Ok(length)) => {
                        written += length;
                        is_stuck = false;
                    }
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => {
                        if !is_stuck {
                            self.alarm.set(self.waits.idle);
                            is_stuck = true;
                        }
                        return self.alarm.poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()));
                    }
                }
            }
            Poll::Ready(Ok(()))
        })
        .await?;
        for buffer in [&mut self.answers, &mut self.merged] {
            buffer.clear();
            buffer.shrink_to(ANSWER_BYTES_KEPT);
        }
        Ok(())
    }

    /// Says that there will be no more answers, and gives the client time to hear the last one.
    async fn leave(mut self) {
        if self.stream.shutdown().await.is_err() {
            return;
        }
        let rest = async {
            let (mut scratch, mut left) = ([0; 4 * 1024], LINGER_BYTES_MAX);
            while let Ok(length @ 1..) = self.stream.read(&mut scratch).await {
                left = left.saturating_sub(length);
                if left == 0 {
                    break;
                }
            }
        };
        let _ = timeout(LINGER, rest).await;
    }
}
