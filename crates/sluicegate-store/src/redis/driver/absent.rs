//! The types of the client library that the rest of this module names, without a client behind them.

use std::convert::Infallible;

/// A command. It is built, and never sent.
#[derive(Debug)]
pub(crate) struct Cmd(());

/// Begins a command.
pub(crate) fn cmd(_: &str) -> Cmd {
    Cmd(())
}

impl Cmd {
    pub(crate) fn arg<T: ToRedisArgs>(&mut self, _: T) -> &mut Self {
        self
    }
}

/// What can be an argument: everything, since none is written.
pub(crate) trait ToRedisArgs {}

impl<T: ?Sized> ToRedisArgs for T {}

/// What can be an answer: everything, since none is read.
pub(crate) trait FromRedisValue: Sized {
    fn from_redis_value(value: Value) -> Result<Self, NotBuilt>;
}

/// There is no client that could have read it.
#[derive(Debug)]
pub(crate) struct NotBuilt;

impl<T> FromRedisValue for T {
    fn from_redis_value(_: Value) -> Result<Self, NotBuilt> {
        Err(NotBuilt)
    }
}

/// An answer. The variants are those that are matched on.
#[derive(Clone, Debug)]
#[expect(dead_code, reason = "no answer ever comes")]
pub(crate) enum Value {
    Nil,
    Int(i64),
    BulkString(Vec<u8>),
    Array(Vec<Value>),
    Map(Vec<(Value, Value)>),
    ServerError(String),
}

/// A script, by its text.
#[derive(Debug)]
pub(crate) struct Script(());

impl Script {
    pub(crate) fn new(_: &str) -> Self {
        Self(())
    }

    pub(crate) fn get_hash(&self) -> &str {
        ""
    }
}

/// A message of a channel.
#[derive(Debug)]
pub(crate) struct Msg(Infallible);

impl Msg {
    pub(crate) fn get_payload_bytes(&self) -> &[u8] {
        match self.0 {}
    }
}

/// A connection for messages.
#[derive(Debug)]
pub(crate) struct PubSub(pub(crate) Infallible);

impl PubSub {
    pub(crate) async fn subscribe(&mut self, _: &str) -> Result<(), NotBuilt> {
        match self.0 {}
    }
}
