//! How object storage is reached, and why it is not.

use std::fmt;

/// How a bucket is reached, besides what the variables of the AWS command line say.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct S3Access {
    /// Another server than Amazon's: `http://127.0.0.1:9000`.
    pub endpoint: Option<String>,
    /// Its region.
    pub region: Option<String>,
    /// The key and its secret.
    pub key: Option<(String, String)>,
}

/// Without the secret.
impl fmt::Debug for S3Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key.as_ref().map(|(key, _)| (key, "***"));
        f.debug_struct("S3Access")
            .field("endpoint", &self.endpoint)
            .field("region", &self.region)
            .field("key", &key)
            .finish()
    }
}

/// Why there is no going there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DestinationError {
    /// Where it was to be.
    pub url: String,
    /// Why not.
    pub why: String,
}

impl fmt::Display for DestinationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no place to export to: {}", self.url, self.why)
    }
}

impl std::error::Error for DestinationError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_shown() {
        let access = S3Access { key: Some(("key".to_owned(), "s3cret".to_owned())), ..S3Access::default() };
        assert!(!format!("{access:?}").contains("s3cret"));
    }
}
