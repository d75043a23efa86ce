//! The connection itself: shared by all callers, with a deadline for every query.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redis::aio::PubSub;
use redis::{Cmd, FromRedisValue, Pipeline, RedisError, Value};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout_at};

use super::dial::Dialer;
use super::keep::{self, Cure, State, Trouble, TroubleKind};
use super::line::Line;
use super::{Address, LinkError, LinkOptions, QueryError};

/// A connection to a Redis, of whatever layout. Cloning it is cheap; all clones share the connection.
#[derive(Clone)]
pub struct Link {
    shared: Arc<Shared>,
}

struct Shared {
    address: Address,
    deadline: Duration,
    dialer: Dialer,
    state: watch::Receiver<State>,
    trouble: mpsc::Sender<Trouble>,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("address", &self.shared.address).finish_non_exhaustive()
    }
}

impl Link {
    /// Begins to connect, and goes on in the background for as long as a clone of the link exists. Fails only for what
    /// no retry can mend. Must be called within a tokio runtime.
    pub fn open(address: &Address, options: &LinkOptions) -> Result<Self, LinkError> {
        let dialer = Dialer::new(address, options)?;
        let (changed, state) = watch::channel(State::Dialing);
        let (trouble, troubles) = mpsc::channel(1);
        tokio::spawn(keep::keep(dialer.clone(), changed, trouble.downgrade(), troubles));
        let (address, deadline) = (address.clone(), options.deadline);
        Ok(Self { shared: Arc::new(Shared { address, deadline, dialer, state, trouble }) })
    }

    /// Waits until the link is up. Says why it is not if that takes longer than `patience`, or at once if no time
    /// helps.
    pub async fn ready(&self, patience: Duration) -> Result<(), LinkError> {
        let mut state = self.shared.state.clone();
        let known = state.wait_for(|state| match state {
            State::Up { .. } => true,
            State::Down(failed) => failed.cure == Cure::Settings,
            State::Dialing => false,
        });
        // Whether it is or the time is over, what is known then says it.
        let _ = tokio::time::timeout(patience, known).await;
        match &*self.shared.state.borrow() {
            State::Up { .. } => Ok(()),
            State::Down(failed) => Err(LinkError::Unreachable(failed.why.to_string())),
            State::Dialing => Err(LinkError::Unreachable("it does not answer".into())),
        }
    }

    /// Where it leads.
    pub fn address(&self) -> &Address {
        &self.shared.address
    }

    /// How long a query may take.
    pub fn deadline(&self) -> Duration {
        self.shared.deadline
    }

    /// Runs one command.
    pub async fn query<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, QueryError> {
        self.query_before(command, self.expires()).await
    }

    /// Runs several commands in one round trip. In a cluster, all of their keys must be in one hash slot.
    pub async fn query_pipeline<T: FromRedisValue>(&self, pipeline: &Pipeline) -> Result<T, QueryError> {
        let expires = self.expires();
        let (mut line, epoch) = self.line(expires).await?;
        let asked = pipeline.query_async::<Value>(&mut line);
        let answer = self.judge(timeout_at(expires, asked).await, epoch)?;
        T::from_redis_value(answer).map_err(|error| QueryError::Garbled(error.to_string()))
    }

    /// A connection of its own for messages that the server sends by itself. It does not reconnect: when its stream
    /// ends, ask for another one.
    pub async fn subscriber(&self) -> Result<PubSub, LinkError> {
        self.shared.dialer.subscriber().await
    }

    /// The instant at which a query that starts now must be over.
    pub(in crate::redis) fn expires(&self) -> Instant {
        Instant::now() + self.shared.deadline
    }

    /// Runs one command for which nobody waits: it has this long, whatever the deadline.
    pub(in crate::redis) async fn query_within<T: FromRedisValue>(
        &self,
        command: &Cmd,
        patience: Duration,
    ) -> Result<T, QueryError> {
        self.query_before(command, Instant::now() + patience).await
    }

    /// Runs one command that must be over by then.
    pub(in crate::redis) async fn query_before<T: FromRedisValue>(
        &self,
        command: &Cmd,
        expires: Instant,
    ) -> Result<T, QueryError> {
        let (mut line, epoch) = self.line(expires).await?;
        let asked = command.query_async::<Value>(&mut line);
        let answer = self.judge(timeout_at(expires, asked).await, epoch)?;
        T::from_redis_value(answer).map_err(|error| QueryError::Garbled(error.to_string()))
    }

    /// The connection as it stands, or the next one if it is just being replaced.
    async fn line(&self, expires: Instant) -> Result<(Line, u64), QueryError> {
        if let State::Up { line, epoch } = &*self.shared.state.borrow() {
            return Ok((line.clone(), *epoch));
        }
        let mut state = self.shared.state.clone();
        let settled = timeout_at(expires, state.wait_for(|state| !matches!(state, State::Dialing))).await;
        match settled {
            Ok(Ok(state)) => match &*state {
                State::Up { line, epoch } => Ok((line.clone(), *epoch)),
                State::Dialing | State::Down(_) => Err(QueryError::NotSent),
            },
            Ok(Err(_)) | Err(_) => Err(QueryError::NotSent),
        }
    }

    /// What an answer, an error or none at all means for the caller, and for the connection.
    fn judge<T>(
        &self,
        answered: Result<Result<T, RedisError>, tokio::time::error::Elapsed>,
        epoch: u64,
    ) -> Result<T, QueryError> {
        let error = match answered {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => error,
            Err(_) => {
                self.report(TroubleKind::Slow, epoch);
                return Err(QueryError::Unknown("no answer before the deadline".into()));
            }
        };
        let error = QueryError::of(&error);
        match &error {
            QueryError::Refused(answer) if answer.is_of_a_replica() => self.report(TroubleKind::Dead, epoch),
            QueryError::Unknown(_) => self.report(TroubleKind::Dead, epoch),
            QueryError::Refused(_) | QueryError::NotSent | QueryError::Garbled(_) => {}
        }
        Err(error)
    }

    fn report(&self, kind: TroubleKind, epoch: u64) {
        // Full: the keeper has a report to look into already.
        let _ = self.shared.trouble.try_send(Trouble { kind, epoch });
    }
}
