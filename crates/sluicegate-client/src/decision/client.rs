//! The client of the decision API.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;

use super::batches::Batches;
use super::check::{Check, Finish};
use super::error::{AddressError, CallError};
use super::response::{Decision, Finished, Permit, Renewed};
use super::transport::Transport;
use super::{BATCH_MAX, wire};

/// Asks Sluicegate for decisions. Clones share their connections and their batches.
#[derive(Clone, Debug)]
pub struct DecisionClient {
    transport: Transport,
    batches: Option<Arc<Batches>>,
}

impl DecisionClient {
    /// Uses the decision port at this URL, such as `http://127.0.0.1:8081`. Calls need a tokio runtime.
    pub fn new(address: &str) -> Result<Self, AddressError> {
        Ok(Self { transport: Transport::new(address)?, batches: None })
    }

    /// Limits each call. The default is 2 seconds.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.transport.timeout = timeout;
        self.batches = self.batches.map(|batches| Arc::new(batches.with_transport(self.transport.clone())));
        self
    }

    /// Sends this token with each call: one with the role `decide`, from `sluicegate token create`. Fails if the text
    /// cannot stand in a header.
    pub fn with_token(mut self, token: &str) -> Result<Self, AddressError> {
        let mut value =
            HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| AddressError::BadToken)?;
        value.set_sensitive(true);
        self.transport.token = Some(value);
        self.batches = self.batches.map(|batches| Arc::new(batches.with_transport(self.transport.clone())));
        Ok(self)
    }

    /// Joins concurrent checks into one call. The first check of a batch waits for `delay`, or until there are `max`
    /// checks (at most [`BATCH_MAX`]). Each caller gets its own decision. A check whose caller was cancelled before the
    /// batch is sent is left out.
    #[must_use]
    pub fn batching(mut self, max: usize, delay: Duration) -> Self {
        let max = max.clamp(1, BATCH_MAX);
        self.batches = Some(Arc::new(Batches::new(self.transport.clone(), max, delay)));
        self
    }

    /// Decides on a request. An admitted request is charged.
    pub async fn check(&self, check: Check) -> Result<Decision, CallError> {
        match &self.batches {
            Some(batches) => batches.check(check).await,
            None => self.transport.check(&check).await,
        }
    }

    /// Decides on a request without charging it.
    pub async fn peek(&self, check: Check) -> Result<Decision, CallError> {
        self.check(check.peeking()).await
    }

    /// Decides on several requests, in this order. If one of them is invalid, none is charged and the error names it.
    pub async fn check_batch(&self, checks: &[Check]) -> Result<Vec<Decision>, CallError> {
        match checks.len() {
            0 => Ok(Vec::new()),
            1..=BATCH_MAX => self.transport.check_batch(wire::batch(checks.iter())?, checks.len()).await,
            too_many => Err(CallError::TooMany(too_many)),
        }
    }

    /// Holds a permit for longer: `hold_for` from now on, from 1 second to 24 hours. The permit in the answer replaces
    /// the one that is renewed.
    pub async fn renew(&self, permit: &Permit, hold_for: Duration) -> Result<Renewed, CallError> {
        self.transport.renew(permit, hold_for).await
    }

    /// Finishes a request: releases what it held and charges its true cost.
    pub async fn finish(&self, finish: Finish) -> Result<Finished, CallError> {
        self.transport.finish(&finish).await
    }
}
