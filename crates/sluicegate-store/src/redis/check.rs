//! Refusing a Redis that would lose what is counted in it, at the start and in words that say what to do.

use std::fmt;
use std::time::Duration;

use crate::redis::driver::{FromRedisValue as _, Value};

use super::directory::{CHANNEL, FORMAT_CHANNEL};
use super::link::{Eviction, Link, QueryError};

/// The oldest version whose scripts do what ours needs.
const VERSION_MIN: (u32, u32) = (7, 0);

/// How long a question may take: nobody is served yet, and a store that is busy at the moment is not unfit.
const PATIENCE: Duration = Duration::from_secs(5);

/// Names the first command that a node needs and this user may not run.
const SCRIPT: &str = include_str!("script/permissions.lua");

/// A key like those of homes, to ask for permissions with. Nothing is ever written under it.
const KEY: &str = "sg1:{permissions}";

/// What a user must be allowed.
pub const NEEDED: &str =
    "+@scripting +@read +@write +@connection +@pubsub +time +info +cluster|slots ~sg1:* &sg1:*";

/// Why a Redis is not used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unfit {
    /// It could not be asked.
    Query(QueryError),
    /// It does not say what it is.
    Unknown,
    /// It is too old.
    Version(String),
    /// It throws keys away when its memory is full, by this policy.
    Evicts(String),
    /// It follows another server, and what is written to it is lost.
    Replica,
    /// We may not run scripts, or this command in them.
    Forbidden(String),
    /// So many nodes of an earlier version use it, which would misread what this one writes.
    EarlierNodes(u64),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Query(error) => write!(f, "the store cannot be checked: {error}"),
            Self::Unknown => {
                f.write_str("the store does not say which version it has: is it a Redis or Valkey?")
            }
            Self::Version(version) => {
                write!(
                    f,
                    "the store has version {version}, which is too old: use Redis 7.0 or Valkey 7.2, or later"
                )
            }
            Self::Evicts(policy) => write!(
                f,
                "the store throws keys away when its memory is full (maxmemory-policy {policy}), and with them what \
                 was counted: set maxmemory-policy to noeviction, or put `?allow_eviction=yes` behind its address"
            ),
            Self::Replica => f.write_str(
                "the store is a replica and takes no writes: give the address of its primary, or that of its \
                 sentinels as redis+sentinel://, or of its cluster as redis+cluster://",
            ),
            Self::Forbidden(command) => write!(
                f,
                "the store does not let this user run {command} on the keys and channels that begin with sg1: – allow \
                 it: ACL SETUSER <user> {NEEDED}"
            ),
            Self::EarlierNodes(count) => write!(
                f,
                "{count} of the nodes on this store are of an earlier version, which misreads what this one writes: \
                 stop them, then start this one (see \"Upgrading\" in docs/redis.md)"
            ),
        }
    }
}

impl std::error::Error for Unfit {}

/// Looks whether a Redis can be trusted with meters: its version, what it does when its memory is full, that it takes
/// writes, and that we may run the script. In a cluster every primary is looked at.
pub async fn check(link: &Link) -> Result<(), Unfit> {
    let answer: Value =
        link.query_within(&crate::redis::driver::cmd("INFO"), PATIENCE).await.map_err(forbidden("info"))?;
    let servers = texts(answer);
    if servers.is_empty() {
        return Err(Unfit::Unknown);
    }
    for info in servers {
        check_server(&info, link.address().eviction())?;
    }
    check_permissions(link).await?;
    check_nodes(link).await
}

/// Looks for nodes of earlier versions: they listen to changes, and not where those of this format listen as well.
async fn check_nodes(link: &Link) -> Result<(), Unfit> {
    let mut command = crate::redis::driver::cmd("PUBSUB");
    command.arg("NUMSUB").arg(CHANNEL).arg(FORMAT_CHANNEL);
    let answer: Value = link.query_within(&command, PATIENCE).await.map_err(forbidden("pubsub"))?;
    match earlier_nodes(&answer) {
        0 => Ok(()),
        count => Err(Unfit::EarlierNodes(count)),
    }
}

/// How many listen to changes alone. In a cluster each server counts those that are connected to it.
fn earlier_nodes(answer: &Value) -> u64 {
    match answer {
        Value::Map(counts) => match &counts[..] {
            [(_, Value::Int(all)), (_, Value::Int(known))] => u64::try_from(all - known).unwrap_or(0),
            servers => servers.iter().map(|(_, counts)| earlier_nodes(counts)).sum(),
        },
        Value::Array(counts) => match &counts[..] {
            [_, Value::Int(all), _, Value::Int(known)] => u64::try_from(all - known).unwrap_or(0),
            _ => 0,
        },
        _ => 0,
    }
}

fn check_server(info: &str, eviction: Eviction) -> Result<(), Unfit> {
    let field =
        |name: &str| info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim);
    let version = field("redis_version").ok_or(Unfit::Unknown)?;
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
    if (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < VERSION_MIN {
        return Err(Unfit::Version(version.to_owned()));
    }
    if field("role") == Some("slave") {
        return Err(Unfit::Replica);
    }
    match field("maxmemory_policy") {
        Some(policy) if policy != "noeviction" && eviction == Eviction::Refused => {
            Err(Unfit::Evicts(policy.to_owned()))
        }
        _ => Ok(()),
    }
}

async fn check_permissions(link: &Link) -> Result<(), Unfit> {
    let mut command = crate::redis::driver::cmd("EVAL");
    command.arg(SCRIPT).arg(1).arg(KEY).arg(CHANNEL);
    let denied: Option<String> = link.query_within(&command, PATIENCE).await.map_err(forbidden("eval"))?;
    match denied {
        Some(command) => Err(Unfit::Forbidden(command)),
        None => Ok(()),
    }
}

/// An error while running this command.
fn forbidden(command: &'static str) -> impl Fn(QueryError) -> Unfit {
    move |error| match error {
        QueryError::Refused(answer) if answer.code == "NOPERM" => Unfit::Forbidden(command.to_owned()),
        error => Unfit::Query(error),
    }
}

/// What one server says, or each of a cluster.
fn texts(answer: Value) -> Vec<String> {
    match answer {
        Value::Map(servers) => {
            servers.into_iter().filter_map(|(_, info)| String::from_redis_value(info).ok()).collect()
        }
        info => String::from_redis_value(info).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(version: &str, role: &str, policy: &str) -> String {
        format!("# Server\r\nredis_version:{version}\r\nrole:{role}\r\nmaxmemory_policy:{policy}\r\n")
    }

    #[test]
    fn a_server_is_as_new_as_needed_a_primary_and_forgets_nothing() {
        let judged = |version, role, policy| check_server(&info(version, role, policy), Eviction::Refused);
        assert_eq!(judged("7.0.15", "master", "noeviction"), Ok(()));
        assert_eq!(judged("10.0.0", "master", "noeviction"), Ok(()));
        assert_eq!(judged("6.2.14", "master", "noeviction"), Err(Unfit::Version("6.2.14".into())));
        assert_eq!(judged("unstable", "master", "noeviction"), Err(Unfit::Version("unstable".into())));
        assert_eq!(judged("7.2.4", "slave", "noeviction"), Err(Unfit::Replica));
        assert_eq!(judged("7.2.4", "master", "allkeys-lru"), Err(Unfit::Evicts("allkeys-lru".into())));
        assert_eq!(check_server("# nothing", Eviction::Refused), Err(Unfit::Unknown));
        assert_eq!(check_server(&info("7.0.0", "master", "allkeys-lru"), Eviction::Allowed), Ok(()));
    }
}
