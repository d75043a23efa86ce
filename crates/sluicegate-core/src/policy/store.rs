//! Where meters live.

use super::url::{Authority, BadUrl};

/// How a Redis is laid out, by the scheme of its URL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RedisLayout {
    /// `redis://`: one server.
    Standalone,
    /// `rediss://`: one server, over TLS.
    StandaloneTls,
    /// `redis+sentinel://`: sentinels that know the primary.
    Sentinel,
    /// `redis+cluster://`: a cluster, by some of its nodes.
    Cluster,
}

impl RedisLayout {
    /// The schemes, each with its layout.
    pub const SCHEMES: [(&'static str, Self); 4] = [
        ("redis", Self::Standalone),
        ("rediss", Self::StandaloneTls),
        ("redis+sentinel", Self::Sentinel),
        ("redis+cluster", Self::Cluster),
    ];
}

/// Where meters live.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StoreSettings {
    /// In this process.
    Embedded,
    /// In a Redis or Valkey that several nodes share.
    Redis {
        /// How it is laid out.
        layout: RedisLayout,
        /// The URL as it was typed.
        url: String,
    },
}

impl StoreSettings {
    /// The word for the store inside the process.
    pub const EMBEDDED: &'static str = "embedded";

    /// Reads `embedded` or a URL. One server may not be given as several hosts.
    pub fn parse(text: &str) -> Result<Self, BadUrl> {
        if text == Self::EMBEDDED {
            return Ok(Self::Embedded);
        }
        let (scheme, rest) = text.split_once("://").ok_or(BadUrl::Scheme)?;
        let known = RedisLayout::SCHEMES.into_iter().find(|(name, _)| *name == scheme);
        let (_, layout) = known.ok_or(BadUrl::Scheme)?;
        let authority = Authority::parse(rest)?;
        let one = matches!(layout, RedisLayout::Standalone | RedisLayout::StandaloneTls);
        if one && authority.hosts.contains(',') {
            return Err(BadUrl::Host);
        }
        Ok(Self::Redis { layout, url: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_are_embedded_or_a_redis() {
        assert_eq!(StoreSettings::parse("embedded"), Ok(StoreSettings::Embedded));
        for (url, expected) in [
            ("redis://localhost:6379/0", RedisLayout::Standalone),
            ("rediss://user@cache.example", RedisLayout::StandaloneTls),
            ("redis+sentinel://a:26379,b:26379/primary", RedisLayout::Sentinel),
            ("redis+cluster://a:7000,b:7001", RedisLayout::Cluster),
        ] {
            assert!(
                matches!(StoreSettings::parse(url), Ok(StoreSettings::Redis { layout, .. }) if layout == expected)
            );
        }
        assert_eq!(StoreSettings::parse("redis://a,b"), Err(BadUrl::Host));
        assert_eq!(StoreSettings::parse("redis://:pw@a"), Err(BadUrl::Password));
        assert_eq!(StoreSettings::parse("memory"), Err(BadUrl::Scheme));
    }
}
