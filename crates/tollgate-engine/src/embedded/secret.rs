//! The secret of a directory: made once, and kept in a file beside what is hashed with it.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use tollgate_store::key_text::NoRandomness;

use super::EmbeddedError;

/// What is in the directory belongs to whoever runs the process, and to nobody else.
const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

pub(super) fn make_directory(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(dir)
}

/// The secret, where `tollgate serve` looks for it as well.
pub(super) fn kept(dir: &Path) -> Result<String, EmbeddedError> {
    let path = dir.join("secret");
    match fs::read_to_string(&path) {
        Ok(text) if !text.trim().is_empty() => return Ok(text.trim().to_owned()),
        Ok(_) => {
            let problem = format!("{} is empty: remove it, and a new secret is made", path.display());
            return Err(EmbeddedError::Files(io::Error::other(problem)));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(EmbeddedError::Files(error)),
    }
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| EmbeddedError::Random(NoRandomness))?;
    let secret = blake3::Hash::from_bytes(bytes).to_hex().to_string();
    write(&path, &secret).map_err(EmbeddedError::Files)?;
    Ok(secret)
}

/// Under another name first: a crash must not leave half a secret behind.
fn write(path: &Path, secret: &str) -> io::Result<()> {
    let unfinished = path.with_extension("new");
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(&unfinished)?;
    writeln!(file, "{secret}")?;
    file.sync_all()?;
    fs::rename(&unfinished, path)
}
