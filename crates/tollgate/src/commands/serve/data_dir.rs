//! The data directory: what is kept where, and that only one process uses it.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

/// What is in it belongs to whoever runs the server, and to nobody else.
const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// The data directory, locked for as long as this lives.
pub(super) struct DataDir {
    path: PathBuf,
    _lock: File,
}

impl DataDir {
    /// Makes the directory if it is not there, and locks it.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(path).with_context(|| {
            format!("cannot make the data directory {}: choose another with --data-dir", path.display())
        })?;
        // One that was there may be open to others. Where that is somebody else's to change, it stays.
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(DIRECTORY_MODE));
        let lock_path = path.join("lock");
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(FILE_MODE)
            .open(&lock_path)
            .with_context(|| format!("cannot open {}: is the data directory yours?", lock_path.display()))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = lock.read_to_string(&mut holder);
                bail!(
                    "the data directory {} is used by another process{}: stop it, or choose another with --data-dir",
                    path.display(),
                    if holder.trim().is_empty() { String::new() } else { format!(" ({})", holder.trim()) }
                );
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", lock_path.display()));
            }
        }
        // Only for people who wonder who it is: the lock itself ends with the process.
        let _ = lock.set_len(0).and_then(|()| writeln!(lock, "pid {}", std::process::id()));
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// A secret that is kept in a file of its own, made by `make` when it is not there yet.
pub(super) fn kept_secret(
    path: &Path,
    make: impl FnOnce() -> anyhow::Result<String>,
) -> anyhow::Result<String> {
    match fs::read_to_string(path) {
        Ok(text) if !text.trim().is_empty() => return Ok(text.trim().to_owned()),
        Ok(_) => bail!("{} is empty: remove it, and a new secret is made", path.display()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
    let secret = make()?;
    // Under another name first: a crash must not leave half a secret behind.
    let unfinished = path.with_extension("new");
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(FILE_MODE)
        .open(&unfinished)
        .and_then(|mut file| file.write_all(format!("{secret}\n").as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&unfinished, path));
    written.with_context(|| format!("cannot write {}", path.display()))?;
    Ok(secret)
}

/// The token with which the admin API of a server with this data directory is used.
pub(crate) fn admin_token_path(data_dir: &Path) -> PathBuf {
    data_dir.join("admin-token")
}

/// What alerts are signed with where the policy says nothing else.
pub(super) fn webhook_secret_path(data_dir: &Path) -> PathBuf {
    data_dir.join("webhook-secret")
}

pub(super) fn secret_path(data_dir: &Path) -> PathBuf {
    data_dir.join("secret")
}
