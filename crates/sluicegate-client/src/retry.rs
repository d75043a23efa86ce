//! The retry loop that all adapters share: pace, send, decide, wait.

use std::future::Future;
use std::num::NonZeroU32;
use std::time::Duration;

use http::{Extensions, HeaderMap, Response, StatusCode};

use crate::attempt::{FailedAttempt, Idempotency};
use crate::budget::RetryBudget;
use crate::error::{DeadlineExceeded, RetryError};
use crate::error_kind::ErrorKind;
use crate::gave_up::{GaveUp, Reason};
use crate::pacer::{PacedRequest, Pacer};
use crate::policy::{RetryDecision, RetryPolicy};
use crate::runtime::{Runtime, TokioRuntime};

/// What all adapters are configured with.
#[derive(Clone, Debug)]
pub(crate) struct Settings<T> {
    pub(crate) policy: RetryPolicy,
    pub(crate) budget: Option<RetryBudget>,
    pub(crate) pacer: Option<Pacer>,
    pub(crate) runtime: T,
}

impl Settings<TokioRuntime> {
    pub(crate) fn new(policy: RetryPolicy) -> Self {
        Self { policy, budget: None, pacer: None, runtime: TokioRuntime }
    }
}

impl<T> Settings<T> {
    pub(crate) fn with_runtime<T2>(self, runtime: T2) -> Settings<T2> {
        Settings { policy: self.policy, budget: self.budget, pacer: self.pacer, runtime }
    }
}

/// Sends one request as often as it is asked to.
pub(crate) trait SendAttempt: Send {
    type Response: AttemptResponse + Send;
    type Error: Send;

    /// Waits until the next attempt can be sent.
    fn ready(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        std::future::ready(Ok(()))
    }

    fn send(&mut self) -> impl Future<Output = Result<Self::Response, Self::Error>> + Send;

    fn classify(&self, error: &Self::Error) -> ErrorKind;
}

/// A response as the retry loop sees it.
pub(crate) trait AttemptResponse {
    fn status(&self) -> StatusCode;
    fn headers(&self) -> &HeaderMap;
    fn extensions_mut(&mut self) -> &mut Extensions;
}

impl<B> AttemptResponse for Response<B> {
    fn status(&self) -> StatusCode {
        self.status()
    }

    fn headers(&self) -> &HeaderMap {
        self.headers()
    }

    fn extensions_mut(&mut self) -> &mut Extensions {
        self.extensions_mut()
    }
}

/// One call: all attempts of one request.
pub(crate) struct Call<'s, T> {
    settings: &'s Settings<T>,
    idempotency: Idempotency,
    /// The origin whose limits the request is paced by, if it is known.
    origin: Option<String>,
    started: Duration,
    tries: u32,
}

impl<'s, T: Runtime> Call<'s, T> {
    pub(crate) fn new(settings: &'s Settings<T>, idempotency: Idempotency, origin: Option<String>) -> Self {
        Self { settings, idempotency, origin, started: settings.runtime.monotonic(), tries: 0 }
    }

    /// Sends the request until it succeeds or the policy gives up.
    pub(crate) async fn run<A: SendAttempt>(
        mut self,
        mut attempt: A,
    ) -> Result<A::Response, RetryError<A::Error>> {
        if let Some(budget) = &self.settings.budget {
            budget.record_request(self.started);
        }
        loop {
            let paced = self.before_deadline(self.pace()).await??;
            self.tries = self.tries.saturating_add(1);
            let result = self.before_deadline(attempt.send()).await?;
            self.learn(paced, &result);
            let failure = match result {
                Ok(response) if !is_failure(response.status()) => return Ok(response),
                result => result,
            };
            match (self.decide(&failure, |error| attempt.classify(error)), failure) {
                (RetryDecision::RetryAfter(wait), _) => self.settings.runtime.sleep(wait).await,
                (RetryDecision::GiveUp(reason), Ok(mut response)) => {
                    response.extensions_mut().insert(self.gave_up(reason));
                    return Ok(response);
                }
                (RetryDecision::GiveUp(reason), Err(error)) => {
                    return Err(RetryError::Failed { error, gave_up: self.gave_up(reason) });
                }
            }
            self.before_deadline(attempt.ready()).await?.map_err(RetryError::NotSent)?;
        }
    }

    /// Waits until the limits of the origin have room.
    async fn pace(&self) -> Result<Option<PacedRequest>, DeadlineExceeded> {
        let Settings { policy, pacer, runtime, .. } = self.settings;
        let (Some(pacer), Some(origin)) = (pacer, &self.origin) else { return Ok(None) };
        let deadline = policy.deadline().map(|deadline| self.started.saturating_add(deadline));
        let paced = pacer.admit(origin, runtime, policy.patience(), deadline).await;
        paced.map(Some).map_err(|_| DeadlineExceeded {
            deadline: policy.deadline().unwrap_or_default(),
            tries: self.tries,
        })
    }

    fn learn<R: AttemptResponse, E>(&self, paced: Option<PacedRequest>, result: &Result<R, E>) {
        match (paced, result) {
            (Some(paced), Ok(response)) => {
                paced.complete(response.status(), response.headers(), &self.settings.runtime);
            }
            (Some(paced), Err(_)) => paced.fail(&self.settings.runtime),
            (None, _) => {}
        }
    }

    /// Runs a part of the call, and cancels it at the deadline.
    async fn before_deadline<F: Future + Send>(&self, part: F) -> Result<F::Output, DeadlineExceeded> {
        let Some(deadline) = self.settings.policy.deadline() else { return Ok(part.await) };
        let left = deadline.saturating_sub(self.elapsed());
        tokio::select! {
            // A response that is there at the deadline counts.
            biased;
            output = part => Ok(output),
            () = self.settings.runtime.sleep(left) => {
                Err(DeadlineExceeded { deadline, tries: self.tries })
            }
        }
    }

    /// What to do after a failed attempt.
    fn decide<R: AttemptResponse, E>(
        &self,
        failure: &Result<R, E>,
        classify: impl FnOnce(&E) -> ErrorKind,
    ) -> RetryDecision {
        let now = self.settings.runtime.now();
        let failed = match failure {
            Ok(response) => {
                FailedAttempt::response(self.idempotency, response.status(), response.headers(), now)
            }
            Err(error) => FailedAttempt::error(self.idempotency, classify(error), now),
        };
        let failed = failed.with_elapsed(self.elapsed());
        let random = self.settings.runtime.random();
        let decision = self.settings.policy.decide(self.tries(), &failed, random);
        match decision {
            RetryDecision::RetryAfter(_) if !self.try_spend_budget() => {
                RetryDecision::GiveUp(Reason::BudgetSpent)
            }
            decision => decision,
        }
    }

    fn try_spend_budget(&self) -> bool {
        let now = self.settings.runtime.monotonic();
        self.settings.budget.as_ref().is_none_or(|budget| budget.try_retry(now))
    }

    fn gave_up(&self, reason: Reason) -> GaveUp {
        GaveUp { reason, tries: self.tries() }
    }

    fn tries(&self) -> NonZeroU32 {
        NonZeroU32::new(self.tries).unwrap_or(NonZeroU32::MIN)
    }

    fn elapsed(&self) -> Duration {
        self.settings.runtime.monotonic().saturating_sub(self.started)
    }
}

fn is_failure(status: StatusCode) -> bool {
    status.is_client_error() || status.is_server_error()
}
