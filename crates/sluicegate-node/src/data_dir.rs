//! The data directory: locked by one process at a time, readable by its owner only.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// The names of temporary directories: this, and so many hexadecimal digits.
const TEMPORARY_PREFIX: &str = "sluicegate-";
const TEMPORARY_DIGITS: usize = 32;
/// The most entries of the system's folder that are looked at for abandoned directories.
const ABANDONED_LOOKED_AT_MAX: usize = 10_000;

/// How deep the data directory is, and how many entries of one directory in it are looked at.
const RESTRICTED_DEPTH_MAX: usize = 4;
const RESTRICTED_ENTRIES_MAX: usize = 100_000;

/// The data directory, locked for as long as this lives.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    lifetime: Lifetime,
    _lock: File,
}

/// What becomes of a data directory when it is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lifetime {
    Kept,
    Temporary,
}

/// Why a data directory cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum DataDirError {
    /// It does not exist and cannot be created.
    Create(PathBuf, io::Error),
    /// Its lock file cannot be opened or locked.
    Lock(PathBuf, io::Error),
    /// It is open already.
    Busy(PathBuf, Holder),
    /// A secret in it cannot be read or written.
    Secret(PathBuf, io::Error),
    /// A secret in it is empty.
    EmptySecret(PathBuf),
    /// The system gives no random bytes.
    Random,
}

/// Who has a data directory open.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Holder {
    /// This process opened it before.
    ThisProcess,
    /// Another process, as far as its lock file tells.
    OtherProcess(Option<u32>),
}

impl DataDir {
    /// Creates the directory if it does not exist, and locks it. A directory that is in use is left as it is.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, DataDirError> {
        Self::lock(path.as_ref().to_owned(), Lifetime::Kept)
    }

    /// A new directory under the system's folder for temporary files, removed when this is dropped. What processes left
    /// there that were killed is removed as well.
    pub fn temporary() -> Result<Self, DataDirError> {
        let parent = std::env::temp_dir();
        remove_abandoned(&parent);
        let path = parent.join(format!("{TEMPORARY_PREFIX}{}", &random_hex()?[..TEMPORARY_DIGITS]));
        // It has its name only when it is locked, so that no other process takes it for abandoned.
        let mut dir = Self::lock(path.with_extension("new"), Lifetime::Temporary)?;
        let renamed = fs::rename(&dir.path, &path);
        renamed.map_err(|error| DataDirError::Create(path.clone(), error))?;
        dir.path = path;
        Ok(dir)
    }

    fn lock(path: PathBuf, lifetime: Lifetime) -> Result<Self, DataDirError> {
        let made = DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(&path);
        made.map_err(|error| DataDirError::Create(path.clone(), error))?;
        let lock_path = path.join("lock");
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(FILE_MODE)
            .open(&lock_path);
        let mut lock = opened.map_err(|error| DataDirError::Lock(lock_path.clone(), error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(DataDirError::Busy(path, holder(&mut lock))),
            Err(TryLockError::Error(error)) => return Err(DataDirError::Lock(lock_path, error)),
        }
        // After the lock: a directory in use is left as it is. One that belongs to another user stays as it is, too.
        let _ = fs::set_permissions(&path, fs::Permissions::from_mode(DIRECTORY_MODE));
        restrict(&path, RESTRICTED_DEPTH_MAX);
        // Only for the message of `Busy`: the lock itself ends with the process.
        let _ = lock.set_len(0).and_then(|()| writeln!(lock, "pid {}", std::process::id()));
        Ok(Self { path, lifetime, _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The lines of the file of this name that hold something; none when there is no such file.
    pub fn lines(&self, name: &str) -> Result<Vec<String>, DataDirError> {
        let path = self.path.join(name);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(text.split_whitespace().map(str::to_owned).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(DataDirError::Secret(path, error)),
        }
    }

    /// The secret in the file of this name, created by `make` when there is none.
    pub fn secret(
        &self,
        name: &str,
        make: impl FnOnce() -> Result<String, DataDirError>,
    ) -> Result<String, DataDirError> {
        let path = self.path.join(name);
        match fs::read_to_string(&path) {
            Ok(text) if !text.trim().is_empty() => return Ok(text.trim().to_owned()),
            Ok(_) => return Err(DataDirError::EmptySecret(path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(DataDirError::Secret(path, error)),
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
            .and_then(|mut file| writeln!(file, "{secret}").and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&unfinished, &path));
        written.map_err(|error| DataDirError::Secret(path, error))?;
        Ok(secret)
    }
}

impl Drop for DataDir {
    fn drop(&mut self) {
        if self.lifetime == Lifetime::Temporary {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Takes what earlier versions left readable for others away from them. Links are not followed.
fn restrict(directory: &Path, depth_max: usize) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten().take(RESTRICTED_ENTRIES_MAX) {
        let Ok(kind) = entry.file_type() else { continue };
        let mode = match (kind.is_dir(), kind.is_file()) {
            (true, _) => DIRECTORY_MODE,
            (_, true) => FILE_MODE,
            _ => continue,
        };
        let is_open = entry.metadata().is_ok_and(|found| found.permissions().mode() & 0o077 != 0);
        if is_open {
            // One that belongs to another user stays as it is.
            let _ = fs::set_permissions(entry.path(), fs::Permissions::from_mode(mode));
        }
        if kind.is_dir() && depth_max > 0 {
            restrict(&entry.path(), depth_max - 1);
        }
    }
}

/// Removes temporary directories whose process has ended without removing them: nothing holds their lock.
fn remove_abandoned(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten().take(ABANDONED_LOOKED_AT_MAX) {
        let name = entry.file_name();
        let digits = name.to_str().and_then(|name| name.strip_prefix(TEMPORARY_PREFIX)).unwrap_or_default();
        let is_ours = digits.len() == TEMPORARY_DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_ours {
            continue;
        }
        let Ok(lock) = File::open(entry.path().join("lock")) else { continue };
        if lock.try_lock().is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// 32 random bytes as hexadecimal digits.
pub fn random_hex() -> Result<String, DataDirError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| DataDirError::Random)?;
    Ok(blake3::Hash::from_bytes(bytes).to_hex().to_string())
}

fn holder(lock: &mut File) -> Holder {
    let mut text = String::new();
    let _ = lock.read_to_string(&mut text);
    let pid = text.trim().strip_prefix("pid ").and_then(|pid| pid.parse().ok());
    if pid == Some(std::process::id()) { Holder::ThisProcess } else { Holder::OtherProcess(pid) }
}

impl fmt::Display for DataDirError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create(path, error) => {
                write!(f, "cannot create the data directory {}: {error}", path.display())
            }
            Self::Lock(path, error) => {
                write!(f, "cannot lock {}: {error}; is the data directory yours?", path.display())
            }
            Self::Busy(path, Holder::ThisProcess) => write!(
                f,
                "the data directory {} is already open in this process: open it once, and share that",
                path.display()
            ),
            Self::Busy(path, Holder::OtherProcess(pid)) => {
                write!(f, "the data directory {} is used by another process", path.display())?;
                if let Some(pid) = pid {
                    write!(f, " (pid {pid})")?;
                }
                f.write_str(": stop it, or choose another directory")
            }
            Self::Secret(path, error) => write!(f, "cannot read or write {}: {error}", path.display()),
            Self::EmptySecret(path) => {
                write!(f, "{} is empty: remove it, and a new secret is made", path.display())
            }
            Self::Random => f.write_str("the system gives no random bytes"),
        }
    }
}

impl std::error::Error for DataDirError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Create(_, error) | Self::Lock(_, error) | Self::Secret(_, error) => Some(error),
            Self::Busy(..) | Self::EmptySecret(_) | Self::Random => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_open_says_so_and_is_left_untouched() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        let first = DataDir::open(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let error = DataDir::open(&path).unwrap_err();
        assert!(matches!(&error, DataDirError::Busy(_, Holder::ThisProcess)), "{error:?}");
        assert!(error.to_string().contains("already open in this process"), "{error}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
        let files: Vec<_> = fs::read_dir(&path).unwrap().map(|file| file.unwrap().file_name()).collect();
        assert_eq!(files, ["lock"]);
        drop(first);
        DataDir::open(&path).unwrap();
    }

    #[test]
    fn a_temporary_directory_goes_with_its_owner() {
        let dir = DataDir::temporary().unwrap();
        let path = dir.path().to_owned();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        drop(dir);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_another_uses_is_not() {
        let parent = tempfile::tempdir().unwrap();
        let left = parent.path().join(format!("{TEMPORARY_PREFIX}{}", "0".repeat(TEMPORARY_DIGITS)));
        let used = parent.path().join(format!("{TEMPORARY_PREFIX}{}", "1".repeat(TEMPORARY_DIGITS)));
        let other = parent.path().join("sluicegate-data");
        drop(DataDir::open(&left).unwrap());
        drop(DataDir::open(&other).unwrap());
        let _open = DataDir::open(&used).unwrap();
        remove_abandoned(parent.path());
        assert!(!left.exists() && used.exists() && other.exists());
    }

    #[test]
    fn a_secret_is_made_once_and_only_its_owner_reads_it() {
        let dir = DataDir::temporary().unwrap();
        let first = dir.secret("secret", random_hex).unwrap();
        assert_eq!(dir.secret("secret", || Err(DataDirError::Random)).unwrap(), first);
        assert_eq!(fs::metadata(dir.path().join("secret")).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(dir.path().join("secret"), " \n").unwrap();
        assert!(matches!(dir.secret("secret", random_hex), Err(DataDirError::EmptySecret(_))));
    }
}
