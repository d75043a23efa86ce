//! Opening a Sluicegate: what can be chosen.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::path::{Path, PathBuf};
use std::pin::Pin;

use sluicegate_node::store::RedisOptions;
use sluicegate_node::{DataDir, GivenSecrets, Node, NodeOptions, PolicySource, Secrets};

use super::{OpenError, PolicyError, Sluicegate};

/// The data directory of a Sluicegate whose application names none.
const DATA_DIR_DEFAULT: &str = "sluicegate-data";

/// A Sluicegate that is about to be opened. `.await` opens it.
#[must_use = "nothing is opened before `.await`"]
pub struct OpenSluicegate {
    source: PolicySource,
    /// None: a temporary one.
    data_dir: Option<PathBuf>,
    secrets: GivenSecrets,
    redis: RedisOptions,
}

impl OpenSluicegate {
    pub(super) fn file(path: PathBuf) -> Self {
        Self::new(PolicySource::File(path), Some(DATA_DIR_DEFAULT.into()))
    }

    pub(super) fn text(text: String) -> Self {
        Self::new(PolicySource::Text { name: "policy", text }, None)
    }

    fn new(source: PolicySource, data_dir: Option<PathBuf>) -> Self {
        Self { source, data_dir, secrets: GivenSecrets::default(), redis: RedisOptions::default() }
    }

    /// Where accounts, keys and usage are kept. It is created if it does not exist, and locked: one process at a time
    /// uses it. `sluicegate serve --data-dir` can go on with it.
    pub fn data_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.data_dir = Some(dir.as_ref().to_owned());
        self
    }

    /// The master secret that keys, addresses and cookies are hashed with. Nodes that share a Redis must have the same
    /// one. By default it is made once, and kept in the data directory.
    pub fn secret(mut self, secret: impl Into<String>) -> Self {
        self.secrets.secret = Some(secret.into());
        self
    }

    /// The token of the admin API. By default it is made once, and kept in the data directory.
    pub fn admin_token(mut self, token: impl Into<String>) -> Self {
        self.secrets.admin_token = Some(token.into());
        self
    }

    /// The user and password of the Redis that the policy names in `store`.
    #[cfg(feature = "redis")]
    pub fn redis_login(mut self, user: Option<&str>, password: impl Into<String>) -> Self {
        self.redis.username = user.map(ToOwned::to_owned);
        self.redis.password = Some(sluicegate_node::store::RedisPassword::new(password.into()));
        self
    }

    async fn open(self) -> Result<Sluicegate, OpenError> {
        let Self { source, data_dir, secrets, redis } = self;
        let loaded = source.load().map_err(|error| OpenError::Read(source.name(), error))?;
        let text = loaded.text.clone();
        // Before the directory: a policy with mistakes leaves nothing behind.
        let document = loaded.into_document().map_err(|error| OpenError::Policy(PolicyError(error)))?;
        let data_dir = match data_dir {
            Some(path) => DataDir::open(path),
            None => DataDir::temporary(),
        };
        let data_dir = data_dir.map_err(OpenError::DataDir)?;
        let secrets = Secrets::load(&data_dir, secrets).map_err(OpenError::Secrets)?;
        let written = (document.server.clone(), document.store.clone());
        let options = NodeOptions { data_dir, secrets, source, text, written, document, redis };
        #[cfg(feature = "admin")]
        let admin_token =
            sluicegate_admin::AdminToken::new(&options.secrets.admin_token).map_err(OpenError::AdminToken)?;
        let (node, _) = Node::open(options, |_| ()).await.map_err(OpenError::Node)?;
        Ok(Sluicegate {
            node,
            #[cfg(feature = "admin")]
            admin_token,
        })
    }
}

impl IntoFuture for OpenSluicegate {
    type Output = Result<Sluicegate, OpenError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.open())
    }
}

/// Without the secrets.
impl fmt::Debug for OpenSluicegate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenSluicegate")
            .field("policy", &self.source.name())
            .field("data_dir", &self.data_dir)
            .finish_non_exhaustive()
    }
}
