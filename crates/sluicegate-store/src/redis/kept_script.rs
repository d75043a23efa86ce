//! A script that the server keeps once it has seen it: called by its hash, and by its text where that is not known.

use std::sync::OnceLock;

use crate::redis::driver::{FromRedisValue, cmd};
use tokio::time::Instant;

use super::link::{Link, QueryError};

/// One script.
pub(crate) struct KeptScript {
    text: &'static str,
    /// Under which the server knows it once it has seen the text.
    hash: OnceLock<String>,
}

impl KeptScript {
    pub(crate) const fn new(text: &'static str) -> Self {
        Self { text, hash: OnceLock::new() }
    }

    fn hash(&self) -> &str {
        self.hash.get_or_init(|| crate::redis::driver::Script::new(self.text).get_hash().to_owned())
    }

    /// Runs it. An answer is waited for until `expires`.
    pub(crate) async fn run<T: FromRedisValue>(
        &self,
        link: &Link,
        keys: &[&str],
        arguments: &[&str],
        expires: Instant,
    ) -> Result<T, QueryError> {
        let call = |name: &str, script: &str| {
            let mut call = cmd(name);
            call.arg(script).arg(keys.len()).arg(keys).arg(arguments);
            call
        };
        match link.query_before(&call("EVALSHA", self.hash()), expires).await {
            Err(QueryError::Refused(answer)) if answer.is_no_script() => {
                link.query_before(&call("EVAL", self.text), expires).await
            }
            answer => answer,
        }
    }
}
