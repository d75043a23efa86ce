//! Asking Redis: a script or a command, within the time that its caller has.

use std::time::Duration;

use crate::redis::driver::{Cmd, ToRedisArgs, Value, cmd};
use tokio::time::Instant;

use super::error::RedisError;
use super::identity::Identity;
use super::layout::KEYS;
use super::reply::Reply;
use super::scripts::{self, Script};
use super::tokens::TOKENS;
use super::written::WriteId;
use crate::identity::StoreState;
use crate::redis::link::{Link, QueryError, ServerAnswer};

/// How long a person waits for an answer: a list may be long, and nobody's request is held up by it.
const PERSON_WAITS: Duration = Duration::from_millis(1_500);

/// How often a write is sent whose answers are lost.
const SENDS_MAX: u32 = 4;
/// How long to wait before it is sent again: a connection that was cut is there again by then.
const RECONNECTING: Duration = Duration::from_millis(500);

/// Who asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asker {
    /// A request, which has the deadline of the store.
    Request,
    /// A person, or a program in the place of one.
    Person,
}

/// The server, and the store that it should be.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) link: Link,
    pub(super) identity: Identity,
}

impl Server {
    /// What a script answered, unless it was asked of another store than the one that is meant.
    fn reply(&self, answer: Value) -> Result<Reply, RedisError> {
        let reply = Reply::of(answer)?;
        let state = match (reply.text(0), reply.text(1)) {
            (Ok(Some("other-store")), Ok(Some("emptied"))) => StoreState::Emptied,
            (Ok(Some("other-store")), _) => StoreState::Other,
            _ => StoreState::Known,
        };
        self.identity.set_state(state);
        if state == StoreState::Known { Ok(reply) } else { Err(RedisError::NotAdopted(state)) }
    }
}

/// Claims a store for this node.
pub(super) async fn claim(link: &Link, script: &Script, arguments: &[&str]) -> Result<Reply, RedisError> {
    Reply::of(run(link, Asker::Person, script, &KEYS, arguments, "").await.map_err(unread)?)
}

/// Runs a script that lists or counts what is there, whichever store it is.
pub(super) async fn list(server: &Server, script: &Script, arguments: &[&str]) -> Result<Reply, RedisError> {
    Reply::of(run(&server.link, Asker::Person, script, &KEYS, arguments, "").await.map_err(unread)?)
}

/// All tokens, and the change up to which they are known.
pub(super) async fn list_tokens(server: &Server) -> Result<Reply, RedisError> {
    const NONE: &[&str] = &[];
    let keys: Vec<&str> = KEYS.into_iter().chain([TOKENS]).collect();
    let answer = run(&server.link, Asker::Person, &scripts::LIST_TOKENS, &keys, NONE, "").await;
    Reply::of(answer.map_err(unread)?)
}

/// Runs a script that looks something up.
pub(super) async fn read(
    server: &Server,
    asker: Asker,
    script: &Script,
    arguments: &[impl ToRedisArgs],
) -> Result<Reply, RedisError> {
    let store = server.identity.id();
    let answer = run(&server.link, asker, script, &KEYS, arguments, &store.id).await;
    server.reply(answer.map_err(unread)?)
}

/// Runs a script that writes. A write whose answer is lost is sent again, and answered what it was answered before.
/// When it fails it has changed nothing, unless it says that it may have.
pub(super) async fn write(
    server: &Server,
    script: &Script,
    write: &WriteId,
    arguments: &[impl ToRedisArgs],
) -> Result<Reply, RedisError> {
    write_with(server, script, write, &[], arguments).await
}

/// The same for a script that has further keys.
pub(super) async fn write_with(
    server: &Server,
    script: &Script,
    write: &WriteId,
    further: &[&str],
    arguments: &[impl ToRedisArgs],
) -> Result<Reply, RedisError> {
    let keys: Vec<&str> = KEYS.into_iter().chain([write.key()]).chain(further.iter().copied()).collect();
    let store = server.identity.id();
    let mut may_be_done = false;
    for send in 1..=SENDS_MAX {
        match run(&server.link, Asker::Person, script, &keys, arguments, &store.id).await {
            Ok(answer) => return server.reply(answer),
            Err(QueryError::Unknown(_)) => may_be_done = true,
            Err(error) if !may_be_done && error != QueryError::NotSent => return Err(unread(error)),
            // It is not done this time, but may have been before; and a connection that was lost is soon there again.
            Err(_) => {}
        }
        if send < SENDS_MAX {
            tokio::time::sleep(RECONNECTING).await;
        }
    }
    Err(if may_be_done { RedisError::Unanswered } else { unread(QueryError::NotSent) })
}

/// Runs a script that updates one key besides those of the directory, and that changes nothing when it runs twice.
pub(super) async fn update(
    server: &Server,
    script: &Script,
    key: &str,
    arguments: &[impl ToRedisArgs],
) -> Result<(), RedisError> {
    let keys: Vec<&str> = KEYS.into_iter().chain([key]).collect();
    let answer = run(&server.link, Asker::Person, script, &keys, arguments, "").await;
    answer.map(|_| ()).map_err(unread)
}

/// Runs a command that reads.
pub(super) async fn command(link: &Link, command: &Cmd) -> Result<Value, RedisError> {
    query(link, Asker::Person, command).await.map_err(unread)
}

async fn run(
    link: &Link,
    asker: Asker,
    script: &Script,
    keys: &[&str],
    arguments: &[impl ToRedisArgs],
    store: &str,
) -> Result<Value, QueryError> {
    let call = |name: &str, script: &str| {
        let mut call = cmd(name);
        call.arg(script).arg(keys.len()).arg(keys).arg(arguments).arg(store);
        call
    };
    match query(link, asker, &call("EVALSHA", script.hash())).await {
        Err(QueryError::Refused(answer)) if answer.is_no_script() => {
            query(link, asker, &call("EVAL", script.text)).await
        }
        answer => answer,
    }
}

async fn query(link: &Link, asker: Asker, command: &Cmd) -> Result<Value, QueryError> {
    match asker {
        Asker::Request => link.query(command).await,
        Asker::Person => link.query_before(command, Instant::now() + PERSON_WAITS).await,
    }
}

/// Why there is no answer to what changes nothing.
fn unread(error: QueryError) -> RedisError {
    match error {
        QueryError::NotSent => RedisError::Away("it is not connected".to_owned()),
        QueryError::Unknown(why) => RedisError::Away(why),
        QueryError::Refused(answer) if is_for_a_while(&answer) => RedisError::Away(answer.to_string()),
        QueryError::Refused(answer) => RedisError::Refused(answer.to_string()),
        QueryError::Garbled(why) => RedisError::Nonsense(why),
    }
}

/// Whether a server that answers so is as good as none, until it has come round.
fn is_for_a_while(answer: &ServerAnswer) -> bool {
    let codes = ["BUSY", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY", "TRYAGAIN"];
    // Of a script, the code of the error inside may stand in the text.
    codes.iter().any(|code| answer.code == *code || answer.text.starts_with(code))
}
