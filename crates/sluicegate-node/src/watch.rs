//! Watching the policy file. Its directory is watched, because editors replace files rather than change them.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

/// How long a file must be left alone before it is read: editors write in several steps.
const QUIET: Duration = Duration::from_millis(50);

/// Reading is not put off for longer than this, however often the file is touched.
const PUT_OFF_MAX: u32 = 20;

/// How often the file is looked at even if nobody says that it has changed: some file systems never tell.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// What makes the policy be read again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nudge {
    /// Something happened in the directory of the file.
    Touched,
    /// Somebody asked for it.
    Asked,
}

/// Why a file is not watched.
#[derive(Debug)]
#[non_exhaustive]
pub enum WatchError {
    /// The system does not watch this directory.
    Watcher(PathBuf, notify::Error),
    /// There is no thread for it.
    Thread(io::Error),
}

impl fmt::Display for WatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Watcher(directory, error) => write!(f, "cannot watch {}: {error}", directory.display()),
            Self::Thread(error) => write!(f, "cannot start a thread: {error}"),
        }
    }
}

impl std::error::Error for WatchError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Watcher(_, error) => Some(error),
            Self::Thread(error) => Some(error),
        }
    }
}

/// A watcher of a policy file, for as long as it lives.
#[derive(Debug)]
pub struct Watch {
    _watcher: Option<RecommendedWatcher>,
}

/// Calls `reload` on a thread of its own, whenever the file has changed or a nudge is sent.
pub fn start(
    file: Option<&Path>,
    reload: impl Fn() + Send + 'static,
) -> Result<(Watch, Sender<Nudge>), WatchError> {
    let (nudges, nudged) = channel();
    let watcher = match file {
        None => None,
        Some(file) => Some(watch(file, nudges.clone())?),
    };
    let watched = file.is_some();
    std::thread::Builder::new()
        .name("sluicegate-reload".to_owned())
        .spawn(move || run(&nudged, watched, reload))
        .map_err(WatchError::Thread)?;
    Ok((Watch { _watcher: watcher }, nudges))
}

fn watch(file: &Path, nudges: Sender<Nudge>) -> Result<RecommendedWatcher, WatchError> {
    let directory = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let name = file.file_name().map(ToOwned::to_owned);
    let told = move |event: notify::Result<notify::Event>| {
        let ours = event.is_ok_and(|event| match event.kind {
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => {
                event.paths.iter().any(|path| path.file_name() == name.as_deref())
            }
            // To read the file is no change of it: we would call ourselves.
            EventKind::Access(_) => false,
            // A symbolic link to the file, as clusters mount them, changes under another name: this may be it.
            _ => true,
        });
        if ours {
            // Nobody listens any more: the server is ending.
            let _ = nudges.send(Nudge::Touched);
        }
    };
    let unwatched = |error| WatchError::Watcher(directory.to_owned(), error);
    let mut watcher = notify::recommended_watcher(told).map_err(unwatched)?;
    watcher.watch(directory, RecursiveMode::NonRecursive).map_err(unwatched)?;
    Ok(watcher)
}

fn run(nudged: &Receiver<Nudge>, watched: bool, reload: impl Fn()) {
    loop {
        match nudged.recv_timeout(POLL_INTERVAL) {
            Ok(Nudge::Asked) => {}
            Ok(Nudge::Touched) => {
                for _ in 0..PUT_OFF_MAX {
                    if nudged.recv_timeout(QUIET) != Ok(Nudge::Touched) {
                        break;
                    }
                }
            }
            Err(RecvTimeoutError::Timeout) if watched => {}
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return,
        }
        reload();
    }
}
