//! The connection of a build without the feature `redis`: it cannot be opened, so nothing else can be called.

use std::convert::Infallible;
use std::time::Duration;

use tokio::time::Instant;

use super::{Address, LinkError, LinkOptions, QueryError};
use crate::redis::driver::{Cmd, FromRedisValue, PubSub};

/// A connection that does not exist.
#[derive(Clone, Debug)]
pub struct Link(Infallible);

impl Link {
    /// Says which feature is missing.
    pub fn open(_: &Address, _: &LinkOptions) -> Result<Self, LinkError> {
        Err(LinkError::NotBuilt)
    }

    /// Never called.
    pub async fn ready(&self, _: Duration) -> Result<(), LinkError> {
        match self.0 {}
    }

    /// Never called.
    pub fn address(&self) -> &Address {
        match self.0 {}
    }

    /// Never called.
    pub fn deadline(&self) -> Duration {
        match self.0 {}
    }

    pub(in crate::redis) async fn query<T: FromRedisValue>(&self, _: &Cmd) -> Result<T, QueryError> {
        match self.0 {}
    }

    pub(in crate::redis) async fn subscriber(&self) -> Result<PubSub, LinkError> {
        match self.0 {}
    }

    pub(in crate::redis) fn expires(&self) -> Instant {
        match self.0 {}
    }

    pub(in crate::redis) async fn query_within<T: FromRedisValue>(
        &self,
        _: &Cmd,
        _: Duration,
    ) -> Result<T, QueryError> {
        match self.0 {}
    }

    pub(in crate::redis) async fn query_before<T: FromRedisValue>(
        &self,
        _: &Cmd,
        _: Instant,
    ) -> Result<T, QueryError> {
        match self.0 {}
    }
}
