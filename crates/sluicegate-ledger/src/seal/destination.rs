//! Where sealed hours go: a folder, or a bucket that speaks as S3 does.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, RetryConfig};

use super::access::{DestinationError, S3Access};
use super::http::Connector;
use crate::hour::Hour;

/// Where sealed hours go.
#[derive(Clone, Debug)]
pub struct Destination {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    url: String,
}

impl Destination {
    /// `file:///folder`, which is made if it is not there, or `s3://bucket/prefix`.
    pub fn open(url: &str, access: &S3Access) -> Result<Self, DestinationError> {
        let wrong = |why: String| DestinationError { url: url.to_owned(), why };
        if let Some(folder) = url.strip_prefix("file://") {
            let folder = PathBuf::from(folder);
            if !folder.is_absolute() {
                return Err(wrong(
                    "a folder begins with a slash: file:///var/lib/sluicegate/export".to_owned(),
                ));
            }
            std::fs::create_dir_all(&folder).map_err(|error| wrong(error.to_string()))?;
            let store =
                LocalFileSystem::new_with_prefix(&folder).map_err(|error| wrong(error.to_string()))?;
            // What is marked as sealed may be removed here: it must be on disk there.
            return Ok(Self::new(Arc::new(store.with_fsync(true)), Path::default(), url));
        }
        let Some(rest) = url.strip_prefix("s3://") else {
            return Err(wrong("it begins with neither file:// nor s3://".to_owned()));
        };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(wrong("the bucket is missing: s3://bucket/prefix".to_owned()));
        }
        let prefix = Path::parse(prefix.trim_matches('/')).map_err(|error| wrong(error.to_string()))?;
        let store = bucket_of(bucket, access).map_err(wrong)?;
        Ok(Self::new(store, prefix, url))
    }

    /// Any other store: for tests, and for whoever has one.
    pub fn new(store: Arc<dyn ObjectStore>, prefix: Path, url: &str) -> Self {
        Self { store, prefix, url: url.to_owned() }
    }

    pub(super) fn store(&self) -> &Arc<dyn ObjectStore> {
        &self.store
    }

    /// The name of the object of an hour of a node.
    pub(super) fn object(&self, hour: Hour, node: &str) -> Path {
        let name = format!(
            "{}/usage/v1/dt={}/hour={:02}/node={node}.parquet",
            self.prefix,
            hour.date(),
            hour.of_day()
        );
        Path::from(name)
    }
}

/// Where it is.
impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

/// How often a request is tried: what fails then is tried again with the next hour to be sealed.
const TRIES_MAX: usize = 3;
const TRYING_MAX: Duration = Duration::from_secs(60);

fn bucket_of(bucket: &str, access: &S3Access) -> Result<Arc<dyn ObjectStore>, String> {
    let connector = Connector::new().map_err(|error| error.to_string())?;
    let retry = RetryConfig { max_retries: TRIES_MAX, retry_timeout: TRYING_MAX, ..RetryConfig::default() };
    let mut builder =
        AmazonS3Builder::from_env().with_bucket_name(bucket).with_http_connector(connector).with_retry(retry);
    if let Some(endpoint) = &access.endpoint {
        builder = builder.with_endpoint(endpoint).with_allow_http(endpoint.starts_with("http://"));
    }
    if let Some(region) = &access.region {
        builder = builder.with_region(region);
    }
    if let Some((key, secret)) = &access.key {
        builder = builder.with_access_key_id(key).with_secret_access_key(secret);
    }
    builder.build().map(|store| Arc::new(store) as Arc<dyn ObjectStore>).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_named_by_day_hour_and_node() {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("file://{}/export", dir.path().display());
        let destination = Destination::open(&url, &S3Access::default()).unwrap();
        let hour = "2026-09-21T07:00:00Z".parse().unwrap();
        let name = "usage/v1/dt=2026-09-21/hour=07/node=ab12.parquet";
        assert_eq!(destination.object(hour, "ab12").as_ref(), name);
        let destination = Destination::open("s3://bucket/a/b/", &S3Access::default()).unwrap();
        assert_eq!(destination.object(hour, "ab12").as_ref(), format!("a/b/{name}"));
        assert_eq!(destination.to_string(), "s3://bucket/a/b/");
    }

    #[test]
    fn what_is_no_place_says_why() {
        for (url, why) in [
            ("ftp://x/y", "neither file:// nor s3://"),
            ("file://relative/folder", "begins with a slash"),
            ("s3:///prefix", "the bucket is missing"),
            ("", "neither"),
        ] {
            let error = Destination::open(url, &S3Access::default()).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains(url), "{error}");
        }
    }
}
