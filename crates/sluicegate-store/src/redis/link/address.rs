//! The address of a Redis, of whatever layout, as its URL says it.

use std::fmt;

use sluicegate_core::policy::RedisLayout;

const PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;
/// What a primary is called where its URL does not say.
const PRIMARY_DEFAULT: &str = "mymaster";

/// Whether a server may throw keys away when its memory is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Eviction {
    /// No: usage that was counted would be forgotten.
    Refused,
    /// Yes, because its operator said so: `?allow_eviction=yes`.
    Allowed,
}

/// Where a Redis is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Address {
    pub(super) layout: RedisLayout,
    pub(super) hosts: Vec<(String, u16)>,
    pub(super) user: Option<String>,
    pub(super) database: i64,
    /// What the sentinels call the primary.
    pub(super) primary: String,
    pub(super) eviction: Eviction,
}

/// Why a text is no address of a Redis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BadAddress {
    /// It starts with no known scheme.
    Scheme,
    /// It names no host, or a port that is no number from 1 to 65535.
    Host,
    /// What follows the hosts is no number of a database.
    Database,
    /// A cluster has but one database.
    ClusterDatabase,
    /// It has an option that is not known, or with a value that is not.
    Option(String),
    /// It holds a password, which belongs into a variable.
    Password,
}

impl fmt::Display for BadAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scheme => f.write_str("write redis://, rediss://, redis+sentinel:// or redis+cluster://"),
            Self::Host => f.write_str("write host:port after the scheme"),
            Self::Database => f.write_str("write the number of a database after the host, or nothing"),
            Self::ClusterDatabase => f.write_str("a cluster has no numbered databases; leave the number out"),
            Self::Option(option) => {
                write!(f, "`{option}` is no option of a store; there is `allow_eviction=yes`")
            }
            Self::Password => f.write_str("put the password into SLUICEGATE_REDIS_PASSWORD"),
        }
    }
}

impl std::error::Error for BadAddress {}

impl Address {
    /// Reads a URL: `redis://host:port/database`, `rediss://…`,
    /// `redis+sentinel://host:port,host:port/primary/database`, `redis+cluster://host:port,host:port`, each with an
    /// optional `user@` and `?allow_eviction=yes`.
    pub fn parse(url: &str) -> Result<Self, BadAddress> {
        let (scheme, rest) = url.split_once("://").ok_or(BadAddress::Scheme)?;
        let known = RedisLayout::SCHEMES.into_iter().find(|(name, _)| *name == scheme);
        let (_, layout) = known.ok_or(BadAddress::Scheme)?;
        let (rest, options) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, _)) if user.contains(':') => return Err(BadAddress::Password),
            Some((user, hosts)) => (Some(user.to_owned()), hosts),
            None => (None, authority),
        };
        let port = if layout == RedisLayout::Sentinel { SENTINEL_PORT } else { PORT };
        let hosts = hosts.split(',').map(|host| self::host(host, port)).collect::<Result<Vec<_>, _>>()?;
        let (primary, database) = match layout {
            RedisLayout::Sentinel => path.split_once('/').unwrap_or((path, "")),
            RedisLayout::Standalone | RedisLayout::StandaloneTls | RedisLayout::Cluster => ("", path),
        };
        let database = self::database(database)?;
        if layout == RedisLayout::Cluster && database != 0 {
            return Err(BadAddress::ClusterDatabase);
        }
        let primary = if primary.is_empty() { PRIMARY_DEFAULT } else { primary }.to_owned();
        Ok(Self { layout, hosts, user, database, primary, eviction: eviction(options)? })
    }

    /// How the servers are laid out.
    pub fn layout(&self) -> RedisLayout {
        self.layout
    }

    /// Whether they may throw keys away.
    pub fn eviction(&self) -> Eviction {
        self.eviction
    }
}

fn host(text: &str, port_default: u16) -> Result<(String, u16), BadAddress> {
    // A colon inside brackets belongs to the address.
    let colon = text.rfind(':').filter(|colon| text.rfind(']').is_none_or(|bracket| bracket < *colon));
    let (host, port) = match colon {
        Some(colon) => (&text[..colon], text[colon + 1..].parse().map_err(|_| BadAddress::Host)?),
        None => (text, port_default),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if host.is_empty() || port == 0 { Err(BadAddress::Host) } else { Ok((host.to_owned(), port)) }
}

fn database(text: &str) -> Result<i64, BadAddress> {
    match text {
        "" => Ok(0),
        text => text.parse::<u16>().map(i64::from).map_err(|_| BadAddress::Database),
    }
}

fn eviction(options: &str) -> Result<Eviction, BadAddress> {
    match options {
        "" | "allow_eviction=no" => Ok(Eviction::Refused),
        "allow_eviction=yes" => Ok(Eviction::Allowed),
        other => Err(BadAddress::Option(other.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(url: &str) -> Vec<(String, u16)> {
        Address::parse(url).unwrap().hosts
    }

    #[test]
    fn hosts_have_the_port_of_their_layout() {
        assert_eq!(hosts("redis://a"), [("a".to_owned(), 6379)]);
        assert_eq!(hosts("rediss://a:1/3"), [("a".to_owned(), 1)]);
        assert_eq!(hosts("redis://[::1]"), [("::1".to_owned(), 6379)]);
        assert_eq!(hosts("redis://[::1]:7"), [("::1".to_owned(), 7)]);
        assert_eq!(hosts("redis+sentinel://a,b:5/x"), [("a".to_owned(), 26379), ("b".to_owned(), 5)]);
    }

    #[test]
    fn a_sentinel_knows_its_primary_by_name() {
        let address = Address::parse("redis+sentinel://me@a,b/gates/2?allow_eviction=yes").unwrap();
        assert_eq!((address.primary.as_str(), address.database), ("gates", 2));
        assert_eq!((address.user.as_deref(), address.eviction), (Some("me"), Eviction::Allowed));
        assert_eq!(Address::parse("redis+sentinel://a").unwrap().primary, "mymaster");
    }

    #[test]
    fn what_is_no_address_says_what_to_write() {
        for (url, problem) in [
            ("http://a", BadAddress::Scheme),
            ("redis://", BadAddress::Host),
            ("redis://a:0", BadAddress::Host),
            ("redis://a:x", BadAddress::Host),
            ("redis://a/x", BadAddress::Database),
            ("redis+cluster://a/1", BadAddress::ClusterDatabase),
            ("redis://a?tls=1", BadAddress::Option("tls=1".into())),
            ("redis://u:p@a", BadAddress::Password),
        ] {
            assert_eq!(Address::parse(url), Err(problem), "{url}");
        }
    }
}
