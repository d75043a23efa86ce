//! Secrets that a policy says where to find: what the verifier of challenges knows us by, what alerts are signed with.

use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use sluicegate_core::policy::SecretSource;

/// No secret is longer. A file that is, is not the right one.
const FILE_BYTES_MAX: u64 = 4_096;

/// Why there is no secret.
#[derive(Debug)]
pub enum NoSecret {
    /// The variable is not set, or is empty or no text.
    Variable(String),
    /// The file cannot be read.
    Unreadable(PathBuf, std::io::Error),
    /// The file is empty, or too large to be one.
    NotOne(PathBuf),
}

impl fmt::Display for NoSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "the variable {name} holds no secret"),
            Self::Unreadable(path, error) => {
                write!(f, "cannot read the secret in {}: {error}", path.display())
            }
            Self::NotOne(path) => write!(f, "{} holds no secret", path.display()),
        }
    }
}

impl std::error::Error for NoSecret {}

/// The secret, from where the policy says it is found. Blocking.
pub fn secret_at(source: &SecretSource) -> Result<String, NoSecret> {
    match source {
        SecretSource::Variable(name) => {
            #[expect(
                clippy::disallowed_methods,
                reason = "the policy names the variable, which no command line can know"
            )]
            let value = std::env::var(name).ok();
            trimmed(value).ok_or_else(|| NoSecret::Variable(name.clone()))
        }
        SecretSource::File(path) => {
            let bytes = read(path).map_err(|error| NoSecret::Unreadable(path.clone(), error))?;
            let fits = bytes.len() as u64 <= FILE_BYTES_MAX;
            let text = String::from_utf8(bytes).ok().filter(|_| fits);
            trimmed(text).ok_or_else(|| NoSecret::NotOne(path.clone()))
        }
    }
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn trimmed(text: Option<String>) -> Option<String> {
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_the_one_line_of_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        let found = || secret_at(&SecretSource::File(path.clone())).map_err(|error| error.to_string());
        assert!(found().unwrap_err().starts_with("cannot read the secret in "));
        std::fs::write(&path, "hunter2\n").unwrap();
        assert_eq!(found().unwrap(), "hunter2");
        for wrong in [&b""[..], b" \n", b"\xff", &[b'x'; 5_000]] {
            std::fs::write(&path, wrong).unwrap();
            assert!(found().unwrap_err().ends_with("holds no secret"));
        }
    }

    #[test]
    fn a_variable_that_is_not_set_holds_no_secret() {
        let missing = SecretSource::Variable("SLUICEGATE_TEST_NOT_SET".to_owned());
        assert_eq!(
            secret_at(&missing).unwrap_err().to_string(),
            "the variable SLUICEGATE_TEST_NOT_SET holds no secret"
        );
    }
}
